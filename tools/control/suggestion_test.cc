#include "tools/control/suggestion.h"

#include <gtest/gtest.h>

namespace tp {
namespace {

const std::vector<std::string> kWords = {"run", "top", "table", "ps", "start", "stop"};

TEST(Suggestion, IsTheNearestWord) {
  EXPECT_EQ(NearestWord("tabel", kWords), "table");
  EXPECT_EQ(NearestWord("tab", kWords), "table");
  EXPECT_EQ(NearestWord("strat", kWords), "start");
  EXPECT_EQ(NearestWord("tpo", kWords), "top");
  EXPECT_EQ(NearestWord("stopp", kWords), "stop");
  EXPECT_EQ(DidYouMean("tabel", kWords), "; did you mean table?");
}

TEST(Suggestion, IsNoneWhereNoWordIsNear) {
  for (const std::string& word : {std::string(), std::string("x"), std::string("kernels"),
                                  std::string("attach"), std::string(100'000, 't')}) {
    EXPECT_EQ(NearestWord(word, kWords), "") << word.substr(0, 20);
    EXPECT_EQ(DidYouMean(word, kWords), "");
  }
}

}  // namespace
}  // namespace tp
