// A program whose work is known to the last call, traced: everything must arrive, be counted
// exactly, and belong to the right operation; and the program must not notice.

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <thread>

#include "tests/end_to_end/sandbox.h"

namespace tp::test {
namespace {

using Json = nlohmann::json;
using Counts = std::map<std::string, long>;

const std::string kProgram = "tests/programs/known_work";

Counts CountsOf(const Json& object) { return object.get<Counts>(); }

// Counts of a table's rows by `name`, of those for which `keep` holds.
template <typename Keep>
Counts CountRows(const Json& table, const char* name, Keep&& keep) {
  Counts counts;
  for (const Json& row : table["rows"]) {
    if (keep(row)) counts[row[name]] += row["count"].get<long>();
  }
  return counts;
}

void ExpectExact(Sandbox& sandbox, pid_t pid, const Json& done) {
  Json process = sandbox.ProcessOf(pid);
  ASSERT_FALSE(process.is_null());
  SCOPED_TRACE(process.dump());
  auto table = [&](const std::string& view) {
    return sandbox.Table({"--pid", std::to_string(pid), "--view", view});
  };

  Json kernels = table("kernels");
  EXPECT_EQ(CountRows(kernels, "name", [](const Json& row) { return row["kind"] == "k"; }),
            CountsOf(done["kernels"]));
  Counts fills = CountRows(kernels, "kind", [](const Json& row) { return row["kind"] == "s"; });
  EXPECT_EQ(fills["s"], done["fills"].get<long>());
  EXPECT_TRUE(kernels["losses"].empty()) << kernels["losses"];

  Json copies = table("copies");
  Counts by_direction =
      CountRows(copies, "direction", [](const Json& row) { return row["direction"] != "fill"; });
  EXPECT_EQ(by_direction, CountsOf(done["copies"]));

  Counts calls;
  Json api = table("api");
  for (const Json& row : api["rows"]) {
    if (row["domain"] == "runtime") calls[row["name"]] += row["count"].get<long>();
  }
  EXPECT_EQ(calls, CountsOf(done["runtime_calls"]));

  Json operations = table("operations");
  EXPECT_EQ(CountRows(operations, "name", [](const Json&) { return true; }),
            CountsOf(done["ranges"]));

  // Device time: each range its own, with all that is nested in it, and what is outside all ranges
  // to none.
  std::map<std::string, Json> rows = RowsByName(operations);
  auto self = [&](const std::string& name) {
    return rows[name]["self_device_time_total_ns"].get<int64_t>();
  };
  auto total = [&](const std::string& name) {
    return rows[name]["device_time_total_ns"].get<int64_t>();
  };
  EXPECT_EQ(self("thread"), 0);
  EXPECT_EQ(total("layer"), self("layer"));
  EXPECT_EQ(total("transfer"), self("transfer"));
  EXPECT_EQ(total("forward"), self("forward") + total("layer"));
  EXPECT_EQ(total("iteration"), self("iteration") + total("forward") + total("transfer"));
  EXPECT_EQ(total("thread"), total("iteration"));
  std::map<std::string, Json> kernel_rows = RowsByName(kernels);
  auto kernel_ns = [&](const std::string& name) {
    return kernel_rows[name]["total_ns"].get<int64_t>();
  };
  EXPECT_EQ(self("forward"), kernel_ns("nn::(anonymous namespace)::attention(float*, int)"));
  int64_t device_ns = 0, copies_ns = 0, fills_ns = 0;
  for (const Json& row : kernels["rows"]) {
    device_ns += row["total_ns"].get<int64_t>();
    if (row["kind"] == "m") copies_ns += row["total_ns"].get<int64_t>();
    if (row["kind"] == "s") fills_ns += row["total_ns"].get<int64_t>();
  }
  EXPECT_EQ(self("transfer"), copies_ns);
  EXPECT_EQ(self("iteration"), fills_ns);
  EXPECT_EQ(total("thread") + process["unattributed_ns"].get<int64_t>(), device_ns);
  EXPECT_EQ(process["unattributed_count"].get<long>(), done["work_in"][""].get<long>());
  EXPECT_TRUE(process["losses"].empty()) << process["losses"];
}

class KnownWork : public testing::TestWithParam<int> {};

TEST_P(KnownWork, EverythingIsCountedExactlyAndTheProgramDoesNotNotice) {
  Sandbox sandbox;
  sandbox.StartDaemon();
  Arguments command = {
      Sandbox::Built(kProgram), "--threads", std::to_string(GetParam()), "--iterations", "50",
      "--exit-status",          "7"};
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
      {Sandbox::Built(kProgram), "--iterations", "20", "--hold", release}, sandbox.Traced());
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
        sandbox.Start({Sandbox::Built(kProgram), "--threads", std::to_string(1 + i % 3),
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
