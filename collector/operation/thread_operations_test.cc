#include "collector/operation/thread_operations.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "collector/link/batch_encoder.h"
#include "collector/link/decoded_frame.h"
#include "collector/link/string_table.h"
#include "collector/operation/operation_reader.h"
#include "collector/operation/reopened_ranges.h"
#include "collector/operation/uncorrelated_threads.h"
#include "collector/stack/loaded_modules.h"
#include "proto/wire.pb.h"

namespace tp::collect {
namespace {

// What CUPTI's external correlation stack of this thread would hold.
thread_local std::vector<uint64_t> t_cupti_stack;
constexpr LaunchCorrelation kCorrelation = {[](uint64_t id) { t_cupti_stack.push_back(id); },
                                            [] {
                                              if (!t_cupti_stack.empty()) t_cupti_stack.pop_back();
                                            },
                                            &HostTimeNs};

struct Row {
  std::string name;
  int64_t duration_ns;
  uint32_t thread;
  char kind;
  bool asynchronous;
  int64_t start_ns;
};

// The reader's end, as the collector thread has it. Each test starts from what earlier ones have
// left, so it is drained first.
class ThreadOperationsTest : public testing::Test {
 protected:
  void SetUp() override {
    ThreadOperationsList::Configure(24 << 20, nullptr);
    reader_.BeginCapture(INT64_MIN);
    Take();
  }
  void TearDown() override { ThreadOperationsList::SetLaunchCorrelation(nullptr); }

  struct Taken {
    std::vector<Row> whole, opened;
    std::vector<uint64_t> whole_ids, opened_ids, closed_ids;
    std::vector<int64_t> closed_ns;
  };

  Taken Take(bool send_open = false) {
    reader_.Read([](void*) {}, nullptr);
    if (send_open) reader_.SendOpen();
    wire::Batch batch = DecodedBatch(encoder_.Finish(1, strings_.last_id()));
    Taken taken;
    auto rows = [this](const wire::OperationColumns& columns, std::vector<uint64_t>* ids) {
      std::vector<Row> rows;
      uint64_t id = 0;
      int64_t start_ns = 0;
      for (int i = 0; i < columns.start_delta_ns_size(); ++i) {
        auto value = [i](const auto& column) {
          return column.size() == 0 ? 0 : column.size() == 1 ? column.Get(0) : column.Get(i);
        };
        id += static_cast<uint64_t>(columns.id_delta(i));
        ids->push_back(id);
        start_ns += columns.start_delta_ns(i);
        rows.push_back({std::string(strings_.Text(value(columns.name_id()))),
                        columns.duration_ns_size() > i ? columns.duration_ns(i) : -1,
                        static_cast<uint32_t>(value(columns.thread_id())),
                        static_cast<char>(value(columns.kind())), value(columns.form()) != 0,
                        start_ns});
      }
      return rows;
    };
    taken.whole = rows(batch.operations(), &taken.whole_ids);
    taken.opened = rows(batch.opened(), &taken.opened_ids);
    uint64_t id = 0;
    for (int64_t delta : batch.closed().id_delta()) {
      taken.closed_ids.push_back(id += static_cast<uint64_t>(delta));
    }
    int64_t end_ns = 0;
    for (int64_t delta : batch.closed().end_delta_ns()) {
      taken.closed_ns.push_back(end_ns += delta);
    }
    return taken;
  }

  static std::vector<std::string> Names(const std::vector<Row>& rows) {
    std::vector<std::string> names;
    for (const Row& row : rows) names.push_back(row.name);
    return names;
  }

  StringTable strings_;
  BatchEncoder encoder_;
  UncorrelatedThreads uncorrelated_;
  ReopenedRanges reopened_;
  OperationReader reader_{&strings_, &encoder_, &uncorrelated_, &reopened_, 16 << 20};
};

TEST_F(ThreadOperationsTest, PushAndPopGiveDepthsAndWholeOperations) {
  ThreadOperations* thread = ThreadOperations::Current();
  ASSERT_NE(thread, nullptr);
  EXPECT_EQ(thread->Push(nullptr, {"outer"}), 0);
  EXPECT_EQ(thread->Push(nullptr, {"aten::mm, seq = 3, sizes = [[2, 3]]"}), 1);
  EXPECT_EQ(thread->Pop(nullptr), 1);
  EXPECT_EQ(thread->Pop(nullptr), 0);
  EXPECT_EQ(thread->Pop(nullptr), -1) << "nothing is open";
  Taken taken = Take();
  ASSERT_EQ(Names(taken.whole), (std::vector<std::string>{"aten::mm", "outer"}));
  EXPECT_EQ(taken.whole[0].kind, 'o');
  EXPECT_EQ(taken.whole[1].kind, 'u');
  EXPECT_EQ(taken.whole[1].thread, static_cast<uint32_t>(gettid()));
  EXPECT_GE(taken.whole[1].duration_ns, taken.whole[0].duration_ns);
}

TEST_F(ThreadOperationsTest, AnOpenRangeTravelsOnceAndItsEndFollows) {
  ThreadOperations* thread = ThreadOperations::Current();
  thread->Push(nullptr, {"hours"});
  thread->Push(nullptr, {"inner"});
  Taken first = Take(/*send_open=*/true);
  EXPECT_EQ(Names(first.opened), (std::vector<std::string>{"hours", "inner"}));
  Taken second = Take(/*send_open=*/true);
  EXPECT_TRUE(second.opened.empty());
  thread->Pop(nullptr);
  thread->Pop(nullptr);
  Taken third = Take(/*send_open=*/true);
  EXPECT_TRUE(third.whole.empty());
  std::reverse(first.opened_ids.begin(), first.opened_ids.end());
  EXPECT_EQ(third.closed_ids, first.opened_ids);
}

TEST_F(ThreadOperationsTest, DomainsHaveDepthsOfTheirOwnAndMayEndOutOfOrder) {
  ThreadOperationsList::SetLaunchCorrelation(&kCorrelation);
  ThreadOperations* thread = ThreadOperations::Current();
  const Domain* nccl = RegisterDomain("NCCL");
  EXPECT_EQ(thread->Push(nullptr, {"a"}), 0);
  EXPECT_EQ(thread->Push(nccl, {"b"}), 0);
  EXPECT_EQ(thread->Push(nullptr, {"c"}), 1);
  ASSERT_EQ(t_cupti_stack.size(), 3u);
  uint64_t a = t_cupti_stack[0], b = t_cupti_stack[1];
  EXPECT_EQ(thread->Pop(nullptr), 1);
  EXPECT_EQ(thread->Pop(nullptr), 0) << "a ends while b, inside it, goes on";
  EXPECT_EQ(t_cupti_stack, (std::vector<uint64_t>{b}));
  EXPECT_NE(a, b);
  EXPECT_EQ(thread->Pop(nccl), 0);
  EXPECT_TRUE(t_cupti_stack.empty());
  EXPECT_EQ(Names(Take().whole), (std::vector<std::string>{"c", "a", "b"}));
}

TEST_F(ThreadOperationsTest, RangesThatWereOpenBeforeCapturingReachCupti) {
  ThreadOperations* thread = ThreadOperations::Current();
  thread->Push(nullptr, {"before"});
  EXPECT_TRUE(t_cupti_stack.empty());
  ThreadOperationsList::SetLaunchCorrelation(&kCorrelation);
  EXPECT_EQ(t_cupti_stack.size(), 1u);
  ThreadOperationsList::SetLaunchCorrelation(nullptr);
  thread->Push(nullptr, {"between"});
  ThreadOperationsList::SetLaunchCorrelation(&kCorrelation);
  EXPECT_EQ(t_cupti_stack.size(), 2u) << "what the first capture left is not there twice";
  thread->Pop(nullptr);
  thread->Pop(nullptr);
  EXPECT_TRUE(t_cupti_stack.empty());
}

TEST_F(ThreadOperationsTest, AnotherThreadsOpenRangesReachCuptiAtItsNextRange) {
  std::atomic<int> step{0};
  std::vector<uint64_t> stack;
  std::thread other([&] {
    ThreadOperations::Current()->Push(nullptr, {"open"});
    step = 1;
    while (step != 2) std::this_thread::yield();
    ThreadOperations::Current()->Push(nullptr, {"next"});
    stack = t_cupti_stack;
  });
  while (step != 1) std::this_thread::yield();
  ThreadOperationsList::SetLaunchCorrelation(&kCorrelation);
  step = 2;
  other.join();
  EXPECT_EQ(stack.size(), 2u);
}

TEST_F(ThreadOperationsTest, CallsOfAThreadThatCouldNotTellCuptiYetBelongToItsOpenRange) {
  std::atomic<int> step{0};
  pid_t thread_id = 0;
  auto wait_for = [&step](int wanted) {
    while (step != wanted) std::this_thread::yield();
  };
  std::thread other([&] {
    thread_id = gettid();
    ThreadOperations::Current()->Push(nullptr, {"outer"});
    ThreadOperations::Current()->Push(nullptr, {"innermost"});
    step = 1;
    wait_for(2);
    ThreadOperations::Current()->Push(nullptr, {"after"});
    step = 3;
    wait_for(4);
  });
  wait_for(1);
  UncorrelatedThreads& uncorrelated = uncorrelated_;
  int64_t earlier_ns = HostTimeNs();
  ThreadOperationsList::SetLaunchCorrelation(&kCorrelation);
  int64_t before_ns = HostTimeNs();
  uncorrelated.Begin(before_ns);
  ASSERT_TRUE(uncorrelated.wanted());
  Taken taken = Take(/*send_open=*/true);
  uncorrelated.Update(reader_, HostTimeNs());
  ASSERT_EQ(taken.opened.back().name, "innermost");
  uint64_t innermost = taken.opened_ids.back();
  EXPECT_EQ(uncorrelated.OperationOf(thread_id, before_ns), innermost);
  EXPECT_EQ(uncorrelated.OperationOf(thread_id, earlier_ns - 1), 0u) << "before capturing";
  int64_t between_ns = HostTimeNs();
  step = 2;
  wait_for(3);
  Take();
  uncorrelated.Update(reader_, HostTimeNs());
  EXPECT_EQ(uncorrelated.OperationOf(thread_id, between_ns), innermost);
  EXPECT_EQ(uncorrelated.OperationOf(thread_id, HostTimeNs()), 0u) << "CUPTI knows by now";
  EXPECT_EQ(uncorrelated.OperationOf(gettid(), before_ns), 0u) << "no range was open here";
  step = 4;
  other.join();
  Take();
  uncorrelated.Update(reader_, HostTimeNs() + 60'000'000'000);
  EXPECT_TRUE(uncorrelated.empty());
  EXPECT_FALSE(uncorrelated.wanted());
}

TEST_F(ThreadOperationsTest, AStartedRangeMayEndOnAnotherThread) {
  uint64_t id = 0;
  std::thread([&] { id = ThreadOperations::Current()->Start(nullptr, {"transfer"}); }).join();
  ASSERT_NE(id, 0u);
  std::thread([&] { ThreadOperations::Current()->End(id); }).join();
  Taken taken = Take();
  ASSERT_EQ(Names(taken.whole), (std::vector<std::string>{"transfer"}));
  EXPECT_TRUE(taken.whole[0].asynchronous);
}

TEST_F(ThreadOperationsTest, AThreadsEndEndsItsRanges) {
  std::thread([] {
    ThreadOperations::Current()->Push(nullptr, {"outer"});
    ThreadOperations::Current()->Push(nullptr, {"inner"});
  }).join();
  EXPECT_EQ(Names(Take().whole), (std::vector<std::string>{"inner", "outer"}));
}

TEST_F(ThreadOperationsTest, ThousandsOfShortThreadsAreReadAndGivenBack) {
  size_t before = ThreadOperationsList::memory_bytes();
  size_t count = 0;
  for (int round = 0; round < 40; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 50; ++i) {
      threads.emplace_back([] {
        ThreadOperations::Current()->Push(nullptr, {"short"});
        ThreadOperations::Current()->Pop(nullptr);
      });
    }
    for (std::thread& thread : threads) thread.join();
    count += Take().whole.size();
  }
  Take();
  EXPECT_EQ(count, 2000u);
  EXPECT_LE(ThreadOperationsList::memory_bytes(), before + (2 << 20))
      << "at most one ended thread, the newest, may wait for the next round";
}

TEST_F(ThreadOperationsTest, WhatDoesNotFitIsCountedAndTheRestIsRight) {
  uint64_t lost_before = ThreadOperationsList::lost();
  ThreadOperations* thread = ThreadOperations::Current();
  constexpr uint64_t kRanges = 100'000;
  for (uint64_t i = 0; i < kRanges; ++i) {
    thread->Push(nullptr, {"a range with a text of some length"});
    thread->Pop(nullptr);
  }
  Taken taken = Take(/*send_open=*/true);
  EXPECT_TRUE(taken.opened.empty()) << "a begin without an end was kept";
  EXPECT_GT(taken.whole.size(), 1000u);
  EXPECT_EQ(taken.whole.size() + (ThreadOperationsList::lost() - lost_before), kRanges);
}

TEST_F(ThreadOperationsTest, NestingBeyondTheDeepestIsCountedAndUnwinds) {
  uint64_t lost_before = ThreadOperationsList::lost();
  std::thread([] {
    ThreadOperations* thread = ThreadOperations::Current();
    for (int i = 0; i < 40'000; ++i) ASSERT_EQ(thread->Push(nullptr, {"deep"}), i);
    for (int i = 40'000; i-- > 0;) ASSERT_EQ(thread->Pop(nullptr), i);
    ASSERT_EQ(thread->Pop(nullptr), -1);
  }).join();
  size_t whole = Take().whole.size();
  EXPECT_GT(whole, 0u);
  EXPECT_EQ(whole + (ThreadOperationsList::lost() - lost_before), 40'000u);
}

TEST_F(ThreadOperationsTest, DeepNestingTakesOfTheBoundAndGivesItBack) {
  size_t before = ThreadOperationsList::memory_bytes();
  ThreadOperationsList::Configure(before + (1 << 20), nullptr);
  uint64_t lost_before = ThreadOperationsList::lost();
  std::thread([before] {
    ThreadOperations* thread = ThreadOperations::Current();
    size_t shallow = ThreadOperationsList::memory_bytes();
    for (int i = 0; i < 30'000; ++i) ASSERT_EQ(thread->Push(nullptr, {"deep"}), i);
    EXPECT_GT(ThreadOperationsList::memory_bytes(), shallow + (500 << 10));
    EXPECT_LE(ThreadOperationsList::memory_bytes(), before + (1 << 20));
    for (int i = 30'000; i-- > 0;) ASSERT_EQ(thread->Pop(nullptr), i);
  }).join();
  EXPECT_GT(ThreadOperationsList::lost(), lost_before);
  std::thread([] { ThreadOperations::Current(); }).join();
  Take();
  EXPECT_LE(ThreadOperationsList::memory_bytes(), before + (1 << 20));
  Take();
  EXPECT_LT(ThreadOperationsList::memory_bytes(), before + (500 << 10));
}

TEST_F(ThreadOperationsTest, RangesThatAreOpenAtOneTimeAreBoundedAndTheRestIsCounted) {
  OperationReader reader(&strings_, &encoder_, &uncorrelated_, &reopened_,
                         /*limit_bytes=*/64 << 10);
  reader.BeginCapture(INT64_MIN);
  ThreadOperations* thread = ThreadOperations::Current();
  constexpr uint64_t kDepth = 5000;
  uint64_t recorded = kDepth + ThreadOperationsList::lost();
  for (uint64_t i = 0; i < kDepth; ++i) thread->Push(nullptr, {"deep"});
  recorded -= ThreadOperationsList::lost();
  std::vector<uint64_t> started;
  for (uint64_t i = 0; i < 100; ++i) started.push_back(thread->Start(nullptr, {"asynchronous"}));
  reader.Read([](void*) {}, nullptr);
  EXPECT_LE(reader.memory_bytes(), size_t{64} << 10);
  for (uint64_t i = 0; i < kDepth; ++i) thread->Pop(nullptr);
  for (uint64_t id : started) thread->End(id);
  reader.Read([](void*) {}, nullptr);
  size_t whole = static_cast<size_t>(
      DecodedBatch(encoder_.Finish(1, strings_.last_id())).operations().start_delta_ns_size());
  EXPECT_GT(reader.lost(), 1000u);
  EXPECT_EQ(whole + reader.lost(), recorded + 100);
  thread->Push(nullptr, {"afterwards"});
  thread->Pop(nullptr);
  reader.Read([](void*) {}, nullptr);
  EXPECT_EQ(DecodedBatch(encoder_.Finish(2, strings_.last_id())).operations().id_delta_size(), 1)
      << "there is room again";
}

// Ends the captured time now, and returns when that was.
int64_t EndCapture(OperationReader* reader) {
  const int64_t now_ns = HostTimeNs();
  reader->EndCapture(
      now_ns, [](void*) {}, nullptr);
  return now_ns;
}

TEST_F(ThreadOperationsTest, RangesOutsideOfCapturedTimeAreNotTold) {
  ThreadOperations* thread = ThreadOperations::Current();
  EndCapture(&reader_);
  thread->Push(nullptr, {"before"});
  thread->Pop(nullptr);
  EXPECT_TRUE(Take(/*send_open=*/true).whole.empty());
  reader_.BeginCapture(HostTimeNs());
  thread->Push(nullptr, {"within"});
  thread->Pop(nullptr);
  EndCapture(&reader_);
  thread->Push(nullptr, {"after"});
  thread->Pop(nullptr);
  EXPECT_EQ(Names(Take().whole), std::vector<std::string>{"within"});
  EXPECT_EQ(reader_.cut(), 0u);
}

TEST_F(ThreadOperationsTest, WhatEndedBeforeCapturingBeganIsNotToldThoughItIsReadLater) {
  ThreadOperations* thread = ThreadOperations::Current();
  EndCapture(&reader_);
  thread->Push(nullptr, {"read too late"});
  thread->Pop(nullptr);
  reader_.BeginCapture(HostTimeNs());
  EXPECT_TRUE(Take().whole.empty());
}

TEST_F(ThreadOperationsTest, ARangeCountsAsFarAsItLiesInCapturedTime) {
  ThreadOperations* thread = ThreadOperations::Current();
  EndCapture(&reader_);
  thread->Push(nullptr, {"outer"});
  const uint64_t started = thread->Start(nullptr, {"asynchronous"});
  Take();
  const int64_t from_ns = HostTimeNs();
  reader_.BeginCapture(from_ns);
  thread->Push(nullptr, {"inner"});
  Taken taken = Take(/*send_open=*/true);
  ASSERT_EQ(Names(taken.opened), (std::vector<std::string>{"outer", "inner", "asynchronous"}));
  EXPECT_EQ(taken.opened[0].start_ns, from_ns);
  EXPECT_GT(taken.opened[1].start_ns, from_ns);
  EXPECT_EQ(taken.opened[2].start_ns, from_ns);

  const int64_t until_ns = EndCapture(&reader_);
  Taken closed = Take(/*send_open=*/true);
  EXPECT_EQ(closed.closed_ids, taken.opened_ids);
  EXPECT_EQ(closed.closed_ns, (std::vector<int64_t>{until_ns, until_ns, until_ns}));
  EXPECT_EQ(reader_.cut(), 5u) << "two at the beginning, three at the end";

  thread->Pop(nullptr);
  thread->Pop(nullptr);
  thread->End(started);
  Taken after = Take(/*send_open=*/true);
  EXPECT_TRUE(after.whole.empty());
  EXPECT_TRUE(after.closed_ids.empty());
}

TEST_F(ThreadOperationsTest, ARangeThatCapturingFindsOpenAgainIsAnotherOperation) {
  ThreadOperations* thread = ThreadOperations::Current();
  thread->Push(nullptr, {"epoch"});
  const uint64_t range = Take(/*send_open=*/true).opened_ids.at(0);
  EXPECT_EQ(reopened_.OperationOf(range), range);
  EndCapture(&reader_);
  Take();
  const int64_t from_ns = HostTimeNs();
  reader_.BeginCapture(from_ns);
  EXPECT_EQ(reader_.Innermost(thread->serial()), range) << "as its thread knows it";
  const uint64_t operation = reopened_.OperationOf(range);
  EXPECT_NE(operation, range);
  thread->Pop(nullptr);
  Taken taken = Take();
  ASSERT_EQ(Names(taken.whole), std::vector<std::string>{"epoch"});
  EXPECT_EQ(taken.whole_ids[0], operation);
  EXPECT_EQ(taken.whole[0].start_ns, from_ns);

  // One that was not told before is the operation that it always was.
  EndCapture(&reader_);
  thread->Push(nullptr, {"new"});
  Take();
  reader_.BeginCapture(HostTimeNs());
  const uint64_t opened = Take(/*send_open=*/true).opened_ids.at(0);
  EXPECT_EQ(reopened_.OperationOf(opened), opened);
  thread->Pop(nullptr);
}

TEST_F(ThreadOperationsTest, CallsOfAnEarlierCaptureBelongToTheRangeOfThen) {
  UncorrelatedThreads uncorrelated;
  ThreadOperations* thread = ThreadOperations::Current();
  thread->Push(nullptr, {"first"});
  const auto tid = static_cast<uint32_t>(thread->thread_id());
  Take();
  const uint64_t first = reader_.Innermost(thread->serial());
  const int64_t begin_ns = HostTimeNs();
  uncorrelated.Begin(begin_ns);
  uncorrelated.Update(reader_, HostTimeNs());
  const int64_t end_ns = HostTimeNs();
  uncorrelated.End(end_ns);
  thread->Pop(nullptr);
  thread->Push(nullptr, {"second"});
  Take();
  const uint64_t second = reader_.Innermost(thread->serial());
  const int64_t again_ns = HostTimeNs();
  uncorrelated.Begin(again_ns);
  uncorrelated.Update(reader_, HostTimeNs());
  EXPECT_EQ(uncorrelated.OperationOf(tid, begin_ns), first);
  EXPECT_EQ(uncorrelated.OperationOf(tid, end_ns), 0u) << "nothing was captured then";
  EXPECT_EQ(uncorrelated.OperationOf(tid, again_ns), second);
  uncorrelated.Forget();
  EXPECT_TRUE(uncorrelated.empty());
  thread->Pop(nullptr);
}

TEST_F(ThreadOperationsTest, MemoryForThreadsIsBounded) {
  ThreadOperationsList::Configure(4 << 20, nullptr);
  std::atomic<bool> end{false};
  std::atomic<int> with{0}, without{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 200; ++i) {
    threads.emplace_back([&] {
      ++(ThreadOperations::Current() != nullptr ? with : without);
      while (!end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  }
  while (with + without < 200) std::this_thread::yield();
  EXPECT_GT(without, 0);
  EXPECT_LE(ThreadOperationsList::memory_bytes(), size_t{4} << 20);
  end = true;
  for (std::thread& thread : threads) thread.join();
  Take();
}

TEST_F(ThreadOperationsTest, AForkedChildGoesOnAloneOrNotAtAll) {
  ThreadOperations::Current()->Push(nullptr, {"in the parent"});
  for (bool keep : {true, false}) {
    pid_t child = fork();
    if (child == 0) {
      ThreadOperationsList::AfterForkInChild(keep);
      ThreadOperations* thread = ThreadOperations::Current();
      bool right =
          keep ? thread != nullptr && thread->thread_id() == gettid() && thread->Pop(nullptr) == 0
               : thread == nullptr;
      _exit(right ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << keep;
  }
  ThreadOperations::Current()->Pop(nullptr);
}

TEST_F(ThreadOperationsTest, ARangeHasTheStackThatItBeginsWith) {
  ASSERT_TRUE(StackWalker::Prepare(nullptr));
  ThreadOperationsList::Configure(24 << 20, nullptr, /*stack_frames=*/5);
  std::thread([] {
    ThreadOperations* thread = ThreadOperations::Current();
    for (int i = 0; i < 3; ++i) {
      thread->Push(nullptr, {"same place"});
      thread->Pop(nullptr);
    }
    thread->End(thread->Start(nullptr, {"another place"}));
  }).join();
  ThreadOperationsList::Configure(24 << 20, nullptr);
  OperationReader reader(&strings_, &encoder_, &uncorrelated_, &reopened_, 16 << 20,
                         /*stack_limit_bytes=*/1 << 20);
  reader.BeginCapture(INT64_MIN);
  reader.Read([](void*) {}, nullptr);
  const wire::Batch batch = DecodedBatch(encoder_.Finish(1, strings_.last_id()));
  const auto& stacks = batch.operations().stack_id();
  ASSERT_EQ(stacks.size(), 4);
  EXPECT_EQ(stacks[0], stacks[1]);
  EXPECT_EQ(stacks[0], stacks[2]);
  EXPECT_NE(stacks[0], stacks[3]);
  const std::string_view text = strings_.Text(stacks[0]);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4) << text;
  EXPECT_EQ(reader.stacks_left_out(), 0u);
}

TEST_F(ThreadOperationsTest, StacksBeyondTheirLimitAreLeftOutAndCounted) {
  StackNames names(&strings_, /*limit_bytes=*/4096);
  constexpr uint64_t kStacks = 200;
  uint64_t named = 0;
  for (uint64_t i = 0; i < kStacks; ++i) {
    // Of a module that there is not.
    const StackFrame frame = {.module = kMostModules, .address = i};
    named += names.NameOf({reinterpret_cast<const char*>(&frame), sizeof(frame)}) != 0;
  }
  EXPECT_GT(named, 10u);
  EXPECT_EQ(named + names.left_out(), kStacks);
  EXPECT_LE(names.memory_bytes(), 4096u);
}

}  // namespace
}  // namespace tp::collect
