#include "tests/simcuda/cupti/subscriber.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <iterator>
#include <mutex>
#include <string>

#include "collector/cupti/per_subscriber_api.h"
#include "tests/simcuda/cupti/activity_api.h"
#include "tests/simcuda/cupti/api_entry.h"
#include "tests/simcuda/cupti/client.h"
#include "tests/simcuda/cupti/client_buffers.h"
#include "tests/simcuda/cupti/enabled_kinds.h"
#include "tests/simcuda/cupti/entry_point.h"
#include "tests/simcuda/cupti/faults.h"
#include "tests/simcuda/cupti/names.h"
#include "tests/simcuda/cupti/posed_version.h"

// What CUpti_SubscriberHandle points to. Never freed: a thread may be calling back while another
// unsubscribes.
struct CUpti_Subscriber_st {
  CUpti_CallbackFunc callback;
  void* user_data;
  std::string name;
  int client;
  bool allows_several;
  std::atomic<bool> present;
};

namespace simcupti {
namespace {

using tp::collect::SubscriberParams;

// A client's callbacks.
struct Callbacks {
  std::atomic<CUpti_SubscriberHandle> subscriber{nullptr};
  // Bits by callback id, for the domains that are not the API's.
  std::atomic<uint64_t> enabled_ids[CUPTI_CB_DOMAIN_SIZE]{};
};

thread_local bool in_callback = false;

static_assert(CUPTI_CBID_RESOURCE_SIZE <= 64 && CUPTI_CBID_NVTX_SIZE <= 64);

struct Subscriptions {
  std::mutex mutex;
  std::deque<CUpti_Subscriber_st> all;  // That there ever were.
};

Subscriptions& GlobalSubscriptions() {
  static auto* const subscriptions = new Subscriptions;
  return *subscriptions;
}

bool IsApi(CUpti_CallbackDomain domain) {
  return domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API;
}

void SetEnabled(CUpti_CallbackDomain domain, CUpti_CallbackId id, bool enabled) {
  if (IsApi(domain)) {
    SetApiFlag(static_cast<simcuda::ApiDomain>(domain), id, kApiEnterAndExitCalled, enabled);
  } else if (enabled) {
    OfClient<Callbacks>().enabled_ids[domain].fetch_or(uint64_t{1} << id);
  } else {
    OfClient<Callbacks>().enabled_ids[domain].fetch_and(~(uint64_t{1} << id));
  }
}

void SetDomainEnabled(CUpti_CallbackDomain domain, bool enabled) {
  for (CUpti_CallbackId id = 1; id < CallbackIdEnd(domain); ++id) SetEnabled(domain, id, enabled);
}

void SetAllEnabled(bool enabled) {
  for (int domain = 1; domain < CUPTI_CB_DOMAIN_SIZE; ++domain) {
    SetDomainEnabled(static_cast<CUpti_CallbackDomain>(domain), enabled);
  }
}

bool ValidId(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  return id != 0 && id < CallbackIdEnd(domain);
}

void WriteName(const std::string& name, char* target, size_t target_bytes) {
  if (target == nullptr || target_bytes == 0) return;
  const size_t length = std::min(name.size(), target_bytes - 1);
  std::memcpy(target, name.data(), length);
  target[length] = '\0';
}

// The one who is there, of whichever family; the first of several.
CUpti_Subscriber_st* FirstSubscriber() {
  for (CUpti_Subscriber_st& subscriber : GlobalSubscriptions().all) {
    if (subscriber.present.load()) return &subscriber;
  }
  return nullptr;
}

// Whether the older family's functions are in use, with or without a subscriber.
bool OlderFamilyInUse() { return BufferCallbacksRegistered() && AnyKindEnabled(); }

// Holding the lock. -1: whoever is there does not let another come.
int PlaceFor(bool allows_several, bool newer_family) {
  const CUpti_Subscriber_st* holder = FirstSubscriber();
  if (ActiveFaults().busy_subscriber) return -1;
  if (!newer_family) return holder == nullptr ? 0 : -1;
  if (holder != nullptr && !(holder->client != 0 && holder->allows_several && allows_several)) {
    return -1;
  }
  if (OlderFamilyInUse() || (allows_several && ActiveFaults().old_driver)) return -1;
  return AddClient();
}

CUptiResult Subscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                      void* user_data, const SubscriberParams* params, bool newer_family) {
  if (subscriber == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (params != nullptr && params->struct_bytes < tp::collect::kSubscriberParamsBytesBefore13_2) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  const bool allows_several = newer_family && params != nullptr &&
                              params->struct_bytes >= tp::collect::kSubscriberParamsBytes &&
                              params->allow_several != 0;
  std::lock_guard lock(GlobalSubscriptions().mutex);
  const CUpti_Subscriber_st* holder = FirstSubscriber();
  if (params != nullptr && (holder != nullptr || ActiveFaults().busy_subscriber)) {
    WriteName(holder != nullptr ? holder->name : "CUPTI for SIMCUPTI_FAULTS", params->holder,
              params->holder_bytes);
  }
  const int client = PlaceFor(allows_several, newer_family);
  if (client < 0) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  CUpti_Subscriber_st* fresh = &GlobalSubscriptions().all.emplace_back();
  fresh->callback = callback;
  fresh->user_data = user_data;
  fresh->name = "CUPTI";
  if (params != nullptr && params->name != nullptr) {
    fresh->name =
        std::string("CUPTI for ") + std::string(params->name, 0, CUPTI_SUBSCRIBER_NAME_MAX_LEN);
  }
  fresh->client = client;
  fresh->allows_several = allows_several;
  fresh->present.store(true);
  const ActingFor scope(client);
  OfClient<Callbacks>().subscriber.store(fresh, std::memory_order_release);
  *subscriber = fresh;
  return CUPTI_SUCCESS;
}

}  // namespace

int ClientOf(CUpti_SubscriberHandle subscriber) {
  std::lock_guard lock(GlobalSubscriptions().mutex);
  for (CUpti_Subscriber_st& known : GlobalSubscriptions().all) {
    if (&known == subscriber) return known.present.load() ? known.client : -1;
  }
  return -1;
}

int SubscribersOfNewerFamily() {
  std::lock_guard lock(GlobalSubscriptions().mutex);
  return static_cast<int>(
      std::count_if(GlobalSubscriptions().all.begin(), GlobalSubscriptions().all.end(),
                    [](const auto& known) { return known.present.load() && known.client != 0; }));
}

bool CallbackEnabled(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  return (OfClient<Callbacks>().enabled_ids[domain].load(std::memory_order_relaxed) &
          (uint64_t{1} << id)) != 0;
}

void CallBack(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  const CUpti_SubscriberHandle subscriber =
      OfClient<Callbacks>().subscriber.load(std::memory_order_acquire);
  if (subscriber == nullptr || subscriber->callback == nullptr || in_callback) return;
  in_callback = true;
  subscriber->callback(subscriber->user_data, domain, id, data);
  in_callback = false;
}

void CallBackForApi(simcuda::ApiCall* call, CUpti_ApiCallbackSite site) {
  CUpti_CallbackData data{};
  data.callbackSite = site;
  data.functionName = call->function_name;
  data.functionParams = call->params;
  data.functionReturnValue =
      site == CUPTI_API_EXIT ? const_cast<void*>(call->result_pointer) : nullptr;
  data.symbolName = call->symbol_name;
  data.context = static_cast<CUcontext>(call->context);
  data.contextUid = call->context_id;
  data.correlationData = &call->observer_data;
  data.correlationId = call->correlation_id;
  CallBack(static_cast<CUpti_CallbackDomain>(call->domain), call->cbid, &data);
}

void RemoveSubscriber() {
  SetAllEnabled(false);
  CUpti_Subscriber_st* const subscriber = OfClient<Callbacks>().subscriber.exchange(nullptr);
  if (subscriber == nullptr) return;
  subscriber->present.store(false);
  if (subscriber->client == 0) return;
  // Not holding the lock: this waits for callbacks that are under way.
  ForgetClient();
  RemoveClient(subscriber->client);
}

}  // namespace simcupti

// In a function that takes a subscriber: acts for it, or returns the error.
#define SIMCUPTI_ACT_FOR(subscriber)                                      \
  const int client = simcupti::ClientOf(subscriber);                      \
  if (client < 0) return simcupti::Result(CUPTI_ERROR_INVALID_PARAMETER); \
  const simcupti::ActingFor scope(client)

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                           void* user_data) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  return simcupti::Result(
      simcupti::Subscribe(subscriber, callback, user_data, nullptr, /*newer_family=*/false));
}

namespace simcupti::entry {

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                              void* user_data, SubscriberParams* params) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  return Result(Subscribe(subscriber, callback, user_data, params, PosesSince({13, 3})));
}

}  // namespace simcupti::entry

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  SIMCUPTI_ENTER();
  SIMCUPTI_ACT_FOR(subscriber);
  simcupti::RemoveSubscriber();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackState(uint32_t* enable, CUpti_SubscriberHandle subscriber,
                                  CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  SIMCUPTI_ENTER();
  SIMCUPTI_ACT_FOR(subscriber);
  if (enable == nullptr || !simcupti::ValidId(domain, id)) {
    return simcupti::Result(CUPTI_ERROR_INVALID_PARAMETER);
  }
  if (simcupti::IsApi(domain)) {
    const uint8_t flags = simcupti::ApiFlags(static_cast<simcuda::ApiDomain>(domain), id);
    *enable = (flags & simcupti::kApiEnterAndExitCalled) != 0;
  } else {
    *enable = simcupti::CallbackEnabled(domain, id);
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  SIMCUPTI_ENTER();
  SIMCUPTI_ACT_FOR(subscriber);
  if (!simcupti::ValidId(domain, id)) {
    return simcupti::Result(CUPTI_ERROR_INVALID_PARAMETER);
  }
  simcupti::SetEnabled(domain, id, enable != 0);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
                              CUpti_CallbackDomain domain) {
  SIMCUPTI_ENTER();
  SIMCUPTI_ACT_FOR(subscriber);
  if (simcupti::CallbackIdEnd(domain) == 0) {
    return simcupti::Result(CUPTI_ERROR_INVALID_PARAMETER);
  }
  simcupti::SetDomainEnabled(domain, enable != 0);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle subscriber) {
  SIMCUPTI_ENTER();
  SIMCUPTI_ACT_FOR(subscriber);
  simcupti::SetAllEnabled(enable != 0);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSupportedDomains(size_t* count, CUpti_DomainTable* table) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  // Those that call back here. NVTX and state may be enabled as well, and stay silent.
  static CUpti_CallbackDomain domains[] = {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API,
                                           CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_SYNCHRONIZE};
  if (count == nullptr || table == nullptr) {
    return simcupti::Result(CUPTI_ERROR_INVALID_PARAMETER);
  }
  *count = std::size(domains);
  *table = domains;
  return CUPTI_SUCCESS;
}

SIMCUPTI_ENTRY_POINT_SINCE(cuptiSubscribe_v2, 13, 0);
