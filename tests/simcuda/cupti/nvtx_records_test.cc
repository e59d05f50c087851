// What a program says through NVTX, as records.

#include <cupti.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "tests/simcuda/cupti/fake_driver.h"
#include "tests/simcuda/cupti/test_client.h"

namespace {

class Nvtx : public testing::Test {
 protected:
  static void SetUpTestSuite() { test_client::BecomeNvtxTool(); }
  void SetUp() override {
    fake_driver::Reset();
    test_client::Start();
    ASSERT_EQ(cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM), CUPTI_SUCCESS);
  }
  void TearDown() override { ASSERT_EQ(cuptiFinalize(), CUPTI_SUCCESS); }

  static std::vector<CUpti_ActivityMarker2> Markers() {
    EXPECT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    return test_client::RecordsOf<CUpti_ActivityMarker2>(CUPTI_ACTIVITY_KIND_MARKER);
  }
  static std::vector<CUpti_ActivityName> Names() {
    EXPECT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    return test_client::RecordsOf<CUpti_ActivityName>(CUPTI_ACTIVITY_KIND_NAME);
  }
};

class NvtxMarkers : public Nvtx {
 protected:
  void SetUp() override {
    Nvtx::SetUp();
    ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MARKER), CUPTI_SUCCESS);
  }
};

class NvtxNames : public Nvtx {
 protected:
  void SetUp() override {
    Nvtx::SetUp();
    ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_NAME), CUPTI_SUCCESS);
  }
};

nvtxEventAttributes_t Attributes() {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  return attributes;
}

nvtxEventAttributes_t Called(const char* text) {
  nvtxEventAttributes_t attributes = Attributes();
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = text;
  return attributes;
}

TEST_F(Nvtx, WhileTheKindsAreOffNothingIsWrittenOrTracked) {
  // Handles are given out all the same.
  EXPECT_NE(nvtxDomainCreateA("library"), nullptr);
  EXPECT_EQ(nvtxRangePushA("outer"), NVTX_NO_PUSH_POP_TRACKING);
  EXPECT_EQ(nvtxRangePop(), NVTX_NO_PUSH_POP_TRACKING);
  EXPECT_EQ(nvtxRangeStartA("phase"), 0u);
  nvtxMarkA("here");
  nvtxNameOsThreadA(1, "first");
  ASSERT_EQ(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), CUPTI_SUCCESS);
  EXPECT_EQ(test_client::BuffersLent(), 0u);
}

TEST_F(NvtxMarkers, APushAndItsPopAreAStartAndAnEndWithOneId) {
  EXPECT_EQ(nvtxRangePushA("outer"), 0);
  EXPECT_EQ(nvtxRangePushA("inner"), 1);
  EXPECT_EQ(nvtxRangePop(), 1);
  EXPECT_EQ(nvtxRangePop(), 0);
  const auto markers = Markers();
  ASSERT_EQ(markers.size(), 4u);
  EXPECT_EQ(markers[0].flags, CUPTI_ACTIVITY_FLAG_MARKER_START);
  EXPECT_EQ(markers[1].flags, CUPTI_ACTIVITY_FLAG_MARKER_START);
  EXPECT_EQ(markers[2].flags, CUPTI_ACTIVITY_FLAG_MARKER_END);
  EXPECT_EQ(markers[3].flags, CUPTI_ACTIVITY_FLAG_MARKER_END);
  EXPECT_STREQ(markers[0].name, "outer");
  EXPECT_STREQ(markers[1].name, "inner");
  EXPECT_EQ(markers[2].name, nullptr);
  EXPECT_EQ(markers[3].name, nullptr);
  EXPECT_NE(markers[0].id, markers[1].id);
  EXPECT_EQ(markers[2].id, markers[1].id);
  EXPECT_EQ(markers[3].id, markers[0].id);
  for (size_t i = 0; i < markers.size(); ++i) {
    EXPECT_EQ(markers[i].domain, nullptr);
    EXPECT_EQ(markers[i].objectKind, CUPTI_ACTIVITY_OBJECT_THREAD);
    EXPECT_EQ(markers[i].objectId.pt.processId, static_cast<uint32_t>(getpid()));
    EXPECT_EQ(markers[i].objectId.pt.threadId, static_cast<uint32_t>(syscall(SYS_gettid)));
    if (i > 0) {
      EXPECT_LT(markers[i - 1].timestamp, markers[i].timestamp);
    }
  }
}

TEST_F(NvtxMarkers, APopWithoutAPushIsAnErrorWithoutARecord) {
  EXPECT_EQ(nvtxRangePop(), -1);
  EXPECT_TRUE(Markers().empty());
}

TEST_F(NvtxMarkers, EveryDomainAndThreadNestsForItself) {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("library");
  const nvtxEventAttributes_t inside = Called("inside");
  EXPECT_EQ(nvtxRangePushA("outside"), 0);
  EXPECT_EQ(nvtxDomainRangePushEx(domain, &inside), 0);
  std::thread([] { EXPECT_EQ(nvtxRangePop(), -1); }).join();
  EXPECT_EQ(nvtxRangePop(), 0);
  EXPECT_EQ(nvtxDomainRangePop(domain), 0);
  const auto markers = Markers();
  ASSERT_EQ(markers.size(), 4u);
  EXPECT_STREQ(markers[1].name, "inside");
  EXPECT_STREQ(markers[1].domain, "library");
  EXPECT_EQ(markers[2].id, markers[0].id);
  EXPECT_EQ(markers[2].domain, nullptr);
  EXPECT_EQ(markers[3].id, markers[1].id);
  EXPECT_STREQ(markers[3].domain, "library");
}

TEST_F(NvtxMarkers, AStartedRangeEndsOnceByItsIdOnAnyThread) {
  const nvtxDomainHandle_t domain = nvtxDomainCreateW(L"library");
  const nvtxEventAttributes_t second = Called("second");
  const nvtxRangeId_t first_id = nvtxRangeStartA("first");
  const nvtxRangeId_t second_id = nvtxDomainRangeStartEx(domain, &second);
  EXPECT_NE(first_id, second_id);
  nvtxRangeEnd(first_id);
  nvtxRangeEnd(first_id);
  std::thread([&] { nvtxDomainRangeEnd(domain, second_id); }).join();
  int ends_of_first = 0;
  int ends_of_second = 0;
  for (const CUpti_ActivityMarker2& marker : Markers()) {
    if (marker.flags != CUPTI_ACTIVITY_FLAG_MARKER_END) continue;
    if (marker.id == first_id) ++ends_of_first;
    if (marker.id == second_id) {
      ++ends_of_second;
      EXPECT_STREQ(marker.domain, "library");
      EXPECT_NE(marker.objectId.pt.threadId, static_cast<uint32_t>(syscall(SYS_gettid)));
    }
  }
  EXPECT_EQ(ends_of_first, 1);
  EXPECT_EQ(ends_of_second, 1);
}

TEST_F(NvtxMarkers, AMarkIsInstantaneousAndNamedInWhateverWayTheProgramDoesIt) {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("library");
  nvtxEventAttributes_t attributes = Attributes();
  nvtxMarkEx(&attributes);
  char passing[] = "narrow";
  nvtxMarkA(passing);
  std::memset(passing, 'x', sizeof passing - 1);
  nvtxMarkW(L"a\u00E9\u20AC\U0001F600");
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = nvtxDomainRegisterStringA(domain, "registered");
  nvtxDomainMarkEx(domain, &attributes);
  const auto markers = Markers();
  ASSERT_EQ(markers.size(), 4u);
  EXPECT_STREQ(markers[0].name, "");
  EXPECT_STREQ(markers[1].name, "narrow");
  EXPECT_STREQ(markers[2].name, "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_STREQ(markers[3].name, "registered");
  EXPECT_STREQ(markers[3].domain, "library");
  for (const CUpti_ActivityMarker2& marker : markers) {
    EXPECT_EQ(marker.flags, CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS);
  }
}

TEST_F(NvtxMarkers, ARangeThatWasOpenWhenMarkersWentOffHasNoEndLater) {
  nvtxRangePushA("pushed");
  const nvtxRangeId_t started = nvtxRangeStartA("started");
  ASSERT_EQ(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MARKER), CUPTI_SUCCESS);
  ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MARKER), CUPTI_SUCCESS);
  EXPECT_EQ(nvtxRangePop(), -1);
  nvtxRangeEnd(started);
  for (const CUpti_ActivityMarker2& marker : Markers()) {
    EXPECT_EQ(marker.flags, CUPTI_ACTIVITY_FLAG_MARKER_START);
  }
}

TEST_F(NvtxMarkers, EnablingWhatIsEnabledLeavesOpenRangesOpen) {
  nvtxRangePushA("pushed");
  ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MARKER), CUPTI_SUCCESS);
  EXPECT_EQ(nvtxRangePop(), 0);
}

TEST_F(NvtxNames, AThreadHasTheIdThatTheProgramGave) {
  nvtxNameOsThreadA(17, "loader");
  nvtxNameOsThreadW(18, L"\u00E9crivain");
  const auto names = Names();
  ASSERT_EQ(names.size(), 2u);
  EXPECT_STREQ(names[0].name, "loader");
  EXPECT_STREQ(names[1].name,
               "\xC3\xA9"
               "crivain");
  EXPECT_EQ(names[0].objectId.pt.threadId, 17u);
  EXPECT_EQ(names[1].objectId.pt.threadId, 18u);
  for (const CUpti_ActivityName& name : names) {
    EXPECT_EQ(name.objectKind, CUPTI_ACTIVITY_OBJECT_THREAD);
    EXPECT_EQ(name.objectId.pt.processId, static_cast<uint32_t>(getpid()));
  }
}

TEST_F(NvtxNames, CudaObjectsHaveTheIdsThatOtherRecordsHave) {
  fake_driver::AddContext(1, 0);
  fake_driver::AddContext(2, 3);
  fake_driver::AddStream(2, 13);
  fake_driver::SetCurrentContext(1);
  nvtxNameCuDeviceA(3, "device");
  nvtxNameCudaDeviceW(4, L"runtime's device");
  nvtxNameCuContextA(static_cast<CUcontext>(fake_driver::ContextHandle(2)), "context");
  // Of a context that is not the current one.
  nvtxNameCuStreamA(static_cast<CUstream>(fake_driver::StreamHandle(13)), "stream");
  nvtxNameCudaStreamA(nullptr, "default stream");
  const auto names = Names();
  ASSERT_EQ(names.size(), 5u);
  EXPECT_STREQ(names[0].name, "device");
  EXPECT_EQ(names[0].objectKind, CUPTI_ACTIVITY_OBJECT_DEVICE);
  EXPECT_EQ(names[0].objectId.dcs.deviceId, 3u);
  EXPECT_STREQ(names[1].name, "runtime's device");
  EXPECT_EQ(names[1].objectKind, CUPTI_ACTIVITY_OBJECT_DEVICE);
  EXPECT_EQ(names[1].objectId.dcs.deviceId, 4u);
  EXPECT_STREQ(names[2].name, "context");
  EXPECT_EQ(names[2].objectKind, CUPTI_ACTIVITY_OBJECT_CONTEXT);
  EXPECT_EQ(names[2].objectId.dcs.deviceId, 3u);
  EXPECT_EQ(names[2].objectId.dcs.contextId, 2u);
  EXPECT_STREQ(names[3].name, "stream");
  EXPECT_EQ(names[3].objectKind, CUPTI_ACTIVITY_OBJECT_STREAM);
  EXPECT_EQ(names[3].objectId.dcs.deviceId, 3u);
  EXPECT_EQ(names[3].objectId.dcs.contextId, 2u);
  EXPECT_EQ(names[3].objectId.dcs.streamId, 13u);
  EXPECT_STREQ(names[4].name, "default stream");
  EXPECT_EQ(names[4].objectKind, CUPTI_ACTIVITY_OBJECT_STREAM);
  EXPECT_EQ(names[4].objectId.dcs.deviceId, 0u);
  EXPECT_EQ(names[4].objectId.dcs.contextId, 1u);
  EXPECT_EQ(names[4].objectId.dcs.streamId, 7u);
}

TEST_F(NvtxNames, AnObjectThatTheDriverDoesNotKnowGetsNoRecord) {
  fake_driver::AddContext(1, 0);
  fake_driver::SetCurrentContext(1);
  nvtxNameCuContextA(nullptr, "none");
  nvtxNameCuContextA(static_cast<CUcontext>(fake_driver::ContextHandle(9)), "unknown");
  nvtxNameCuStreamA(static_cast<CUstream>(fake_driver::StreamHandle(99)), "unknown");
  EXPECT_TRUE(Names().empty());
}

TEST_F(Nvtx, AnotherNvtxThatHasNoCallbacksIsRefused) {
  auto* initialize = reinterpret_cast<NvtxInitializeInjectionNvtxFunc_t>(
      dlsym(RTLD_DEFAULT, "InitializeInjectionNvtx2"));
  ASSERT_NE(initialize, nullptr);
  EXPECT_EQ(initialize([](uint32_t) -> const void* { return nullptr; }), 0);
}

}  // namespace
