#!/usr/bin/python3
"""How much longer a program with 100,000 launches a second takes: with CUPTI recording and nobody reading, with the collector capturing, and
with a dormant one; on the simulated CUDA, in turn, so that the machine's mood is the same for all.

    bazel run -c opt //tests/bench:pace_benchmark [-- SECONDS ROUNDS]
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

LAUNCHES_PER_SECOND = 100_000


def main():
    seconds, rounds = (int(argument) for argument in (sys.argv[1:] + ["3", "7"][len(sys.argv) - 1:]))
    here = os.getcwd()
    program = here + "/tests/bench/launch_pace"
    collector = here + "/collector/libtpcollect.so"
    with tempfile.TemporaryDirectory(prefix="tp-pace-") as folder:
        socket = folder + "/tpd.sock"
        plain = {"LD_LIBRARY_PATH": here + "/tests/simcuda", "TP_SOCKET": socket}
        ways = {
            "nothing": plain,
            "CUPTI, nobody reading": {**plain, "CUDA_INJECTION64_PATH": here + "/tests/bench/bare_cupti_tool.so"},
            "collector, capturing": {**plain, "LD_PRELOAD": collector},
            "collector, dormant": {**plain, "LD_PRELOAD": collector, "TP_COLLECT": "dormant"},
        }
        with open(folder + "/log", "w") as log:
            daemon = subprocess.Popen([here + "/tools/tpd", "--foreground", "--socket", socket], stderr=log, stdout=log)
        try:
            while not os.path.exists(socket):
                time.sleep(0.05)
            loops = subprocess.check_output([program, "calibrate", str(LAUNCHES_PER_SECOND)], env=plain, text=True).strip()
            wall, cpu = ({way: [] for way in ways} for _ in range(2))
            for _ in range(rounds):
                for way, environment in ways.items():
                    command = [program, str(seconds * LAUNCHES_PER_SECOND), loops]
                    wall_ms, cpu_ms = subprocess.check_output(command, env=environment, text=True).split()
                    wall[way].append(float(wall_ms))
                    cpu[way].append(float(cpu_ms))
        finally:
            daemon.terminate()
            daemon.wait()
    def longer(times, way, than):
        """Percent. Each round is held against the same round: a slow minute of the machine counts on both sides."""
        return 100 * (statistics.median(a / b for a, b in zip(times[way], times[than])) - 1)

    print("%-22s %12s %12s %9s %9s" % ("program and tool", "median ms", "CPU ms", "longer", "CPU"))
    for way in ways:
        print("%-22s %12.1f %12.1f %+8.2f%% %+8.2f%%" % (
            way, statistics.median(wall[way]), statistics.median(cpu[way]), longer(wall, way, "nothing"), longer(cpu, way, "nothing")))
    capturing, alone = "collector, capturing", "CUPTI, nobody reading"
    print("capturing takes %+.2f%% of the time with CUPTI alone, %+.2f%% of its CPU time" % (
        longer(wall, capturing, alone), longer(cpu, capturing, alone)))
    print("CPU: that of the program's thread, without ours.")


if __name__ == "__main__":
    main()
