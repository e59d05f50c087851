// Does what it is told, a line at a time, so that a test decides what happens before, while and
// after it looks. Lines come from the file that is named (a FIFO); each is answered on stdout by
// "done LINE" when it has been carried out.
//
//   on_command FIFO
//
//   work N      N times: range "step" with kernels `plain` and `other`, a copy and a fill in it;
//               waits for them
//   launch N    N kernels `lengthy`, without a wait
//   sync        waits for all
//   push NAME, pop      begins and ends a range
//   spin T      T threads begin to do, over and over: range "turn" with two kernels `plain` in it
//   rest        they end
//   quit

#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

__global__ void plain(int* data) { data[threadIdx.x] += 1; }
__global__ void other(int* data) { data[threadIdx.x] += 2; }
__global__ void lengthy(int* data) { data[threadIdx.x] += 3; }

namespace {

constexpr size_t kBytes = 4096;

void Check(cudaError_t error) {
  if (error == cudaSuccess) return;
  printf("%s\n", cudaGetErrorString(error));
  exit(70);
}

struct Range {
  explicit Range(const char* name) { nvtxRangePushA(name); }
  ~Range() { nvtxRangePop(); }
};

class Program {
 public:
  Program() {
    Check(cudaStreamCreate(&stream_));
    Check(cudaMalloc(&data_, kBytes));
    Check(cudaMallocHost(&host_, kBytes));
  }
  ~Program() { Rest(); }

  bool Obey(const std::string& line) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "work") {
      Work(Number(words));
    } else if (word == "launch") {
      for (int i = Number(words); i > 0; --i) lengthy<<<1, 32, 0, stream_>>>(data_);
      Check(cudaGetLastError());
    } else if (word == "sync") {
      Check(cudaStreamSynchronize(stream_));
    } else if (word == "push") {
      std::string name;
      words >> name;
      nvtxRangePushA(name.c_str());
    } else if (word == "pop") {
      nvtxRangePop();
    } else if (word == "spin") {
      for (int i = Number(words); i > 0; --i) threads_.emplace_back([this] { Spin(); });
    } else if (word == "rest") {
      Rest();
    } else {
      return false;
    }
    return true;
  }

 private:
  static int Number(std::istream& words) {
    int number = 0;
    words >> number;
    return number;
  }

  void Work(int times) {
    for (int i = 0; i < times; ++i) {
      Range step("step");
      plain<<<1, 32, 0, stream_>>>(data_);
      other<<<1, 32, 0, stream_>>>(data_);
      Check(cudaMemcpyAsync(data_, host_, kBytes, cudaMemcpyHostToDevice, stream_));
      Check(cudaMemsetAsync(data_, 0, kBytes, stream_));
    }
    Check(cudaStreamSynchronize(stream_));
  }

  void Spin() {
    cudaStream_t stream;
    Check(cudaStreamCreate(&stream));
    while (!resting_) {
      for (int i = 0; i < 8; ++i) {
        Range turn("turn");
        plain<<<1, 32, 0, stream>>>(data_);
        plain<<<1, 32, 0, stream>>>(data_);
      }
      Check(cudaStreamSynchronize(stream));
      usleep(2000);
    }
    Check(cudaStreamDestroy(stream));
  }

  void Rest() {
    resting_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    resting_ = false;
  }

  cudaStream_t stream_;
  int* data_;
  void* host_;
  std::vector<std::thread> threads_;
  std::atomic<bool> resting_{false};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  Program program;
  std::ifstream commands(argv[1]);
  for (std::string line; std::getline(commands, line) && line != "quit";) {
    if (!program.Obey(line)) {
      std::cout << "on_command: what is '" << line << "'?" << std::endl;
      return 64;
    }
    std::cout << "done " << line << std::endl;
  }
  return 0;
}
