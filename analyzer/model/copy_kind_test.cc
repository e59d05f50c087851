#include "analyzer/model/copy_kind.h"

#include "gtest/gtest.h"

namespace tp {
namespace {

TEST(CopyKind, EveryDirectionAndAnUnknownOneHasAText) {
  EXPECT_EQ(CopyDirection(1), "HtoD");
  EXPECT_EQ(CopyDirection(10), "PtoP");
  EXPECT_EQ(CopyDirection(kUnifiedDtoH), "unified DtoH");
  EXPECT_EQ(CopyDirection(0), "unknown");
  EXPECT_EQ(CopyDirection(99), "unknown");
  EXPECT_EQ(MemoryKind(2), "pinned");
  EXPECT_EQ(MemoryKind(0), "");
  EXPECT_EQ(MemoryKind(99), "");
}

TEST(CopyKind, CopiesAndFillsHaveTheNamesOfPyTorchsTraces) {
  EXPECT_EQ(CopyName(1, 2, 3), "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(CopyName(10, 3, 6), "Memcpy PtoP (Device -> Device Static)");
  EXPECT_EQ(CopyName(kUnifiedHtoD, 5, 5), "Memcpy Unified HtoD (Managed -> Managed)");
  EXPECT_EQ(CopyName(99, UINT32_MAX, 5), "Memcpy Unknown (Unknown -> Managed)");
  EXPECT_EQ(FillName(3), "Memset (Device)");
  EXPECT_EQ(FillName(77), "Memset (Unknown)");
}

}  // namespace
}  // namespace tp
