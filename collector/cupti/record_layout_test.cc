#include "collector/cupti/record_layout.h"

#include <gtest/gtest.h>

#include <array>

namespace tp::collect {
namespace {

// The toolkit's own structs say where fields are; tests/simcuda/cupti holds both against the real
// libraries and headers of all versions.
#define TP_SAME_PLACE(Oldest, Newest, field) \
  static_assert(offsetof(Oldest, field) == offsetof(Newest, field))
TP_SAME_PLACE(CUpti_ActivityKernel5, CUpti_ActivityKernel10, start);
TP_SAME_PLACE(CUpti_ActivityKernel5, CUpti_ActivityKernel10, streamId);
TP_SAME_PLACE(CUpti_ActivityKernel5, CUpti_ActivityKernel10, correlationId);
TP_SAME_PLACE(CUpti_ActivityKernel5, CUpti_ActivityKernel10, name);
TP_SAME_PLACE(CUpti_ActivityKernel5, CUpti_ActivityKernel10, graphNodeId);
TP_SAME_PLACE(CUpti_ActivityMemcpy3, CUpti_ActivityMemcpy6, bytes);
TP_SAME_PLACE(CUpti_ActivityMemcpy3, CUpti_ActivityMemcpy6, correlationId);
TP_SAME_PLACE(CUpti_ActivityMemcpy3, CUpti_ActivityMemcpy6, graphNodeId);
TP_SAME_PLACE(CUpti_ActivityMemcpyPtoP2, CUpti_ActivityMemcpyPtoP4, dstDeviceId);
TP_SAME_PLACE(CUpti_ActivityMemcpyPtoP2, CUpti_ActivityMemcpyPtoP4, correlationId);
TP_SAME_PLACE(CUpti_ActivityMemcpyPtoP2, CUpti_ActivityMemcpyPtoP4, graphNodeId);
TP_SAME_PLACE(CUpti_ActivityMemset2, CUpti_ActivityMemset4, correlationId);
TP_SAME_PLACE(CUpti_ActivityMemset2, CUpti_ActivityMemset4, memoryKind);
TP_SAME_PLACE(CUpti_ActivityMemset2, CUpti_ActivityMemset4, graphNodeId);
#undef TP_SAME_PLACE
static_assert(offsetof(CUpti_ActivityKernel10, clusterX) == kKernelClusterX.offset);
static_assert(offsetof(CUpti_ActivityKernel10, clusterY) == kKernelClusterY.offset);
static_assert(offsetof(CUpti_ActivityKernel10, clusterZ) == kKernelClusterZ.offset);

// A record of 64 bytes in a buffer that goes on behind it.
class RecordLayoutTest : public testing::Test {
 protected:
  static constexpr size_t kBytes = 64;
  struct Base {
    uint32_t words[16];
  };
  struct Longer {
    uint32_t words[17];
  };

  RecordLayoutTest() {
    for (uint32_t i = 0; i < words_.size(); ++i) words_[i] = 100 + i;
  }
  ActivityRecord Record(uint32_t version, bool exact = true) const {
    return {reinterpret_cast<const CUpti_Activity*>(words_.data()), kBytes, exact, version};
  }

  alignas(8) std::array<uint32_t, 32> words_;
};

TEST_F(RecordLayoutTest, AStructThatIsLongerThanTheRecordIsNotRead) {
  EXPECT_NE(Record(20).As<Base>(), nullptr);
  EXPECT_EQ(Record(20).As<Longer>(), nullptr);
}

TEST_F(RecordLayoutTest, ALaterFieldIsReadOnlyWhereTheVersionWritesIt) {
  constexpr LaterField<uint32_t> kField = {60, 20};
  EXPECT_EQ(Record(20).Get(kField), 115u);
  EXPECT_EQ(Record(130001).Get(kField), 115u);
  EXPECT_EQ(Record(19).Get(kField), 0u);
  EXPECT_EQ(Record(0).Get(kField), 0u) << "CUPTI did not tell its version";
}

TEST_F(RecordLayoutTest, ALaterFieldIsNeverReadBeyondTheRecord) {
  EXPECT_EQ(Record(20).Get(LaterField<uint32_t>{64, 20}), 0u);
  EXPECT_EQ(Record(20).Get(LaterField<uint64_t>{60, 20}), 0u) << "half of it";
  EXPECT_EQ(Record(20, /*exact=*/false).Get(LaterField<uint32_t>{32, 20}), 0u)
      << "who knows where it ends";
}

}  // namespace
}  // namespace tp::collect
