// A CUDA program whose work is known to the last call: each thread does the same kernels, copies
// and fills in the same ranges so many times. Prints what it has done as one JSON object on stdout,
// and nothing on stderr.
//
//   known_work [--threads T] [--iterations N] [--streams S] [--pause-us U] [--sleep-ms M] [--hold
//   FILE] [--hold-open SECONDS]
//              [--exit-status S]
//
// Ranges of each thread, and what is launched while each is the innermost one:
//
//   thread                     (open before the first CUDA call)
//     iteration                fill
//       forward                attention
//         layer                plain, templated
//       transfer               HtoD, DtoD, DtoH
//   (none)                     plain, once at the thread's end
//
// --hold FILE: before its end, with all work done, the first thread says "holding" on stdout inside
// its still open range "thread", and waits until FILE exists. --hold-open SECONDS: the same, for so
// long. --streams: each thread takes turns on so many. --pause-us and --sleep-ms: after each
// iteration.

#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

__global__ void plain(int* data) { data[threadIdx.x] += 1; }

template <typename T>
__global__ void templated(T* data, T factor) {
  data[threadIdx.x] *= factor;
}

namespace nn {
namespace {
__global__ void attention(float* data, int heads) { data[threadIdx.x] += heads; }
}  // namespace
}  // namespace nn

namespace {

constexpr size_t kBytes = 4096;

struct Options {
  int threads = 1;
  int iterations = 10;
  int streams = 1;
  int pause_us = 0;
  std::string hold;
  double hold_seconds = 0;
  int exit_status = 0;
};

// What was done, by name.
struct Done {
  std::map<std::string, long> kernels, copies, ranges, runtime_calls, work_in;
  long fills = 0;

  void Add(const Done& other) {
    auto add = [](std::map<std::string, long>& to, const std::map<std::string, long>& from) {
      for (const auto& [name, count] : from) to[name] += count;
    };
    add(kernels, other.kernels);
    add(copies, other.copies);
    add(ranges, other.ranges);
    add(runtime_calls, other.runtime_calls);
    add(work_in, other.work_in);
    fills += other.fills;
  }
};

void Check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  printf("%s: %s\n", what, cudaGetErrorString(error));
  exit(70);
}

// A runtime call that is counted under its name.
#define CALL(done, function, ...)            \
  do {                                       \
    ++(done).runtime_calls[#function];       \
    Check(function(__VA_ARGS__), #function); \
  } while (0)

class Range {
 public:
  Range(Done& done, const char* name) {
    ++done.ranges[name];
    nvtxRangePushA(name);
  }
  ~Range() { nvtxRangePop(); }
};

void Launched(Done& done, const char* kernel, const char* range) {
  ++done.kernels[kernel];
  ++done.runtime_calls["cudaLaunchKernel"];
  ++done.work_in[range];
}

void Iterate(Done& done, cudaStream_t stream, char* device[2], char* host) {
  Range iteration(done, "iteration");
  {
    Range forward(done, "forward");
    {
      Range layer(done, "layer");
      plain<<<8, 128, 0, stream>>>(reinterpret_cast<int*>(device[0]));
      Launched(done, "plain(int*)", "layer");
      templated<float><<<4, 64, 0, stream>>>(reinterpret_cast<float*>(device[0]), 2.0f);
      Launched(done, "void templated<float>(float*, float)", "layer");
    }
    nn::attention<<<dim3(2, 2), 32, 0, stream>>>(reinterpret_cast<float*>(device[1]), 4);
    Launched(done, "nn::(anonymous namespace)::attention(float*, int)", "forward");
  }
  {
    Range transfer(done, "transfer");
    CALL(done, cudaMemcpyAsync, device[0], host, kBytes, cudaMemcpyHostToDevice, stream);
    ++done.copies["HtoD"];
    CALL(done, cudaMemcpyAsync, device[1], device[0], kBytes, cudaMemcpyDeviceToDevice, stream);
    ++done.copies["DtoD"];
    CALL(done, cudaMemcpyAsync, host, device[1], kBytes, cudaMemcpyDeviceToHost, stream);
    ++done.copies["DtoH"];
    done.work_in["transfer"] += 3;
  }
  CALL(done, cudaMemsetAsync, device[1], 0, kBytes, stream);
  ++done.fills;
  ++done.work_in["iteration"];
}

// All threads are in their range before the first of them calls CUDA.
class Barrier {
 public:
  explicit Barrier(int threads) { pthread_barrier_init(&barrier_, nullptr, threads); }
  void Wait() { pthread_barrier_wait(&barrier_); }

 private:
  pthread_barrier_t barrier_;
};

void Hold(const Options& options) {
  if (options.hold.empty() && options.hold_seconds == 0) return;
  printf("holding\n");
  fflush(stdout);
  if (options.hold_seconds > 0) usleep(static_cast<useconds_t>(options.hold_seconds * 1e6));
  while (!options.hold.empty() && access(options.hold.c_str(), F_OK) != 0) usleep(1000);
}

void Work(const Options& options, bool first, Barrier& barrier, std::mutex& lock, Done& all) {
  Done done;
  std::vector<cudaStream_t> streams(options.streams);
  char* device[2];
  char* host;
  {
    Range thread(done, "thread");
    barrier.Wait();
    for (cudaStream_t& stream : streams) CALL(done, cudaStreamCreate, &stream);
    CALL(done, cudaMalloc, reinterpret_cast<void**>(&device[0]), kBytes);
    CALL(done, cudaMalloc, reinterpret_cast<void**>(&device[1]), kBytes);
    CALL(done, cudaMallocHost, reinterpret_cast<void**>(&host), kBytes);
    for (int i = 0; i < options.iterations; ++i) {
      Iterate(done, streams[i % streams.size()], device, host);
      if (options.pause_us > 0) usleep(options.pause_us);
    }
    for (cudaStream_t stream : streams) CALL(done, cudaStreamSynchronize, stream);
    if (first) Hold(options);
  }
  plain<<<1, 32, 0, streams[0]>>>(reinterpret_cast<int*>(device[0]));
  Launched(done, "plain(int*)", "");
  CALL(done, cudaStreamSynchronize, streams[0]);
  CALL(done, cudaFreeHost, host);
  CALL(done, cudaFree, device[0]);
  CALL(done, cudaFree, device[1]);
  for (cudaStream_t stream : streams) CALL(done, cudaStreamDestroy, stream);
  std::lock_guard<std::mutex> guard(lock);
  all.Add(done);
}

void Print(const char* title, const std::map<std::string, long>& counts) {
  printf("\"%s\": {", title);
  const char* comma = "";
  for (const auto& [name, count] : counts) {
    printf("%s\"%s\": %ld", comma, name.c_str(), count);
    comma = ", ";
  }
  printf("}");
}

Options Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    std::string name = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (name == "--threads") {
      options.threads = atoi(value);
    } else if (name == "--iterations") {
      options.iterations = atoi(value);
    } else if (name == "--pause-us") {
      options.pause_us = atoi(value);
    } else if (name == "--sleep-ms") {
      options.pause_us = 1000 * atoi(value);
    } else if (name == "--streams") {
      options.streams = atoi(value);
    } else if (name == "--hold-open") {
      options.hold_seconds = atof(value);
    } else if (name == "--hold") {
      options.hold = value;
    } else if (name == "--exit-status") {
      options.exit_status = atoi(value);
    } else {
      printf("known_work: unknown option %s\n", name.c_str());
      exit(64);
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  Options options = Parse(argc, argv);
  Done all;
  std::mutex lock;
  Barrier barrier(options.threads);
  std::vector<std::thread> threads;
  for (int i = 0; i < options.threads; ++i) {
    threads.emplace_back([&, i] { Work(options, i == 0, barrier, lock, all); });
  }
  for (std::thread& thread : threads) thread.join();
  printf("{");
  Print("kernels", all.kernels);
  printf(", ");
  Print("copies", all.copies);
  printf(", \"fills\": %ld, ", all.fills);
  Print("ranges", all.ranges);
  printf(", ");
  Print("runtime_calls", all.runtime_calls);
  printf(", ");
  Print("work_in", all.work_in);
  printf("}\n");
  return options.exit_status;
}
