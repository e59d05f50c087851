// We as a client of CUPTI: every call that collecting needs, made with whichever of CUPTI's two
// families of functions is in use, and never with both, which CUPTI answers with errors.
//
// The older family (NVIDIA calls it V1) knows one client in a process. The newer one (V2, since
// CUPTI 13.3 with a driver since r610) acts for a subscriber and serves several side by side, as
// long as all use it: anybody who comes with the older family then is refused.
#ifndef COLLECTOR_CUPTI_CUPTI_CLIENT_H_
#define COLLECTOR_CUPTI_CUPTI_CLIENT_H_

#include <cupti.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "collector/cupti/cupti_api.h"

namespace tp::collect {

// The kind under which we give CUPTI the operations' ids; PyTorch uses CUSTOM0 and CUSTOM1.
inline constexpr CUpti_ExternalCorrelationKind kOperationCorrelation =
    CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2;

// For both families; the newer one's pass nullptr for context and 0 for the stream.
struct BufferCallbacks {
  CUpti_BuffersCallbackRequestFunc request;
  CUpti_BuffersCallbackCompleteFunc complete;
  RequestBufferForSubscriber request_for_subscriber;
  CompleteBufferForSubscriber complete_for_subscriber;
};

// Subscribe and Unsubscribe: one thread at a time. All others may be called from any thread at any
// time; what comes too late, after Unsubscribe, gets CUPTI_ERROR_NOT_INITIALIZED.
class CuptiClient {
 public:
  enum class Family {
    kNone,  // Not chosen yet: only the library of both families needs a choice.
    kProcessWide,
    kPerSubscriber,
  };

  // Outlives the client.
  explicit CuptiClient(const CuptiApi* api);
  CuptiClient(const CuptiClient&) = delete;
  CuptiClient& operator=(const CuptiClient&) = delete;

  // Comes before all others. With kPerSubscriber, if the library has it and nothing stands against
  // it; else with kProcessWide. CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED: see Holder.
  CUptiResult Subscribe(Family preferred, CUpti_CallbackFunc callback);
  // With the older family all but callbacks goes on.
  void Unsubscribe();
  bool subscribed() const { return subscriber_ != nullptr; }
  Family family() const { return family_.load(std::memory_order_acquire); }

  // Who has subscribed, as CUPTI calls them ("CUPTI for NAME", or an NVIDIA tool), when Subscribe
  // was refused. Empty: nobody any more, or CUPTI is older than 13.0 and does not tell.
  std::string Holder() const;
  // Whether somebody else has subscribed, with the older family. While we have not.
  bool AnotherHasSubscribed() const;

  CUptiResult RegisterCallbacks(const BufferCallbacks& callbacks);
  CUptiResult Enable(CUpti_ActivityKind kind);
  // Likewise, and asks for records of what is there already: devices, contexts, streams.
  CUptiResult EnableWithExisting(CUpti_ActivityKind kind);
  CUptiResult Disable(CUpti_ActivityKind kind);
  // Records of one function of the runtime or driver API; after the kind has been enabled, which
  // sets all.
  CUptiResult EnableCall(CUpti_CallbackDomain domain, CUpti_CallbackId id, bool on);
  // When kernels were queued and submitted, in their records.
  CUptiResult EnableLatencyTimestamps(bool on);
  // Only while subscribed.
  CUptiResult EnableCallback(CUpti_CallbackDomain domain, CUpti_CallbackId id, bool on);
  CUptiResult EnableDomain(CUpti_CallbackDomain domain, bool on);
  // After cuptiFinalize, which ended the subscription.
  void ForgetSubscriber() { subscriber_.store(nullptr, std::memory_order_release); }
  // Threads' ids in records as the system has them: the default, pthread_self cut to 32 bits, can
  // be the same for two threads.
  CUptiResult UseSystemThreadIds();
  CUptiResult GetAttribute(CUpti_ActivityAttribute attribute, uint8_t* value) const;
  CUptiResult SetAttribute(CUpti_ActivityAttribute attribute, uint8_t value);
  // Of all clients in the process.
  CUptiResult FlushAll(uint32_t flag) { return api_->ActivityFlushAll(flag); }

  CUptiResult PushOperation(uint64_t id);
  CUptiResult PopOperation(uint64_t* id);
  CUptiResult GetTimestamp(uint64_t* ns) const;
  // Since the last call.
  CUptiResult TakeDropped(size_t* records) const;
  CUptiResult NextRecord(uint8_t* buffer, size_t valid_bytes, CUpti_Activity** record) const;

  const CuptiApi& api() const { return *api_; }

 private:
  // Calls `older`, or `newer` with the subscriber, or nothing.
  template <typename Older, typename Newer>
  CUptiResult Call(const Older& older, const Newer& newer) const;

  const CuptiApi* api_;
  std::atomic<Family> family_;
  std::atomic<CUpti_SubscriberHandle> subscriber_{nullptr};
};

}  // namespace tp::collect

#endif  // COLLECTOR_CUPTI_CUPTI_CLIENT_H_
