// TP_STACKS: the functions that ranges begin in, by their names, also where there is nothing to
// read them from.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/end_to_end/sandbox.h"

namespace tp::test {
namespace {

using Json = nlohmann::json;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

using Frames = std::vector<std::string>;

class Stacks : public testing::Test {
 protected:
  void SetUp() override { sandbox_.StartDaemon(); }

  void Run(const Arguments& command, const std::string& frames) {
    Environment environment = sandbox_.Traced();
    if (!frames.empty()) environment.emplace_back("TP_STACKS", frames);
    const Result result = sandbox_.Run(command, environment);
    ASSERT_EQ(result.status, 0) << result.err;
    ASSERT_EQ(result.out, "done\n");
    ASSERT_EQ(result.err, "");
  }

  // The rows of one name by their stacks.
  std::map<Frames, Json> RowsOf(const std::string& name, int frames) {
    std::map<Frames, Json> rows;
    const Json table = sandbox_.Table({"--group-by-stack", std::to_string(frames)});
    for (const Json& row : table["rows"]) {
      if (row["name"] != name) continue;
      rows[row["stack"].is_null() ? Frames() : row["stack"].get<Frames>()] = row;
    }
    return rows;
  }

  Sandbox sandbox_;
  const std::string program_ = Sandbox::Built("tests/programs/stacks");
};

TEST_F(Stacks, RangesAreGroupedByTheFunctionsThatTheyBeginIn) {
  Run({program_}, "16");
  std::map<Frames, Json> rows = RowsOf("range", 2);
  ASSERT_THAT(rows, SizeIs(2));
  Json first = rows[{"work::Begin(char const*)", "work::First()"}];
  Json second = rows[{"work::Begin(char const*)", "work::Second()"}];
  ASSERT_FALSE(first.is_null() || second.is_null());
  EXPECT_EQ(first["count"], 3);
  EXPECT_EQ(second["count"], 2);
  EXPECT_EQ(first["kernel_count"], 3);
  EXPECT_EQ(second["kernel_count"], 2);
  EXPECT_THAT(RowsOf("range", 1), SizeIs(1));

  const Result text = sandbox_.Tpctl({"table", "--group-by-stack", "3"});
  EXPECT_THAT(text.out, HasSubstr("Source Location"));
  EXPECT_THAT(text.out, HasSubstr("work::Second()"));
}

TEST_F(Stacks, OnlyTheInnermostFramesAreRecorded) {
  Run({program_}, "6");
  const std::map<Frames, Json> rows = RowsOf("deep", 64);
  ASSERT_THAT(rows, SizeIs(1));
  const Frames& frames = rows.begin()->first;
  ASSERT_GE(frames.size(), 4u);
  EXPECT_LE(frames.size(), 6u);
  EXPECT_EQ(frames[0], "work::Begin(char const*)");
  EXPECT_THAT(Frames(frames.begin() + 1, frames.end()), Each("work::Recurse(int)"));
}

TEST_F(Stacks, WithoutTheVariableThereAreNone) {
  Run({program_}, "");
  EXPECT_THAT(RowsOf("range", 4), ElementsAre(testing::Key(IsEmpty())));
}

TEST_F(Stacks, AStrippedProgramsFramesArePlacesInItsFile) {
  const std::string stripped = sandbox_.folder() + "/stripped";
  const Result strip = sandbox_.Run({"strip", "-o", stripped, program_}, sandbox_.Untraced());
  ASSERT_EQ(strip.status, 0) << strip.err;
  Run({stripped}, "4");
  const std::map<Frames, Json> rows = RowsOf("deep", 64);
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_THAT(rows.begin()->first, SizeIs(4));
  EXPECT_THAT(rows.begin()->first, Each(StartsWith("stripped+0x")));
}

TEST_F(Stacks, AModuleThatIsUnloadedKeepsItsNames) {
  Run({program_, Sandbox::Built("tests/programs/stack_plugin.so")}, "8");
  const std::map<Frames, Json> rows = RowsOf("in plugin", 2);
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_THAT(rows.begin()->first, ElementsAre("plugin_step", "main"));
}

TEST_F(Stacks, AreExportedForFlameGraphs) {
  Run({program_}, "32");
  const std::string path = sandbox_.folder() + "/stacks.txt";
  const Result exported =
      sandbox_.Tpctl({"export", "--format", "stacks", "--metric", "self_cuda_time", "-o", path});
  ASSERT_EQ(exported.status, 0) << exported.err;
  const Result lines = sandbox_.Run({"cat", path}, sandbox_.Untraced());
  EXPECT_THAT(lines.out, HasSubstr(";main;work::First();work::Begin(char const*) "));
  EXPECT_THAT(lines.out,
              HasSubstr(";work::Recurse(int);work::Recurse(int);work::Begin(char const*) "));
}

}  // namespace
}  // namespace tp::test
