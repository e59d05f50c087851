#!/usr/bin/python3
"""What the preload costs a process that never uses CUDA: the time from start to end of /bin/true, without and with it, in turn.

    bazel run -c opt //tests/bench:start_benchmark
"""

import os
import statistics
import time

RUNS = 500


def run_ns(environment):
    start = time.perf_counter_ns()
    os.waitpid(os.posix_spawn("/bin/true", ["/bin/true"], environment), 0)
    return time.perf_counter_ns() - start


def main():
    library = os.path.abspath("collector/libtpcollect.so")
    without, preloaded = [], []
    for _ in range(RUNS):
        without.append(run_ns({}))
        preloaded.append(run_ns({"LD_PRELOAD": library}))
    without_us, preloaded_us = (statistics.median(times) / 1000 for times in (without, preloaded))
    print("%-24s %10s" % ("start of /bin/true", "median us"))
    print("%-24s %10.0f" % ("without", without_us))
    print("%-24s %10.0f" % ("preloaded", preloaded_us))
    print("the preload costs %.0f us" % (preloaded_us - without_us))


if __name__ == "__main__":
    main()
