#include "tests/simcuda/core/context.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/simcuda/core/clock.h"
#include "tests/simcuda/core/control.h"
#include "tests/simcuda/core/delivery.h"
#include "tests/simcuda/core/graph.h"
#include "tests/simcuda/core/submit.h"
#include "tests/simcuda/core/thread_state.h"

namespace simcuda {
namespace {

ResourceEvent Describe(Resource resource, const Context& context) {
  ResourceEvent event = {};
  event.resource = resource;
  event.context = const_cast<Context*>(&context);
  event.context_id = context.id;
  event.device_id = context.device->id;
  event.time_ns = NowNs();
  return event;
}

ResourceEvent Describe(Resource resource, const Stream& stream) {
  ResourceEvent event = Describe(resource, *stream.context);
  event.stream = stream.handle();
  event.stream_id = stream.id;
  event.stream_priority = stream.priority;
  event.stream_flags = stream.flags;
  return event;
}

Stream* NewStream(Context& context, uint32_t id, unsigned flags, int priority) {
  Model& model = Model::Instance();
  Stream* stream = model.streams.Create();
  if (stream == nullptr) return nullptr;
  stream->context = &context;
  stream->id = id;
  stream->flags = flags;
  stream->priority = priority;
  model.undelivered.push_back(stream->undelivered);
  return stream;
}

// Takes a stream out of the context, at once or when its pending work is done. Under Model::mutex.
void Retire(Stream* stream) {
  Model& model = Model::Instance();
  if (std::shared_ptr<Capture> capture = stream->capture) {
    // A stream that joined the capture may go; whether its work leads back is asked at the end.
    auto& left = capture->left_tails;
    left.insert(left.end(), stream->capture_tail.begin(), stream->capture_tail.end());
    auto& streams = capture->streams;
    streams.erase(std::remove(streams.begin(), streams.end(), stream), streams.end());
    if (capture->origin == stream) {
      capture->invalid = true;
      for (Stream* other : streams) {
        other->capture = nullptr;
        other->capture_tail.clear();
      }
      auto& captures = Graphs::Instance().captures;
      captures.erase(std::remove(captures.begin(), captures.end(), capture.get()), captures.end());
      if (!capture->into_existing && capture->graph != nullptr) DestroyGraph(capture->graph);
      capture->graph = nullptr;
    }
  }
  model.streams.Retire(stream);
  stream->retired = true;
  if (!stream->pending.empty()) return;
  stream->context->streams.erase(stream);
  model.streams.Free(stream);
}

}  // namespace

Model& Model::Instance() {
  static Model* model = new Model;
  return *model;
}

CUstream Stream::handle() const {
  if (legacy) return CU_STREAM_LEGACY;
  if (per_thread) return CU_STREAM_PER_THREAD;
  return reinterpret_cast<CUstream>(const_cast<Stream*>(this));
}

Device* FindDevice(CUdevice ordinal) {
  auto& devices = Model::Instance().devices;
  if (ordinal < 0 || static_cast<size_t>(ordinal) >= devices.size()) return nullptr;
  return devices[static_cast<size_t>(ordinal)].get();
}

Context* CreateContext(Device& device, unsigned flags, bool primary) {
  Model& model = Model::Instance();
  Context* context = model.contexts.Create();
  if (context == nullptr) return nullptr;
  {
    std::lock_guard<std::mutex> lock(model.mutex);
    context->id = model.next_context_id++;
    context->device = &device;
    context->flags = flags;
    context->primary = primary;
    context->legacy = NewStream(*context, kLegacyStreamId, 0, 0);
    context->legacy->legacy = true;
  }
  Report(Describe(Resource::kContextCreated, *context));
  Report(Describe(Resource::kStreamCreated, *context->legacy));
  return context;
}

void DestroyContext(Context* context) {
  Model& model = Model::Instance();
  WaitForContext(*context);
  Deliver(false);
  Report(Describe(Resource::kContextDestroyStarting, *context));
  std::lock_guard<std::mutex> lock(model.mutex);
  std::vector<Stream*> streams(context->streams.begin(), context->streams.end());
  for (Stream* stream : streams) Retire(stream);
  Retire(context->legacy);
  std::vector<Event*> events;
  model.events.ForEach([&](Event& event) {
    if (event.context == context) events.push_back(&event);
  });
  for (Event* event : events) {
    model.events.Retire(event);
    if (--event->references == 0) model.events.Free(event);
  }
  struct Forget {
    static void From(Library& library, void* user) {
      auto* gone = static_cast<const Context*>(user);
      std::lock_guard<std::mutex> own(library.mutex);
      library.loaded_in.erase(gone);
      for (auto& [name, variable] : library.variables) variable->addresses.erase(gone);
    }
  };
  ForEachLibrary(&Forget::From, context);
  Memory::Instance().FreeContext(context);
  if (context->primary) context->device->primary = nullptr;
  model.contexts.Destroy(context);
}

Context* RetainPrimary(Device& device) {
  Model& model = Model::Instance();
  static std::mutex* creation = new std::mutex;  // Two threads must not both make it.
  std::lock_guard<std::mutex> once(*creation);
  {
    std::lock_guard<std::mutex> lock(model.mutex);
    ++device.primary_references;
    if (device.primary != nullptr) return device.primary;
  }
  Context* context = CreateContext(device, device.primary_flags, true);
  std::lock_guard<std::mutex> lock(model.mutex);
  device.primary = context;
  return context;
}

CUresult ReleasePrimary(Device& device) {
  {
    std::lock_guard<std::mutex> lock(Model::Instance().mutex);
    if (device.primary_references == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (--device.primary_references > 0 || device.primary == nullptr) return CUDA_SUCCESS;
  }
  DestroyContext(device.primary);
  return CUDA_SUCCESS;
}

void ResetPrimary(Device& device) {
  {
    std::lock_guard<std::mutex> lock(Model::Instance().mutex);
    device.primary_references = 0;
    if (device.primary == nullptr) return;
  }
  DestroyContext(device.primary);
}

Stream* CreateStream(Context& context, unsigned flags, int priority) {
  Model& model = Model::Instance();
  Stream* stream;
  {
    std::lock_guard<std::mutex> lock(model.mutex);
    stream = NewStream(context, context.next_stream_id++, flags, priority);
    if (stream == nullptr) return nullptr;
    context.streams.insert(stream);
  }
  Report(Describe(Resource::kStreamCreated, *stream));
  return stream;
}

void DestroyStream(Stream* stream) {
  Report(Describe(Resource::kStreamDestroyStarting, *stream));
  std::lock_guard<std::mutex> lock(Model::Instance().mutex);
  Retire(stream);
}

Stream* PerThreadStream(Context& context) {
  Model& model = Model::Instance();
  uint64_t thread = Thread().system_thread_id;
  Stream* stream;
  {
    std::lock_guard<std::mutex> lock(model.mutex);
    auto at = context.per_thread.find(thread);
    if (at != context.per_thread.end()) return at->second;
    stream = NewStream(context, context.next_stream_id++, 0, 0);
    if (stream == nullptr) return nullptr;
    stream->per_thread = true;
    context.streams.insert(stream);
    context.per_thread[thread] = stream;
  }
  Report(Describe(Resource::kStreamCreated, *stream));
  return stream;
}

Stream* FindStream(Context* context, CUstream handle) {
  if (handle == nullptr || handle == CU_STREAM_LEGACY) {
    return context == nullptr ? nullptr : context->legacy;
  }
  if (handle == CU_STREAM_PER_THREAD) {
    return context == nullptr ? nullptr : PerThreadStream(*context);
  }
  return Model::Instance().streams.Get(handle);
}

Event* CreateEvent(Context& context, unsigned flags) {
  Model& model = Model::Instance();
  Event* event = model.events.Create();
  if (event == nullptr) return nullptr;
  std::lock_guard<std::mutex> lock(model.mutex);
  event->context = &context;
  event->id = model.next_event_id++;
  event->flags = flags;
  return event;
}

void DestroyEvent(Event* event) {
  Model& model = Model::Instance();
  std::lock_guard<std::mutex> lock(model.mutex);
  model.events.Retire(event);
  if (--event->references == 0) model.events.Free(event);
}

Event* FindEvent(CUevent handle) { return Model::Instance().events.Get(handle); }

}  // namespace simcuda

extern "C" void simcuda_set_stream_id(void* handle, uint32_t id) {
  simcuda::Stream* stream =
      simcuda::FindStream(simcuda::CurrentContext(), static_cast<CUstream>(handle));
  if (handle == nullptr || stream == nullptr) return;
  std::lock_guard<std::mutex> lock(simcuda::Model::Instance().mutex);
  stream->id = id;
}
