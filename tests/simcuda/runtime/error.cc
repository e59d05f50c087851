// The last error, and what errors are called.
#include <cctype>
#include <string>
#include <unordered_map>

#include "tests/simcuda/runtime/entry.h"

using namespace simcuda::runtime;  // NOLINT: the entry points are global by their nature.

namespace {

struct Name {
  cudaError_t error;
  const char* name;
  const char* description;  // nullptr: made from the name.
};

constexpr Name kNames[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorCudartUnloading, "cudaErrorCudartUnloading", "driver shutting down"},
    {cudaErrorProfilerDisabled, "cudaErrorProfilerDisabled", nullptr},
    {cudaErrorProfilerNotInitialized, "cudaErrorProfilerNotInitialized", nullptr},
    {cudaErrorProfilerAlreadyStarted, "cudaErrorProfilerAlreadyStarted", nullptr},
    {cudaErrorProfilerAlreadyStopped, "cudaErrorProfilerAlreadyStopped", nullptr},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorInvalidPitchValue, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {cudaErrorInvalidSymbol, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {cudaErrorInvalidHostPointer, "cudaErrorInvalidHostPointer", nullptr},
    {cudaErrorInvalidDevicePointer, "cudaErrorInvalidDevicePointer", nullptr},
    {cudaErrorInvalidTexture, "cudaErrorInvalidTexture", nullptr},
    {cudaErrorInvalidTextureBinding, "cudaErrorInvalidTextureBinding", nullptr},
    {cudaErrorInvalidChannelDescriptor, "cudaErrorInvalidChannelDescriptor", nullptr},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection",
     "invalid copy direction for memcpy"},
    {cudaErrorAddressOfConstant, "cudaErrorAddressOfConstant", nullptr},
    {cudaErrorTextureFetchFailed, "cudaErrorTextureFetchFailed", nullptr},
    {cudaErrorTextureNotBound, "cudaErrorTextureNotBound", nullptr},
    {cudaErrorSynchronizationError, "cudaErrorSynchronizationError", nullptr},
    {cudaErrorInvalidFilterSetting, "cudaErrorInvalidFilterSetting", nullptr},
    {cudaErrorInvalidNormSetting, "cudaErrorInvalidNormSetting", nullptr},
    {cudaErrorMixedDeviceExecution, "cudaErrorMixedDeviceExecution", nullptr},
    {cudaErrorNotYetImplemented, "cudaErrorNotYetImplemented", nullptr},
    {cudaErrorMemoryValueTooLarge, "cudaErrorMemoryValueTooLarge", nullptr},
    {cudaErrorStubLibrary, "cudaErrorStubLibrary", nullptr},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorCallRequiresNewerDriver, "cudaErrorCallRequiresNewerDriver", nullptr},
    {cudaErrorInvalidSurface, "cudaErrorInvalidSurface", nullptr},
    {cudaErrorDuplicateVariableName, "cudaErrorDuplicateVariableName", nullptr},
    {cudaErrorDuplicateTextureName, "cudaErrorDuplicateTextureName", nullptr},
    {cudaErrorDuplicateSurfaceName, "cudaErrorDuplicateSurfaceName", nullptr},
    {cudaErrorDevicesUnavailable, "cudaErrorDevicesUnavailable", nullptr},
    {cudaErrorIncompatibleDriverContext, "cudaErrorIncompatibleDriverContext", nullptr},
    {cudaErrorMissingConfiguration, "cudaErrorMissingConfiguration",
     "__global__ function call is not configured"},
    {cudaErrorPriorLaunchFailure, "cudaErrorPriorLaunchFailure", nullptr},
    {cudaErrorLaunchMaxDepthExceeded, "cudaErrorLaunchMaxDepthExceeded", nullptr},
    {cudaErrorLaunchFileScopedTex, "cudaErrorLaunchFileScopedTex", nullptr},
    {cudaErrorLaunchFileScopedSurf, "cudaErrorLaunchFileScopedSurf", nullptr},
    {cudaErrorSyncDepthExceeded, "cudaErrorSyncDepthExceeded", nullptr},
    {cudaErrorLaunchPendingCountExceeded, "cudaErrorLaunchPendingCountExceeded", nullptr},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorDeviceNotLicensed, "cudaErrorDeviceNotLicensed", nullptr},
    {cudaErrorSoftwareValidityNotEstablished, "cudaErrorSoftwareValidityNotEstablished", nullptr},
    {cudaErrorStartupFailure, "cudaErrorStartupFailure", nullptr},
    {cudaErrorInvalidKernelImage, "cudaErrorInvalidKernelImage", "device kernel image is invalid"},
    {cudaErrorDeviceUninitialized, "cudaErrorDeviceUninitialized", "invalid device context"},
    {cudaErrorMapBufferObjectFailed, "cudaErrorMapBufferObjectFailed", nullptr},
    {cudaErrorUnmapBufferObjectFailed, "cudaErrorUnmapBufferObjectFailed", nullptr},
    {cudaErrorArrayIsMapped, "cudaErrorArrayIsMapped", nullptr},
    {cudaErrorAlreadyMapped, "cudaErrorAlreadyMapped", nullptr},
    {cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice", nullptr},
    {cudaErrorAlreadyAcquired, "cudaErrorAlreadyAcquired", nullptr},
    {cudaErrorNotMapped, "cudaErrorNotMapped", nullptr},
    {cudaErrorNotMappedAsArray, "cudaErrorNotMappedAsArray", nullptr},
    {cudaErrorNotMappedAsPointer, "cudaErrorNotMappedAsPointer", nullptr},
    {cudaErrorECCUncorrectable, "cudaErrorECCUncorrectable", nullptr},
    {cudaErrorUnsupportedLimit, "cudaErrorUnsupportedLimit", nullptr},
    {cudaErrorDeviceAlreadyInUse, "cudaErrorDeviceAlreadyInUse", nullptr},
    {cudaErrorPeerAccessUnsupported, "cudaErrorPeerAccessUnsupported", nullptr},
    {cudaErrorInvalidPtx, "cudaErrorInvalidPtx", nullptr},
    {cudaErrorInvalidGraphicsContext, "cudaErrorInvalidGraphicsContext", nullptr},
    {cudaErrorNvlinkUncorrectable, "cudaErrorNvlinkUncorrectable", nullptr},
    {cudaErrorJitCompilerNotFound, "cudaErrorJitCompilerNotFound", nullptr},
    {cudaErrorUnsupportedPtxVersion, "cudaErrorUnsupportedPtxVersion", nullptr},
    {cudaErrorJitCompilationDisabled, "cudaErrorJitCompilationDisabled", nullptr},
    {cudaErrorUnsupportedExecAffinity, "cudaErrorUnsupportedExecAffinity", nullptr},
    {cudaErrorUnsupportedDevSideSync, "cudaErrorUnsupportedDevSideSync", nullptr},
    {cudaErrorContained, "cudaErrorContained", nullptr},
    {cudaErrorInvalidSource, "cudaErrorInvalidSource", nullptr},
    {cudaErrorFileNotFound, "cudaErrorFileNotFound", "file not found"},
    {cudaErrorSharedObjectSymbolNotFound, "cudaErrorSharedObjectSymbolNotFound", nullptr},
    {cudaErrorSharedObjectInitFailed, "cudaErrorSharedObjectInitFailed", nullptr},
    {cudaErrorOperatingSystem, "cudaErrorOperatingSystem", nullptr},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorIllegalState, "cudaErrorIllegalState", nullptr},
    {cudaErrorLossyQuery, "cudaErrorLossyQuery", nullptr},
    {cudaErrorSymbolNotFound, "cudaErrorSymbolNotFound", "named symbol not found"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources",
     "too many resources requested for launch"},
    {cudaErrorLaunchTimeout, "cudaErrorLaunchTimeout", nullptr},
    {cudaErrorLaunchIncompatibleTexturing, "cudaErrorLaunchIncompatibleTexturing", nullptr},
    {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled",
     "peer access is already enabled"},
    {cudaErrorPeerAccessNotEnabled, "cudaErrorPeerAccessNotEnabled",
     "peer access has not been enabled"},
    {cudaErrorSetOnActiveProcess, "cudaErrorSetOnActiveProcess", nullptr},
    {cudaErrorContextIsDestroyed, "cudaErrorContextIsDestroyed", nullptr},
    {cudaErrorAssert, "cudaErrorAssert", nullptr},
    {cudaErrorTooManyPeers, "cudaErrorTooManyPeers", nullptr},
    {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered", nullptr},
    {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered", nullptr},
    {cudaErrorHardwareStackError, "cudaErrorHardwareStackError", nullptr},
    {cudaErrorIllegalInstruction, "cudaErrorIllegalInstruction", nullptr},
    {cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress", nullptr},
    {cudaErrorInvalidAddressSpace, "cudaErrorInvalidAddressSpace", nullptr},
    {cudaErrorInvalidPc, "cudaErrorInvalidPc", nullptr},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", nullptr},
    {cudaErrorCooperativeLaunchTooLarge, "cudaErrorCooperativeLaunchTooLarge",
     "too many blocks in cooperative launch"},
    {cudaErrorTensorMemoryLeak, "cudaErrorTensorMemoryLeak", nullptr},
    {cudaErrorNotPermitted, "cudaErrorNotPermitted", nullptr},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorSystemNotReady, "cudaErrorSystemNotReady", nullptr},
    {cudaErrorSystemDriverMismatch, "cudaErrorSystemDriverMismatch", nullptr},
    {cudaErrorCompatNotSupportedOnDevice, "cudaErrorCompatNotSupportedOnDevice", nullptr},
    {cudaErrorMpsConnectionFailed, "cudaErrorMpsConnectionFailed", nullptr},
    {cudaErrorMpsRpcFailure, "cudaErrorMpsRpcFailure", nullptr},
    {cudaErrorMpsServerNotReady, "cudaErrorMpsServerNotReady", nullptr},
    {cudaErrorMpsMaxClientsReached, "cudaErrorMpsMaxClientsReached", nullptr},
    {cudaErrorMpsMaxConnectionsReached, "cudaErrorMpsMaxConnectionsReached", nullptr},
    {cudaErrorMpsClientTerminated, "cudaErrorMpsClientTerminated", nullptr},
    {cudaErrorCdpNotSupported, "cudaErrorCdpNotSupported", nullptr},
    {cudaErrorCdpVersionMismatch, "cudaErrorCdpVersionMismatch", nullptr},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported", nullptr},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated", nullptr},
    {cudaErrorStreamCaptureMerge, "cudaErrorStreamCaptureMerge", nullptr},
    {cudaErrorStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched", nullptr},
    {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined", nullptr},
    {cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation", nullptr},
    {cudaErrorStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit", nullptr},
    {cudaErrorCapturedEvent, "cudaErrorCapturedEvent", nullptr},
    {cudaErrorStreamCaptureWrongThread, "cudaErrorStreamCaptureWrongThread", nullptr},
    {cudaErrorTimeout, "cudaErrorTimeout", nullptr},
    {cudaErrorGraphExecUpdateFailure, "cudaErrorGraphExecUpdateFailure", nullptr},
    {cudaErrorExternalDevice, "cudaErrorExternalDevice", nullptr},
    {cudaErrorInvalidClusterSize, "cudaErrorInvalidClusterSize", nullptr},
    {cudaErrorFunctionNotLoaded, "cudaErrorFunctionNotLoaded", nullptr},
    {cudaErrorInvalidResourceType, "cudaErrorInvalidResourceType", nullptr},
    {cudaErrorInvalidResourceConfiguration, "cudaErrorInvalidResourceConfiguration", nullptr},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
    {cudaErrorApiFailureBase, "cudaErrorApiFailureBase", nullptr},
};

// "cudaErrorStreamCaptureMerge" becomes "stream capture merge".
std::string Plain(const char* name) {
  std::string text;
  for (const char* c = name + sizeof("cudaError") - 1; *c != '\0'; ++c) {
    bool upper = isupper(static_cast<unsigned char>(*c)) != 0;
    if (upper && !text.empty()) text += ' ';
    text += static_cast<char>(tolower(static_cast<unsigned char>(*c)));
  }
  return text;
}

struct Texts {
  const char* name;
  std::string description;
};

const Texts* Find(cudaError_t error) {
  static const auto* texts = [] {
    auto* table = new std::unordered_map<int, Texts>;
    for (const Name& name : kNames) {
      table->emplace(name.error, Texts{name.name, name.description != nullptr ? name.description
                                                                              : Plain(name.name)});
    }
    return table;
  }();
  auto at = texts->find(error);
  return at == texts->end() ? nullptr : &at->second;
}

cudaError_t Last(bool clear) {
  cudaError_t error = CurrentThread().last_error;
  if (clear) CurrentThread().last_error = cudaSuccess;
  return error;
}

cudaError_t ReportedLast(bool clear, CUpti_runtime_api_trace_cbid cbid, const char* name) {
  const DriverApi* driver;
  cudaError_t missing = Begin(&driver);
  if (missing != cudaSuccess) {
    cudaError_t last = Last(clear);
    return last != cudaSuccess ? last : missing;
  }
  simcuda::ApiScope api_scope(*driver->bridge->gate, simcuda::ApiDomain::kRuntime, cbid, name,
                              nullptr);
  return api_scope.Return(Last(clear));
}

}  // namespace

extern "C" {

cudaError_t cudaGetLastError() {
  return ReportedLast(true, CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020,
                      "cudaGetLastError_v3020");
}

cudaError_t cudaPeekAtLastError() {
  return ReportedLast(false, CUPTI_RUNTIME_TRACE_CBID_cudaPeekAtLastError_v3020,
                      "cudaPeekAtLastError_v3020");
}

const char* cudaGetErrorName(cudaError_t error) {
  const Texts* texts = Find(error);
  return texts == nullptr ? "unrecognized error code" : texts->name;
}

const char* cudaGetErrorString(cudaError_t error) {
  const Texts* texts = Find(error);
  return texts == nullptr ? "unrecognized error code" : texts->description.c_str();
}

}  // extern "C"
