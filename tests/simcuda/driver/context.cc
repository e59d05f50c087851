// Contexts: the primary one of each device, those that a program makes, and the stack of each
// thread.
#include <algorithm>

#include "tests/simcuda/driver/entry.h"

using namespace simcuda;  // NOLINT: the entry points are global by their nature.

namespace {

CUcontext Handle(Context* context) { return reinterpret_cast<CUcontext>(context); }

Context* Find(CUcontext handle) { return Model::Instance().contexts.Get(handle); }

CUresult Create(CUcontext* pctx, unsigned flags, CUdevice dev) {
  Device* device = FindDevice(dev);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (pctx == nullptr || (flags & ~unsigned{CU_CTX_FLAGS_MASK}) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Context* context = CreateContext(*device, flags, false);
  if (context == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  Thread().contexts.push_back(context);
  *pctx = Handle(context);
  return CUDA_SUCCESS;
}

CUresult NeedDevice(CUdevice ordinal, Device** device) {
  *device = FindDevice(ordinal);
  return *device == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

}  // namespace

DRIVER_ENTRY(cuCtxCreate_v4,
             (CUcontext * pctx, CUctxCreateParams* ctxCreateParams, unsigned int flags,
              CUdevice dev),
             (pctx, ctxCreateParams, flags, dev)) {
  return Create(pctx, flags, dev);
}

// What programs built with CUDA 11 and 12 call.
extern "C" CUresult cuCtxCreate_v2(CUcontext* pctx, unsigned int flags, CUdevice dev) {
  ApiScope api(*simcuda_api_gate(), ApiDomain::kDriver, CUPTI_DRIVER_TRACE_CBID_cuCtxCreate_v2,
               "cuCtxCreate_v2", nullptr);
  CUresult ready = Ready();
  return api.Return(ready != CUDA_SUCCESS ? ready : Create(pctx, flags, dev));
}

DRIVER_ENTRY(cuCtxDestroy_v2, (CUcontext ctx), (ctx)) {
  Context* context = Find(ctx);
  if (context == nullptr || context->primary) return CUDA_ERROR_INVALID_CONTEXT;
  auto& stack = Thread().contexts;
  if (!stack.empty() && stack.back() == context) stack.pop_back();
  DestroyContext(context);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuCtxPushCurrent_v2, (CUcontext ctx), (ctx)) {
  Context* context = Find(ctx);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  Thread().contexts.push_back(context);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuCtxPopCurrent_v2, (CUcontext * pctx), (pctx)) {
  auto& stack = Thread().contexts;
  if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (pctx != nullptr) *pctx = Handle(stack.back());
  stack.pop_back();
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuCtxSetCurrent, (CUcontext ctx), (ctx)) {
  auto& stack = Thread().contexts;
  if (ctx == nullptr) {
    if (!stack.empty()) stack.pop_back();
    return CUDA_SUCCESS;
  }
  Context* context = Find(ctx);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (stack.empty()) {
    stack.push_back(context);
  } else {
    stack.back() = context;
  }
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuCtxGetCurrent, (CUcontext * pctx), (pctx)) {
  if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pctx = Handle(CurrentContext());
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuCtxGetDevice, (CUdevice * device), (device)) {
  Context* context = CurrentContext();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = static_cast<CUdevice>(context->device->id);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuCtxGetId, (CUcontext ctx, unsigned long long* ctxId), (ctx, ctxId)) {
  Context* context = ctx == nullptr ? CurrentContext() : Find(ctx);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (ctxId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *ctxId = context->id;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuCtxGetFlags, (unsigned int* flags), (flags)) {
  Context* context = CurrentContext();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = context->flags;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuCtxGetApiVersion, (CUcontext ctx, unsigned int* version), (ctx, version)) {
  Context* context = ctx == nullptr ? CurrentContext() : Find(ctx);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = 3020;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuCtxGetStreamPriorityRange, (int* leastPriority, int* greatestPriority),
             (leastPriority, greatestPriority)) {
  Context* context;
  RETURN_IF_ERROR(NeedContext(&context));
  if (leastPriority != nullptr) *leastPriority = 0;
  if (greatestPriority != nullptr) *greatestPriority = -5;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuCtxSetLimit, (CUlimit limit, size_t value), (limit, value)) {
  Context* context;
  RETURN_IF_ERROR(NeedContext(&context));
  if (limit < 0 || limit >= CU_LIMIT_MAX) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  std::lock_guard<std::mutex> lock(Model::Instance().mutex);
  context->limits[limit] = value;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuCtxGetLimit, (size_t * pvalue, CUlimit limit), (pvalue, limit)) {
  Context* context;
  RETURN_IF_ERROR(NeedContext(&context));
  if (pvalue == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (limit < 0 || limit >= CU_LIMIT_MAX) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  std::lock_guard<std::mutex> lock(Model::Instance().mutex);
  auto at = context->limits.find(limit);
  size_t usual = 0;
  if (limit == CU_LIMIT_STACK_SIZE) usual = 1024;
  if (limit == CU_LIMIT_PRINTF_FIFO_SIZE) usual = size_t{1} << 20;
  if (limit == CU_LIMIT_MALLOC_HEAP_SIZE) usual = size_t{8} << 20;
  *pvalue = at == context->limits.end() ? usual : at->second;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuCtxSetCacheConfig, (CUfunc_cache config), (config)) {
  Context* context;
  RETURN_IF_ERROR(NeedContext(&context));
  return config < 0 || config > CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_ERROR_INVALID_VALUE
                                                           : CUDA_SUCCESS;
}

DRIVER_ENTRY(cuCtxGetCacheConfig, (CUfunc_cache * pconfig), (pconfig)) {
  Context* context;
  RETURN_IF_ERROR(NeedContext(&context));
  if (pconfig == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pconfig = CU_FUNC_CACHE_PREFER_NONE;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY_NO_PARAMETERS(cuCtxResetPersistingL2Cache) {
  Context* context;
  return NeedContext(&context);
}

DRIVER_ENTRY_NO_PARAMETERS(cuCtxSynchronize) {
  Context* context;
  RETURN_IF_ERROR(NeedContext(&context));
  RETURN_IF_ERROR(CheckUnsafeCall());
  return SynchronizeContext(*context);
}

DRIVER_ENTRY(cuCtxEnablePeerAccess, (CUcontext peerContext, unsigned int Flags),
             (peerContext, Flags)) {
  Context* context;
  RETURN_IF_ERROR(NeedContext(&context));
  Context* peer = Find(peerContext);
  if (peer == nullptr || peer == context) return CUDA_ERROR_INVALID_CONTEXT;
  if (Flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (peer->device == context->device) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  std::lock_guard<std::mutex> lock(Model::Instance().mutex);
  if (!context->peers.insert(peer).second) return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuCtxDisablePeerAccess, (CUcontext peerContext), (peerContext)) {
  Context* context;
  RETURN_IF_ERROR(NeedContext(&context));
  Context* peer = Find(peerContext);
  if (peer == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  std::lock_guard<std::mutex> lock(Model::Instance().mutex);
  return context->peers.erase(peer) == 0 ? CUDA_ERROR_PEER_ACCESS_NOT_ENABLED : CUDA_SUCCESS;
}

DRIVER_ENTRY(cuDevicePrimaryCtxRetain, (CUcontext * pctx, CUdevice dev), (pctx, dev)) {
  Device* device;
  RETURN_IF_ERROR(NeedDevice(dev, &device));
  if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pctx = Handle(RetainPrimary(*device));
  return *pctx == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

DRIVER_ENTRY(cuDevicePrimaryCtxRelease_v2, (CUdevice dev), (dev)) {
  Device* device;
  RETURN_IF_ERROR(NeedDevice(dev, &device));
  return ReleasePrimary(*device);
}

DRIVER_ENTRY(cuDevicePrimaryCtxReset_v2, (CUdevice dev), (dev)) {
  Device* device;
  RETURN_IF_ERROR(NeedDevice(dev, &device));
  ResetPrimary(*device);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuDevicePrimaryCtxSetFlags_v2, (CUdevice dev, unsigned int flags), (dev, flags)) {
  Device* device;
  RETURN_IF_ERROR(NeedDevice(dev, &device));
  if ((flags & ~unsigned{CU_CTX_FLAGS_MASK}) != 0) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard<std::mutex> lock(Model::Instance().mutex);
  device->primary_flags = flags;
  if (device->primary != nullptr) device->primary->flags = flags;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuDevicePrimaryCtxGetState, (CUdevice dev, unsigned int* flags, int* active),
             (dev, flags, active)) {
  Device* device;
  RETURN_IF_ERROR(NeedDevice(dev, &device));
  if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard<std::mutex> lock(Model::Instance().mutex);
  *flags = device->primary_flags;
  *active = device->primary != nullptr ? 1 : 0;
  return CUDA_SUCCESS;
}
