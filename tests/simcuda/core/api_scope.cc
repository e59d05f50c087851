#include "tests/simcuda/core/api_scope.h"

#include <pthread.h>

#include <atomic>

#include "tests/simcuda/core/clock.h"
#include "tests/simcuda/core/delivery.h"
#include "tests/simcuda/core/thread_state.h"

namespace simcuda {
namespace {

std::atomic<uint32_t> last_correlation_id{0};

uint32_t NewCorrelationId() {
  uint32_t id;
  do {
    id = last_correlation_id.fetch_add(1, std::memory_order_relaxed) + 1;
  } while (id == 0);
  return id;
}

void Enter(const Observer* observer, ApiCall* call) {
  ThreadState& thread = Thread();
  // A driver call within a runtime call is the runtime's own. Calls that an observer makes from its
  // callbacks look the same.
  ApiCall* outer = thread.calls.empty() ? nullptr : thread.calls.back();
  call->nested = outer != nullptr && call->domain == ApiDomain::kDriver;
  call->correlation_id = outer != nullptr ? outer->correlation_id : NewCorrelationId();
  Context* context = CurrentContext();
  call->context = context;
  call->context_id = context == nullptr ? 0 : context->id;
  call->system_thread_id = thread.system_thread_id;
  call->pthread_id = static_cast<uint64_t>(pthread_self());
  thread.calls.push_back(call);
  call->start_ns = NowNs();
  if (observer->api_enter != nullptr) observer->api_enter(call);
}

void Exit(const Observer* observer, ApiCall* call) {
  ReportKept();
  call->end_ns = NowNs();
  if (call->context == nullptr) {
    // The call that made the context is shown with it.
    Context* context = CurrentContext();
    call->context = context;
    call->context_id = context == nullptr ? 0 : context->id;
  }
  if (observer->api_exit != nullptr) observer->api_exit(call);
  Thread().calls.pop_back();
}

ApiGate gate = {{nullptr}, Enter, Exit};

}  // namespace
}  // namespace simcuda

extern "C" simcuda::ApiGate* simcuda_api_gate() { return &simcuda::gate; }
