#include "analyzer/correlate/nesting.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace tp {
namespace {

// Adds up what it is told, which must come to what the nesting says.
class Told : public Nesting::Observer {
 public:
  void CoveredTimeChanged(SpanSlot parent, int64_t delta_ns) override {
    if (parent >= covered_ns.size()) covered_ns.resize(parent + 1);
    covered_ns[parent] += delta_ns;
  }
  void Leaving(SpanSlot, SpanSlot) override { --joined; }
  void Joined(SpanSlot, SpanSlot) override { ++joined; }

  std::vector<int64_t> covered_ns = std::vector<int64_t>(64);
  int joined = 0;
};

struct Interval {
  int64_t start_ns, end_ns;
};

// The parents of spans, by position, that were inserted in the given order of positions.
std::vector<int> Parents(const std::vector<Interval>& spans, const std::vector<int>& order) {
  Told told;
  Nesting nesting(&told);
  std::vector<SpanSlot> slots(spans.size());
  for (int i : order) slots[i] = nesting.Insert(1, i, spans[i].start_ns, spans[i].end_ns);
  std::vector<int> parents;
  int have_parents = 0;
  for (SpanSlot slot : slots) {
    SpanSlot parent = nesting.parent(slot);
    parents.push_back(parent == kNoSpan ? -1 : static_cast<int>(nesting.id(parent)));
    have_parents += parent != kNoSpan;
    EXPECT_EQ(nesting.covered_ns(slot), told.covered_ns[slot]);
  }
  EXPECT_EQ(told.joined, have_parents);
  return parents;
}

void ExpectParents(const std::vector<Interval>& spans, const std::vector<int>& expected) {
  std::vector<int> order(spans.size());
  std::iota(order.begin(), order.end(), 0);
  do {
    EXPECT_EQ(Parents(spans, order), expected) << testing::PrintToString(order);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Nesting, TheParentIsTheInnermostThatContainsTheWholeSpan) {
  ExpectParents({{0, 100}, {10, 50}, {20, 30}, {60, 70}}, {-1, 0, 1, 0});
}

TEST(Nesting, OverlappingSpansAreSiblings) { ExpectParents({{0, 10}, {5, 15}}, {-1, -1}); }

TEST(Nesting, WhatOverlapsTheLatestBelongsToAnOlderOneThatContainsIt) {
  ExpectParents({{0, 100}, {10, 50}, {40, 80}, {45, 49}, {60, 70}}, {-1, 0, 0, 2, 2});
}

TEST(Nesting, ALaterSpanThatOverlapsTakesWhatBothContain) {
  ExpectParents({{0, 10}, {2, 12}, {3, 9}, {11, 12}}, {-1, -1, 1, 1});
}

TEST(Nesting, TouchingSpansAreSiblingsAndASharedEndIsInside) {
  ExpectParents({{0, 10}, {10, 20}, {15, 20}, {10, 10}}, {-1, -1, 1, 1});
}

TEST(Nesting, EqualSpansNestInOrderOfTheirIds) {
  ExpectParents({{0, 10}, {0, 10}, {0, 10}, {0, 5}}, {-1, 0, 1, 2});
}

TEST(Nesting, SpansWithoutLengthAreInsideButNotAtTheEnd) {
  ExpectParents({{0, 10}, {0, 0}, {5, 5}, {10, 10}, {5, 5}}, {-1, 0, 0, -1, 0});
}

TEST(Nesting, OverlappingChildrenAreCoveredOnce) {
  Told told;
  Nesting nesting(&told);
  SpanSlot first = nesting.Insert(1, 1, 10, 40);
  SpanSlot parent = nesting.Insert(1, 0, 0, 100);
  nesting.Insert(1, 2, 30, 60);
  nesting.Insert(1, 3, 35, 50);  // Inside the second.
  EXPECT_EQ(nesting.covered_ns(parent), 50);
  EXPECT_EQ(nesting.Children(parent).size(), 2u);
  EXPECT_EQ(nesting.covered_ns(first), 0);
  EXPECT_EQ(nesting.parent(first), parent);
}

TEST(Nesting, ThreadsAndAsynchronousSpansNeverNest) {
  Told told;
  Nesting nesting(&told);
  nesting.Insert(1, 0, 0, 100);
  nesting.InsertAsynchronous(1, 0, 100);
  EXPECT_EQ(nesting.parent(nesting.Insert(2, 2, 10, 20)), kNoSpan);
  EXPECT_EQ(nesting.parent(nesting.InsertAsynchronous(3, 10, 20)), kNoSpan);
  EXPECT_EQ(told.joined, 0);
}

TEST(Nesting, AnOpenSpanContainsAllThatIsLaterUntilItIsClosed) {
  Told told;
  Nesting nesting(&told);
  SpanSlot outer = nesting.Insert(1, 0, 0, 20);
  SpanSlot open = nesting.Insert(1, 1, 5, Nesting::kOpen);
  SpanSlot inside = nesting.Insert(1, 2, 6, 8);
  SpanSlot later = nesting.Insert(1, 3, 30, 40);
  SpanSlot between = nesting.Insert(1, 4, 12, 14);
  EXPECT_EQ(nesting.parent(open), kNoSpan);
  for (SpanSlot child : {inside, later, between}) EXPECT_EQ(nesting.parent(child), open);
  EXPECT_EQ(nesting.covered_ns(open), 14);

  nesting.Close(open, 10);
  EXPECT_EQ(nesting.parent(open), outer);
  EXPECT_EQ(nesting.parent(inside), open);
  EXPECT_EQ(nesting.parent(between), outer);
  EXPECT_EQ(nesting.parent(later), kNoSpan);
  EXPECT_EQ(nesting.covered_ns(open), 2);
  EXPECT_EQ(nesting.covered_ns(outer), 7);
}

TEST(Nesting, WhatALetGoSpanCoveredStaysCovered) {
  Told told;
  Nesting nesting(&told);
  SpanSlot parent = nesting.Insert(1, 0, 0, 100);
  SpanSlot gone = nesting.Insert(1, 1, 10, 40);
  SpanSlot grandchild = nesting.Insert(1, 2, 20, 30);
  SpanSlot sibling = nesting.Insert(1, 3, 50, 60);
  nesting.LetGo(gone);
  EXPECT_EQ(nesting.size(), 3u);
  EXPECT_EQ(nesting.covered_ns(parent), 40);
  EXPECT_EQ(nesting.parent(grandchild), parent);
  EXPECT_EQ(nesting.Children(parent), (std::vector<SpanSlot>{grandchild, sibling}));
  EXPECT_EQ(nesting.next_slot(), gone);
  nesting.Insert(1, 4, 70, 80);
  EXPECT_EQ(nesting.covered_ns(parent), 50);
}

}  // namespace
}  // namespace tp
