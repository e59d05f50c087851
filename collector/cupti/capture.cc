#include "collector/cupti/capture.h"

#include <cstddef>
#include <iterator>

#include "collector/cupti/activity_reader.h"
#include "collector/cupti/chatty_calls.h"
#include "collector/operation/thread_operations.h"

namespace tp::collect {
namespace {

struct Kind {
  Activity activity;
  CUpti_ActivityKind kind;
};

// CONCURRENT_KERNEL, not KERNEL: that one makes kernels run one after the other.
constexpr Kind kKinds[] = {
    {Activity::kKernels, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL},
    {Activity::kCopies, CUPTI_ACTIVITY_KIND_MEMCPY},
    {Activity::kCopies, CUPTI_ACTIVITY_KIND_MEMCPY2},
    {Activity::kFills, CUPTI_ACTIVITY_KIND_MEMSET},
    {Activity::kRuntime, CUPTI_ACTIVITY_KIND_RUNTIME},
    {Activity::kDriver, CUPTI_ACTIVITY_KIND_DRIVER},
    {Activity::kSynchronization, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION},
    {Activity::kMemory, CUPTI_ACTIVITY_KIND_MEMORY2},
    {Activity::kMemory, CUPTI_ACTIVITY_KIND_MEMORY_POOL},
    {Activity::kGraphs, CUPTI_ACTIVITY_KIND_GRAPH_TRACE},
    {Activity::kCompilations, CUPTI_ACTIVITY_KIND_JIT},
    {Activity::kOverhead, CUPTI_ACTIVITY_KIND_OVERHEAD},
};
static_assert(std::size(kKinds) <= 32, "kinds are bits of one word");

// Without these there is no capture; others can be refused.
constexpr ActivitySet kEssential = {Activity::kKernels, Activity::kCopies, Activity::kFills,
                                    Activity::kRuntime, Activity::kDriver};

// Of graphs' nodes that the collector thread has not read yet.
constexpr size_t kMostGraphNodes = 1 << 16;

constexpr CUpti_CallbackId kGraphNodeCallbacks[] = {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
                                                    CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED};

// The process's capture: where CUPTI's callbacks and the application's threads find it.
std::atomic<Capture*> g_capture{nullptr};

}  // namespace

Capture::Capture(const CuptiApi* api, ActivityBuffers* buffers, ActivitySet activities)
    : api_(api), buffers_(buffers), activities_(activities), graph_nodes_(kMostGraphNodes) {
  g_capture.store(this, std::memory_order_release);
}

Capture::~Capture() {
  Undo();
  g_capture.store(nullptr, std::memory_order_release);
}

bool Capture::Begin(std::string* reason) {
  // Before any other call, so that another tool shows. Of callbacks only those for graphs' nodes
  // are switched on: others cost on every launch.
  CUptiResult subscribed = api_->Subscribe(&subscriber_, &Called, nullptr);
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
  ok = ok && Check(api_->ActivityEnable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION),
                   "cuptiActivityEnable", reason);
  if (!ok || !Apply(reason)) {
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

bool Capture::SetActivities(ActivitySet activities, std::string* reason) {
  activities_ = activities;
  if (!active()) return true;
  if (Apply(reason)) return true;
  Undo();
  return false;
}

ActivitySet Capture::collected() const {
  ActivitySet collected = activities_;
  for (size_t i = 0; i < kActivities; ++i) {
    if (refused_.Has(static_cast<Activity>(i))) collected.Remove(static_cast<Activity>(i));
  }
  return collected;
}

std::vector<std::string> Capture::Refusals() const { return refusals_; }

bool Capture::Apply(std::string* reason) {
  refused_ = {};
  refusals_.clear();
  if (!ApplyKinds(reason)) return false;
  ApplyChatty();
  ApplyLatency();
  ApplyCaptures();
  return true;
}

bool Capture::ApplyKinds(std::string* reason) {
  for (uint32_t i = 0; i < std::size(kKinds); ++i) {
    const Kind& kind = kKinds[i];
    const uint32_t bit = uint32_t{1} << i;
    const bool wanted = activities_.Has(kind.activity);
    if (wanted == ((enabled_ & bit) != 0)) continue;
    const CUptiResult result =
        wanted ? api_->ActivityEnable(kind.kind) : api_->ActivityDisable(kind.kind);
    if (result == CUPTI_SUCCESS) {
      enabled_ ^= bit;
    } else if (kEssential.Has(kind.activity)) {
      return Check(result, wanted ? "cuptiActivityEnable" : "cuptiActivityDisable", reason);
    } else if (wanted) {
      Refuse(kind.activity, result);
    }
  }
  return true;
}

// Comes after the kinds: those set all their functions.
void Capture::ApplyChatty() {
  const uint8_t on = activities_.Has(Activity::kChatty);
  chatty_calls_come_ = false;
  const auto apply = [&](Activity activity, auto enable, const auto& callback_ids) {
    if (!activities_.Has(activity)) return;
    for (CUpti_CallbackId id : callback_ids) {
      const bool done = enable != nullptr && enable(id, on) == CUPTI_SUCCESS;
      chatty_calls_come_ |= !done;
    }
  };
  apply(Activity::kRuntime, api_->ActivityEnableRuntimeApi, kChattyRuntimeCalls);
  apply(Activity::kDriver, api_->ActivityEnableDriverApi, kChattyDriverCalls);
}

void Capture::ApplyLatency() {
  const bool wanted = activities_.Has(Activity::kLatency);
  if (wanted == latency_enabled_) return;
  const CUptiResult result = api_->ActivityEnableLatencyTimestamps == nullptr
                                 ? CUPTI_ERROR_NOT_SUPPORTED
                                 : api_->ActivityEnableLatencyTimestamps(wanted);
  if (result == CUPTI_SUCCESS) {
    latency_enabled_ = wanted;
  } else if (wanted) {
    Refuse(Activity::kLatency, result);
  }
}

void Capture::ApplyCaptures() {
  const bool wanted = activities_.Has(Activity::kCaptures);
  if (wanted == captures_enabled_) return;
  CUptiResult result = CUPTI_SUCCESS;
  if (api_->EnableCallback == nullptr || api_->GetGraphNodeId == nullptr) {
    result = CUPTI_ERROR_NOT_SUPPORTED;
  } else {
    for (CUpti_CallbackId id : kGraphNodeCallbacks) {
      const CUptiResult one =
          api_->EnableCallback(wanted, subscriber_, CUPTI_CB_DOMAIN_RESOURCE, id);
      if (one != CUPTI_SUCCESS) result = one;
    }
  }
  if (result == CUPTI_SUCCESS) {
    captures_enabled_ = wanted;
  } else if (wanted) {
    Refuse(Activity::kCaptures, result);
  }
}

void Capture::Refuse(Activity activity, CUptiResult why) {
  if (refused_.Has(activity)) return;
  refused_.Add(activity);
  const char* name = nullptr;
  api_->GetResultString(why, &name);
  refusals_.push_back("CUPTI refuses to collect " + std::string(ActivityWord(activity)) +
                      " here (" + (name != nullptr ? name : "unknown error") + ")");
}

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
  if (latency_enabled_) api_->ActivityEnableLatencyTimestamps(0);
  latency_enabled_ = false;
  for (uint32_t i = 0; i < std::size(kKinds); ++i) {
    if ((enabled_ & (uint32_t{1} << i)) != 0) api_->ActivityDisable(kKinds[i].kind);
  }
  enabled_ = 0;
  captures_enabled_ = false;  // Ends with the subscription.
  if (subscriber_ != nullptr) api_->ActivityDisable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
  if (subscriber_ != nullptr) api_->Unsubscribe(subscriber_);
  subscriber_ = nullptr;
}

void CUPTIAPI Capture::Called(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                              const void* data) {
  Capture* capture = g_capture.load(std::memory_order_acquire);
  if (capture == nullptr || domain != CUPTI_CB_DOMAIN_RESOURCE || data == nullptr) return;
  if (id != CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED && id != CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) {
    return;
  }
  const auto* resource = static_cast<const CUpti_ResourceData*>(data);
  if (resource->resourceDescriptor == nullptr) return;
  capture->GraphNodeMade(id, *static_cast<const CUpti_GraphData*>(resource->resourceDescriptor));
}

// On the thread that makes the node, within its call.
void Capture::GraphNodeMade(CUpti_CallbackId id, const CUpti_GraphData& graph) {
  GraphNode node = {};
  if (api_->GetGraphNodeId(graph.node, &node.id) != CUPTI_SUCCESS || node.id == 0) return;
  if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) {
    if (api_->GetGraphNodeId(graph.originalNode, &node.original_id) != CUPTI_SUCCESS) return;
  } else {
    node.operation_id = ThreadOperations::InnermostOfThisThread();
    if (node.operation_id == 0) return;
  }
  graph_nodes_.Add(node);
}

void CUPTIAPI Capture::RequestBuffer(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  Capture* capture = g_capture.load(std::memory_order_acquire);
  *buffer = capture != nullptr ? capture->buffers_->Take(bytes) : nullptr;
  if (*buffer == nullptr) *bytes = 0;
  *most_records = 0;  // As many as fit.
}

void CUPTIAPI Capture::CompleteBuffer(CUcontext context, uint32_t stream, uint8_t* buffer, size_t,
                                      size_t valid_bytes) {
  Capture* capture = g_capture.load(std::memory_order_acquire);
  if (capture == nullptr) return;
  size_t dropped = 0;
  if (capture->api_->ActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS) {
    capture->dropped_.fetch_add(dropped, std::memory_order_relaxed);
  }
  capture->buffers_->Fill(buffer, valid_bytes);
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
