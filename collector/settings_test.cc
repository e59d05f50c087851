#include "collector/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>

namespace tp::collect {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kVariables[] = {"TP_COLLECT",    "TP_BUFFER_MB", "TP_PRIORITY",
                                      "TP_ACTIVITIES", "TP_CUPTI_API", "TP_LOG",
                                      "TP_STACKS"};

class SettingsTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* variable : kVariables) unsetenv(variable);
  }
  void TearDown() override { SetUp(); }
  static Settings With(const char* variable, const char* value) {
    setenv(variable, value, 1);
    return ReadSettings();
  }
};

TEST_F(SettingsTest, WithoutVariablesAreTheDefaultsAndNothingIsTold) {
  const Settings settings = ReadSettings();
  EXPECT_EQ(settings.mode, Mode::kOn);
  EXPECT_EQ(settings.memory_bytes, size_t{64} << 20);
  EXPECT_EQ(settings.priority, Priority::kOthers);
  EXPECT_EQ(settings.activities, DefaultActivities());
  EXPECT_THAT(settings.notes, IsEmpty());
}

TEST_F(SettingsTest, AnEmptyValueIsNone) {
  for (const char* variable : kVariables) setenv(variable, "", 1);
  EXPECT_THAT(ReadSettings().notes, IsEmpty());
  EXPECT_EQ(ReadSettings().mode, Mode::kOn);
}

TEST_F(SettingsTest, KnownValuesAreTakenAndNotTold) {
  setenv("TP_COLLECT", "dormant", 1);
  setenv("TP_BUFFER_MB", "8", 1);
  setenv("TP_PRIORITY", "us", 1);
  setenv("TP_ACTIVITIES", "kernels", 1);
  setenv("TP_CUPTI_API", "v2", 1);
  setenv("TP_LOG", "warn", 1);
  setenv("TP_STACKS", "8", 1);
  const Settings settings = ReadSettings();
  EXPECT_EQ(settings.mode, Mode::kDormant);
  EXPECT_EQ(settings.memory_bytes, size_t{8} << 20);
  EXPECT_EQ(settings.priority, Priority::kUs);
  EXPECT_EQ(settings.activities, ActivitySet({Activity::kKernels}));
  EXPECT_EQ(ReadStackFrames(), 8u);
  EXPECT_THAT(settings.notes, IsEmpty());
}

TEST_F(SettingsTest, AnUnknownValueIsToldWithWhatIsUsedInItsPlace) {
  for (const char* variable : kVariables) {
    SetUp();
    const Settings settings = With(variable, "dormnat");
    EXPECT_THAT(settings.notes, ElementsAre(HasSubstr(variable)));
    EXPECT_THAT(settings.notes, ElementsAre(HasSubstr("dormnat")));
    EXPECT_EQ(settings.mode, Mode::kOn);
    EXPECT_EQ(settings.memory_bytes, size_t{64} << 20);
  }
  SetUp();
  EXPECT_THAT(
      With("TP_COLLECT", "dormnat").notes,
      ElementsAre("TP_COLLECT is \"dormnat\", which is not off, dormant or on: on is used"));
}

TEST_F(SettingsTest, MemoryBeyondWhatIsPossibleIsTold) {
  struct Case {
    const char* text;
    size_t megabytes;
  };
  for (const Case& each : {Case{"1", 4}, Case{"99999999999999999999999", 65536}, Case{"-8", 64},
                           Case{"64MB", 64}, Case{"8.5", 64}}) {
    SCOPED_TRACE(each.text);
    const Settings settings = With("TP_BUFFER_MB", each.text);
    EXPECT_EQ(settings.memory_bytes, each.megabytes << 20);
    EXPECT_THAT(settings.notes,
                ElementsAre(HasSubstr(std::to_string(each.megabytes) + " is used")));
  }
}

TEST_F(SettingsTest, MoreFramesThanPossibleAreTold) {
  const Settings settings = With("TP_STACKS", "100");
  EXPECT_EQ(ReadStackFrames(), 64u);
  EXPECT_THAT(settings.notes, ElementsAre(HasSubstr("64 is used")));
}

TEST_F(SettingsTest, ALongValueIsNotRepeatedWhole) {
  const Settings settings = With("TP_COLLECT", std::string(100'000, 'x').c_str());
  ASSERT_THAT(settings.notes, SizeIs(1));
  EXPECT_LT(settings.notes[0].size(), 400u);
}

}  // namespace
}  // namespace tp::collect
