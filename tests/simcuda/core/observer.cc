#include "tests/simcuda/core/observer.h"

#include <mutex>
#include <vector>

#include "tests/simcuda/core/api_scope.h"
#include "tests/simcuda/core/clock.h"
#include "tests/simcuda/core/context.h"
#include "tests/simcuda/core/delivery.h"
#include "tests/simcuda/core/process.h"
#include "tests/simcuda/core/thread_state.h"

namespace simcuda {
namespace {

Context* Find(void* context) { return Model::Instance().contexts.Get(context); }

uint32_t ContextId(void* context) {
  const Context* found = Find(context);
  return found == nullptr ? 0 : found->id;
}

uint32_t StreamId(void* context, void* stream, bool per_thread) {
  Context* found_context = context == nullptr ? CurrentContext() : Find(context);
  if (stream == nullptr && per_thread) stream = CU_STREAM_PER_THREAD;
  const Stream* found = FindStream(found_context, static_cast<CUstream>(stream));
  return found == nullptr ? 0 : found->id;
}

uint32_t DeviceOfContext(void* context) {
  const Context* found = Find(context);
  return found == nullptr ? 0 : found->device->id;
}

void* Current() { return Ready() == CUDA_SUCCESS ? CurrentContext() : nullptr; }

int DeviceCount() { return static_cast<int>(Model::Instance().devices.size()); }

void DeliverNow(bool wait) {
  if (Ready() == CUDA_SUCCESS) Deliver(wait);
}

void ForEachResource(void (*visit)(const ResourceEvent& event, void* user), void* user) {
  Model& model = Model::Instance();
  std::vector<ResourceEvent> events;
  {
    std::lock_guard<std::mutex> lock(model.mutex);
    model.contexts.ForEach([&](Context& context) {
      if (context.legacy == nullptr) return;
      ResourceEvent event = {};
      event.resource = Resource::kContextCreated;
      event.context = &context;
      event.context_id = context.id;
      event.device_id = context.device->id;
      event.time_ns = NowNs();
      events.push_back(event);
      event.resource = Resource::kStreamCreated;
      auto add = [&](const Stream& stream) {
        event.stream = stream.handle();
        event.stream_id = stream.id;
        event.stream_priority = stream.priority;
        event.stream_flags = stream.flags;
        events.push_back(event);
      };
      add(*context.legacy);
      for (const Stream* stream : context.streams) {
        if (!stream->retired) add(*stream);
      }
    });
  }
  struct Modules {
    static void Add(Library& library, void* user) {
      auto& list = *static_cast<std::vector<ResourceEvent>*>(user);
      std::lock_guard<std::mutex> lock(library.mutex);
      for (const Context* context : library.loaded_in) {
        ResourceEvent event = {};
        event.resource = Resource::kModuleLoaded;
        event.context = const_cast<Context*>(context);
        event.context_id = context->id;
        event.device_id = context->device->id;
        event.module_id = library.id;
        event.cubin = library.cubin.data();
        event.cubin_bytes = library.cubin.size();
        event.time_ns = NowNs();
        list.push_back(event);
      }
    }
  };
  ForEachLibrary(&Modules::Add, &events);
  for (const ResourceEvent& event : events) visit(event, user);
}

const Driver driver = {NowNs,   ContextId,   StreamId,   DeviceOfContext,
                       Current, DeviceCount, DeliverNow, ForEachResource};

}  // namespace
}  // namespace simcuda

extern "C" const simcuda::Driver* simcuda_set_observer(const simcuda::Observer* observer) {
  simcuda_api_gate()->observer.store(observer, std::memory_order_release);
  if (observer == nullptr) {
    // What nobody will fetch is not kept.
    simcuda::Model& model = simcuda::Model::Instance();
    std::lock_guard<std::mutex> lock(model.mutex);
    for (const auto& queue : model.undelivered) queue->works.clear();
  }
  return &simcuda::driver;
}
