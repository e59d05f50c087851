#!/usr/bin/python3
"""How fast a large trace of PyTorch's profiler is read and summarized: `tpctl table --input` beside the json module of Python with
the same sums (trace_sums.py), in turn, on the same file, plain and gzipped.

    bazel run -c opt //tests/bench:import_benchmark -- TRACE.json[.gz]

The file is the trace given, repeated in one until it has more than 150 MB; each copy later than the one before it, and with correlation ids
of its own. Given are the CPU seconds of the better of two runs: other programs on the machine disturb them less than time on the clock.
"""

import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import time

BYTES = 150_000_000
RUNS = 2
APART_US = 60_000_000
IDS_OF_A_COPY = 100_000_000


def copy_of(events, number):
    """The text of the events, later and with other ids."""
    later = re.sub(r'("ts": )(\d+)', lambda found: found[1] + str(int(found[2]) + number * APART_US), events)
    return re.sub(
        r'("correlation": |"External id": )(\d+)', lambda found: found[1] + str(int(found[2]) + number * IDS_OF_A_COPY), later)


def write_large(trace, path):
    with (gzip.open if trace.endswith(".gz") else open)(trace, "rt") as file:
        text = file.read()
    begin = text.index("[", text.index('"traceEvents"')) + 1
    end = text.rindex("]")
    events = text[begin:end]
    size = number = 0
    with open(path, "w") as file:
        file.write(text[:begin])
        while size < BYTES:
            size += file.write((",\n" if number else "") + copy_of(events, number))
            number += 1
        file.write(text[end:])


def run(command):
    """The output, and seconds on the CPU and on the clock."""
    before = os.times()
    start = time.perf_counter()
    output = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    after = os.times()
    cpu = after.children_user - before.children_user + after.children_system - before.children_system
    return output, cpu, time.perf_counter() - start


def check(table, sums):
    """That both answer the same."""
    ours = sum(row["self_device_time_total_ns"] for row in table["rows"])
    theirs = sum(row[3] for row in sums["operations"])
    if ours != theirs or table["totals"]["device_time_total_ns"] != sums["device_total_ns"]:
        sys.exit("the sums differ: %d and %d ns of device work in operations, %d and %d in all" %
                 (ours, theirs, table["totals"]["device_time_total_ns"], sums["device_total_ns"]))


def main():
    if len(sys.argv) != 2 or not os.path.isfile(sys.argv[1]):
        sys.exit("usage: import_benchmark TRACE.json[.gz]: a trace of PyTorch's profiler, by its whole path")
    tpctl, sums_script = os.path.abspath("tools/tpctl"), os.path.abspath("tests/bench/trace_sums.py")
    with tempfile.TemporaryDirectory() as folder:
        plain, packed = os.path.join(folder, "trace.json"), os.path.join(folder, "trace.json.gz")
        write_large(sys.argv[1], plain)
        subprocess.run(["gzip", "-k", "-6", plain], check=True)
        megabytes = os.path.getsize(plain) / 1e6
        print("%.0f MB (gzipped %.0f MB)" % (megabytes, os.path.getsize(packed) / 1e6))
        print("%-10s %14s %14s %14s %14s %8s" % ("", "tpctl, CPU s", "MB/s", "Python, CPU s", "MB/s", "ratio"))
        for name, path in (("plain", plain), ("gzipped", packed)):
            ours, theirs = [], []
            for _ in range(RUNS):
                table, cpu, _ = run([tpctl, "table", "--input", path, "--format", "json"])
                ours.append(cpu)
                sums, cpu, _ = run(["/usr/bin/python3", sums_script, path])
                theirs.append(cpu)
            check(json.loads(table), json.loads(sums))
            print("%-10s %14.2f %14.0f %14.2f %14.1f %8.1f" %
                  (name, min(ours), megabytes / min(ours), min(theirs), megabytes / min(theirs), min(theirs) / min(ours)))


if __name__ == "__main__":
    main()
