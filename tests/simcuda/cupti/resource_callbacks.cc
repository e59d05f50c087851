#include "tests/simcuda/cupti/resource_callbacks.h"

#include <cupti.h>

#include "tests/simcuda/cupti/driver_link.h"
#include "tests/simcuda/cupti/graph_handles.h"
#include "tests/simcuda/cupti/subscriber.h"

namespace simcupti {
namespace {

using simcuda::Resource;
using simcuda::ResourceEvent;

CUpti_CallbackId IdOf(Resource resource) {
  switch (resource) {
    case Resource::kContextCreated:
      return CUPTI_CBID_RESOURCE_CONTEXT_CREATED;
    case Resource::kContextDestroyStarting:
      return CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING;
    case Resource::kStreamCreated:
      return CUPTI_CBID_RESOURCE_STREAM_CREATED;
    case Resource::kStreamDestroyStarting:
      return CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING;
    case Resource::kModuleLoaded:
      return CUPTI_CBID_RESOURCE_MODULE_LOADED;
    case Resource::kModuleUnloadStarting:
      return CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING;
    case Resource::kGraphCreated:
      return CUPTI_CBID_RESOURCE_GRAPH_CREATED;
    case Resource::kGraphExecCreated:
      return CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED;
    case Resource::kGraphNodeCreated:
      return CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED;
    case Resource::kGraphNodeCloned:
      return CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED;
    case Resource::kGraphDestroyed:
      return CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING;
  }
  return CUPTI_CBID_RESOURCE_INVALID;
}

CUpti_GraphData GraphData(const ResourceEvent& event) {
  CUpti_GraphData data{};
  if (event.resource == Resource::kGraphExecCreated) {
    data.graphExec = GraphExecHandle(event.graph_id);
    data.graph = GraphHandle(event.original_graph_id);
    return data;
  }
  data.graph = GraphHandle(event.graph_id);
  data.originalGraph = GraphHandle(event.original_graph_id);
  data.node = GraphNodeHandle(event.graph_node_id);
  data.originalNode = GraphNodeHandle(event.original_graph_node_id);
  return data;
}

struct StreamSearch {
  uint32_t context_id, stream_id;
  CUpti_SynchronizeData found{};
};

// The driver's handles for ids: an event tells ids alone.
CUpti_SynchronizeData FindHandles(uint32_t context_id, uint32_t stream_id) {
  StreamSearch search{context_id, stream_id};
  const auto visit = [](const ResourceEvent& event, void* user) {
    auto* search = static_cast<StreamSearch*>(user);
    if (event.context_id != search->context_id) return;
    search->found.context = static_cast<CUcontext>(event.context);
    if (event.resource == Resource::kStreamCreated && event.stream_id == search->stream_id) {
      search->found.stream = static_cast<CUstream>(event.stream);
    }
  };
  if (const simcuda::Driver* driver = FindDriver()) driver->for_each_resource(visit, &search);
  return search.found;
}

}  // namespace

void CallBackForResource(const ResourceEvent& event) {
  const CUpti_CallbackId id = IdOf(event.resource);
  if (!CallbackEnabled(CUPTI_CB_DOMAIN_RESOURCE, id)) return;
  CUpti_ResourceData data{};
  data.context = static_cast<CUcontext>(event.context);
  data.resourceHandle.stream = static_cast<CUstream>(event.stream);
  CUpti_ModuleResourceData module{};
  CUpti_GraphData graph{};
  switch (event.resource) {
    case Resource::kModuleLoaded:
    case Resource::kModuleUnloadStarting:
      module.moduleId = event.module_id;
      module.cubinSize = event.cubin_bytes;
      module.pCubin = static_cast<const char*>(event.cubin);
      data.resourceDescriptor = &module;
      break;
    case Resource::kGraphCreated:
    case Resource::kGraphExecCreated:
    case Resource::kGraphNodeCreated:
    case Resource::kGraphNodeCloned:
    case Resource::kGraphDestroyed:
      graph = GraphData(event);
      data.resourceDescriptor = &graph;
      break;
    default:
      break;
  }
  CallBack(CUPTI_CB_DOMAIN_RESOURCE, id, &data);
}

void CallBackForSynchronization(const simcuda::Synchronization& synchronization) {
  using simcuda::SyncKind;
  CUpti_CallbackId id = CUPTI_CBID_SYNCHRONIZE_INVALID;
  if (synchronization.kind == SyncKind::kStreamSynchronize) {
    id = CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED;
  } else if (synchronization.kind == SyncKind::kContextSynchronize) {
    id = CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED;
  } else {
    return;
  }
  if (!CallbackEnabled(CUPTI_CB_DOMAIN_SYNCHRONIZE, id)) return;
  const CUpti_SynchronizeData data =
      FindHandles(synchronization.context_id, synchronization.stream_id);
  CallBack(CUPTI_CB_DOMAIN_SYNCHRONIZE, id, &data);
}

void CallBackForDriverStart() {
  if (!CallbackEnabled(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED)) return;
  const CUpti_ResourceData data{};
  CallBack(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, &data);
}

}  // namespace simcupti
