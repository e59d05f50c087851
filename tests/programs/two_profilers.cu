// A CUDA program with a profiler of its own in it, another client of CUPTI than ours. Does what its
// arguments say, one after the other, and prints what became of it as one JSON object:
//
//   work N       N times a range "step" with a kernel in it
//   hold FILE    says "holding FILE" on stdout, and goes on working until FILE exists
//   idle FILE    says "idle" on stdout, and does nothing until FILE exists
//   load FILE    opens a library
//   subscribe    cuptiSubscribe_v2, as "the other one"
//   unsubscribe
//   share        subscribes by the functions for several subscribers, and switches kernels on
//   part         has CUPTI hand over what it holds, and ends that subscription
//   take         puts its buffer callbacks in place, and switches kernels and runtime calls on
//   leave        switches them off, and has CUPTI hand over what it holds
//   attribute    sets CUPTI's attribute of buffers per thread to 0, as PyTorch's profiler does when
//                it is done
//
// Buffers that it is handed and has not lent are freed, as NVIDIA's samples do.

#include <cuda_runtime.h>
#include <cupti.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <set>

#include "collector/cupti/per_subscriber_api.h"

__global__ void step(int* data) { data[threadIdx.x] += 1; }

namespace {

constexpr size_t kBufferBytes = 64 << 10;

std::mutex lock;
std::set<uint8_t*> lent;
std::atomic<long> kernels_seen{0}, buffers_of_others{0};

void* Cupti(const char* name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  static void* const library = driver == nullptr ? nullptr : dlopen("libcupti.so.13", RTLD_NOW);
  void* function = library == nullptr ? nullptr : dlsym(library, name);
  if (function == nullptr) {
    printf("no %s\n", name);
    exit(70);
  }
  return function;
}
#define CUPTI(name) reinterpret_cast<decltype(&name)>(Cupti(#name))

void CUPTIAPI Ignore(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

void CUPTIAPI Request(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(malloc(kBufferBytes));
  *bytes = kBufferBytes;
  *most_records = 0;
  std::lock_guard<std::mutex> guard(lock);
  lent.insert(*buffer);
}

void CUPTIAPI Complete(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid_bytes) {
  bool ours;
  {
    std::lock_guard<std::mutex> guard(lock);
    ours = lent.erase(buffer) > 0;
  }
  buffers_of_others += !ours;
  CUpti_Activity* record = nullptr;
  while (ours && CUPTI(cuptiActivityGetNextRecord)(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
    kernels_seen += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  }
  free(buffer);
}

using tp::collect::PerSubscriberFunctions;
#define CUPTI_FOR_SUBSCRIBER(name) \
  reinterpret_cast<PerSubscriberFunctions::name*>(Cupti("cupti" #name "_v2"))

CUpti_SubscriberHandle sharing = nullptr;

void CUPTIAPI RequestToShare(uint8_t** buffer, size_t* bytes, size_t* most_records, void*) {
  Request(buffer, bytes, most_records);
}

void CUPTIAPI CompleteShared(uint8_t* buffer, size_t, size_t valid_bytes, void*) {
  CUpti_Activity* record = nullptr;
  while (CUPTI_FOR_SUBSCRIBER(ActivityGetNextRecord)(sharing, buffer, valid_bytes, &record) ==
         CUPTI_SUCCESS) {
    kernels_seen += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  }
  free(buffer);
}

int Share() {
  tp::collect::SubscriberParams params = {};
  params.struct_bytes = sizeof(params);
  params.name = "the other one";
  params.allow_several = 1;
  int subscribed = CUPTI_FOR_SUBSCRIBER(Subscribe)(&sharing, &Ignore, nullptr, &params);
  if (subscribed != CUPTI_SUCCESS) return subscribed;
  CUPTI_FOR_SUBSCRIBER(ActivityRegisterCallbacks)(sharing, &RequestToShare, &CompleteShared);
  CUPTI_FOR_SUBSCRIBER(ActivityEnable)(sharing, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, nullptr);
  return subscribed;
}

int Work(int count, int* data) {
  for (int i = 0; i < count; ++i) {
    nvtxRangePushA("step");
    step<<<1, 32>>>(data);
    nvtxRangePop();
  }
  cudaDeviceSynchronize();
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  int* data = nullptr;
  long kernels = 0, kernels_taken = 0;
  bool taken = false;
  int subscribed = -1;
  CUpti_SubscriberHandle subscriber = nullptr;
  auto work = [&](int count) {
    if (data == nullptr) cudaMalloc(&data, 4096);
    kernels += Work(count, data);
    if (taken) kernels_taken += count;
  };
  for (int i = 1; i < argc; ++i) {
    auto is = [&](const char* word) { return strcmp(argv[i], word) == 0; };
    if (is("work")) {
      work(atoi(argv[++i]));
    } else if (is("hold")) {
      const char* file = argv[++i];
      printf("holding %s\n", file);
      fflush(stdout);
      while (access(file, F_OK) != 0) {
        work(1);
        usleep(2000);
      }
    } else if (is("idle")) {
      printf("idle\n");
      fflush(stdout);
      for (++i; access(argv[i], F_OK) != 0;) usleep(2000);
    } else if (is("load")) {
      if (dlopen(argv[++i], RTLD_NOW) == nullptr) return 71;
    } else if (is("subscribe")) {
      CUpti_SubscriberParams params = {};
      params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
      params.subscriberName = "the other one";
      subscribed = CUPTI(cuptiSubscribe_v2)(&subscriber, &Ignore, nullptr, &params);
    } else if (is("unsubscribe")) {
      CUPTI(cuptiUnsubscribe)(subscriber);
    } else if (is("share")) {
      subscribed = Share();
      taken = subscribed == CUPTI_SUCCESS;
    } else if (is("part")) {
      CUPTI(cuptiActivityFlushAll)(0);
      CUPTI(cuptiUnsubscribe)(sharing);
      taken = false;
    } else if (is("take")) {
      CUPTI(cuptiActivityRegisterCallbacks)(&Request, &Complete);
      CUPTI(cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
      CUPTI(cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_RUNTIME);
      // What was recorded before is not of interest.
      CUPTI(cuptiActivityFlushAll)(0);
      taken = true;
    } else if (is("leave")) {
      CUPTI(cuptiActivityFlushAll)(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
      CUPTI(cuptiActivityDisable)(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
      CUPTI(cuptiActivityDisable)(CUPTI_ACTIVITY_KIND_RUNTIME);
      taken = false;
    } else if (is("attribute")) {
      uint8_t value = 0;
      size_t bytes = sizeof(value);
      CUPTI(cuptiActivitySetAttribute)
      (CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &bytes, &value);
    } else {
      printf("two_profilers: unknown word %s\n", argv[i]);
      return 64;
    }
  }
  printf(
      "{\"kernels\": %ld, \"subscribed\": %d, \"kernels_taken\": %ld, \"kernels_seen\": %ld, "
      "\"buffers_of_others\": %ld}\n",
      kernels, subscribed, kernels_taken, kernels_seen.load(), buffers_of_others.load());
  return 0;
}
