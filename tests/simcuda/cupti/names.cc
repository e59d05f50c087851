#include "tests/simcuda/cupti/names.h"

#include <cupti.h>

#include <iterator>

#include "tests/simcuda/cupti/api_entry.h"

namespace simcupti {
namespace {

#include "tests/simcuda/cupti/generated_names.inc"

}  // namespace

uint32_t CallbackIdEnd(CUpti_CallbackDomain domain) {
  switch (domain) {
    case CUPTI_CB_DOMAIN_DRIVER_API:
      return std::size(kDriverNames);
    case CUPTI_CB_DOMAIN_RUNTIME_API:
      return std::size(kRuntimeNames);
    case CUPTI_CB_DOMAIN_RESOURCE:
      return CUPTI_CBID_RESOURCE_SIZE;
    case CUPTI_CB_DOMAIN_SYNCHRONIZE:
      return CUPTI_CBID_SYNCHRONIZE_SIZE;
    case CUPTI_CB_DOMAIN_NVTX:
      return CUPTI_CBID_NVTX_SIZE;
    case CUPTI_CB_DOMAIN_STATE:
      return CUPTI_CBID_STATE_SIZE;
    default:
      return 0;
  }
}

const char* CallbackName(CUpti_CallbackDomain domain, uint32_t callback_id) {
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API && callback_id < std::size(kDriverNames)) {
    return kDriverNames[callback_id];
  }
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && callback_id < std::size(kRuntimeNames)) {
    return kRuntimeNames[callback_id];
  }
  return nullptr;
}

}  // namespace simcupti

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t callback_id,
                                 const char** name) {
  SIMCUPTI_ENTER();
  if (name == nullptr) return simcupti::Result(CUPTI_ERROR_INVALID_PARAMETER);
  *name = simcupti::CallbackName(domain, callback_id);
  return simcupti::Result(*name != nullptr ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER);
}
