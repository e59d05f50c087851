"""A training job to be looked at: does the steps that it is told to, line by line on stdin, and answers each line with one of JSON.

    steps N             N steps
    profile N FILE      N steps under PyTorch's profiler, whose Chrome trace goes to FILE
    end

Each answer has the host time that the steps took, device work included: {"steps": N, "total_ns": T}. On a GPU a step trains a small
transformer layer on the default stream, replays a CUDA graph, and does element-wise work on two streams of its own, in NVTX ranges "step",
"forward", "backward", "optimizer", "graph" and "side streams".

    training.py [--device cuda|cpu]
"""

import argparse
import contextlib
import ctypes
import json
import sys
import time

import torch


class Job:
    def __init__(self, device):
        torch.manual_seed(0)
        self.device = device
        if device == "cpu":
            # So that a collector begins.
            ctypes.CDLL("libcuda.so.1").cuInit(0)
            torch.set_num_threads(1)
        width, batch, length = (512, 16, 64) if device == "cuda" else (32, 2, 4)
        self.model = torch.nn.TransformerEncoderLayer(width, 8, 4 * width, dropout=0.0, batch_first=True).to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.inputs = torch.randn(batch, length, width, device=device)
        self.targets = torch.randn(batch, length, width, device=device)
        self.side_inputs = [torch.randn(1 << 20, device=device) for _ in range(2)]
        if device == "cuda":
            self.streams = [torch.cuda.Stream() for _ in self.side_inputs]
            self.capture_graph()

    def capture_graph(self):
        self.graph_input = torch.randn(256, 256, device=self.device)
        work = lambda: torch.relu(self.graph_input @ self.graph_input).sum(dim=0)
        beside = torch.cuda.Stream()
        beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(beside):
            work()
        torch.cuda.current_stream().wait_stream(beside)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.graph_output = work()

    def synchronize(self):
        if self.device == "cuda":
            torch.cuda.synchronize()

    def step(self):
        with torch.cuda.nvtx.range("step"):
            self.optimizer.zero_grad(set_to_none=True)
            with torch.cuda.nvtx.range("forward"):
                loss = torch.nn.functional.mse_loss(self.model(self.inputs), self.targets)
            with torch.cuda.nvtx.range("backward"):
                loss.backward()
            with torch.cuda.nvtx.range("optimizer"):
                self.optimizer.step()
            if self.device == "cuda":
                with torch.cuda.nvtx.range("graph"):
                    self.graph.replay()
                with torch.cuda.nvtx.range("side streams"):
                    for stream, inputs in zip(self.streams, self.side_inputs):
                        with torch.cuda.stream(stream):
                            inputs.mul_(1.0001).add_(1e-6)

    def steps(self, count):
        self.synchronize()
        start_ns = time.monotonic_ns()
        for _ in range(count):
            self.step()
        self.synchronize()
        return {"steps": count, "total_ns": time.monotonic_ns() - start_ns}

    def profile(self, count, path):
        activities = [torch.profiler.ProfilerActivity.CPU]
        if self.device == "cuda":
            activities.append(torch.profiler.ProfilerActivity.CUDA)
        with torch.profiler.profile(activities=activities) as profiler:
            taken = self.steps(count)
        profiler.export_chrome_trace(path)
        return taken


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--device", default="cuda")
    job = Job(arguments.parse_args().device)
    for line in sys.stdin:
        command, *words = line.split()
        if command == "end":
            break
        # What libraries print must not be taken for an answer.
        with contextlib.redirect_stdout(sys.stderr):
            answer = job.steps(int(words[0])) if command == "steps" else job.profile(int(words[0]), words[1])
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
