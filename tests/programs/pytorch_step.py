"""Trains a small model for a few steps on the CPU with NVTX ranges around them, its own profiler at work, and CUDA started.

CUDA is started so that the collector begins; where PyTorch itself finds no device, the driver alone.
"""

import ctypes

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
inputs, targets = torch.randn(4, 8), torch.randn(4, 1)

with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
    for _ in range(5):
        with torch.cuda.nvtx.range("step"):
            optimizer.zero_grad()
            with torch.cuda.nvtx.range("forward"):
                loss = torch.nn.functional.mse_loss(model(inputs), targets)
            with torch.cuda.nvtx.range("backward"):
                loss.backward()
            optimizer.step()
print("loss", loss.item())
print("profiled", sum(event.count for event in profile.key_averages() if event.key == "aten::linear"))
print("cuInit", ctypes.CDLL("libcuda.so.1").cuInit(0))
