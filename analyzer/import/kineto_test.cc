#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <string>

#include "analyzer/import/decimal.h"
#include "analyzer/import/import.h"
#include "analyzer/import/shapes.h"
#include "analyzer/model/frames.h"

namespace tp {
namespace {

class KinetoTest : public testing::Test {
 protected:
  KinetoTest() : path_(std::string(std::getenv("TEST_TMPDIR")) + "/trace.json") {}
  ~KinetoTest() override { unlink(path_.c_str()); }

  absl::StatusOr<WholeRecording> Import(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    return ImportKineto(path_);
  }
  // The events of a trace as PyTorch writes it.
  WholeRecording Events(const std::string& events) {
    absl::StatusOr<WholeRecording> recording =
        Import("{\"schemaVersion\": 1, \"traceEvents\": [" + events + "]}");
    EXPECT_TRUE(recording.ok()) << recording.status();
    return recording.ok() ? *std::move(recording) : WholeRecording();
  }
  static std::string Text(const WholeRecording& recording, StringId id) {
    return std::string(recording.strings->Text(id));
  }

  std::string path_;
};

std::string Complete(const std::string& category, const std::string& name, const std::string& ts,
                     const std::string& dur, const std::string& args = "{}", int tid = 1) {
  return R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name +
         R"(", "pid": 10, "tid": )" + std::to_string(tid) + R"(, "ts": )" + ts + R"(, "dur": )" +
         dur + R"(, "args": )" + args + "}";
}

// An operation of 100 us with a launch and a kernel of 7 us.
std::string OneKernel() {
  return Complete("cpu_op", "aten::mm", "1000", "100",
                  R"({"External id": 5, "Input Dims": [[2, 3], [3,4]]})") +
         ",\n" +
         Complete("cuda_runtime", "cudaLaunchKernel", "1010.5", "5.25",
                  R"({"External id": 5, "cbid": 211, "correlation": 77})") +
         ",\n" +
         Complete("kernel", "gemm", "1030", "7",
                  R"({"device": 0, "stream": 7, "context": 1, "correlation": 77})");
}

TEST(DecimalTimes, IsExactWhereDoublesAreNot) {
  EXPECT_EQ(DecimalTimes("1695835542514261", 3), 1695835542514261000);
  EXPECT_EQ(DecimalTimes("1712195495502094.565", 3), 1712195495502094565);
  EXPECT_EQ(DecimalTimes("9007199254740993.001", 3), 9007199254740993001);
  EXPECT_EQ(DecimalTimes("0.0004", 3), 0);
  EXPECT_EQ(DecimalTimes("0.0005", 3), 1);
  EXPECT_EQ(DecimalTimes("-1.5", 3), -1500);
  EXPECT_EQ(DecimalTimes("1.5e3", 3), 1500000);
  EXPECT_EQ(DecimalTimes("15E-1", 3), 1500);
  EXPECT_EQ(DecimalTimes("0e999999999", 3), 0);
  EXPECT_EQ(DecimalTimes("1e-999999999", 3), 0);
  EXPECT_EQ(DecimalTimes("9223372036854775.807", 3), INT64_MAX);
  for (const char* text : {"", "-", ".5", "1.", "NaN", "Infinity", "1e", "1x", "0x10", " 1",
                           "9223372036854775.808", "1e400", "99999999999999999999"}) {
    EXPECT_FALSE(DecimalTimes(text, 3).has_value()) << text;
  }
  EXPECT_EQ(WholeNumber("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(WholeNumber("5.0"), 5u);
  for (const char* text : {"18446744073709551616", "-1", "5.5", "x"}) {
    EXPECT_FALSE(WholeNumber(text).has_value()) << text;
  }
}

TEST(ShapesFromJson, FlattensListsOfTensors) {
  EXPECT_EQ(ShapesFromJson("[[2,3],[]]"), "[[2, 3], []]");
  EXPECT_EQ(ShapesFromJson("[ [ [1, 2], [3] ], [4] ]"), "[[1, 2], [3], [4]]");
  EXPECT_EQ(ShapesFromJson("[[5], \"a ] b\", 7, null]"), "[[5], [], [], []]");
  EXPECT_EQ(ShapesFromJson("[]"), "[]");
  EXPECT_EQ(ListFromJson("[\"a, b\",\"\" , \"c\\\"d\"]"), "[\"a, b\", \"\", \"c\\\"d\"]");
}

TEST_F(KinetoTest, OverheadIsNeitherWorkNorOfAProcess) {
  const WholeRecording recording =
      Events(OneKernel() + ",\n" +
             R"({"ph": "X", "cat": "overhead", "name": "Buffer Flush", "pid": -1, "tid": 0,
                 "ts": 1010, "dur": 3, "args": {}})");
  ASSERT_EQ(recording.activities.size(), 3u);
  const DeviceActivity& overhead = recording.activities[2];
  EXPECT_EQ(overhead.kind, ActivityKind::kOverhead);
  EXPECT_EQ(Text(recording, overhead.name), "Buffer Flush");
  EXPECT_EQ(overhead.end_ns - overhead.start_ns, 3000);
  EXPECT_EQ(recording.threads.size(), 1u);
  EXPECT_TRUE(recording.notes.empty());
}

TEST_F(KinetoTest, AKernelBelongsToTheOperationAroundItsLaunch) {
  const WholeRecording recording = Events(OneKernel());
  ASSERT_EQ(recording.spans.size(), 1u);
  EXPECT_EQ(Text(recording, recording.spans[0].name), "aten::mm");
  EXPECT_EQ(Text(recording, recording.spans[0].shapes), "[[2, 3], [3, 4]]");
  EXPECT_EQ(recording.base_ns, 1'000'000);
  ASSERT_EQ(recording.activities.size(), 2u);
  EXPECT_EQ(recording.activities[0].start_ns, 1'010'500);
  EXPECT_EQ(recording.activities[0].end_ns, 1'015'750);
  EXPECT_EQ(recording.activities[0].operation, recording.spans[0].id);
  EXPECT_EQ(recording.activities[1].stream, 7u);
  EXPECT_EQ(recording.activities[1].correlation, 77u);
  EXPECT_TRUE(recording.notes.empty()) << recording.notes[0];
}

TEST_F(KinetoTest, OldSpellingsMeanTheSame) {
  const WholeRecording recording = Events(
      Complete("Operator", "aten::mm", "1000", "100",
               R"({"Input dims": [[2]], "External Id": "5", "Call Stack": "f;g"})") +
      "," + Complete("Runtime", "hipLaunchKernel", "1010", "5", R"({"Correlation": 7})") + "," +
      Complete("Kernel", "gemm", "1030", "7", R"({"Correlation": "7", "Stream": 3})") + "," +
      Complete("Memcpy", "Memcpy HtoD (Pinned -> Device)", "1040", "1", R"({"Bytes": 64})") + "," +
      Complete("Memset", "Memset (Device)", "1050", "1"));
  ASSERT_EQ(recording.spans.size(), 1u);
  EXPECT_EQ(Text(recording, recording.spans[0].shapes), "[[2]]");
  EXPECT_EQ(SplitFrames(Text(recording, recording.spans[0].stack)),
            (std::vector<std::string>{"f", "g"}));
  ASSERT_EQ(recording.activities.size(), 4u);
  EXPECT_EQ(recording.activities[0].operation, 0u);
  EXPECT_EQ(recording.activities[1].correlation, 7u);
  EXPECT_EQ(recording.activities[1].stream, 3u);
  EXPECT_EQ(recording.activities[2].copy_kind, 1u);
  EXPECT_EQ(recording.activities[2].bytes, 64u);
  EXPECT_EQ(recording.activities[3].kind, ActivityKind::kFill);
}

TEST_F(KinetoTest, AnExternalIdServesOnlyWhereNoneContradicts) {
  const std::string outside = "," + Complete("cuda_runtime", "cudaLaunchKernel", "5000", "5",
                                             R"({"External id": 5, "correlation": 80})");
  WholeRecording recording = Events(OneKernel() + outside);
  EXPECT_EQ(recording.activities[2].operation, 0u);
  // One call whose id names another span than the one around it: ids mean something else here.
  recording = Events(OneKernel() + outside + "," +
                     Complete("cuda_runtime", "cudaMalloc", "1020", "1",
                              R"({"External id": 6, "correlation": 81})"));
  EXPECT_EQ(recording.activities[2].operation, kNoOperation);
  EXPECT_EQ(recording.activities[0].operation, 0u);
  // An id that two spans have names none.
  recording = Events(OneKernel() + outside + "," +
                     Complete("cpu_op", "other", "9000", "1", R"({"External id": 5})"));
  EXPECT_EQ(recording.activities[2].operation, kNoOperation);
  // Repeating the correlation is no id.
  recording = Events(OneKernel() + "," +
                     Complete("cuda_runtime", "cudaLaunchKernel", "5000", "5",
                              R"({"External id": 5, "correlation": 5})"));
  EXPECT_EQ(recording.activities[2].operation, kNoOperation);
}

TEST_F(KinetoTest, ThreadsAreProcessAndThreadWhateverTheyAreCalled) {
  const auto event = [](const std::string& pid, const std::string& tid) {
    return R"({"ph":"X","cat":"cpu_op","name":"a","ts":1,"dur":1,"pid":)" + pid + R"(,"tid":)" +
           tid + "}";
  };
  const WholeRecording recording =
      Events(event("1", "2") + "," + event("1", "\"2\"") + "," + event("-1", "2") + "," +
             event("\"main\"", "2") + "," + event("2", "1") +
             R"(,{"ph":"M","name":"thread_name","pid":2,"tid":1,"args":{"name":"worker"}})");
  std::vector<int64_t> threads;
  for (const Span& span : recording.spans) threads.push_back(span.thread);
  EXPECT_EQ(threads, (std::vector<int64_t>{0, 0, 1, 2, 3}));
  EXPECT_EQ(recording.threads.at(1).process, -1);
  EXPECT_EQ(recording.threads.at(3).thread_name, "worker");
}

TEST_F(KinetoTest, NamesOfAnyBytesSurvive) {
  const std::string long_name(10'000, 'x');
  for (const auto& [written, read] : std::vector<std::pair<std::string, std::string>>{
           {R"(a \"quoted\" \\ name)", R"(a "quoted" \ name)"},
           {R"(tab\tline\nnull\u0000)", std::string("tab\tline\nnull\0", 14)},
           {R"(pair \ud83d\ude00)", "pair \xF0\x9F\x98\x80"},
           {R"(half \ud83d x)", "half \xEF\xBF\xBD x"},
           {R"(half \ude00)", "half \xEF\xBF\xBD"},
           {"bytes \xFF\xC3", "bytes \xFF\xC3"},
           {"raw \x01 control", "raw \x01 control"},
           {R"(unknown \q escape)", R"(unknown \q escape)"},
           {long_name, long_name}}) {
    const WholeRecording recording = Events(Complete("cpu_op", written, "1", "2"));
    ASSERT_EQ(recording.spans.size(), 1u) << written;
    EXPECT_EQ(Text(recording, recording.spans[0].name), read);
  }
}

TEST_F(KinetoTest, WhatCannotBeReadIsLeftOutAndTold) {
  const WholeRecording recording = Events(
      OneKernel() + "," + R"({"ph": "X", "cat": "cpu_op", "name": "no dur", "ts": 1},)" +
      Complete("cpu_op", "nan", "NaN", "1") + "," + Complete("cpu_op", "huge", "1e30", "1") + "," +
      Complete("cpu_op", "text", "\"12.5\"", "\"1\"") + "," +
      Complete("cpu_op", "backwards", "50", "-3") + "," + Complete("mystery", "x", "1", "1") +
      R"(, 17, "text", null, [1], {"no": "phase"}, {"ph": "X", "cat" "broken"}, {"ph":"B"})");
  ASSERT_EQ(recording.spans.size(), 3u);
  EXPECT_EQ(recording.spans[1].start_ns, 12'500);
  EXPECT_EQ(recording.spans[2].end_ns, 47'000);  // For the summary to count as impossible.
  std::string notes;
  for (const std::string& note : recording.notes) notes += note + "\n";
  EXPECT_EQ(notes,
            "6 elements could not be read: left out\n"
            "1 event has no start or no duration: left out\n"
            "2 events have times that are no numbers or do not fit: left out\n"
            "1 event is a begin or end (ph B or E), not a complete one: left out\n"
            "events of categories that are no spans and no device work, left out: 1 mystery\n");
}

TEST_F(KinetoTest, AFileThatIsNoTraceGivesOneLine) {
  for (const std::string& text :
       {std::string(), std::string("hello"), std::string("{}"), std::string("{\"a\": [1]}"),
        std::string("{\"traceEvents\": 5}"), std::string("[1, 2, 3]"), std::string("\0\0\0", 3),
        std::string("{\"traceEv")}) {
    const absl::StatusOr<WholeRecording> recording = Import(text);
    ASSERT_FALSE(recording.ok()) << text;
    EXPECT_TRUE(absl::IsInvalidArgument(recording.status())) << recording.status();
    EXPECT_EQ(std::string(recording.status().message()).find('\n'), std::string::npos);
  }
  EXPECT_TRUE(absl::IsInvalidArgument(ImportKineto("/no/such/file").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ImportKineto("/tmp").status()));
  // No events is no error.
  EXPECT_TRUE(Import("{\"traceEvents\": []}").ok());
  EXPECT_TRUE(Import("[]").ok());
}

TEST_F(KinetoTest, ATraceCutAnywhereGivesWhatItHolds) {
  const std::string head = "{\"schemaVersion\": 1, \"traceEvents\": [\n";
  const std::string whole = head + OneKernel() + "\n], \"distributedInfo\": {\"rank\": 3}}";
  const absl::StatusOr<WholeRecording> all = Import(whole);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->rank, 3);
  size_t most = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    const absl::StatusOr<WholeRecording> recording = Import(whole.substr(0, size));
    if (size < head.size() - 1) {
      EXPECT_FALSE(recording.ok()) << size;
      continue;
    }
    ASSERT_TRUE(recording.ok()) << size << recording.status();
    const size_t records = recording->spans.size() + recording->activities.size();
    EXPECT_GE(records, most);
    most = std::max(most, records);
    EXPECT_FALSE(recording->notes.empty()) << size;
  }
  EXPECT_EQ(most, 3u);
}

TEST_F(KinetoTest, DamageAnywhereDoesNoHarm) {
  const std::string whole =
      "{\"traceEvents\": [" + OneKernel() + "], \"distributedInfo\": {\"rank\": 3}}";
  std::mt19937 random(1);
  for (int round = 0; round < 1000; ++round) {
    std::string text = whole;
    for (int damage = random() % 4; damage >= 0; --damage) {
      constexpr std::string_view kBytes = "{}[]\",:\\0-.eN\xFF\x01 ";
      text[random() % text.size()] = kBytes[random() % kBytes.size()];
    }
    const absl::StatusOr<WholeRecording> recording = Import(text);
    if (recording.ok()) {
      EXPECT_LE(recording->spans.size() + recording->activities.size(), 4u);
    }
  }
}

TEST_F(KinetoTest, BrokenEventsCostThemselvesAlone) {
  constexpr int kEvents = 2000, kEachBroken = 20;
  const std::string padding(1000, 'x');  // Several windows of the file.
  for (const std::string broken :
       {R"({"ph": "X", "cat": "cpu_op)", R"({"ph": "X", "cat" "cpu_op"})",
        R"({"ph": "X", "cat": "cpu_op", "ts": 1, "dur": 1, "name": "a "quoted" name"})",
        R"({"ph": "X", "args": {"a": 1)", R"({"ph": "X", "args": [}})", R"("ph": "X"})",
        R"({"ph": X-, "dur": )", R"({)", R"({"name": "\"})"}) {
    std::string events;
    for (int i = 0; i < kEvents; ++i) {
      if (i > 0) events += ",\n";
      if (i % kEachBroken == kEachBroken / 2) events += broken + "},\n";
      events += Complete("cpu_op", padding, "1", "2");
    }
    const WholeRecording recording = Events(events);
    EXPECT_EQ(recording.spans.size(), size_t{kEvents}) << broken;
    ASSERT_FALSE(recording.notes.empty()) << broken;
    EXPECT_NE(recording.notes[0].find("could not be read: left out"), std::string::npos) << broken;
  }
}

TEST_F(KinetoTest, NestingInJsonIsNoRecursion) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  const WholeRecording recording =
      Events(Complete("cpu_op", "deep", "1", "1", "{\"x\": " + deep + "}") + "," + OneKernel());
  EXPECT_GE(recording.spans.size(), 1u);
  EXPECT_FALSE(Import(std::string(1'000'000, '[')).ok());
}

TEST_F(KinetoTest, GzippedTracesAreReadAndCutOnesGiveWhatTheyHold) {
  std::string events;
  for (int i = 0; i < 2000; ++i) events += OneKernel() + ",";
  const std::string text = "{\"traceEvents\": [" + events + OneKernel() + "]}";
  const gzFile file = gzopen(path_.c_str(), "wb");
  ASSERT_EQ(gzwrite(file, text.data(), text.size()), static_cast<int>(text.size()));
  gzclose(file);
  absl::StatusOr<WholeRecording> recording = ImportKineto(path_);
  ASSERT_TRUE(recording.ok()) << recording.status();
  EXPECT_EQ(recording->spans.size(), 2001u);
  EXPECT_TRUE(recording->notes.empty());

  std::ifstream packed(path_, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(packed)), {});
  recording = Import(bytes.substr(0, bytes.size() / 2));
  ASSERT_TRUE(recording.ok()) << recording.status();
  EXPECT_GT(recording->spans.size(), 100u);
  EXPECT_LT(recording->spans.size(), 2001u);
  ASSERT_EQ(recording->notes.size(), 1u);
  EXPECT_EQ(recording->notes[0], path_ + ": the gzipped data end in the middle");

  bytes[bytes.size() / 2] ^= 0x55;
  recording = Import(bytes);
  if (recording.ok()) {
    EXPECT_FALSE(recording->notes.empty());
  }
}

TEST_F(KinetoTest, ValuesOfAnyKindAnywhereDoNoHarm) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  const std::vector<std::string> values = {"0",
                                           "-0",
                                           "-1",
                                           "-1e18",
                                           "1e18",
                                           "1e-400",
                                           "1e400",
                                           "1000000000000000000",
                                           "9223372036854775807",
                                           "9223372036854775808",
                                           "18446744073709551615",
                                           "18446744073709551616",
                                           "NaN",
                                           "-NaN",
                                           "Infinity",
                                           "-Infinity",
                                           "null",
                                           "true",
                                           "nan(0x1)",
                                           "0x10",
                                           "\"\"",
                                           "\"12.5\"",
                                           "\"x\"",
                                           "\"\\u0000\"",
                                           std::string("\"\0\0\"", 4),
                                           "\"\\ud800\"",
                                           "\"\xFF\xFE\"",
                                           "\"" + std::string(10'000, 'n') + "\"",
                                           "[]",
                                           "{}",
                                           "[[1, \"a\"], {}]",
                                           "{\"name\": {\"name\": [1]}}",
                                           deep};
  const std::vector<std::string> keys = {
      "ph",    "cat",         "name",        "pid",        "tid",        "ts",         "dur",
      "args",  "External id", "correlation", "stream",     "device",     "context",    "cbid",
      "Bytes", "Addr",        "Device Type", "Input Dims", "Input type", "Call stack", "stack",
      "Flops", "value",       "result",      "copy kind"};
  for (const std::string category : {"cpu_op", "cuda_runtime", "kernel", "gpu_memcpy"}) {
    for (const std::string& key : keys) {
      std::string events = OneKernel();
      const bool is_argument = key[0] == 'E' || key.size() > 4 || key == "cbid" || key == "Addr";
      for (const std::string& value : values) {
        const std::string last = "\"" + key + "\": " + value;
        const std::string event = Complete(category, "other", "2000", "1", "{}");
        // What comes twice counts as it comes last.
        events += ", " + event.substr(0, event.size() - 1) + ", " +
                  (is_argument ? "\"args\": {" + last + "}" : last) + "}";
      }
      const WholeRecording recording = Events(events + ", " + OneKernel());
      size_t own = 0;
      for (const Span& span : recording.spans) {
        own += Text(recording, span.name) == "aten::mm" && span.end_ns - span.start_ns == 100'000;
      }
      for (const DeviceActivity& activity : recording.activities) {
        own += Text(recording, activity.name) == "gemm" && activity.stream == 7;
      }
      EXPECT_EQ(own, 4u) << category << " " << key;
      EXPECT_LE(recording.spans.size() + recording.activities.size(), values.size() + 6);
    }
  }
}

TEST_F(KinetoTest, EventsThatComeTwiceCountTwice) {
  const WholeRecording recording = Events(OneKernel() + "," + OneKernel());
  ASSERT_EQ(recording.spans.size(), 2u);
  EXPECT_NE(recording.spans[0].id, recording.spans[1].id);
  EXPECT_EQ(recording.activities.size(), 4u);
}

TEST_F(KinetoTest, TimesThatNoClockShowsAreLeftOutAndTold) {
  std::string events = OneKernel();
  for (const char* time : {"1e18", "-1e18", "18446744073709551615", "4611686018427387904", "NaN"}) {
    events +=
        "," + Complete("kernel", "far", time, "1") + "," + Complete("kernel", "long", "1", time);
  }
  // These are times, if far ones: the summary sorts them out.
  events += "," + Complete("kernel", "early", "0", "1") + "," +
            Complete("kernel", "late", "1000000000000000", "1");
  const WholeRecording recording = Events(events);
  EXPECT_EQ(recording.activities.size(), 4u);
  ASSERT_EQ(recording.notes.size(), 1u);
  EXPECT_EQ(recording.notes[0], "10 events have times that are no numbers or do not fit: left out");
}

TEST_F(KinetoTest, WhatIsNoReadableFileGivesOneLine) {
  const std::string pipe = path_ + ".pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path :
       {pipe, std::string(std::getenv("TEST_TMPDIR")), std::string("/dev/zero"), path_ + ".none",
        path_ + "/below", std::string()}) {
    const absl::Status status = ImportFile(path).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_EQ(std::string(status.message()).find('\n'), std::string::npos) << status;
  }
  unlink(pipe.c_str());
}

TEST_F(KinetoTest, GzippedMembersAreReadOneAfterTheOtherAndGarbageBehindIsNot) {
  const std::string text = "{\"traceEvents\": [" + OneKernel() + "," + OneKernel() + "]}";
  const auto gzipped = [&](const std::string& part) {
    const gzFile file = gzopen(path_.c_str(), "wb");
    EXPECT_EQ(gzwrite(file, part.data(), part.size()), static_cast<int>(part.size()));
    gzclose(file);
    std::ifstream packed(path_, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(packed)), {});
  };
  for (size_t cut = 1; cut < text.size(); cut += 7) {
    const std::string members = gzipped(text.substr(0, cut)) + gzipped(text.substr(cut));
    absl::StatusOr<WholeRecording> recording = Import(members);
    ASSERT_TRUE(recording.ok()) << recording.status();
    EXPECT_EQ(recording->spans.size(), 2u);
    EXPECT_TRUE(recording->notes.empty());
    recording = Import(members + "garbage");
    ASSERT_TRUE(recording.ok()) << recording.status();
    EXPECT_EQ(recording->spans.size(), 2u);
  }
  const std::string whole = gzipped(text);
  for (size_t place = 0; place < whole.size(); ++place) {
    std::string damaged = whole;
    damaged[place] ^= 0x40;
    const absl::StatusOr<WholeRecording> recording = Import(damaged);
    if (recording.ok() && recording->spans.size() < 2) {
      EXPECT_FALSE(recording->notes.empty()) << place;
    }
    const absl::StatusOr<WholeRecording> cut = Import(whole.substr(0, place));
    if (cut.ok()) {
      EXPECT_FALSE(cut->notes.empty()) << place;
    }
  }
}

TEST_F(KinetoTest, WhatIsTooLargeForMemoryIsLeftOutAndTold) {
  std::ofstream(path_) << "{\"traceEvents\": [" << OneKernel() << "," << OneKernel()
                       << "], \"distributedInfo\": {\"rank\": 3}}";
  absl::StatusOr<WholeRecording> recording = ImportKineto(path_, {.records = 6});
  ASSERT_TRUE(recording.ok());
  EXPECT_TRUE(recording->notes.empty());
  EXPECT_EQ(recording->rank, 3);
  recording = ImportKineto(path_, {.records = 4});
  ASSERT_TRUE(recording.ok());
  EXPECT_EQ(recording->spans.size() + recording->activities.size(), 4u);
  ASSERT_EQ(recording->notes.size(), 1u);
  EXPECT_EQ(recording->notes[0],
            "it is too large: what comes after the first 4 events was left out");
  recording = ImportKineto(path_, {.text_bytes = 1});
  ASSERT_TRUE(recording.ok());
  EXPECT_EQ(recording->notes.size(), 1u);
}

TEST_F(KinetoTest, EventsLongerThanTheWindowAreReadWhole) {
  const std::string name(5 << 20, 'n');
  const WholeRecording recording =
      Events(OneKernel() + "," + Complete("cpu_op", name, "1", "2") + "," + OneKernel());
  ASSERT_EQ(recording.spans.size(), 3u);
  EXPECT_EQ(Text(recording, recording.spans[1].name).size(), name.size());
}

TEST_F(KinetoTest, DevicePropertiesAndNamesOfStreamsAreTaken) {
  const auto named = [](const char* device, const char* row, const char* name) {
    return std::string(R"(,{"ph": "M", "name": "thread_name", "pid": )") + device + R"(, "tid": )" +
           row + R"(, "args": {"name": ")" + name + R"("}})";
  };
  const absl::StatusOr<WholeRecording> recording = Import(
      "{\"traceEvents\": [" + OneKernel() + named("0", "7", "stream 7: weights: all") +
      named("0", "8", "stream 8: nobody's") + named("10", "1", "stream 7: of a thread") +
      R"(], "deviceProperties": [{"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 85018279936,
         "computeMajor": 9, "computeMinor": 0, "numSms": 132, "warpSize": -1,
         "regsPerBlock": 99999999999}, 7, {"name": "without a number"}]})");
  ASSERT_TRUE(recording.ok()) << recording.status();
  const Descriptions& known = recording->descriptions;
  ASSERT_EQ(known.devices.size(), 1u);
  const DeviceDescription& device = known.devices.at(0);
  EXPECT_EQ(device.name, "NVIDIA H100");
  EXPECT_EQ(device.memory_bytes, 85018279936u);
  EXPECT_EQ(device.compute_major, 9u);
  EXPECT_EQ(device.multiprocessors, 132u);
  EXPECT_EQ(device.threads_per_warp, 0u) << "is no such number";
  EXPECT_EQ(device.registers_per_block, 0u) << "does not fit";
  ASSERT_EQ(known.streams.size(), 1u);
  EXPECT_EQ(known.StreamName(1, 7), "weights: all");
}

TEST_F(KinetoTest, DamagedDevicePropertiesAreNone) {
  for (const char* damaged : {"[{\"id\": 0, \"name\": NaN}]", "{}", "7", "[[[[]]]]", "\"\""}) {
    const absl::StatusOr<WholeRecording> recording =
        Import("{\"deviceProperties\": " + std::string(damaged) + ", \"traceEvents\": [" +
               OneKernel() + "]}");
    ASSERT_TRUE(recording.ok()) << damaged;
    EXPECT_TRUE(recording->descriptions.devices.empty()) << damaged;
    EXPECT_EQ(recording->activities.size(), 2u) << damaged;
  }
}

}  // namespace
}  // namespace tp
