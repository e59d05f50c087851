#include "analyzer/summarize/captured_work.h"

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace tp {
namespace {

Span MakeSpan(uint64_t id, StringId name) {
  Span span;
  span.id = id;
  span.name = name;
  span.start_ns = static_cast<int64_t>(id) * 100;
  span.end_ns = span.start_ns + 50;
  return span;
}

TEST(CapturedWorkTest, InAnyOrderACopysWorkBelongsToTheOperationOfItsOriginal) {
  constexpr uint64_t kForward = 1, kInstantiate = 2;
  SpanSums* spans = nullptr;
  CapturedWork* captured = nullptr;
  std::vector<std::function<void()>> facts = {
      [&] { spans->Add(MakeSpan(kForward, 1)); },
      [&] { spans->Add(MakeSpan(kInstantiate, 2)); },
      [&] { captured->AddNode({.id = 10, .operation = kForward}); },
      // A clone of the graph, and the executable graph of that.
      [&] { captured->AddNode({.id = 20, .operation = kInstantiate}); },
      [&] { captured->AddNode({.id = 20, .original = 10}); },
      [&] { captured->AddNode({.id = 30, .original = 20}); },
      [&] { captured->AddWork(30, {.duration_ns = 70, .records = 1, .kernels = 1}); },
      [&] { captured->AddWork(30, {.duration_ns = 80, .records = 1, .kernels = 1}); },
      [&] { captured->AddWork(99, {.duration_ns = 1000, .records = 1, .kernels = 1}); },
  };
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    SpanSums own_spans(1000, 1000);
    CapturedWork own_captured(&own_spans, 1000);
    spans = &own_spans;
    captured = &own_captured;
    for (const auto& fact : facts) {
      fact();
      captured->ByGroup();  // Asking changes nothing.
    }
    const auto sums = captured->ByGroup();
    ASSERT_EQ(sums.size(), 1u) << i;
    EXPECT_EQ(sums.begin()->first, spans->GroupOfOperation(kForward));
    EXPECT_EQ(sums.begin()->second.duration_ns, 150);
    EXPECT_EQ(sums.begin()->second.kernels, 2);
    std::shuffle(facts.begin(), facts.end(), random);
  }
}

TEST(CapturedWorkTest, TheSumsOfNodesThatAreLetGoStay) {
  SpanSums spans(1000, 1000);
  CapturedWork captured(&spans, 100);
  spans.Add(MakeSpan(1, 1));
  for (uint64_t node = 1; node <= 5000; ++node) {
    captured.AddNode({.id = node, .operation = 1});
    captured.AddWork(node, {.duration_ns = 2, .records = 1, .kernels = 1});
  }
  EXPECT_EQ(captured.ByGroup().begin()->second.duration_ns, 10'000);
  EXPECT_LT(captured.memory_bytes(), 100'000u);
}

TEST(CapturedWorkTest, ACopyOutlivesItsOriginalAndTheOperation) {
  SpanSums spans(10, 1000);
  CapturedWork captured(&spans, 100);
  spans.Add(MakeSpan(1, 1));
  const uint32_t group = spans.GroupOfOperation(1);
  captured.AddNode({.id = 1, .operation = 1});
  captured.AddNode({.id = 2, .original = 1});
  for (uint64_t i = 2; i < 500; ++i) {
    spans.Add(MakeSpan(i, 2));
    captured.AddNode({.id = 100 + i, .operation = i});
    if (i % 20 == 0) captured.AddWork(2, {.duration_ns = 5, .records = 1, .kernels = 1});
  }
  EXPECT_EQ(captured.ByGroup()[group].duration_ns, 5 * 24);
}

TEST(CapturedWorkTest, NodesThatAreCopiesOfEachOtherDoNoHarm) {
  SpanSums spans(1000, 1000);
  CapturedWork captured(&spans, 100);
  captured.AddNode({.id = 1, .original = 2});
  captured.AddNode({.id = 2, .original = 1});
  captured.AddNode({.id = 3, .original = 3});
  captured.AddWork(1, {.duration_ns = 2, .records = 1, .kernels = 1});
  EXPECT_TRUE(captured.ByGroup().empty());
}

}  // namespace
}  // namespace tp
