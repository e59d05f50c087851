#!/usr/bin/python3
"""What a short script of one's own takes to answer the questions that `tpctl table --input` answers: the json module, and the same
sums. For import_benchmark.py to compare with.

    trace_sums.py TRACE     # times of operations and device work in ns, as JSON
"""

import collections
import gzip
import json
import sys

SPANS = ("cpu_op", "user_annotation")
CALLS = ("cuda_runtime", "cuda_driver")
WORK = ("kernel", "gpu_memcpy", "gpu_memset")


def nanoseconds(microseconds):
    return round(microseconds * 1000)


def innermost_spans(events):
    """Sums self time by name, and finds the innermost span around each call: by thread, in order of start."""
    threads = collections.defaultdict(list)
    for event in events:
        if event["cat"] in SPANS or event["cat"] in CALLS:
            start_ns = nanoseconds(event["ts"])
            threads[event["pid"], event["tid"]].append((start_ns, start_ns + nanoseconds(event["dur"]), event))
    self_ns = collections.Counter()
    span_of_launch = {}
    for records in threads.values():
        records.sort(key=lambda record: (record[0], record[2]["cat"] in CALLS, -record[1]))
        open_spans = []
        for start_ns, end_ns, event in records:
            while open_spans and open_spans[-1][1] <= start_ns:
                open_spans.pop()
            if event["cat"] in CALLS:
                if open_spans:
                    span_of_launch[event["args"].get("correlation")] = open_spans[-1][2]["name"]
                continue
            around = next((span for span in reversed(open_spans) if span[1] >= end_ns), None)
            self_ns[event["name"]] += end_ns - start_ns
            if around is not None:
                self_ns[around[2]["name"]] -= end_ns - start_ns
            open_spans.append((start_ns, end_ns, event))
    return self_ns, span_of_launch


def main():
    path = sys.argv[1]
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        trace = json.load(file)
    events = [event for event in trace["traceEvents"] if event.get("ph") == "X" and "dur" in event]
    self_ns, span_of_launch = innermost_spans(events)
    calls = collections.Counter(event["name"] for event in events if event["cat"] in SPANS)
    work_ns, device_ns, device_total_ns = collections.Counter(), collections.Counter(), 0
    for event in events:
        if event["cat"] in WORK:
            duration_ns = nanoseconds(event["dur"])
            work_ns[event["name"]] += duration_ns
            device_total_ns += duration_ns
            device_ns[span_of_launch.get(event["args"].get("correlation"))] += duration_ns
    rows = [(name, calls[name], self_ns[name], device_ns[name]) for name in sorted(calls, key=lambda name: -self_ns[name])]
    json.dump({"operations": rows, "work": work_ns.most_common(), "device_total_ns": device_total_ns}, sys.stdout)


if __name__ == "__main__":
    main()
