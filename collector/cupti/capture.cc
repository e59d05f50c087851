#include "collector/cupti/capture.h"

#include <cstddef>
#include <iterator>

#include "collector/cupti/activity_reader.h"
#include "collector/operation/thread_operations.h"

namespace tp::collect {
namespace {

// CONCURRENT_KERNEL, not KERNEL: that one makes kernels run one after the other.
constexpr CUpti_ActivityKind kActivities[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMCPY2,
    CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
    CUPTI_ACTIVITY_KIND_RUNTIME,
    CUPTI_ACTIVITY_KIND_DRIVER,
};

// The process's capture: where CUPTI's callbacks and the application's threads find it.
std::atomic<Capture*> g_capture{nullptr};

void CUPTIAPI IgnoreCallback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

}  // namespace

Capture::Capture(const CuptiApi* api, ActivityBuffers* buffers) : api_(api), buffers_(buffers) {
  g_capture.store(this, std::memory_order_release);
}

Capture::~Capture() {
  Undo();
  g_capture.store(nullptr, std::memory_order_release);
}

bool Capture::Begin(std::string* reason) {
  // Before any other call, so that another tool shows. No callback is switched on: they cost on
  // every launch.
  CUptiResult subscribed = api_->Subscribe(&subscriber_, &IgnoreCallback, nullptr);
  if (subscribed == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    *reason = "another profiler holds CUPTI in this process";
    return false;
  }
  if (subscribed == CUPTI_ERROR_UNKNOWN) {
    *reason = "CUPTI found no CUDA driver in this process (cuptiSubscribe)";
    return false;
  }
  bool ok = Check(subscribed, "cuptiSubscribe", reason);
  if (ok && api_->SetThreadIdType != nullptr) {
    // The default, pthread_self cut to 32 bits, can be the same for two threads.
    ok = Check(api_->SetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM), "cuptiSetThreadIdType",
               reason);
  }
  ok = ok && Check(api_->ActivityRegisterCallbacks(&RequestBuffer, &CompleteBuffer),
                   "cuptiActivityRegisterCallbacks", reason);
  for (; ok && enabled_ < std::size(kActivities); ++enabled_) {
    ok = Check(api_->ActivityEnable(kActivities[enabled_]), "cuptiActivityEnable", reason);
    if (!ok) break;
  }
  if (!ok) {
    Undo();
    return false;
  }
  active_.store(true, std::memory_order_release);
  static constexpr LaunchCorrelation kCorrelation = {&PushCorrelation, &PopCorrelation,
                                                     &CuptiTimeNs};
  ThreadOperationsList::SetLaunchCorrelation(&kCorrelation);
  return true;
}

void Capture::End() { Undo(); }

bool Capture::Flush(bool forced, std::string* reason) {
  if (!active()) return true;
  return Check(api_->ActivityFlushAll(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0),
               "cuptiActivityFlushAll", reason);
}

ClockReading Capture::ReadClock(int tries) const {
  return CompareClocks(
      [](uint64_t* ns) {
        Capture* capture = g_capture.load(std::memory_order_acquire);
        return capture != nullptr && capture->api_->GetTimestamp(ns) == CUPTI_SUCCESS;
      },
      tries);
}

bool Capture::Check(CUptiResult result, const char* function, std::string* reason) const {
  if (result == CUPTI_SUCCESS) return true;
  const char* name = nullptr;
  api_->GetResultString(result, &name);
  *reason = std::string(function) + " failed: " + (name != nullptr ? name : "unknown error") +
            " (" + std::to_string(static_cast<int>(result)) + ")";
  return false;
}

// Errors are no matter here: each step is tried whatever became of the one before.
void Capture::Undo() {
  if (active_.exchange(false)) ThreadOperationsList::SetLaunchCorrelation(nullptr);
  while (enabled_ > 0) api_->ActivityDisable(kActivities[--enabled_]);
  if (subscriber_ != nullptr) api_->Unsubscribe(subscriber_);
  subscriber_ = nullptr;
}

void CUPTIAPI Capture::RequestBuffer(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  Capture* capture = g_capture.load(std::memory_order_acquire);
  LentBuffer lent = capture != nullptr ? capture->buffers_->Lend() : LentBuffer{};
  *buffer = lent.memory;
  *bytes = lent.bytes;
  *most_records = lent.most_records;
}

void CUPTIAPI Capture::CompleteBuffer(CUcontext context, uint32_t stream, uint8_t* buffer, size_t,
                                      size_t valid_bytes) {
  Capture* capture = g_capture.load(std::memory_order_acquire);
  if (capture == nullptr) return;
  size_t dropped = 0;
  if (capture->api_->ActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS) {
    capture->dropped_.fetch_add(dropped, std::memory_order_relaxed);
  }
  capture->buffers_->TakeBack(buffer, valid_bytes);
}

int64_t Capture::CuptiTimeNs() {
  uint64_t ns = 0;
  Capture* capture = g_capture.load(std::memory_order_acquire);
  if (capture != nullptr) capture->api_->GetTimestamp(&ns);
  return static_cast<int64_t>(ns);
}

void Capture::PushCorrelation(uint64_t id) {
  Capture* capture = g_capture.load(std::memory_order_acquire);
  if (capture == nullptr) return;
  CUptiResult result = capture->api_->ActivityPushExternalCorrelationId(kOperationCorrelation, id);
  if (__builtin_expect(result != CUPTI_SUCCESS, 0)) capture->application_error_ = result;
}

void Capture::PopCorrelation() {
  Capture* capture = g_capture.load(std::memory_order_acquire);
  if (capture == nullptr) return;
  uint64_t id;
  CUptiResult result = capture->api_->ActivityPopExternalCorrelationId(kOperationCorrelation, &id);
  // Empty: CUPTI was finalized in between, by whomever.
  if (__builtin_expect(result != CUPTI_SUCCESS && result != CUPTI_ERROR_QUEUE_EMPTY, 0)) {
    capture->application_error_ = result;
  }
}

}  // namespace tp::collect
