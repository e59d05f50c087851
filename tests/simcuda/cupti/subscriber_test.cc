// Callbacks to the one subscriber, and the end of it all.

#include <cupti.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/simcuda/cupti/fake_driver.h"
#include "tests/simcuda/cupti/test_client.h"

namespace {

using simcuda::ApiDomain;

constexpr uint32_t kMalloc = CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020;
constexpr uint32_t kFree = CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020;

using Seen = std::function<void(CUpti_CallbackDomain, CUpti_CallbackId, const void*)>;

void Handler(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  (*static_cast<Seen*>(user))(domain, id, data);
}

class Subscriber : public testing::Test {
 protected:
  void SetUp() override {
    fake_driver::Reset();
    fake_driver::AddContext(1, 0);
    test_client::Start();
    ASSERT_EQ(cuptiSubscribe(&subscriber_, Handler, &seen_), CUPTI_SUCCESS);
  }
  void TearDown() override { ASSERT_EQ(cuptiFinalize(), CUPTI_SUCCESS); }

  void Enable(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
    ASSERT_EQ(cuptiEnableCallback(1, subscriber_, domain, id), CUPTI_SUCCESS);
  }

  CUpti_SubscriberHandle subscriber_ = nullptr;
  Seen seen_ = [](auto...) {};
};

TEST_F(Subscriber, ThereIsOnlyOne) {
  CUpti_SubscriberHandle second = nullptr;
  EXPECT_EQ(cuptiSubscribe(&second, Handler, nullptr),
            CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  ASSERT_EQ(cuptiUnsubscribe(subscriber_), CUPTI_SUCCESS);
  EXPECT_EQ(cuptiUnsubscribe(subscriber_), CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cuptiSubscribe(&second, Handler, nullptr), CUPTI_SUCCESS);
}

TEST_F(Subscriber, ThePresentOneIsNamed) {
  ASSERT_EQ(cuptiUnsubscribe(subscriber_), CUPTI_SUCCESS);
  char old[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN] = "";
  CUpti_SubscriberParams params{CUpti_SubscriberParams_STRUCT_SIZE, "first", old, sizeof old};
  CUpti_SubscriberHandle handle = nullptr;
  ASSERT_EQ(cuptiSubscribe_v2(&handle, Handler, nullptr, &params), CUPTI_SUCCESS);
  params.subscriberName = "second";
  EXPECT_EQ(cuptiSubscribe_v2(&handle, Handler, nullptr, &params),
            CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  EXPECT_STREQ(old, "CUPTI for first");
  params.structSize = 0;
  EXPECT_EQ(cuptiSubscribe_v2(&handle, Handler, nullptr, &params), CUPTI_ERROR_INVALID_PARAMETER);
}

TEST_F(Subscriber, ACallIsCalledBackAtEnterAndExit) {
  struct Parameters {
    int value;
  } parameters{3};
  std::vector<CUpti_CallbackData> calls;
  uint32_t returned = 0;
  uint64_t correlation_data = 0;
  seen_ = [&](CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
    EXPECT_EQ(domain, CUPTI_CB_DOMAIN_RUNTIME_API);
    EXPECT_EQ(id, kMalloc);
    const auto& call = *static_cast<const CUpti_CallbackData*>(data);
    calls.push_back(call);
    if (call.callbackSite == CUPTI_API_ENTER) {
      *call.correlationData = 0xFEED;
    } else {
      correlation_data = *call.correlationData;
      returned = *static_cast<const uint32_t*>(call.functionReturnValue);
    }
  };
  Enable(CUPTI_CB_DOMAIN_RUNTIME_API, kMalloc);
  simcuda::ApiCall call{};
  call.domain = ApiDomain::kRuntime;
  call.cbid = kMalloc;
  call.function_name = "cudaMalloc_v3020";
  call.params = &parameters;
  call.symbol_name = "_Z6kernelv";
  call.context = fake_driver::ContextHandle(1);
  call.context_id = 1;
  call.result = 2;
  const uint32_t correlation_id = fake_driver::Call(call);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].callbackSite, CUPTI_API_ENTER);
  EXPECT_EQ(calls[1].callbackSite, CUPTI_API_EXIT);
  EXPECT_STREQ(calls[0].functionName, "cudaMalloc_v3020");
  EXPECT_EQ(calls[0].functionParams, &parameters);
  EXPECT_STREQ(calls[0].symbolName, "_Z6kernelv");
  EXPECT_EQ(calls[0].context, fake_driver::ContextHandle(1));
  EXPECT_EQ(calls[0].contextUid, 1u);
  EXPECT_EQ(calls[0].correlationId, correlation_id);
  EXPECT_EQ(correlation_data, 0xFEEDu);
  EXPECT_EQ(returned, 2u);
}

TEST_F(Subscriber, OnlyWhatIsEnabledIsCalledBack) {
  int calls = 0;
  seen_ = [&](auto...) { ++calls; };
  fake_driver::Call(ApiDomain::kRuntime, kMalloc);
  EXPECT_EQ(calls, 0);
  Enable(CUPTI_CB_DOMAIN_RUNTIME_API, kMalloc);
  fake_driver::Call(ApiDomain::kRuntime, kFree);
  fake_driver::Call(ApiDomain::kDriver, kMalloc);
  EXPECT_EQ(calls, 0);
  ASSERT_EQ(cuptiEnableDomain(1, subscriber_, CUPTI_CB_DOMAIN_RUNTIME_API), CUPTI_SUCCESS);
  fake_driver::Call(ApiDomain::kRuntime, kFree);
  EXPECT_EQ(calls, 2);
  ASSERT_EQ(cuptiEnableAllDomains(1, subscriber_), CUPTI_SUCCESS);
  fake_driver::Call(ApiDomain::kDriver, kMalloc);
  EXPECT_EQ(calls, 4);
  ASSERT_EQ(cuptiEnableAllDomains(0, subscriber_), CUPTI_SUCCESS);
  fake_driver::Call(ApiDomain::kRuntime, kMalloc);
  EXPECT_EQ(calls, 4);
}

TEST_F(Subscriber, TheStateOfACallbackCanBeAsked) {
  uint32_t enabled = 7;
  ASSERT_EQ(cuptiGetCallbackState(&enabled, subscriber_, CUPTI_CB_DOMAIN_RUNTIME_API, kMalloc),
            CUPTI_SUCCESS);
  EXPECT_EQ(enabled, 0u);
  Enable(CUPTI_CB_DOMAIN_RUNTIME_API, kMalloc);
  Enable(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
  ASSERT_EQ(cuptiGetCallbackState(&enabled, subscriber_, CUPTI_CB_DOMAIN_RUNTIME_API, kMalloc),
            CUPTI_SUCCESS);
  EXPECT_EQ(enabled, 1u);
  ASSERT_EQ(cuptiGetCallbackState(&enabled, subscriber_, CUPTI_CB_DOMAIN_RESOURCE,
                                  CUPTI_CBID_RESOURCE_CONTEXT_CREATED),
            CUPTI_SUCCESS);
  EXPECT_EQ(enabled, 1u);
  EXPECT_EQ(cuptiGetCallbackState(&enabled, nullptr, CUPTI_CB_DOMAIN_RUNTIME_API, kMalloc),
            CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cuptiEnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_RESOURCE, 0),
            CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(
      cuptiEnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_SIZE),
      CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cuptiEnableDomain(1, subscriber_, CUPTI_CB_DOMAIN_INVALID),
            CUPTI_ERROR_INVALID_PARAMETER);
}

TEST_F(Subscriber, ACallbackThatCallsCudaIsNotCalledBackForThat) {
  int calls = 0;
  seen_ = [&](auto...) {
    ++calls;
    fake_driver::Call(ApiDomain::kRuntime, kMalloc);
  };
  Enable(CUPTI_CB_DOMAIN_RUNTIME_API, kMalloc);
  fake_driver::Call(ApiDomain::kRuntime, kMalloc);
  EXPECT_EQ(calls, 2);
}

TEST_F(Subscriber, ResourcesAreToldAbout) {
  std::vector<CUpti_CallbackId> ids;
  std::string cubin;
  uint32_t graph_id = 0, original_id = 0;
  uint64_t node_id = 0;
  CUstream stream = nullptr;
  seen_ = [&](CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
    EXPECT_EQ(domain, CUPTI_CB_DOMAIN_RESOURCE);
    ids.push_back(id);
    const auto& resource = *static_cast<const CUpti_ResourceData*>(data);
    EXPECT_EQ(resource.context, fake_driver::ContextHandle(1));
    if (id == CUPTI_CBID_RESOURCE_STREAM_CREATED) stream = resource.resourceHandle.stream;
    if (id == CUPTI_CBID_RESOURCE_MODULE_LOADED) {
      const auto& module = *static_cast<CUpti_ModuleResourceData*>(resource.resourceDescriptor);
      EXPECT_EQ(module.moduleId, 6u);
      cubin.assign(module.pCubin, module.cubinSize);
    }
    if (id == CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED) {
      const auto& graph = *static_cast<CUpti_GraphData*>(resource.resourceDescriptor);
      EXPECT_EQ(cuptiGetGraphExecId(graph.graphExec, &graph_id), CUPTI_SUCCESS);
      EXPECT_EQ(cuptiGetGraphId(graph.graph, &original_id), CUPTI_SUCCESS);
    }
    if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED) {
      const auto& graph = *static_cast<CUpti_GraphData*>(resource.resourceDescriptor);
      EXPECT_EQ(cuptiGetGraphNodeId(graph.node, &node_id), CUPTI_SUCCESS);
    }
  };
  ASSERT_EQ(cuptiEnableDomain(1, subscriber_, CUPTI_CB_DOMAIN_RESOURCE), CUPTI_SUCCESS);
  simcuda::ResourceEvent event{};
  event.context = fake_driver::ContextHandle(1);
  event.context_id = 1;
  event.stream = fake_driver::StreamHandle(13);
  event.module_id = 6;
  event.cubin = "cubin";
  event.cubin_bytes = 5;
  event.graph_id = 8;
  event.original_graph_id = 3;
  event.graph_node_id = 0x300000002;
  using simcuda::Resource;
  for (Resource resource :
       {Resource::kContextCreated, Resource::kStreamCreated, Resource::kModuleLoaded,
        Resource::kGraphCreated, Resource::kGraphNodeCreated, Resource::kGraphExecCreated,
        Resource::kGraphDestroyed, Resource::kModuleUnloadStarting,
        Resource::kStreamDestroyStarting, Resource::kContextDestroyStarting}) {
    event.resource = resource;
    fake_driver::Change(event);
  }
  EXPECT_EQ(ids, (std::vector<CUpti_CallbackId>{
                     CUPTI_CBID_RESOURCE_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_STREAM_CREATED,
                     CUPTI_CBID_RESOURCE_MODULE_LOADED, CUPTI_CBID_RESOURCE_GRAPH_CREATED,
                     CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED,
                     CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING,
                     CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING,
                     CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING,
                     CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING}));
  EXPECT_EQ(cubin, "cubin");
  EXPECT_EQ(stream, fake_driver::StreamHandle(13));
  EXPECT_EQ(graph_id, 8u);
  EXPECT_EQ(original_id, 3u);
  EXPECT_EQ(node_id, 0x300000002u);
}

TEST_F(Subscriber, SynchronizationsAreToldAboutWithHandles) {
  fake_driver::AddStream(1, 13);
  std::vector<CUpti_CallbackId> ids;
  std::vector<CUstream> streams;
  seen_ = [&](CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
    EXPECT_EQ(domain, CUPTI_CB_DOMAIN_SYNCHRONIZE);
    ids.push_back(id);
    const auto& synchronize = *static_cast<const CUpti_SynchronizeData*>(data);
    EXPECT_EQ(synchronize.context, fake_driver::ContextHandle(1));
    streams.push_back(synchronize.stream);
  };
  ASSERT_EQ(cuptiEnableDomain(1, subscriber_, CUPTI_CB_DOMAIN_SYNCHRONIZE), CUPTI_SUCCESS);
  constexpr uint32_t kNone = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  fake_driver::Synchronize({simcuda::SyncKind::kStreamSynchronize, 1, 2, 3, 1, 13, kNone});
  fake_driver::Synchronize({simcuda::SyncKind::kContextSynchronize, 1, 2, 3, 1, kNone, kNone});
  fake_driver::Synchronize({simcuda::SyncKind::kEventSynchronize, 1, 2, 3, 1, kNone, 4});
  EXPECT_EQ(ids, (std::vector<CUpti_CallbackId>{CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED,
                                                CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED}));
  EXPECT_EQ(streams[0], fake_driver::StreamHandle(13));
  EXPECT_EQ(streams[1], nullptr);
}

TEST_F(Subscriber, TheDriversStartIsToldAbout) {
  int starts = 0;
  seen_ = [&](CUpti_CallbackDomain domain, CUpti_CallbackId id, const void*) {
    if (domain == CUPTI_CB_DOMAIN_RESOURCE && id == CUPTI_CBID_RESOURCE_CU_INIT_FINISHED) ++starts;
  };
  ASSERT_EQ(cuptiEnableAllDomains(1, subscriber_), CUPTI_SUCCESS);
  fake_driver::Call(ApiDomain::kDriver, CUPTI_DRIVER_TRACE_CBID_cuInit);
  EXPECT_EQ(starts, 1);
}

TEST_F(Subscriber, AnUnsubscribedClientHearsNothing) {
  int calls = 0;
  seen_ = [&](auto...) { ++calls; };
  ASSERT_EQ(cuptiEnableAllDomains(1, subscriber_), CUPTI_SUCCESS);
  ASSERT_EQ(cuptiUnsubscribe(subscriber_), CUPTI_SUCCESS);
  fake_driver::Call(ApiDomain::kRuntime, kMalloc);
  EXPECT_EQ(calls, 0);
}

TEST_F(Subscriber, DomainsThatCallBackAreListed) {
  size_t count = 0;
  CUpti_DomainTable table = nullptr;
  ASSERT_EQ(cuptiSupportedDomains(&count, &table), CUPTI_SUCCESS);
  ASSERT_EQ(count, 4u);
  EXPECT_EQ(table[0], CUPTI_CB_DOMAIN_DRIVER_API);
}

TEST_F(Subscriber, FinalizeDetachesAndASecondStartWorks) {
  ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME), CUPTI_SUCCESS);
  EXPECT_TRUE(fake_driver::HasObserver());
  ASSERT_EQ(cuptiFinalize(), CUPTI_SUCCESS);
  EXPECT_FALSE(fake_driver::HasObserver());
  fake_driver::Call(ApiDomain::kRuntime, kMalloc);

  for (int round = 0; round < 100; ++round) {
    test_client::Start();
    ASSERT_EQ(cuptiSubscribe(&subscriber_, Handler, &seen_), CUPTI_SUCCESS);
    ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME), CUPTI_SUCCESS);
    fake_driver::Call(ApiDomain::kRuntime, kMalloc);
    ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    EXPECT_EQ(test_client::RuntimeCalls().size(), 1u);
    ASSERT_EQ(cuptiFinalize(), CUPTI_SUCCESS);
  }
}

TEST_F(Subscriber, FinalizeInsideAnExitCallbackIsAllowed) {
  ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME), CUPTI_SUCCESS);
  seen_ = [&](CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
    if (static_cast<const CUpti_CallbackData*>(data)->callbackSite != CUPTI_API_EXIT) return;
    EXPECT_EQ(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), CUPTI_SUCCESS);
    EXPECT_EQ(cuptiFinalize(), CUPTI_SUCCESS);
  };
  ASSERT_EQ(cuptiEnableDomain(1, subscriber_, CUPTI_CB_DOMAIN_RUNTIME_API), CUPTI_SUCCESS);
  fake_driver::Call(ApiDomain::kRuntime, kMalloc);
  EXPECT_FALSE(fake_driver::HasObserver());
  const size_t lent = test_client::BuffersLent();
  fake_driver::Call(ApiDomain::kRuntime, kMalloc);
  EXPECT_EQ(test_client::BuffersLent(), lent);
}

TEST_F(Subscriber, FinalizeInsideACompletionCallbackDoesNotHang) {
  ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME), CUPTI_SUCCESS);
  std::atomic<bool> finalized{false};
  test_client::Change({.max_records = 1, .on_complete = [&] {
                         cuptiFinalize();
                         finalized = true;
                       }});
  fake_driver::Call(ApiDomain::kRuntime, kMalloc);
  while (!finalized) std::this_thread::yield();
  EXPECT_FALSE(fake_driver::HasObserver());
  test_client::Start();
  ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME), CUPTI_SUCCESS);
  fake_driver::Call(ApiDomain::kRuntime, kMalloc);
  ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
}

}  // namespace
