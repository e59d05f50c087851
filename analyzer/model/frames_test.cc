#include "analyzer/model/frames.h"

#include "gtest/gtest.h"

namespace tp {
namespace {

TEST(Frames, JoinedAndSplitAgainAreTheSame) {
  std::vector<std::string> frames = {"f (x;y)", "g\nh", "<module>"};
  EXPECT_EQ(SplitFrames(JoinFrames(frames)), frames);
  EXPECT_TRUE(SplitFrames("").empty());
}

TEST(Frames, TheInnermostComeFirst) {
  std::string stack = JoinFrames({"a", "b", "c"});
  EXPECT_EQ(InnermostFrames(stack, 0), "");
  EXPECT_EQ(InnermostFrames(stack, 1), "a");
  EXPECT_EQ(InnermostFrames(stack, 2), "a\nb");
  EXPECT_EQ(InnermostFrames(stack, 9), stack);
  EXPECT_EQ(SplitFrames(stack, 2), (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace tp
