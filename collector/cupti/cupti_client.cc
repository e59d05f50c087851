#include "collector/cupti/cupti_client.h"

#include "collector/cupti/record_layout.h"

namespace tp::collect {
namespace {

// For subscriptions that only ask.
void CUPTIAPI IgnoreCallback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

// `holder` has kMostHolderBytes.
SubscriberParams Params(const CuptiApi& api, char* holder) {
  // An older library may refuse a size that it does not know.
  const size_t bytes =
      api.has_per_subscriber() ? kSubscriberParamsBytes : kSubscriberParamsBytesBefore13_2;
  return {.struct_bytes = bytes,
          .name = "TensorProf",
          .holder = holder,
          .holder_bytes = kMostHolderBytes,
          .allow_several = 1,
          .padding = {}};
}

}  // namespace

CuptiClient::CuptiClient(const CuptiApi* api)
    : api_(api), family_(api->has_per_subscriber() ? Family::kNone : Family::kProcessWide) {}

template <typename Older, typename Newer>
CUptiResult CuptiClient::Call(const Older& older, const Newer& newer) const {
  switch (family()) {
    case Family::kProcessWide:
      return older();
    case Family::kPerSubscriber:
      if (CUpti_SubscriberHandle subscriber = subscriber_.load(std::memory_order_acquire)) {
        return newer(subscriber);
      }
      break;
    case Family::kNone:
      break;
  }
  return CUPTI_ERROR_NOT_INITIALIZED;
}

CUptiResult CuptiClient::Subscribe(Family preferred, CUpti_CallbackFunc callback) {
  CUpti_SubscriberHandle subscriber = nullptr;
  if (preferred == Family::kPerSubscriber && api_->has_per_subscriber()) {
    char holder[kMostHolderBytes] = "";
    SubscriberParams params = Params(*api_, holder);
    CUptiResult result = api_->per_subscriber.Subscribe(&subscriber, callback, nullptr, &params);
    // Without a driver the older family would not say anything else.
    if (result == CUPTI_ERROR_UNKNOWN || result == CUPTI_ERROR_NOT_INITIALIZED) return result;
    if (result == CUPTI_SUCCESS) {
      subscriber_.store(subscriber, std::memory_order_release);
      family_.store(Family::kPerSubscriber, std::memory_order_release);
      return result;
    }
  }
  // Refused: by who is there already, or because the driver is too old for several.
  CUptiResult result = api_->Subscribe(&subscriber, callback, nullptr);
  if (result == CUPTI_SUCCESS) {
    subscriber_.store(subscriber, std::memory_order_release);
    family_.store(Family::kProcessWide, std::memory_order_release);
  } else if (result == CUPTI_ERROR_NOT_COMPATIBLE) {
    result = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  return result;
}

void CuptiClient::Unsubscribe() {
  if (CUpti_SubscriberHandle subscriber = subscriber_.exchange(nullptr)) {
    api_->Unsubscribe(subscriber);
  }
}

std::string CuptiClient::Holder() const {
  if (api_->per_subscriber.Subscribe == nullptr) return {};
  char holder[kMostHolderBytes] = "";
  SubscriberParams params = Params(*api_, holder);
  CUpti_SubscriberHandle subscriber = nullptr;
  if (api_->per_subscriber.Subscribe(&subscriber, &IgnoreCallback, nullptr, &params) ==
      CUPTI_SUCCESS) {
    api_->Unsubscribe(subscriber);  // They have just let go.
    return {};
  }
  return {holder, strnlen(holder, sizeof(holder))};
}

bool CuptiClient::AnotherHasSubscribed() const {
  CUpti_SubscriberHandle subscriber = nullptr;
  if (api_->Subscribe(&subscriber, &IgnoreCallback, nullptr) != CUPTI_SUCCESS) return true;
  api_->Unsubscribe(subscriber);
  return false;
}

CUptiResult CuptiClient::RegisterCallbacks(const BufferCallbacks& callbacks) {
  return Call(
      [&] { return api_->ActivityRegisterCallbacks(callbacks.request, callbacks.complete); },
      [&](CUpti_SubscriberHandle subscriber) {
        return api_->per_subscriber.ActivityRegisterCallbacks(
            subscriber, callbacks.request_for_subscriber, callbacks.complete_for_subscriber);
      });
}

CUptiResult CuptiClient::Enable(CUpti_ActivityKind kind) {
  return Call([&] { return api_->ActivityEnable(kind); },
              [&](CUpti_SubscriberHandle subscriber) {
                return api_->per_subscriber.ActivityEnable(subscriber, kind, nullptr);
              });
}

CUptiResult CuptiClient::EnableWithExisting(CUpti_ActivityKind kind) {
  return Call(
      [&] {
        return api_->ActivityEnableAndDump == nullptr ? api_->ActivityEnable(kind)
                                                      : api_->ActivityEnableAndDump(kind);
      },
      [&](CUpti_SubscriberHandle subscriber) {
        return api_->per_subscriber.ActivityEnableAndDump(subscriber, kind, nullptr);
      });
}

CUptiResult CuptiClient::Disable(CUpti_ActivityKind kind) {
  return Call([&] { return api_->ActivityDisable(kind); },
              [&](CUpti_SubscriberHandle subscriber) {
                return api_->per_subscriber.ActivityDisable(subscriber, kind, nullptr);
              });
}

CUptiResult CuptiClient::EnableCall(CUpti_CallbackDomain domain, CUpti_CallbackId id, bool on) {
  const bool is_driver = domain == CUPTI_CB_DOMAIN_DRIVER_API;
  return Call(
      [&] {
        auto enable = is_driver ? api_->ActivityEnableDriverApi : api_->ActivityEnableRuntimeApi;
        return enable == nullptr ? CUPTI_ERROR_NOT_SUPPORTED : enable(id, on);
      },
      [&](CUpti_SubscriberHandle subscriber) {
        auto enable = is_driver ? api_->per_subscriber.ActivityEnableDriverApi
                                : api_->per_subscriber.ActivityEnableRuntimeApi;
        return enable(subscriber, id, on);
      });
}

CUptiResult CuptiClient::EnableLatencyTimestamps(bool on) {
  return Call(
      [&] {
        return api_->ActivityEnableLatencyTimestamps == nullptr
                   ? CUPTI_ERROR_NOT_SUPPORTED
                   : api_->ActivityEnableLatencyTimestamps(on);
      },
      [&](CUpti_SubscriberHandle subscriber) {
        uint8_t value = on;
        size_t bytes = sizeof(value);
        return api_->per_subscriber.ActivitySetAttribute(subscriber, kLatencyTimestampsAttribute,
                                                         &bytes, &value);
      });
}

CUptiResult CuptiClient::EnableCallback(CUpti_CallbackDomain domain, CUpti_CallbackId id, bool on) {
  CUpti_SubscriberHandle subscriber = subscriber_.load(std::memory_order_acquire);
  if (subscriber == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  return api_->EnableCallback == nullptr ? CUPTI_ERROR_NOT_SUPPORTED
                                         : api_->EnableCallback(on, subscriber, domain, id);
}

CUptiResult CuptiClient::EnableDomain(CUpti_CallbackDomain domain, bool on) {
  CUpti_SubscriberHandle subscriber = subscriber_.load(std::memory_order_acquire);
  if (subscriber == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  return api_->EnableDomain == nullptr ? CUPTI_ERROR_NOT_SUPPORTED
                                       : api_->EnableDomain(on, subscriber, domain);
}

CUptiResult CuptiClient::UseSystemThreadIds() {
  CUpti_ActivityThreadIdType type = CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM;
  return Call(
      [&] {
        return api_->SetThreadIdType == nullptr ? CUPTI_SUCCESS : api_->SetThreadIdType(type);
      },
      [&](CUpti_SubscriberHandle subscriber) {
        size_t bytes = sizeof(type);
        return api_->per_subscriber.ActivitySetAttribute(subscriber, kThreadIdTypeAttribute, &bytes,
                                                         &type);
      });
}

CUptiResult CuptiClient::GetAttribute(CUpti_ActivityAttribute attribute, uint8_t* value) const {
  size_t bytes = sizeof(*value);
  return Call(
      [&] {
        return api_->ActivityGetAttribute == nullptr
                   ? CUPTI_ERROR_NOT_SUPPORTED
                   : api_->ActivityGetAttribute(attribute, &bytes, value);
      },
      [&](CUpti_SubscriberHandle subscriber) {
        return api_->per_subscriber.ActivityGetAttribute(subscriber, attribute, &bytes, value);
      });
}

CUptiResult CuptiClient::SetAttribute(CUpti_ActivityAttribute attribute, uint8_t value) {
  size_t bytes = sizeof(value);
  return Call(
      [&] {
        return api_->ActivitySetAttribute == nullptr
                   ? CUPTI_ERROR_NOT_SUPPORTED
                   : api_->ActivitySetAttribute(attribute, &bytes, &value);
      },
      [&](CUpti_SubscriberHandle subscriber) {
        return api_->per_subscriber.ActivitySetAttribute(subscriber, attribute, &bytes, &value);
      });
}

CUptiResult CuptiClient::PushOperation(uint64_t id) {
  return Call([&] { return api_->ActivityPushExternalCorrelationId(kOperationCorrelation, id); },
              [&](CUpti_SubscriberHandle subscriber) {
                return api_->per_subscriber.ActivityPushExternalCorrelationId(
                    subscriber, kOperationCorrelation, id);
              });
}

CUptiResult CuptiClient::PopOperation(uint64_t* id) {
  return Call([&] { return api_->ActivityPopExternalCorrelationId(kOperationCorrelation, id); },
              [&](CUpti_SubscriberHandle subscriber) {
                return api_->per_subscriber.ActivityPopExternalCorrelationId(
                    subscriber, kOperationCorrelation, id);
              });
}

CUptiResult CuptiClient::GetTimestamp(uint64_t* ns) const {
  return Call([&] { return api_->GetTimestamp(ns); },
              [&](CUpti_SubscriberHandle subscriber) {
                return api_->per_subscriber.GetTimestamp(subscriber, ns);
              });
}

CUptiResult CuptiClient::TakeDropped(size_t* records) const {
  return Call([&] { return api_->ActivityGetNumDroppedRecords(nullptr, 0, records); },
              [&](CUpti_SubscriberHandle subscriber) {
                return api_->per_subscriber.ActivityGetNumDroppedRecords(subscriber, nullptr, 0,
                                                                         records);
              });
}

CUptiResult CuptiClient::NextRecord(uint8_t* buffer, size_t valid_bytes,
                                    CUpti_Activity** record) const {
  return Call([&] { return api_->ActivityGetNextRecord(buffer, valid_bytes, record); },
              [&](CUpti_SubscriberHandle subscriber) {
                return api_->per_subscriber.ActivityGetNextRecord(subscriber, buffer, valid_bytes,
                                                                  record);
              });
}

}  // namespace tp::collect
