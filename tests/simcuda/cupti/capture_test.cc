// The collector's capture as a client of the simulated CUPTI, posing as various versions: which
// family of functions it uses, how it begins and ends, and what is left when it is gone.

#include "collector/cupti/capture.h"

#include <cupti.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "collector/cupti/activity_buffers.h"
#include "collector/cupti/cupti_api.h"
#include "collector/cupti/cupti_client.h"
#include "tests/simcuda/cupti/fake_driver.h"

namespace {

using namespace tp::collect;
using simcuda::ApiDomain;
using Family = CuptiClient::Family;

constexpr uint32_t kMalloc = CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020;

// All that a collector has of CUPTI.
struct Collecting {
  CuptiApi api;
  std::string reason;
  bool is_there = LookUpCupti(RTLD_DEFAULT, &api, &reason);
  CuptiClient client{&api};
  ActivityBuffers buffers{{.limit_bytes = 4 << 20, .may_refuse = true, .scarce = nullptr}};
  Capture capture{&client, &buffers, Capture::Priority::kOthers, tp::DefaultActivities()};

  Capture::Begun Begin() { return capture.Begin(/*anyway=*/false, &reason); }
  int RecordsRead() {
    int records = 0;
    buffers.ReadFilled([&](const FilledBuffer& buffer) {
      CUpti_Activity* record = nullptr;
      while (client.NextRecord(buffer.memory, buffer.valid_bytes, &record) == CUPTI_SUCCESS) {
        ++records;
      }
    });
    return records;
  }
};

// In a process of its own: the variables are read once, and there is one capture in a process.
void Posing(const char* version, const char* faults,
            const std::function<void(Collecting&)>& check) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("SIMCUPTI_VERSION", version, 1);
    setenv("SIMCUPTI_FAULTS", faults, 1);
    fake_driver::AddContext(1, 0);
    Collecting collecting;
    EXPECT_TRUE(collecting.is_there) << collecting.reason;
    check(collecting);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << version;
}

bool OlderFamilyMayCome() {
  CUpti_SubscriberHandle subscriber = nullptr;
  if (cuptiSubscribe(&subscriber, nullptr, nullptr) != CUPTI_SUCCESS) return false;
  cuptiUnsubscribe(subscriber);
  return true;
}

TEST(Capturing, UsesTheNewerFamilyFrom13_3OnAndTheOlderBefore) {
  for (const char* version : {"11.0", "11.8", "12.9", "13.0", "13.2"}) {
    Posing(version, "", [](Collecting& collecting) {
      EXPECT_EQ(collecting.Begin(), Capture::Begun::kYes) << collecting.reason;
      EXPECT_EQ(collecting.client.family(), Family::kProcessWide);
      EXPECT_TRUE(OlderFamilyMayCome()) << "others come first";
    });
  }
  for (const char* version : {"13.3", "13.4", "13.5"}) {
    Posing(version, "", [](Collecting& collecting) {
      EXPECT_EQ(collecting.Begin(), Capture::Begun::kYes) << collecting.reason;
      EXPECT_EQ(collecting.client.family(), Family::kPerSubscriber);
      EXPECT_FALSE(collecting.capture.AnotherTookOver());
      fake_driver::Call(ApiDomain::kRuntime, kMalloc);
      EXPECT_TRUE(collecting.capture.Flush(/*forced=*/false, &collecting.reason));
      EXPECT_EQ(collecting.RecordsRead(), 1);
    });
  }
}

TEST(Capturing, CallsNothingOfTheOlderFamilyBeforeItHasBegun) {
  Posing("13.3", "error=cuptiGetTimestamp:8", [](Collecting& collecting) {
    EXPECT_EQ(collecting.capture.ReadClock(3).bracket_ns, UINT32_MAX);
    EXPECT_EQ(Capture::CuptiTimeNs(), 0);
    EXPECT_EQ(collecting.Begin(), Capture::Begun::kYes) << collecting.reason;
    EXPECT_LT(collecting.capture.ReadClock(3).bracket_ns, UINT32_MAX);
  });
}

TEST(Capturing, SomeTimeAfterItsEndTheOlderFamilyMayCome) {
  Posing("13.3", "", [](Collecting& collecting) {
    EXPECT_EQ(collecting.Begin(), Capture::Begun::kYes);
    fake_driver::Call(ApiDomain::kRuntime, kMalloc);
    collecting.capture.End();
    EXPECT_EQ(collecting.RecordsRead(), 1) << "what came back is still to be read";
    EXPECT_FALSE(OlderFamilyMayCome());
    for (int i = 0; i < 10; ++i) collecting.capture.LetGo();
    EXPECT_TRUE(OlderFamilyMayCome());
    // A thread that is late.
    EXPECT_EQ(collecting.client.PushOperation(1), CUPTI_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(collecting.capture.TakeApplicationError(), 0u);
    EXPECT_EQ(collecting.Begin(), Capture::Begun::kYes) << "and again";
  });
}

TEST(Capturing, BeginsAgainWhileItIsStillLettingGo) {
  Posing("13.3", "", [](Collecting& collecting) {
    EXPECT_EQ(collecting.Begin(), Capture::Begun::kYes);
    collecting.capture.End();
    collecting.capture.LetGo();
    EXPECT_EQ(collecting.Begin(), Capture::Begun::kYes);
    for (int i = 0; i < 10; ++i) collecting.capture.LetGo();
    fake_driver::Call(ApiDomain::kRuntime, kMalloc);
    EXPECT_TRUE(collecting.capture.Flush(/*forced=*/false, &collecting.reason));
    EXPECT_EQ(collecting.RecordsRead(), 1);
  });
}

TEST(Capturing, AnErrorOfTheNewerFamilyLeavesNothingOn) {
  Posing("13.3", "error=cuptiActivityEnable_v2:8:after=3", [](Collecting& collecting) {
    EXPECT_EQ(collecting.Begin(), Capture::Begun::kNo);
    EXPECT_EQ(collecting.reason, "cuptiActivityEnable failed: CUPTI_ERROR_OUT_OF_MEMORY (8)");
    for (int i = 0; i < 10; ++i) collecting.capture.LetGo();
    EXPECT_TRUE(OlderFamilyMayCome());
  });
}

TEST(Capturing, ADriverThatIsTooOldForCuptiIsSaid) {
  Posing("12.9", "error=cuptiSubscribe:15", [](Collecting& collecting) {
    EXPECT_EQ(collecting.Begin(), Capture::Begun::kNo);
    EXPECT_NE(collecting.reason.find("does not work with this CUDA driver"), std::string::npos);
    EXPECT_NE(collecting.reason.find(collecting.api.path), std::string::npos);
  });
}

TEST(Capturing, WhoIsThereIsNamedSince13_0) {
  for (const char* version : {"12.9", "13.0", "13.3"}) {
    Posing(version, "busy_subscriber", [&](Collecting& collecting) {
      EXPECT_EQ(collecting.Begin(), Capture::Begun::kLater);
      const bool tells = std::string(version) != "12.9";
      EXPECT_EQ(collecting.reason.find("(CUPTI for SIMCUPTI_FAULTS)") != std::string::npos, tells)
          << collecting.reason;
    });
  }
}

}  // namespace
