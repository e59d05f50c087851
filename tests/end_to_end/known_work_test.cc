// A program whose work is known to the last call, traced: everything must arrive, be counted
// exactly, and belong to the right operation; and the program must not notice.

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <thread>

#include "tests/end_to_end/known_work.h"
#include "tests/end_to_end/sandbox.h"

namespace tp::test {
namespace {

class KnownWork : public testing::TestWithParam<int> {};

TEST_P(KnownWork, EverythingIsCountedExactlyAndTheProgramDoesNotNotice) {
  Sandbox sandbox;
  sandbox.StartDaemon();
  Arguments command = {Sandbox::Built(kKnownWork),
                       "--threads",
                       std::to_string(GetParam()),
                       "--iterations",
                       "50",
                       "--exit-status",
                       "7"};
  Result untraced = sandbox.Run(command, sandbox.Untraced());
  Program program = sandbox.Start(command, sandbox.Traced());
  pid_t pid = program.pid();
  Result traced = program.Wait();
  EXPECT_EQ(traced.status, 7);
  EXPECT_EQ(untraced.status, 7);
  EXPECT_EQ(traced.out, untraced.out);
  EXPECT_EQ(traced.err, untraced.err);
  EXPECT_EQ(traced.err, "");
  ExpectExact(sandbox, pid, Json::parse(traced.out));
}

INSTANTIATE_TEST_SUITE_P(Threads, KnownWork, testing::Values(1, 4, 16),
                         [](const auto& info) { return "On" + std::to_string(info.param); });

TEST(KnownWork, ARangeThatIsStillOpenHasItsDeviceTimeAlready) {
  Sandbox sandbox;
  sandbox.StartDaemon();
  std::string release = sandbox.folder() + "/release";
  Program program = sandbox.Start(
      {Sandbox::Built(kKnownWork), "--iterations", "20", "--hold", release}, sandbox.Traced());
  ASSERT_TRUE(program.WaitForOut("holding"));
  ASSERT_TRUE(sandbox.WaitForProcess(program.pid()));
  Json open = sandbox.Table({"--pid", std::to_string(program.pid())});
  std::map<std::string, Json> rows = RowsByName(open);
  ASSERT_EQ(rows.count("thread"), 1u) << open;
  EXPECT_EQ(rows["thread"]["count"], 1);
  EXPECT_GT(rows["thread"]["device_time_total_ns"], 0);
  EXPECT_EQ(rows["thread"]["device_time_total_ns"], rows["iteration"]["device_time_total_ns"]);
  EXPECT_EQ(rows["iteration"]["count"], 20);
  int64_t first_ns = rows["thread"]["cpu_time_total_ns"];
  Json later = sandbox.Table({"--pid", std::to_string(program.pid())});
  EXPECT_GT(RowsByName(later)["thread"]["cpu_time_total_ns"].get<int64_t>(), first_ns)
      << "an open range ends now, whenever that is";
  std::ofstream(release).put('\n');
  Result result = program.Wait();
  ASSERT_EQ(result.status, 0);
  ExpectExact(sandbox, program.pid(), Json::parse(result.out.substr(result.out.find('{'))));
}

TEST(KnownWork, EightProgramsAtOnceAreEachExactAndTogetherTheirSum) {
  Sandbox sandbox;
  sandbox.StartDaemon();
  std::vector<Program> programs;
  for (int i = 0; i < 8; ++i) {
    programs.push_back(
        sandbox.Start({Sandbox::Built(kKnownWork), "--threads", std::to_string(1 + i % 3),
                       "--iterations", std::to_string(10 + i)},
                      sandbox.Traced()));
  }
  Counts together;
  for (Program& program : programs) {
    Result result = program.Wait();
    ASSERT_EQ(result.status, 0) << result.err;
    Json done = Json::parse(result.out);
    ExpectExact(sandbox, program.pid(), done);
    for (const auto& [name, count] : CountsOf(done["ranges"])) together[name] += count;
  }
  EXPECT_EQ(CountRows(sandbox.Table({}), "name", [](const Json&) { return true; }), together);
}

}  // namespace
}  // namespace tp::test
