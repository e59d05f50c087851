// API functions that only ask for a state of the caller's and that programs and libraries call all
// the time (around each launch): their records would crowd out all others, and say nothing of where
// time goes. Callback ids are the same in every CUPTI.
#ifndef COLLECTOR_CUPTI_CHATTY_CALLS_H_
#define COLLECTOR_CUPTI_CHATTY_CALLS_H_

#include <cupti.h>

#include <algorithm>
#include <iterator>

namespace tp::collect {

inline constexpr CUpti_CallbackId kChattyRuntimeCalls[] = {
    CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaPeekAtLastError_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamIsCapturing_v10000,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamIsCapturing_ptsz_v10000,
};
inline constexpr CUpti_CallbackId kChattyDriverCalls[] = {
    CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent,
    CUPTI_DRIVER_TRACE_CBID_cuCtxGetDevice,
    CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxGetState,
    CUPTI_DRIVER_TRACE_CBID_cuKernelGetAttribute,
    CUPTI_DRIVER_TRACE_CBID_cuStreamIsCapturing,
    CUPTI_DRIVER_TRACE_CBID_cuStreamIsCapturing_ptsz,
};

inline bool IsChatty(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  const auto is_in = [id](const auto& ids) {
    return std::find(std::begin(ids), std::end(ids), id) != std::end(ids);
  };
  return domain == CUPTI_CB_DOMAIN_RUNTIME_API ? is_in(kChattyRuntimeCalls)
                                               : is_in(kChattyDriverCalls);
}

}  // namespace tp::collect

#endif  // COLLECTOR_CUPTI_CHATTY_CALLS_H_
