#include "collector/cupti/capture.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include <cstddef>
#include <cstring>
#include <iterator>
#include <utility>

#include "collector/cupti/chatty_calls.h"
#include "collector/cupti/other_profilers.h"
#include "collector/operation/nvtx_names.h"
#include "collector/operation/thread_operations.h"

namespace tp::collect {
namespace {

struct Kind {
  Activity activity;
  CUpti_ActivityKind kind;
  bool is_always_on = false;
};

// CONCURRENT_KERNEL, not KERNEL: that one makes kernels run one after the other.
constexpr Kind kKinds[] = {
    {Activity::kRuntime, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, /*is_always_on=*/true},
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

// What tells of the things that other records name by number. Few, and no capture stands or falls
// with them.
constexpr CUpti_ActivityKind kDescribing[] = {CUPTI_ACTIVITY_KIND_DEVICE,
                                              CUPTI_ACTIVITY_KIND_CONTEXT,
                                              CUPTI_ACTIVITY_KIND_STREAM, CUPTI_ACTIVITY_KIND_NAME};

// Without these there is no capture; others can be refused.
constexpr ActivitySet kEssential = {Activity::kKernels, Activity::kCopies, Activity::kFills,
                                    Activity::kRuntime, Activity::kDriver};

// Of graphs' nodes that the collector thread has not read yet.
constexpr size_t kMostGraphNodes = 1 << 16;

constexpr CUpti_CallbackId kGraphNodeCallbacks[] = {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
                                                    CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED};

// The process's capture: where CUPTI's callbacks and the application's threads find it.
std::atomic<Capture*> g_capture{nullptr};

// How often LetGo is called before it does: threads may still be on their way into a call with our
// subscription, and buffers that have come back are read with it.
constexpr int kLetGoCalls = 4;

CuptiClient::Family PreferredFamily() {
  const char* said = getenv("TP_CUPTI_API");
  if (said != nullptr && strcmp(said, "v1") == 0) return CuptiClient::Family::kProcessWide;
  if (said != nullptr && strcmp(said, "v2") == 0) return CuptiClient::Family::kPerSubscriber;
  return LoadedProfilersShare() ? CuptiClient::Family::kPerSubscriber
                                : CuptiClient::Family::kProcessWide;
}

}  // namespace

Capture::Capture(CuptiClient* cupti, ActivityBuffers* buffers, Priority priority,
                 ActivitySet activities)
    : cupti_(cupti),
      buffers_(buffers),
      priority_(priority),
      activities_(activities),
      graph_nodes_(kMostGraphNodes) {
  g_capture.store(this, std::memory_order_release);
}

Capture::~Capture() {
  Undo();
  g_capture.store(nullptr, std::memory_order_release);
}

Capture::Begun Capture::Begin(bool anyway, std::string* reason) {
  if (gave_way_ && !anyway && !OtherIsDone()) return Begun::kLater;
  is_finalized_ = false;
  // Before any other call, so that another tool shows.
  Begun subscribed = Subscribe(reason);
  if (subscribed != Begun::kYes) return subscribed;
  // Buffers of the other that CUPTI still has would swallow records of ours.
  if (gave_way_) cupti_->FlushAll(0);
  gave_way_ = false;
  if (!SwitchOn(reason)) {
    Undo();
    return Begun::kNo;
  }
  calls_seen_ = calls_;
  silent_ = 0;
  may_flush_ = true;
  active_.store(true, std::memory_order_release);
  static constexpr LaunchCorrelation kCorrelation = {&PushCorrelation, &PopCorrelation,
                                                     &CuptiTimeNs};
  ThreadOperationsList::SetLaunchCorrelation(&kCorrelation);
  return Begun::kYes;
}

// Of callbacks only those for graphs' nodes are ever switched on: others cost on every launch.
Capture::Begun Capture::Subscribe(std::string* reason) {
  if (std::exchange(letting_go_, 0) > 0) return Begun::kYes;  // We still are.
  CUptiResult subscribed = cupti_->Subscribe(PreferredFamily(), &Called);
  if (subscribed == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    *reason = "another profiler holds CUPTI in this process" + Holder() +
              ": capturing begins when it lets go";
    return Begun::kLater;
  }
  if (subscribed == CUPTI_ERROR_UNKNOWN) {
    *reason = "CUPTI found no CUDA driver in this process (cuptiSubscribe)";
    return Begun::kLater;
  }
  if (subscribed == CUPTI_ERROR_NOT_INITIALIZED) {
    *reason =
        "CUPTI does not work with this CUDA driver (cuptiSubscribe): name one that does in "
        "TP_CUPTI, not " +
        cupti_->api().path;
    return Begun::kNo;
  }
  if (!Check(subscribed, "cuptiSubscribe", reason)) return Begun::kNo;
  if (!shares_cupti() && priority_ == Priority::kOthers) cupti_->Unsubscribe();
  return Begun::kYes;
}

// " (CUPTI for Tool)", or whose libraries are loaded.
std::string Capture::Holder() const {
  if (std::string name = cupti_->Holder(); !name.empty()) return " (" + name + ")";
  std::string loaded = LoadedProfilers();
  return loaded.empty() ? loaded : ", perhaps " + loaded;
}

bool Capture::SwitchOn(std::string* reason) {
  // PyTorch's profiler leaves this at 0 when it is done.
  uint8_t per_thread = 0;
  if (cupti_->GetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &per_thread) ==
      CUPTI_SUCCESS) {
    if (per_thread_buffers_ < 0) per_thread_buffers_ = per_thread;
    if (per_thread != per_thread_buffers_) {
      cupti_->SetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER,
                           static_cast<uint8_t>(per_thread_buffers_));
    }
  }
  if (!Check(cupti_->UseSystemThreadIds(), "setting the type of thread ids", reason)) return false;
  if (!Check(cupti_->RegisterCallbacks(
                 {&RequestBuffer, &CompleteBuffer, &RequestBufferForUs, &CompleteBufferForUs}),
             "cuptiActivityRegisterCallbacks", reason)) {
    return false;
  }
  enabled_ = 0;
  latency_enabled_ = captures_enabled_ = false;
  // Before the others: what is launched between those and the first correlation belongs to nobody.
  for (CUpti_ActivityKind kind : kDescribing) cupti_->Enable(kind);
  TellCuptiNames(cupti_->api().InitializeNvtx);
  is_describing_ = true;
  return Apply(reason);
}

void Capture::DescribeExisting() {
  if (!is_describing_) return;
  for (CUpti_ActivityKind kind : kDescribing) cupti_->EnableWithExisting(kind);
}

void Capture::StopDescribing(bool disable) {
  if (!std::exchange(is_describing_, false)) return;
  TellCuptiNames(nullptr);
  if (!disable) return;
  for (CUpti_ActivityKind kind : kDescribing) cupti_->Disable(kind);
}

void Capture::End() { Undo(); }

bool Capture::SetActivities(ActivitySet activities, std::string* reason) {
  activities_ = activities;
  if (!active()) return true;
  // What CUPTI records of the probe's call may have changed.
  probe_works_ = false;
  silent_ = 0;
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
    const bool wanted = kind.is_always_on || activities_.Has(kind.activity);
    if (wanted == ((enabled_ & bit) != 0)) continue;
    const CUptiResult result = wanted ? cupti_->Enable(kind.kind) : cupti_->Disable(kind.kind);
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
  const bool on = activities_.Has(Activity::kChatty);
  chatty_calls_come_ = false;
  const auto apply = [&](Activity activity, CUpti_CallbackDomain domain, const auto& ids) {
    if (!activities_.Has(activity)) return;
    for (CUpti_CallbackId id : ids) {
      chatty_calls_come_ |= cupti_->EnableCall(domain, id, on) != CUPTI_SUCCESS;
    }
  };
  apply(Activity::kRuntime, CUPTI_CB_DOMAIN_RUNTIME_API, kChattyRuntimeCalls);
  apply(Activity::kDriver, CUPTI_CB_DOMAIN_DRIVER_API, kChattyDriverCalls);
}

void Capture::ApplyLatency() {
  const bool wanted = activities_.Has(Activity::kLatency);
  if (wanted == latency_enabled_) return;
  const CUptiResult result = cupti_->EnableLatencyTimestamps(wanted);
  if (result == CUPTI_SUCCESS) {
    latency_enabled_ = wanted;
  } else if (wanted) {
    Refuse(Activity::kLatency, result);
  }
}

void Capture::ApplyCaptures() {
  const bool wanted = activities_.Has(Activity::kCaptures);
  if (wanted == captures_enabled_) return;
  if (wanted && !cupti_->subscribed()) {
    refused_.Add(Activity::kCaptures);
    refusals_.push_back(
        "captures are not collected: they take CUPTI's one subscriber (TP_PRIORITY=us)");
    return;
  }
  const CUptiResult result = SwitchCaptures(wanted);
  if (result == CUPTI_SUCCESS) {
    captures_enabled_ = wanted;
  } else if (wanted) {
    Refuse(Activity::kCaptures, result);
  }
}

CUptiResult Capture::SwitchCaptures(bool on) {
  if (cupti_->api().GetGraphNodeId == nullptr) return CUPTI_ERROR_NOT_SUPPORTED;
  CUptiResult result = CUPTI_SUCCESS;
  for (CUpti_CallbackId id : kGraphNodeCallbacks) {
    const CUptiResult one = cupti_->EnableCallback(CUPTI_CB_DOMAIN_RESOURCE, id, on);
    if (one != CUPTI_SUCCESS) result = one;
  }
  return result;
}

void Capture::Refuse(Activity activity, CUptiResult why) {
  if (refused_.Has(activity)) return;
  refused_.Add(activity);
  const char* name = nullptr;
  cupti_->api().GetResultString(why, &name);
  refusals_.push_back("CUPTI refuses to collect " + std::string(ActivityWord(activity)) +
                      " here (" + (name != nullptr ? name : "unknown error") + ")");
}

void Capture::LetGo() {
  if (letting_go_ > 0 && --letting_go_ == 0) cupti_->Unsubscribe();
}

void Capture::Abandon() {
  Undo();
  may_flush_ = false;
}

bool Capture::Flush(bool forced, std::string* reason) {
  if (!may_flush_) return true;
  return Check(cupti_->FlushAll(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0),
               "cuptiActivityFlushAll", reason);
}

bool Capture::AnotherTookOver() {
  if (shares_cupti()) return false;  // Our callbacks are ours alone.
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
  probed_ = false;
  probing_ = pthread_self();
  const bool called = MakeCall();
  probing_ = pthread_t{};
  return called && probed_;
}

// A call of the driver that changes nothing. False if there is no driver.
bool Capture::MakeCall() {
  static const auto version = [] {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    return driver == nullptr
               ? nullptr
               : reinterpret_cast<CUresult (*)(int*)>(dlsym(driver, "cuDriverGetVersion"));
  }();
  if (version == nullptr) return false;
  int ignored = 0;
  version(&ignored);
  return true;
}

bool Capture::Finalize(int64_t deadline_ns) {
  if (active() || gave_way_) return false;
  if (std::exchange(letting_go_, 0) == 0 && !cupti_->subscribed()) {
    if (cupti_->Subscribe(PreferredFamily(), &Called) != CUPTI_SUCCESS) return false;
  }
  const auto listen = [this](bool on) {
    const CUptiResult runtime = cupti_->EnableDomain(CUPTI_CB_DOMAIN_RUNTIME_API, on);
    const CUptiResult driver = cupti_->EnableDomain(CUPTI_CB_DOMAIN_DRIVER_API, on);
    return runtime == CUPTI_SUCCESS || driver == CUPTI_SUCCESS;
  };
  // It would end another's profiling as well.
  bool may = LoadedProfilers().empty() && cupti_->api().Finalize != nullptr;
  if (may) {
    finalized_ = false;
    finalize_wanted_ = true;
    may = listen(true);
  }
  // The end of a call of ours will do, if the program makes none.
  while (may && !finalized_ && HostTimeNs() < deadline_ns) {
    if (finalize_wanted_) MakeCall();
    constexpr timespec kMillisecond = {0, 1'000'000};
    if (!finalized_) nanosleep(&kMillisecond, nullptr);
  }
  if (finalize_wanted_.exchange(false)) {
    listen(false);
  } else if (may) {
    // It is under way on a thread of the program. One that hangs there is not to be waited for.
    constexpr int64_t kPatienceNs = 2'000'000'000;
    while (!finalized_ && HostTimeNs() < deadline_ns + kPatienceNs) sched_yield();
    if (!finalized_) return false;
  }
  if (finalized_.exchange(false)) {
    cupti_->ForgetSubscriber();
    may_flush_ = false;
    is_finalized_ = true;
    return true;
  }
  cupti_->Unsubscribe();
  return false;
}

void Capture::BeginAnew() {
  dropped_ = 0;
  application_error_ = 0;
  graph_nodes_.ReadAll([](const GraphNode&) {});
  graph_nodes_.Reset();
  probe_works_ = false;
  silent_ = 0;
}

// At the end of a call, on any thread.
void Capture::CallEnds() {
  if (!finalize_wanted_.exchange(false)) return;
  cupti_->api().Finalize();
  finalized_ = true;
}

void Capture::GiveWay(std::string* reason) {
  // Ids that threads have pushed would be tied to the other's records as well.
  static constexpr LaunchCorrelation kNoMore = {nullptr, &PopCorrelation, &CuptiTimeNs};
  active_.store(false, std::memory_order_release);
  may_flush_ = false;
  ThreadOperationsList::SetLaunchCorrelation(&kNoMore);
  StopDescribing(/*disable=*/false);
  buffers_->GiveUpLent();
  enabled_ = 0;
  latency_enabled_ = captures_enabled_ = false;
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
  if (cupti_->AnotherHasSubscribed()) {
    other_subscribed_ = true;
    return false;
  }
  if (other_subscribed_ || LoadedProfilersSubscribe()) return true;
  uint8_t per_thread = 0;
  return per_thread_buffers_ > 0 &&
         cupti_->GetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &per_thread) ==
             CUPTI_SUCCESS &&
         per_thread == 0;
}

ClockReading Capture::ReadClock(int tries) const {
  return CompareClocks(
      [](uint64_t* ns) {
        Capture* capture = g_capture.load(std::memory_order_acquire);
        return capture != nullptr && capture->cupti_->GetTimestamp(ns) == CUPTI_SUCCESS;
      },
      tries);
}

bool Capture::Check(CUptiResult result, const char* function, std::string* reason) const {
  if (result == CUPTI_SUCCESS) return true;
  const char* name = nullptr;
  cupti_->api().GetResultString(result, &name);
  *reason = std::string(function) + " failed: " + (name != nullptr ? name : "unknown error") +
            " (" + std::to_string(static_cast<int>(result)) + ")";
  return false;
}

// Errors are no matter here: each step is tried whatever became of the one before.
void Capture::Undo() {
  if (active_.exchange(false)) ThreadOperationsList::SetLaunchCorrelation(nullptr);
  if (latency_enabled_) cupti_->EnableLatencyTimestamps(false);
  latency_enabled_ = false;
  for (uint32_t i = 0; i < std::size(kKinds); ++i) {
    if ((enabled_ & (uint32_t{1} << i)) != 0) cupti_->Disable(kKinds[i].kind);
  }
  enabled_ = 0;
  StopDescribing(/*disable=*/true);
  if (captures_enabled_) SwitchCaptures(false);
  captures_enabled_ = false;
  if (!cupti_->subscribed()) return;
  if (!shares_cupti()) {
    cupti_->Unsubscribe();
  } else if (letting_go_ == 0) {
    cupti_->FlushAll(0);
    letting_go_ = kLetGoCalls;
  }
}

void CUPTIAPI Capture::Called(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                              const void* data) {
  Capture* capture = g_capture.load(std::memory_order_acquire);
  if (capture == nullptr || data == nullptr) return;
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API || domain == CUPTI_CB_DOMAIN_DRIVER_API) {
    if (static_cast<const CUpti_CallbackData*>(data)->callbackSite == CUPTI_API_EXIT) {
      capture->CallEnds();
    }
    return;
  }
  if (domain != CUPTI_CB_DOMAIN_RESOURCE) return;
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
  if (cupti_->api().GetGraphNodeId(graph.node, &node.id) != CUPTI_SUCCESS || node.id == 0) return;
  if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) {
    if (cupti_->api().GetGraphNodeId(graph.originalNode, &node.original_id) != CUPTI_SUCCESS)
      return;
  } else {
    node.operation_id = ThreadOperations::InnermostOfThisThread();
    if (node.operation_id == 0) return;
  }
  graph_nodes_.Add(node);
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

void CUPTIAPI Capture::CompleteBuffer(CUcontext, uint32_t, uint8_t* buffer, size_t,
                                      size_t valid_bytes) {
  Capture* capture = g_capture.load(std::memory_order_acquire);
  if (capture == nullptr) return;
  capture->calls_.fetch_add(1, std::memory_order_relaxed);
  size_t dropped = 0;
  if (capture->cupti_->TakeDropped(&dropped) == CUPTI_SUCCESS) {
    capture->dropped_.fetch_add(dropped, std::memory_order_relaxed);
  }
  capture->buffers_->TakeBack(buffer, valid_bytes);
}

void CUPTIAPI Capture::RequestBufferForUs(uint8_t** buffer, size_t* bytes, size_t* most_records,
                                          void*) {
  RequestBuffer(buffer, bytes, most_records);
}

void CUPTIAPI Capture::CompleteBufferForUs(uint8_t* buffer, size_t bytes, size_t valid_bytes,
                                           void*) {
  CompleteBuffer(nullptr, 0, buffer, bytes, valid_bytes);
}

int64_t Capture::CuptiTimeNs() {
  uint64_t ns = 0;
  Capture* capture = g_capture.load(std::memory_order_acquire);
  if (capture != nullptr) capture->cupti_->GetTimestamp(&ns);
  return static_cast<int64_t>(ns);
}

void Capture::PushCorrelation(uint64_t id) {
  Capture* capture = g_capture.load(std::memory_order_acquire);
  if (capture == nullptr) return;
  CUptiResult result = capture->cupti_->PushOperation(id);
  // A thread that comes when we are about to stop is late, no more.
  if (__builtin_expect(result != CUPTI_SUCCESS, 0) && capture->active()) {
    capture->application_error_ = result;
  }
}

void Capture::PopCorrelation() {
  Capture* capture = g_capture.load(std::memory_order_acquire);
  if (capture == nullptr) return;
  uint64_t id;
  CUptiResult result = capture->cupti_->PopOperation(&id);
  // Empty: CUPTI was finalized in between, by whomever.
  if (__builtin_expect(result != CUPTI_SUCCESS && result != CUPTI_ERROR_QUEUE_EMPTY, 0) &&
      capture->active()) {
    capture->application_error_ = result;
  }
}

}  // namespace tp::collect
