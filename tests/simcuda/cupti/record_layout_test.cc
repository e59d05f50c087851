// Sizes of records in the versions of CUPTI that the simulated one can pose as. versions_test holds
// them against the real ones.

#include "tests/simcuda/cupti/record_layout.h"

#include <cupti.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>

#include "tests/simcuda/cupti/stride.h"

namespace {

using simcupti::Version;

// In a process of its own, since the variable is read once.
void Posing(const simcupti::KnownVersion& version, const std::function<void()>& check) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("SIMCUPTI_VERSION", std::string(version.toolkit).c_str(), 1);
    check();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << version.toolkit;
}

TEST(RecordLayout, KernelsAndCopiesGrewWithTheVersions) {
  const auto bytes = [](Version version, CUpti_ActivityKind kind) {
    return simcupti::LayoutOf(version)[kind];
  };
  EXPECT_EQ(bytes({11, 0}, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 160u);
  EXPECT_EQ(bytes({11, 8}, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 200u);
  EXPECT_EQ(bytes({12, 4}, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 208u);
  EXPECT_EQ(bytes({13, 0}, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 216u);
  EXPECT_EQ(bytes({12, 4}, CUPTI_ACTIVITY_KIND_MEMCPY), 88u);
  EXPECT_EQ(bytes({13, 0}, CUPTI_ACTIVITY_KIND_MEMCPY), 96u);
  EXPECT_EQ(bytes({12, 9}, CUPTI_ACTIVITY_KIND_EVENT), 24u);
  EXPECT_EQ(bytes({13, 0}, CUPTI_ACTIVITY_KIND_EVENT), 0u);
}

TEST(RecordLayout, ThePosingLibraryStepsAndCallsItselfAccordingly) {
  for (const simcupti::KnownVersion& known : simcupti::KnownVersions()) {
    Posing(known, [&] {
      const simcupti::RecordLayout expected = simcupti::LayoutOf(known.version);
      uint32_t version = 0;
      EXPECT_EQ(cuptiGetVersion(&version), CUPTI_SUCCESS);
      EXPECT_EQ(version, known.api_version);
      for (size_t kind = 0; kind < simcupti::kKinds; ++kind) {
        EXPECT_EQ(Stride(cuptiActivityGetNextRecord, static_cast<int>(kind)), expected[kind])
            << kind;
      }
    });
  }
}

TEST(RecordLayout, ThePosingLibraryHasTheEntryPointsOfItsVersion) {
  for (const simcupti::KnownVersion& known : simcupti::KnownVersions()) {
    Posing(known, [&] {
      const auto expect_since = [&](const char* name, Version since) {
        EXPECT_EQ(dlsym(RTLD_DEFAULT, name) != nullptr, known.version >= since) << name;
      };
      expect_since("cuptiActivityEnable", {11, 0});
      expect_since("cuptiActivityFlushPeriod", {11, 1});
      expect_since("cuptiGetErrorMessage", {12, 2});
      expect_since("cuptiActivityEnableRuntimeApi", {12, 5});
      expect_since("cuptiSubscribe_v2", {13, 0});
      expect_since("cuptiActivityEnable_v2", {13, 2});
      expect_since("cuptiGetTimestamp_v2", {13, 3});
    });
  }
}

}  // namespace
