// A CUDA program that counts what happens on its thread beside its own work, in the steady state of
// its ranges and launches: memory allocated, locks, system calls; those that are made from within
// the collector's library apart (see counted_calls.h).
//
//   steady_state      prints one JSON object: "first", of the first step, and "steady", of
//   thousands
//                     over 2.5 s after 1.5 s of the same
//
// A step has a push/pop range around a kernel, one in a domain of its own with a registered name
// around a fill, a start/end range, a range with category and payload, and what
// collector/tpcollect.h has: an operation with inputs, a span and a counter.

#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "collector/tpcollect.h"
#include "tests/programs/counted_calls.h"

__global__ void step(int* data) { data[threadIdx.x] += 1; }

namespace {

constexpr int kStepsPerBurst = 20;

double Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

class Program {
 public:
  Program() {
    cudaMalloc(&data_, 4096);
    domain_ = nvtxDomainCreateA("steady");
    name_.version = NVTX_VERSION;
    name_.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    name_.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    name_.message.registered = nvtxDomainRegisterStringA(domain_, "registered");
    with_payload_ = name_;
    with_payload_.category = 3;
    with_payload_.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    with_payload_.payload.dValue = 0.5;
    operation_.inputs = &input_;
    operation_.input_count = 1;
    operation_.flops = 1000;
  }
  void Step() {
    nvtxRangePushA("aten::addmm, seq = 1234, op_id = 5678");
    step<<<1, 32>>>(data_);
    nvtxRangePop();
    nvtxDomainRangePushEx(domain_, &name_);
    cudaMemsetAsync(data_, 0, 128);
    nvtxDomainRangePop(domain_);
    nvtxRangeEnd(nvtxRangeStartA("asynchronous"));
    nvtxDomainRangePushEx(domain_, &with_payload_);
    nvtxDomainRangePop(domain_);
    tpcollect_begin_operation(&operation_);
    tpcollect_counter("step", static_cast<double>(steps_));
    tpcollect_end();
    tpcollect_stop(tpcollect_start(&operation_));
    ++steps_;
  }
  // With pauses, in which the collector's thread reads, as a program has that does work.
  void StepFor(double seconds, tp::test::CallCounter* counter) {
    for (const double until = Now() + seconds; Now() < until; usleep(5000)) {
      counter->Continue();
      for (int i = 0; i < kStepsPerBurst; ++i) Step();
      counter->Pause();
    }
  }
  long TakeSteps() {
    const long steps = steps_;
    steps_ = 0;
    return steps;
  }

 private:
  int* data_ = nullptr;
  nvtxDomainHandle_t domain_;
  nvtxEventAttributes_t with_payload_ = {};
  const int64_t sizes_[2] = {128, 64};
  const tpcollect_tensor input_ = {sizes_, "float", 2, 0};
  tpcollect_operation operation_ = TPCOLLECT_OPERATION_INIT("operation");
  nvtxEventAttributes_t name_ = {};
  long steps_ = 0;
};

void Print(const char* title, long steps, const tp::test::CallCounter& counter) {
  const tp::test::CallCounts all = counter.all(), ours = counter.within_library();
  printf(
      "\"%s\": {\"steps\": %ld, \"allocations\": %ld, \"locks\": %ld, \"system_calls\": %ld, "
      "\"all_allocations\": %ld, \"all_locks\": %ld, \"all_system_calls\": %ld}",
      title, steps, ours.allocations, ours.locks, ours.system_calls, all.allocations, all.locks,
      all.system_calls);
}

}  // namespace

int main() {
  Program program;
  tp::test::CallCounter counter("libtpcollect.so");
  counter.Continue();
  program.Step();
  counter.Pause();
  printf("{");
  Print("first", program.TakeSteps(), counter);
  program.StepFor(1.5, &counter);
  program.TakeSteps();
  counter.Reset();
  program.StepFor(2.5, &counter);
  printf(", ");
  Print("steady", program.TakeSteps(), counter);
  printf("}\n");
  return 0;
}
