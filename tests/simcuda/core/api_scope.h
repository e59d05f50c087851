// Reports one API call to the observer, from construction to destruction. Without an observer it
// costs a load and a branch.
//
// Used by libcuda.so.1 and, through the address of the ApiGate, by libcudart.so.13. See
// DRIVER_ENTRY and RUNTIME_ENTRY.
#ifndef TESTS_SIMCUDA_CORE_API_SCOPE_H_
#define TESTS_SIMCUDA_CORE_API_SCOPE_H_

#include <atomic>
#include <cstdint>

#include "tests/simcuda/core/observer.h"

namespace simcuda {

// What libcuda.so.1 offers for reporting calls; there is one in a process.
struct ApiGate {
  std::atomic<const Observer*> observer;
  void (*enter)(const Observer* observer, ApiCall* call);
  void (*exit)(const Observer* observer, ApiCall* call);
};

class ApiScope {
 public:
  ApiScope(ApiGate& gate, ApiDomain domain, uint32_t cbid, const char* function_name,
           const void* params, const char* symbol_name = nullptr)
      : gate_(gate), observer_(gate.observer.load(std::memory_order_acquire)) {
    if (observer_ == nullptr) return;
    call_ = {};
    call_.domain = domain;
    call_.cbid = cbid;
    call_.function_name = function_name;
    call_.params = params;
    call_.symbol_name = symbol_name;
    gate_.enter(observer_, &call_);
  }
  ~ApiScope() {
    if (observer_ == nullptr) return;
    call_.result = result_;
    call_.result_pointer = &result_;
    gate_.exit(observer_, &call_);
  }
  ApiScope(const ApiScope&) = delete;
  ApiScope& operator=(const ApiScope&) = delete;

  // Notes the result of the call and hands it on.
  template <typename Result>
  Result Return(Result result) {
    result_ = static_cast<uint32_t>(result);
    return result;
  }

 private:
  ApiGate& gate_;
  const Observer* observer_;
  uint32_t result_ = 0;
  ApiCall call_;
};

}  // namespace simcuda

extern "C" simcuda::ApiGate* simcuda_api_gate();

#endif  // TESTS_SIMCUDA_CORE_API_SCOPE_H_
