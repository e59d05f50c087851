// Sizes of records in the versions of CUPTI that the simulated one can pose as.
//
// TP_OLD_CUPTI may list real libraries of those versions, separated by colons (from the packages
// nvidia-cuda-cupti-cu11 and -cu12, say); they are then held against the tables.

#include "tests/simcuda/cupti/record_layout.h"

#include <cupti.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <sstream>
#include <string>

namespace {

using GetNextRecord = decltype(cuptiActivityGetNextRecord);
using GetVersion = decltype(cuptiGetVersion);

constexpr const char* kToolkits[] = {"11.8", "12.4", "13.0"};

// How many bytes the parser takes a record of this kind for; 0 if it knows no such kind.
size_t Stride(GetNextRecord* next_record, int kind) {
  for (size_t offset = 8; offset < 512; offset += 8) {
    alignas(8) std::array<uint32_t, 256> buffer;
    buffer.fill(0xFFFF);  // No kind.
    buffer[0] = static_cast<uint32_t>(kind);
    buffer[offset / 4] = CUPTI_ACTIVITY_KIND_RUNTIME;
    auto* data = reinterpret_cast<uint8_t*>(buffer.data());
    CUpti_Activity* record = nullptr;
    if (next_record(data, sizeof buffer, &record) != CUPTI_SUCCESS) return 0;
    if (next_record(data, sizeof buffer, &record) == CUPTI_SUCCESS) return offset;
  }
  return 0;
}

TEST(RecordLayout, KernelsAndCopiesGrewWithTheVersions) {
  const auto bytes = [](const char* toolkit, CUpti_ActivityKind kind) {
    return simcupti::LayoutOfToolkit(toolkit)->bytes[kind];
  };
  EXPECT_EQ(bytes("11.8", CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 200u);
  EXPECT_EQ(bytes("12.4", CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 208u);
  EXPECT_EQ(bytes("13.0", CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 216u);
  EXPECT_EQ(bytes("12.4", CUPTI_ACTIVITY_KIND_MEMCPY), 88u);
  EXPECT_EQ(bytes("13.0", CUPTI_ACTIVITY_KIND_MEMCPY), 96u);
  EXPECT_EQ(simcupti::LayoutOfToolkit("9.2"), nullptr);
}

TEST(RecordLayout, ThePosingLibraryStepsAndCallsItselfAccordingly) {
  for (const char* toolkit : kToolkits) {
    // The variable is read once in a process.
    const pid_t child = fork();
    if (child == 0) {
      setenv("SIMCUPTI_VERSION", toolkit, 1);
      const simcupti::RecordLayout& expected = *simcupti::LayoutOfToolkit(toolkit);
      uint32_t version = 0;
      EXPECT_EQ(cuptiGetVersion(&version), CUPTI_SUCCESS);
      EXPECT_EQ(version, expected.api_version);
      for (int kind = 0; kind < CUPTI_ACTIVITY_KIND_COUNT; ++kind) {
        EXPECT_EQ(Stride(cuptiActivityGetNextRecord, kind), expected.bytes[kind]) << kind;
      }
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << toolkit;
  }
}

const simcupti::RecordLayout* LayoutOfVersion(uint32_t api_version) {
  for (const char* toolkit : kToolkits) {
    const simcupti::RecordLayout* layout = simcupti::LayoutOfToolkit(toolkit);
    if (layout->api_version == api_version) return layout;
  }
  return nullptr;
}

TEST(RecordLayout, RealLibrariesOfThoseVersionsTakeRecordsForTheSameSize) {
  const char* libraries = std::getenv("TP_OLD_CUPTI");
  if (libraries == nullptr) GTEST_SKIP() << "TP_OLD_CUPTI names no libraries";
  std::istringstream paths(libraries);
  for (std::string path; std::getline(paths, path, ':');) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    auto* get_version = reinterpret_cast<GetVersion*>(dlsym(library, "cuptiGetVersion"));
    uint32_t version = 0;
    get_version(&version);
    // The first call of all can say 0.
    get_version(&version);
    const simcupti::RecordLayout* layout = LayoutOfVersion(version);
    ASSERT_NE(layout, nullptr) << "no table for version " << version << " of " << path;
    auto* next_record =
        reinterpret_cast<GetNextRecord*>(dlsym(library, "cuptiActivityGetNextRecord"));
    for (int kind = 0; kind < CUPTI_ACTIVITY_KIND_COUNT; ++kind) {
      EXPECT_EQ(Stride(next_record, kind), layout->bytes[kind]) << path << ", kind " << kind;
    }
  }
}

}  // namespace
