#include "tests/simcuda/cupti/every_record.h"

#include <cupti.h>
#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>

#include "tests/simcuda/cupti/fake_driver.h"
#include "tests/simcuda/cupti/test_client.h"

namespace {

void Enable(CUpti_ActivityKind kind) {
  const CUptiResult result = cuptiActivityEnable(kind);
  // Older versions lack some.
  if (result == CUPTI_ERROR_INVALID_KIND) return;
  ASSERT_EQ(result, CUPTI_SUCCESS) << kind;
}

}  // namespace

void MakeEveryRecord() {
  using simcuda::ApiDomain;
  using simcuda::WorkKind;
  fake_driver::Reset();
  fake_driver::AddContext(1, 0);
  fake_driver::AddStream(1, 13);
  for (CUpti_ActivityKind kind :
       {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_MEMCPY,
        CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET,
        CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
        CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_OVERHEAD,
        CUPTI_ACTIVITY_KIND_MODULE, CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_MEMORY_POOL,
        CUPTI_ACTIVITY_KIND_MARKER, CUPTI_ACTIVITY_KIND_NAME}) {
    Enable(kind);
  }
  for (CUpti_ActivityKind kind :
       {CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_STREAM}) {
    ASSERT_EQ(cuptiActivityEnableAndDump(kind), CUPTI_SUCCESS);
  }
  ASSERT_EQ(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 1),
            CUPTI_SUCCESS);
  fake_driver::Call(ApiDomain::kRuntime, 3, [] { fake_driver::Call(ApiDomain::kDriver, 4); });
  fake_driver::Synchronize({simcuda::SyncKind::kContextSynchronize, 1, 2, 3, 1, 7, 8});
  fake_driver::ChangeMemory({});
  fake_driver::ChangeMemoryPool({});
  test_client::BecomeNvtxTool();
  nvtxNameOsThreadA(1, "first");
  nvtxRangePushA("outer");
  nvtxMarkA("here");
  nvtxRangePop();
  simcuda::ResourceEvent module{};
  module.resource = simcuda::Resource::kModuleLoaded;
  fake_driver::Change(module);
  simcuda::DeviceWork work = fake_driver::Kernel(1);
  for (WorkKind kind : {WorkKind::kKernel, WorkKind::kCopy, WorkKind::kPeerCopy, WorkKind::kFill}) {
    work.kind = kind;
    fake_driver::Complete(work);
  }
  ASSERT_EQ(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
  ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_KERNEL), CUPTI_SUCCESS);
  fake_driver::Complete(fake_driver::Kernel(2));
  Enable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  simcuda::DeviceWork node = fake_driver::Kernel(3);
  node.graph_id = 9;
  fake_driver::Complete(node);
  ASSERT_EQ(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), CUPTI_SUCCESS);
}
