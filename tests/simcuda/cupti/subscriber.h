// Who has subscribed, and their callbacks: at API calls, at the birth and death of resources, at
// synchronizations.
//
// Threads: all functions may be called from any thread. A callback that is under way when its
// subscriber leaves comes to its end. A callback that itself calls CUDA is not called back for
// that.
#ifndef TESTS_SIMCUDA_CUPTI_SUBSCRIBER_H_
#define TESTS_SIMCUDA_CUPTI_SUBSCRIBER_H_

#include <cupti.h>

#include "tests/simcuda/core/observer.h"

namespace simcupti {

void CallBackForApi(simcuda::ApiCall* call, CUpti_ApiCallbackSite site);

// If the id is enabled in the domain.
bool CallbackEnabled(CUpti_CallbackDomain domain, CUpti_CallbackId id);
void CallBack(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);

// The client that a subscriber is; -1 if it is not there (any more).
int ClientOf(CUpti_SubscriberHandle subscriber);
int SubscribersOfNewerFamily();

// Removes the current client's subscriber and all callbacks that it enabled; with one of the newer
// family, the client too.
void RemoveSubscriber();

}  // namespace simcupti

#endif  // TESTS_SIMCUDA_CUPTI_SUBSCRIBER_H_
