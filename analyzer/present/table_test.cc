#include "analyzer/present/table.h"

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/present/notes.h"
#include "analyzer/present/process_list.h"
#include "analyzer/present/text_table.h"
#include "analyzer/present/units.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace tp {
namespace {

query::OperationRow* AddOperation(const std::string& name, int64_t count, int64_t self_ns,
                                  query::Table* table) {
  query::OperationRow* row = table->add_operations();
  row->set_name(name);
  row->set_kind("o");
  row->set_count(count);
  row->set_cpu_time_total_ns(self_ns);
  row->set_self_cpu_time_total_ns(self_ns);
  table->set_self_cpu_time_total_ns(table->self_cpu_time_total_ns() + self_ns);
  return row;
}

std::vector<std::string> Names(const query::Table& table) {
  std::vector<std::string> names;
  for (const auto& row : table.operations()) names.push_back(row.name());
  return names;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Units, TheUnitIsChosenAfterRounding) {
  auto text = [](double us) { return DurationText(us, TimeUnit::kChosenBySize); };
  EXPECT_EQ(text(0), "0.000us");
  EXPECT_EQ(text(1.2345), "1.234us");
  EXPECT_EQ(text(999.9994), "999.999us");
  EXPECT_EQ(text(999.9996), "1.000ms");
  EXPECT_EQ(text(999999.4), "999.999ms");
  EXPECT_EQ(text(999999.6), "1.000s");
  EXPECT_EQ(text(3.6e9), "3600.000s");
  EXPECT_EQ(DurationText(1500, TimeUnit::kSeconds), "0.002s");
  EXPECT_EQ(DurationText(1500, TimeUnit::kMilliseconds), "1.500ms");
  EXPECT_EQ(DurationText(1500, TimeUnit::kMicroseconds), "1500.000us");
}

TEST(Units, BytesLikewise) {
  EXPECT_EQ(BytesText(0), "0 B");
  EXPECT_EQ(BytesText(1023), "1023 B");
  EXPECT_EQ(BytesText(1024), "1.00 KB");
  EXPECT_EQ(BytesText(1024 * 1024 - 1), "1.00 MB");
  EXPECT_EQ(BytesText(int64_t{3} << 30), "3.00 GB");
  EXPECT_EQ(BytesText(int64_t{5000} << 30), "5000.00 GB");
}

TEST(Units, OneIsNoSeveral) {
  EXPECT_EQ(Counted(0, "record"), "0 records");
  EXPECT_EQ(Counted(1, "record"), "1 record");
  EXPECT_EQ(Counted(2, "record"), "2 records");
  EXPECT_EQ(UnattributedNote(1, 5000, false),
            "device work without an operation: 1 record, 5.000us");
}

TEST(Units, SharesOfNothing) {
  EXPECT_EQ(ShareText(0, 0), "NaN");
  EXPECT_EQ(ShareText(1, 0), "inf%");
  EXPECT_EQ(ShareText(1, 8), "12.50%");
}

TEST(Units, OnlyThreeUnitsCanBeAskedFor) {
  EXPECT_EQ(*ParseTimeUnit("ms"), TimeUnit::kMilliseconds);
  EXPECT_EQ(ParseTimeUnit("US").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ParseTimeUnit("").status().message().find("unsupported time_unit: "), 0u);
}

TEST(TextTable, CutsNamesAtTheEndAndLocationsAtTheFront) {
  TextTable text;
  text.AddLeftColumn("Name", 10);
  text.AddLeftColumn("Where", 12, TextTable::Cut::kFront);
  text.AddColumn("N");
  text.AddRow({"123456789", "a/long/path/file.py", "7"});
  text.AddRow({"1234567890", "123456789012", "8"});
  EXPECT_EQ(text.Text(),
            "----------  ------------  ------------  \n"
            "Name        Where                    N  \n"
            "----------  ------------  ------------  \n"
            "123456789   ...h/file.py             7  \n"
            "1234567...  123456789012             8  \n"
            "----------  ------------  ------------  \n");
}

TEST(SortRows, IsStableAndKnowsAllNamesOfTheDevice) {
  query::Table table;
  AddOperation("b", 2, 5, &table)->set_self_device_time_total_ns(3);
  AddOperation("c", 2, 9, &table)->set_self_device_time_total_ns(4);
  AddOperation("a", 1, 7, &table)->set_self_device_time_total_ns(4);
  auto sorted = [&table](const char* key) {
    query::Table copy = table;
    EXPECT_TRUE(SortRows(key, &copy).ok()) << key;
    return Names(copy);
  };
  using Order = std::vector<std::string>;
  EXPECT_EQ(sorted("name"), (Order{"a", "b", "c"}));
  EXPECT_EQ(sorted("count"), (Order{"b", "c", "a"}));
  EXPECT_EQ(sorted("self_cpu_time_total"), (Order{"c", "a", "b"}));
  for (const char* key : {"self_cuda_time", "self_device_time_total", "self_xpu_time",
                          "self_privateuse1_time_total"}) {
    EXPECT_EQ(sorted(key), (Order{"c", "a", "b"}));
  }
  for (const char* key :
       {"self_cpu_time", "cpu_time", "cpu_time_total", "calls", "cuda_time", "cuda_time_total",
        "device_time", "device_time_total", "flops", "total_flops", "xpu_time_total"}) {
    sorted(key);
  }
}

TEST(SortRows, AnUnknownKeyIsAnErrorThatListsTheViewsKeys) {
  query::Table table;
  table.set_view(query::KERNELS);
  absl::Status status = SortRows("self_cpu_time", &table);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  std::string message(status.message());
  EXPECT_EQ(message.find("unsupported sort_by: self_cpu_time"), 0u);
  EXPECT_NE(message.find("avg_us"), message.npos);
  TextOptions options;
  options.sort_by = "nonsense";
  EXPECT_FALSE(FormatTable(table, options).ok());
  EXPECT_FALSE(FormatJson(table, options).ok());
  EXPECT_FALSE(FormatCsv(table, options).ok());
}

TEST(FormatJson, IsValidWhateverTheNamesHold) {
  query::Table table;
  query::OperationRow* row = AddOperation("quote \" back \\ \xff\n\x01", 3, 1'234'567, &table);
  row->set_has_input_shapes(true);
  row->add_input_shapes()->add_dimensions(2);
  row->add_input_shapes();
  AddOperation("plain", 1, 5, &table)->add_stack("frame \xfe");
  query::Loss* loss = table.add_losses();
  loss->set_kind("kernels");
  loss->set_cause("dropped by CUPTI");
  loss->set_count(7);
  table.add_notes("a note");
  TextOptions options;
  options.row_limit = 5;
  nlohmann::json json = nlohmann::json::parse(*FormatJson(table, options));
  EXPECT_EQ(json["view"], "operations");
  ASSERT_EQ(json["rows"].size(), 2u);
  EXPECT_EQ(json["rows"][0]["name"], "quote \" back \\ \uFFFD\n\x01");
  EXPECT_EQ(json["rows"][0]["self_cpu_time_total_ns"], 1'234'567);
  EXPECT_EQ(json["rows"][0]["input_shapes"], (nlohmann::json{{2}, nlohmann::json::array()}));
  EXPECT_TRUE(json["rows"][0]["stack"].is_null());
  EXPECT_TRUE(json["rows"][1]["input_shapes"].is_null());
  EXPECT_EQ(json["totals"]["self_cpu_time_total_ns"], 1'234'572);
  EXPECT_EQ(json["losses"]["kernels"]["dropped by CUPTI"], 7);
  EXPECT_EQ(json["notes"][0], "a note");
}

TEST(FormatJson, KernelsHaveTheirOwnFields) {
  query::Table table;
  table.set_view(query::KERNELS);
  query::WorkRow* row = table.add_kernels();
  row->set_name("add(float*)");
  row->set_raw_name("_Z3addPf");
  row->set_kind("k");
  row->set_count(2);
  row->set_total_ns(30);
  row->set_min_ns(10);
  row->set_max_ns(20);
  nlohmann::json json = nlohmann::json::parse(*FormatJson(table, {}));
  nlohmann::json fields = json["rows"][0];
  EXPECT_EQ(fields["name"], "add(float*)");
  EXPECT_EQ(fields["kind"], "k");
  EXPECT_EQ(fields["count"], 2);
  EXPECT_EQ(fields["total_ns"], 30);
  EXPECT_EQ(fields["min_ns"], 10);
  EXPECT_EQ(fields["max_ns"], 20);
  EXPECT_TRUE(fields["grid"].is_null());
  EXPECT_TRUE(fields["avg_registers_per_thread"].is_null()) << "not known is not zero";
  EXPECT_TRUE(fields["avg_queued_to_start_ns"].is_null());

  query::LaunchSummary* launches = row->mutable_launches();
  launches->set_launches(2);
  launches->set_average_registers(40.5);
  for (uint32_t extent : {128, 1, 1}) launches->add_block(extent);
  launches->set_queued(2);
  launches->set_queued_to_start_total_ns(5);
  fields = nlohmann::json::parse(*FormatJson(table, {}))["rows"][0];
  EXPECT_TRUE(fields["grid"].is_null()) << "not the same in all launches";
  EXPECT_EQ(fields["block"], (nlohmann::json{128, 1, 1}));
  EXPECT_EQ(fields["avg_registers_per_thread"], 40.5);
  EXPECT_EQ(fields["avg_queued_to_start_ns"], 2.5);
}

TEST(FormatTable, StreamsAndDevicesHaveTheirNamesWhereTheyAreKnown) {
  query::Table table;
  table.set_view(query::STREAMS);
  query::StreamRow* row = table.add_streams();
  row->set_pid(4242);
  row->set_stream(13);
  query::DeviceUse* device = table.add_devices();
  device->set_last_ns(10);
  const std::string before = *FormatTable(table, {});
  EXPECT_EQ(before.find("Name"), std::string::npos) << before;
  EXPECT_NE(before.find("\nDevice 0: busy"), std::string::npos) << before;
  nlohmann::json fields = nlohmann::json::parse(*FormatJson(table, {}))["rows"][0];
  EXPECT_TRUE(fields["name"].is_null());
  EXPECT_TRUE(fields["priority"].is_null()) << "not known is not zero";

  row->set_name("copies");
  row->set_kind("non-blocking");
  row->set_priority(-1);
  device->set_name("NVIDIA H200");
  const std::string text = *FormatTable(table, {});
  EXPECT_NE(text.find("Stream  Name  "), std::string::npos) << text;
  EXPECT_NE(text.find("13  copies"), std::string::npos) << text;
  EXPECT_NE(text.find("\nDevice 0 (NVIDIA H200): busy"), std::string::npos) << text;
  fields = nlohmann::json::parse(*FormatJson(table, {}))["rows"][0];
  EXPECT_EQ(fields["name"], "copies");
  EXPECT_EQ(fields["kind"], "non-blocking");
  EXPECT_EQ(fields["priority"], -1);
}

TEST(DeviceNames, AreCountedWhereTheyAreTheSame) {
  query::Process process;
  EXPECT_EQ(DeviceNames(process), "");
  process.add_devices();
  EXPECT_EQ(DeviceNames(process), "") << "is not known";
  for (const char* name : {"NVIDIA H200", "Tesla T4", "NVIDIA H200"}) {
    process.add_devices()->set_name(name);
  }
  EXPECT_EQ(DeviceNames(process), "2 x NVIDIA H200, Tesla T4");
}

TEST(CuptiVersionText, NamesTheCudaRelease) {
  EXPECT_EQ(CuptiVersionText(0), "-");
  EXPECT_EQ(CuptiVersionText(130001), "13.0");
  EXPECT_EQ(CuptiVersionText(130200), "13.2");
  EXPECT_EQ(CuptiVersionText(28), "12.9");
  EXPECT_EQ(CuptiVersionText(26), "12.8");
  EXPECT_EQ(CuptiVersionText(19), "12.0");
  EXPECT_EQ(CuptiVersionText(18), "11.8");
  EXPECT_EQ(CuptiVersionText(13), "11.0");
  EXPECT_EQ(CuptiVersionText(9), "9");
}

TEST(FormatCsv, QuotesWhatNeedsIt) {
  query::Table table;
  table.set_view(query::API);
  const std::string titles = "name,domain,count,total_ns,min_ns,max_ns,errors\r\n";
  EXPECT_EQ(*FormatCsv(table, {}), titles);
  query::CallRow* row = table.add_calls();
  row->set_name("f<a, b>(\"x\")");
  row->set_domain("driver");
  table.add_calls()->set_name("plain");
  EXPECT_EQ(*FormatCsv(table, {}), titles +
                                       "\"f<a, b>(\"\"x\"\")\",driver,0,0,0,0,0\r\n"
                                       "plain,,0,0,0,0,0\r\n");
}

TEST(FormatCsv, NamesSurviveWhateverIsInThem) {
  query::Table table;
  table.set_view(query::API);
  table.add_calls()->set_name("two\nlines \x1b[31m");
  EXPECT_NE(FormatCsv(table, {})->find("\r\n\"two\nlines \x1b[31m\",,"), std::string::npos);
  EXPECT_EQ(CsvLine({"a", "", "b,"}), "a,,\"b,\"\r\n");
}

TEST(FormatCsv, AnExtentIsOneCellAndWhatIsNotKnownAnEmptyOne) {
  query::Table table;
  table.set_view(query::KERNELS);
  query::WorkRow* row = table.add_kernels();
  row->set_name("k");
  row->mutable_launches()->set_launches(1);
  for (uint32_t extent : {2, 3, 1}) row->mutable_launches()->add_grid(extent);
  std::string text = *FormatCsv(table, {});
  EXPECT_NE(text.find("\r\nk,,0,0,0,0,\"[2,3,1]\",,,0.0,"), text.npos) << text;
}

TEST(FormatTable, SharesOfCallsAreOfTheirDomainSinceRuntimeCallsHoldDriverCalls) {
  query::Table table;
  table.set_view(query::API);
  const auto add = [&table](const char* name, const char* domain, int64_t total_ns) {
    query::CallRow* row = table.add_calls();
    row->set_name(name);
    row->set_domain(domain);
    row->set_count(1);
    row->set_total_ns(total_ns);
  };
  add("cudaLaunchKernel", "runtime", 3000);
  add("cuLaunchKernel", "driver", 2000);
  add("cudaMalloc", "runtime", 1000);
  TextOptions options;
  options.row_limit = 2;
  const std::vector<std::string> lines = Lines(*FormatTable(table, options));
  EXPECT_NE(lines[1].find("Domain %"), std::string::npos);
  EXPECT_NE(lines[3].find(" 75.00% "), std::string::npos) << lines[3];
  EXPECT_NE(lines[4].find(" 100.00% "), std::string::npos) << lines[4];
}

TEST(NotesOfRows, SayWhatTheRowsDoNot) {
  query::Table table;
  AddNotesOfRows(/*top_level=*/false, &table);
  EXPECT_EQ(table.notes_size(), 0);
  table.set_view(query::KERNELS);
  table.set_other_records(1234);
  AddNotesOfRows(/*top_level=*/false, &table);
  ASSERT_EQ(table.notes_size(), 1);
  EXPECT_EQ(table.notes(0).find("1234 records of device work are in the row (other)"), 0u);
}

TEST(NotesOfRows, TopLevelLeavesOutSingleSpansAlone) {
  for (const auto& [view, notes] : {std::pair(query::SPANS, 0), std::pair(query::OPERATIONS, 1),
                                    std::pair(query::KERNELS, 1)}) {
    query::Table table;
    table.set_view(view);
    AddNotesOfRows(/*top_level=*/true, &table);
    EXPECT_EQ(table.notes_size(), notes) << ViewName(view);
  }
}

TEST(FormatTable, TotalsAreThoseOfAllRowsAlsoWhenFewAreShown) {
  query::Table table;
  AddOperation("first", 1, 3000, &table);
  AddOperation("second", 1, 1000, &table);
  TextOptions options;
  options.row_limit = 1;
  std::string text = *FormatTable(table, options);
  EXPECT_NE(text.find("75.00%"), text.npos);
  EXPECT_EQ(text.find("second"), text.npos);
  EXPECT_NE(text.find("Self CPU time total: 4.000us\n"), text.npos);
  options.row_limit = 0;
  EXPECT_EQ(*FormatTable(table, options), "");
}

TEST(FormatTable, AllViewsHaveLinesOfOneWidth) {
  query::Table table;
  query::CopyRow* copy = table.add_copies();
  copy->set_direction("HtoD");
  copy->set_source_memory("pinned");
  copy->set_count(2);
  copy->set_bytes(4096);
  copy->set_total_ns(1000);
  query::CallRow* call = table.add_calls();
  call->set_name("cudaLaunchKernel");
  call->set_domain("runtime");
  call->set_count(3);
  call->set_total_ns(10);
  query::StreamRow* stream = table.add_streams();
  stream->set_pid(4242);
  stream->set_stream(7);
  query::DeviceUse* device = table.add_devices();
  device->set_busy_ns(250);
  device->set_last_ns(1000);
  table.add_processes()->set_command("python train.py");
  for (query::View view : {query::COPIES, query::API, query::STREAMS, query::PROCESSES}) {
    table.set_view(view);
    absl::StatusOr<std::string> text = FormatTable(table, {});
    ASSERT_TRUE(text.ok());
    std::vector<std::string> lines = Lines(*text);
    ASSERT_GE(lines.size(), 5u);
    for (int i = 1; i < 5; ++i) EXPECT_EQ(lines[i].size(), lines[0].size()) << *text;
    EXPECT_TRUE(FormatJson(table, {}).ok());
    EXPECT_TRUE(FormatCsv(table, {}).ok());
  }
  table.set_view(query::STREAMS);
  std::string text = *FormatTable(table, {});
  EXPECT_NE(text.find("Device 0: busy 0.250us of 1.000us (25.00%)\n"), text.npos);
}

TEST(FormatTable, CountersAreExactAndThoseWithoutANumberSaySo) {
  query::Table table;
  table.set_view(query::COUNTERS);
  query::CounterRow* tokens = table.add_counters();
  tokens->set_name("tokens");
  tokens->set_count(1);
  tokens->set_last(9007199254740991);
  tokens->set_average(0.1);
  query::CounterRow* none = table.add_counters();
  none->set_name("none");
  none->set_not_finite(3);
  const std::string text = *FormatTable(table, {});
  EXPECT_NE(text.find(" 9007199254740991 "), text.npos) << text;
  EXPECT_NE(text.find(" 0.1 "), text.npos) << text;
  EXPECT_NE(text.find(" -- "), text.npos) << text;
  EXPECT_NE(FormatJson(table, {})->find(R"("last":null)"), std::string::npos);
  TextOptions options;
  options.sort_by = "last";
  EXPECT_TRUE(FormatCsv(table, options).ok());
}

TEST(FormatTable, SpansShowWhatTheyCarry) {
  query::Table table;
  table.set_view(query::SPANS);
  query::OperationRow* row = table.add_operations();
  row->set_name("ncclAllReduce");
  const auto value = [row](const char* name) {
    query::Value* value = row->add_values();
    value->set_name(name);
    return value;
  };
  value("bytes")->set_unsigned_number(4194304);
  value("root")->set_signed_number(-1);
  value("ratio")->set_real_number(0.5);
  value("reduction")->set_text("Sum");
  row->add_input_types("float");
  EXPECT_NE(FormatTable(table, {})->find("bytes=4194304, root=-1, ratio=0.5, reduction=Sum"),
            std::string::npos);
  const std::string json = *FormatJson(table, {});
  EXPECT_NE(json.find(R"("values":{"bytes":4194304,"root":-1,"ratio":0.5,"reduction":"Sum"})"),
            json.npos)
      << json;
  EXPECT_NE(json.find(R"("input_types":["float"])"), json.npos);
  table.mutable_operations(0)->clear_values();
  EXPECT_EQ(FormatTable(table, {})->find("Values"), std::string::npos) << "a column of nothing";
}

}  // namespace
}  // namespace tp
