#include "analyzer/import/trace_elements.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace tp {
namespace {

constexpr size_t kMostBytes = size_t{64} << 20;

class TraceElementsTest : public testing::Test {
 protected:
  TraceElementsTest() : path_(std::string(std::getenv("TEST_TMPDIR")) + "/trace.json") {}
  ~TraceElementsTest() override { unlink(path_.c_str()); }

  void Write(const std::string& text) { std::ofstream(path_, std::ios::binary) << text; }

  // A line for each element, and one that says how it ended.
  std::string Elements(bool read_events, size_t most_bytes, size_t window_bytes) {
    FileBytes bytes = *FileBytes::Open(path_);
    TraceElements elements(&bytes, most_bytes, window_bytes);
    TraceEventReader reader;
    TraceEvent event;
    std::string lines;
    for (TraceElements::Kind kind; (kind = elements.Next(read_events ? &reader : nullptr,
                                                         &event)) != TraceElements::Kind::kEnd;) {
      if (kind == TraceElements::Kind::kField) lines += elements.key() + "=";
      lines += std::string(elements.text());
      if (kind == TraceElements::Kind::kEvent && read_events && elements.is_readable()) {
        lines += " name " + std::string(event.name) + " stream " + std::string(event.stream);
      }
      lines += "\n";
    }
    return lines + elements.damage() + " " + std::to_string(elements.too_long()) + " " +
           std::to_string(elements.without_end());
  }

  std::string path_;
};

TEST_F(TraceElementsTest, WindowsOfAnySizeGiveTheSame) {
  const std::string trace =
      "\xEF\xBB\xBF {\"schema\" : [1, {\"a\": \"]\\\"\"}],\"traceEvents\":[ "
      R"({"ph": "X", "name": "a\"b\\", "args": {"stream": 7, "list": [[1], "}"]}} , 17,)"
      R"({"ph":"X","name":"\u00e9","args":{"Stream":"12"}},null,"text",[{}],{},)"
      R"({"ph": "X", "name": "last", "args": {}} ] , "rank":3, "end" : "\\" } )";
  for (size_t size = 0; size <= trace.size(); ++size) {
    Write(trace.substr(0, size));
    for (const bool read_events : {false, true}) {
      const std::string expected = Elements(read_events, kMostBytes, 1 << 20);
      for (size_t window = 1; window <= 40; ++window) {
        ASSERT_EQ(Elements(read_events, kMostBytes, window), expected) << size << " " << window;
      }
    }
  }
}

TEST_F(TraceElementsTest, WhatIsTooLongIsSkippedAloneAndTold) {
  const std::string before = R"({"ph": "X", "name": "before"})", after = R"({"name": "after"})";
  for (const std::string& large :
       {std::string(5'000, '[') + std::string(5'000, ']'), "\"" + std::string(10'000, 'x') + "\"",
        std::string(10'000, '1'), R"({"ph": "X", "name": ")" + std::string(10'000, 'x') + "\"}"}) {
    Write("{\"traceEvents\": [" + before + ", " + large + ", " + after + "]}");
    EXPECT_EQ(Elements(true, /*most_bytes=*/1000, /*window_bytes=*/64),
              before + " name before stream \n" + after + " name after stream \n 1 0");
  }
}

TEST_F(TraceElementsTest, HalvesOfAByteOrderMarkAreNoJson) {
  for (const char* text : {"\xEF", "\xEF\xBB", "\xEF\xBB\xBF", "\xEF\xBB{", "\xEF[]"}) {
    Write(text);
    EXPECT_NE(Elements(true, kMostBytes, 1 << 20), " 0 0") << text;
  }
}

}  // namespace
}  // namespace tp
