// Holds the simulated CUPTI against the real one: buffers that one fills, the other walks; names
// are the same.

#include <cupti.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

#include "tests/simcuda/cupti/every_record.h"
#include "tests/simcuda/cupti/real_library.h"
#include "tests/simcuda/cupti/stride.h"
#include "tests/simcuda/cupti/test_client.h"

namespace {

template <class Function>
Function* Real(Function&, const char* name) {
  return reinterpret_cast<Function*>(dlsym(real_library::Open(), name));
}
#define REAL(function) Real(function, #function)

class Conformance : public testing::Test {
 protected:
  void SetUp() override {
    if (real_library::Open() == nullptr) {
      GTEST_SKIP() << real_library::WhyNot();
    }
    ASSERT_NE(REAL(cuptiActivityGetNextRecord), &cuptiActivityGetNextRecord);
  }
};

TEST_F(Conformance, TheRealParserFindsEveryRecordWhereTheSimulatedOneDoes) {
  auto* next_record = REAL(cuptiActivityGetNextRecord);
  ASSERT_NE(next_record, nullptr);
  test_client::Start();
  MakeEveryRecord();
  std::set<int> kinds;
  for (const test_client::ReturnedBuffer& buffer : test_client::Returned()) {
    std::vector<const CUpti_Activity*> found;
    CUpti_Activity* record = nullptr;
    CUptiResult result;
    while ((result = next_record(buffer.data.get(), buffer.valid_bytes, &record)) ==
           CUPTI_SUCCESS) {
      found.push_back(record);
      kinds.insert(record->kind);
    }
    EXPECT_EQ(result, CUPTI_ERROR_MAX_LIMIT_REACHED);
    EXPECT_EQ(found, test_client::RecordsOfBuffer(buffer));
  }
  EXPECT_EQ(kinds,
            (std::set<int>{
                CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_KERNEL,
                CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DEVICE,
                CUPTI_ACTIVITY_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                CUPTI_ACTIVITY_KIND_NAME, CUPTI_ACTIVITY_KIND_MARKER, CUPTI_ACTIVITY_KIND_OVERHEAD,
                CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MODULE, CUPTI_ACTIVITY_KIND_STREAM,
                CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_MEMORY_POOL,
                CUPTI_ACTIVITY_KIND_GRAPH_TRACE}));
  ASSERT_EQ(cuptiFinalize(), CUPTI_SUCCESS);
}

TEST_F(Conformance, EveryKindTakesAsManyBytesAsInTheRealLibrary) {
  for (int kind = 0; kind < CUPTI_ACTIVITY_KIND_COUNT + 8; ++kind) {
    EXPECT_EQ(Stride(cuptiActivityGetNextRecord, kind),
              Stride(REAL(cuptiActivityGetNextRecord), kind))
        << "kind " << kind;
  }
}

TEST_F(Conformance, ABufferThatEndsInTheMiddleOfARecordEndsForBothAlike) {
  for (int kind = 1; kind < CUPTI_ACTIVITY_KIND_COUNT; ++kind) {
    alignas(8) std::array<uint8_t, 512> buffer{};
    *reinterpret_cast<int*>(&buffer[0]) = kind;
    for (size_t valid_bytes = 0; valid_bytes <= 256; ++valid_bytes) {
      CUpti_Activity* simulated = nullptr;
      CUpti_Activity* real = nullptr;
      EXPECT_EQ(cuptiActivityGetNextRecord(buffer.data(), valid_bytes, &simulated),
                REAL(cuptiActivityGetNextRecord)(buffer.data(), valid_bytes, &real))
          << "kind " << kind << ", " << valid_bytes << " bytes";
      EXPECT_EQ(simulated, real);
    }
  }
}

TEST_F(Conformance, EveryCallbackHasTheSameName) {
  int names = 0;
  for (int domain = 0; domain <= CUPTI_CB_DOMAIN_SIZE; ++domain) {
    for (uint32_t id = 0; id < 1100; ++id) {
      const char* simulated = nullptr;
      const char* real = nullptr;
      const auto which = static_cast<CUpti_CallbackDomain>(domain);
      const CUptiResult result = cuptiGetCallbackName(which, id, &simulated);
      ASSERT_EQ(result, REAL(cuptiGetCallbackName)(which, id, &real)) << domain << ", " << id;
      ASSERT_STREQ(simulated, real) << domain << ", " << id;
      if (simulated != nullptr) ++names;
    }
  }
  EXPECT_EQ(names, int{CUPTI_DRIVER_TRACE_CBID_SIZE} + int{CUPTI_RUNTIME_TRACE_CBID_SIZE});
}

TEST_F(Conformance, EveryDocumentedResultHasTheSameName) {
  for (int code = 0; code <= CUPTI_ERROR_UNKNOWN; ++code) {
    const char* simulated = nullptr;
    const char* real = nullptr;
    const auto result = static_cast<CUptiResult>(code);
    EXPECT_EQ(cuptiGetResultString(result, &simulated), REAL(cuptiGetResultString)(result, &real))
        << code;
    EXPECT_STREQ(simulated, real) << code;
  }
}

TEST_F(Conformance, TheVersionIsTheSame) {
  uint32_t simulated = 0;
  uint32_t real = 0;
  ASSERT_EQ(cuptiGetVersion(&simulated), CUPTI_SUCCESS);
  ASSERT_EQ(REAL(cuptiGetVersion)(&real), CUPTI_SUCCESS);
  // Before anything else has been called, the real one can say 0.
  ASSERT_EQ(REAL(cuptiGetVersion)(&real), CUPTI_SUCCESS);
  EXPECT_EQ(simulated, real);
}

}  // namespace
