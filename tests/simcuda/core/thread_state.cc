#include "tests/simcuda/core/thread_state.h"

#include <unistd.h>

#include "tests/simcuda/core/context.h"
#include "tests/simcuda/core/process.h"

namespace simcuda {

ThreadState::ThreadState() : system_thread_id(static_cast<uint64_t>(gettid())) {}

ThreadState::~ThreadState() {
  if (Ready() != CUDA_SUCCESS) return;
  std::vector<Stream*> own;
  Model& model = Model::Instance();
  {
    std::lock_guard<std::mutex> lock(model.mutex);
    model.contexts.ForEach([&](Context& context) {
      auto at = context.per_thread.find(system_thread_id);
      if (at == context.per_thread.end()) return;
      own.push_back(at->second);
      context.per_thread.erase(at);
    });
  }
  for (Stream* stream : own) DestroyStream(stream);
}

ThreadState& Thread() {
  static thread_local ThreadState state;
  return state;
}

Context* CurrentContext() {
  ThreadState& thread = Thread();
  if (thread.contexts.empty()) return nullptr;
  return Model::Instance().contexts.Get(thread.contexts.back());
}

}  // namespace simcuda
