#include "collector/cupti/capture.h"

#include <dlfcn.h>

#include <cstddef>
#include <iterator>

#include "collector/cupti/activity_reader.h"
#include "collector/cupti/other_profilers.h"
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

Capture::Capture(const CuptiApi* api, ActivityBuffers* buffers, Priority priority)
    : api_(api), buffers_(buffers), priority_(priority) {
  g_capture.store(this, std::memory_order_release);
}

Capture::~Capture() {
  Undo();
  g_capture.store(nullptr, std::memory_order_release);
}

Capture::Begun Capture::Begin(bool anyway, std::string* reason) {
  if (gave_way_ && !anyway && !OtherIsDone()) return Begun::kLater;
  // Before any other call, so that another tool shows.
  Begun subscribed = Subscribe(reason);
  if (subscribed != Begun::kYes) return subscribed;
  // Buffers of the other that CUPTI still has would swallow records of ours.
  if (gave_way_) api_->ActivityFlushAll(0);
  gave_way_ = false;
  if (!SwitchOn(reason)) {
    Undo();
    return Begun::kNo;
  }
  calls_seen_ = calls_;
  silent_ = 0;
  active_.store(true, std::memory_order_release);
  static constexpr LaunchCorrelation kCorrelation = {&PushCorrelation, &PopCorrelation,
                                                     &CuptiTimeNs};
  ThreadOperationsList::SetLaunchCorrelation(&kCorrelation);
  return Begun::kYes;
}

// No callback is switched on: they cost on every launch.
Capture::Begun Capture::Subscribe(std::string* reason) {
  CUptiResult subscribed = api_->Subscribe(&subscriber_, &IgnoreCallback, nullptr);
  if (subscribed == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    *reason = "another profiler holds CUPTI in this process" + Holder() +
              ": capturing begins when it lets go";
    return Begun::kLater;
  }
  if (subscribed == CUPTI_ERROR_UNKNOWN) {
    *reason = "CUPTI found no CUDA driver in this process (cuptiSubscribe)";
    return Begun::kLater;
  }
  if (!Check(subscribed, "cuptiSubscribe", reason)) return Begun::kNo;
  if (priority_ == Priority::kOthers) {
    api_->Unsubscribe(subscriber_);
    subscriber_ = nullptr;
  }
  return Begun::kYes;
}

// " (CUPTI for Tool)", or whose libraries are loaded.
std::string Capture::Holder() {
#ifdef CUpti_SubscriberParams_STRUCT_SIZE
  if (api_->Subscribe_v2 != nullptr) {
    char name[2 * CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN] = "";
    CUpti_SubscriberParams params = {};
    params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    params.oldSubscriberName = name;
    params.oldSubscriberSize = sizeof(name);
    CUpti_SubscriberHandle subscriber = nullptr;
    if (api_->Subscribe_v2(&subscriber, &IgnoreCallback, nullptr, &params) == CUPTI_SUCCESS) {
      api_->Unsubscribe(subscriber);  // It has just let go; the next try will see.
    } else if (name[0] != '\0') {
      return std::string(" (") + name + ")";
    }
  }
#endif
  std::string loaded = LoadedProfilers();
  return loaded.empty() ? loaded : ", perhaps " + loaded;
}

bool Capture::SwitchOn(std::string* reason) {
  // PyTorch's profiler leaves this at 0 when it is done.
  uint8_t per_thread = 0;
  size_t bytes = sizeof(per_thread);
  if (api_->ActivityGetAttribute != nullptr && api_->ActivitySetAttribute != nullptr &&
      api_->ActivityGetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &bytes,
                                 &per_thread) == CUPTI_SUCCESS) {
    if (per_thread_buffers_ < 0) per_thread_buffers_ = per_thread;
    if (per_thread != per_thread_buffers_) {
      per_thread = static_cast<uint8_t>(per_thread_buffers_);
      api_->ActivitySetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &bytes,
                                 &per_thread);
    }
  }
  // The default for threads' ids, pthread_self cut to 32 bits, can be the same for two threads.
  if (api_->SetThreadIdType != nullptr &&
      !Check(api_->SetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM), "cuptiSetThreadIdType",
             reason)) {
    return false;
  }
  if (!Check(api_->ActivityRegisterCallbacks(&RequestBuffer, &CompleteBuffer),
             "cuptiActivityRegisterCallbacks", reason)) {
    return false;
  }
  for (enabled_ = 0; enabled_ < std::size(kActivities); ++enabled_) {
    if (!Check(api_->ActivityEnable(kActivities[enabled_]), "cuptiActivityEnable", reason)) {
      return false;
    }
  }
  return true;
}

void Capture::End() { Undo(); }

bool Capture::Flush(bool forced, std::string* reason) {
  if (!active()) return true;
  return Check(api_->ActivityFlushAll(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0),
               "cuptiActivityFlushAll", reason);
}

bool Capture::AnotherTookOver() {
  bool reached = calls_ != calls_seen_;
  if (!probe_works_) {
    probe_works_ = ProbeReachesUs();
  } else if (!reached) {
    reached = ProbeReachesUs();
  }
  calls_seen_ = calls_;
  silent_ = reached || !probe_works_ ? 0 : silent_ + 1;
  return silent_ >= 2;
}

// Makes a call that CUPTI records: right after a flush, it must ask for a buffer to put the record
// in. (The reader leaves the collector thread's own calls out.)
bool Capture::ProbeReachesUs() {
  static const auto version = [] {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    return driver == nullptr
               ? nullptr
               : reinterpret_cast<CUresult (*)(int*)>(dlsym(driver, "cuDriverGetVersion"));
  }();
  if (version == nullptr) return false;
  probed_ = false;
  probing_ = pthread_self();
  int ignored = 0;
  version(&ignored);
  probing_ = pthread_t{};
  return probed_;
}

void Capture::GiveWay(std::string* reason) {
  // Ids that threads have pushed would be tied to the other's records as well.
  static constexpr LaunchCorrelation kNoMore = {nullptr, &PopCorrelation, &CuptiTimeNs};
  active_.store(false, std::memory_order_release);
  ThreadOperationsList::SetLaunchCorrelation(&kNoMore);
  buffers_->GiveUpLent();
  enabled_ = 0;
  gave_way_ = true;
  other_subscribed_ = false;
  OtherIsDone();  // Notes whether it has subscribed.
  std::string loaded = LoadedProfilers();
  *reason = "another profiler" + (loaded.empty() ? loaded : ", perhaps " + loaded + ",") +
            " has taken CUPTI's buffers over; `tpctl start` takes them back";
}

bool Capture::TakeBack(std::string* reason) {
  buffers_->GiveUpLent();
  silent_ = 0;
  if (SwitchOn(reason)) return true;
  Undo();
  return false;
}

// While it has subscribed, it is not. When it has not, it may have let go, or be one that never
// subscribes: PyTorch's, of which a sign says that it is done.
bool Capture::OtherIsDone() {
  CUpti_SubscriberHandle subscriber = nullptr;
  if (api_->Subscribe(&subscriber, &IgnoreCallback, nullptr) != CUPTI_SUCCESS) {
    other_subscribed_ = true;
    return false;
  }
  api_->Unsubscribe(subscriber);
  if (other_subscribed_ || LoadedProfilersSubscribe()) return true;
  uint8_t per_thread = 0;
  size_t bytes = sizeof(per_thread);
  return per_thread_buffers_ > 0 &&
         api_->ActivityGetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &bytes,
                                    &per_thread) == CUPTI_SUCCESS &&
         per_thread == 0;
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
  if (capture != nullptr) {
    capture->calls_.fetch_add(1, std::memory_order_relaxed);
    if (capture->probing_.load(std::memory_order_relaxed) == pthread_self()) {
      capture->probed_ = true;
    }
  }
  LentBuffer lent = capture != nullptr ? capture->buffers_->Lend() : LentBuffer{};
  *buffer = lent.memory;
  *bytes = lent.bytes;
  *most_records = lent.most_records;
}

void CUPTIAPI Capture::CompleteBuffer(CUcontext context, uint32_t stream, uint8_t* buffer, size_t,
                                      size_t valid_bytes) {
  Capture* capture = g_capture.load(std::memory_order_acquire);
  if (capture == nullptr) return;
  capture->calls_.fetch_add(1, std::memory_order_relaxed);
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
