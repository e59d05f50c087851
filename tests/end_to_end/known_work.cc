#include "tests/end_to_end/known_work.h"

#include <gtest/gtest.h>

namespace tp::test {

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

}  // namespace tp::test
