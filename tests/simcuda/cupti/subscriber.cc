#include "tests/simcuda/cupti/subscriber.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <iterator>
#include <mutex>
#include <string>

#include "tests/simcuda/cupti/api_entry.h"
#include "tests/simcuda/cupti/enabled_kinds.h"
#include "tests/simcuda/cupti/faults.h"
#include "tests/simcuda/cupti/names.h"

// What CUpti_SubscriberHandle points to. Never freed: a thread may be calling back while another
// unsubscribes.
struct CUpti_Subscriber_st {
  CUpti_CallbackFunc callback;
  void* user_data;
  std::string name;
};

namespace simcupti {
namespace {

std::atomic<CUpti_SubscriberHandle> current{nullptr};
// Bits by callback id, for the domains that are not the API's.
std::atomic<uint64_t> enabled_ids[CUPTI_CB_DOMAIN_SIZE];
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
    enabled_ids[domain].fetch_or(uint64_t{1} << id);
  } else {
    enabled_ids[domain].fetch_and(~(uint64_t{1} << id));
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

bool IsCurrent(CUpti_SubscriberHandle subscriber) {
  return subscriber != nullptr && subscriber == current.load(std::memory_order_acquire);
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

CUptiResult Subscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                      void* user_data, const CUpti_SubscriberParams* params) {
  if (subscriber == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (params != nullptr && params->structSize < CUpti_SubscriberParams_STRUCT_SIZE) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  std::lock_guard lock(GlobalSubscriptions().mutex);
  const CUpti_SubscriberHandle holder = current.load();
  if (holder != nullptr || ActiveFaults().busy_subscriber) {
    if (params != nullptr) {
      WriteName(holder != nullptr ? holder->name : "CUPTI for SIMCUPTI_FAULTS",
                params->oldSubscriberName, params->oldSubscriberSize);
    }
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  CUpti_Subscriber_st* fresh = &GlobalSubscriptions().all.emplace_back();
  *fresh = {callback, user_data, "CUPTI"};
  if (params != nullptr && params->subscriberName != nullptr) {
    fresh->name = std::string("CUPTI for ") +
                  std::string(params->subscriberName, 0, CUPTI_SUBSCRIBER_NAME_MAX_LEN);
  }
  current.store(fresh, std::memory_order_release);
  *subscriber = fresh;
  return CUPTI_SUCCESS;
}

}  // namespace

bool CallbackEnabled(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  return (enabled_ids[domain].load(std::memory_order_relaxed) & (uint64_t{1} << id)) != 0;
}

void CallBack(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  const CUpti_SubscriberHandle subscriber = current.load(std::memory_order_acquire);
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
  std::lock_guard lock(GlobalSubscriptions().mutex);
  SetAllEnabled(false);
  current.store(nullptr, std::memory_order_release);
}

}  // namespace simcupti

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                           void* user_data) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  return simcupti::Result(simcupti::Subscribe(subscriber, callback, user_data, nullptr));
}

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                              void* user_data, CUpti_SubscriberParams* params) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  return simcupti::Result(simcupti::Subscribe(subscriber, callback, user_data, params));
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  SIMCUPTI_ENTER();
  if (!simcupti::IsCurrent(subscriber)) return simcupti::Result(CUPTI_ERROR_INVALID_PARAMETER);
  simcupti::RemoveSubscriber();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackState(uint32_t* enable, CUpti_SubscriberHandle subscriber,
                                  CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  SIMCUPTI_ENTER();
  if (enable == nullptr || !simcupti::IsCurrent(subscriber) || !simcupti::ValidId(domain, id)) {
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
  if (!simcupti::IsCurrent(subscriber) || !simcupti::ValidId(domain, id)) {
    return simcupti::Result(CUPTI_ERROR_INVALID_PARAMETER);
  }
  simcupti::SetEnabled(domain, id, enable != 0);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
                              CUpti_CallbackDomain domain) {
  SIMCUPTI_ENTER();
  if (!simcupti::IsCurrent(subscriber) || simcupti::CallbackIdEnd(domain) == 0) {
    return simcupti::Result(CUPTI_ERROR_INVALID_PARAMETER);
  }
  simcupti::SetDomainEnabled(domain, enable != 0);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle subscriber) {
  SIMCUPTI_ENTER();
  if (!simcupti::IsCurrent(subscriber)) return simcupti::Result(CUPTI_ERROR_INVALID_PARAMETER);
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
