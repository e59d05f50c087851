"""What PyTorch's tools make of a trace: for each kernel, how often it ran and how long.

    kernel_sums.py hta|tensorboard TRACE

Prints one JSON object, {NAME: [COUNT, TOTAL_NS, LARGEST_NS, SMALLEST_NS]}. Runs in an environment in which the tool is installed.
"""

import json
import os
import sys
import tempfile


def rows(names, counts, sums, largest, smallest):
    def to_ns(microseconds):
        return round(float(microseconds) * 1000)

    return {
        name: [int(count), to_ns(total), to_ns(most), to_ns(least)]
        for name, count, total, most, least in zip(names, counts, sums, largest, smallest)
    }


def of_holistic_trace_analysis(path):
    # It rounds times to whole microseconds unless told not to.
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
    from hta.common.trace_filter import GPUKernelFilter
    from hta.trace_analysis import TraceAnalysis

    analysis = TraceAnalysis(trace_files={0: os.path.basename(path)}, trace_dir=os.path.dirname(os.path.abspath(path)), include_last_profiler_step=True)
    trace = analysis.t.get_trace(0)
    symbols = analysis.t.symbol_table
    work = GPUKernelFilter()(trace, symbols)
    work = work[work["cat"].map(symbols.get_sym_table().__getitem__) == "kernel"]
    work = work.assign(kernel=work["name"].map(symbols.get_sym_table().__getitem__))
    sums = work.groupby("kernel")["dur"].agg(["count", "sum", "max", "min"])
    # The analysis that users call: it leaves out nothing that the trace holds.
    _, breakdown = analysis.get_gpu_kernel_breakdown(visualize=False, duration_ratio=1.0, num_kernels=1_000_000)
    kernels = breakdown[breakdown["name"].isin(sums.index)].groupby("name")["sum (us)"].sum()
    for name, total in sums["sum"].items():
        assert abs(kernels.get(name, 0) - total) < 1e-6 * max(1, total), (name, kernels.get(name), total)
    return rows(sums.index, sums["count"], sums["sum"], sums["max"], sums["min"])


def of_tensorboard_plugin(path):
    from torch_tb_profiler.profiler.data import RunProfileData

    with tempfile.TemporaryDirectory() as cache:
        profile = RunProfileData.parse("worker", None, path, cache)
    if profile.kernel_stat is None:
        return {}
    sums = profile.kernel_stat
    return rows(sums.index, sums["count"], sums["sum"], sums["max"], sums["min"])


def main():
    tools = {"hta": of_holistic_trace_analysis, "tensorboard": of_tensorboard_plugin}
    print(json.dumps(tools[sys.argv[1]](sys.argv[2])))


if __name__ == "__main__":
    main()
