#include "collector/operation/operation_buffer.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace tp::collect {
namespace {

struct Buffer {
  explicit Buffer(uint32_t capacity)
      : memory(new char[capacity + OperationBuffer::kSlackBytes]()), ring(memory.get(), capacity) {}
  std::unique_ptr<char[]> memory;
  OperationBuffer ring;
};

OperationEvent Push(uint64_t id) {
  OperationEvent event = {};
  event.type = OperationEventType::kPush;
  event.id = id;
  event.time_ns = static_cast<int64_t>(id) * 10;
  return event;
}

TEST(OperationBuffer, EventsComeOutInOrderWithTheirTexts) {
  Buffer buffer(4096);
  ASSERT_TRUE(buffer.ring.Begin(Push(1), "outer", 1));
  ASSERT_TRUE(buffer.ring.Begin(Push(2), "", 2));
  ASSERT_TRUE(buffer.ring.End(OperationEventType::kPop, 2, 30, 1));
  std::vector<std::pair<uint64_t, std::string>> seen;
  buffer.ring.Drain([&](const OperationEvent& event, std::string_view text, std::string_view) {
    seen.emplace_back(event.id, text);
  });
  EXPECT_EQ(seen, (std::vector<std::pair<uint64_t, std::string>>{{1, "outer"}, {2, ""}, {2, ""}}));
  int more = 0;
  buffer.ring.Drain([&](const OperationEvent&, std::string_view, std::string_view) { ++more; });
  EXPECT_EQ(more, 0);
}

// Otherwise every range of the ring's second half would wake the reader, however well it keeps up.
TEST(OperationBuffer, IsNotHalfFullWhereverItStandsOnceItWasRead) {
  Buffer buffer(4096);
  bool was_half_full = false;
  for (uint64_t id = 1; id < 500; ++id) {
    ASSERT_TRUE(buffer.ring.Begin(Push(id), "text", 1));
    ASSERT_FALSE(buffer.ring.HalfFull()) << id;
    buffer.ring.Drain([](const OperationEvent&, std::string_view, std::string_view) {});
  }
  for (uint64_t id = 1; !was_half_full && buffer.ring.Begin(Push(id), "text", 1); ++id) {
    was_half_full = buffer.ring.HalfFull();
  }
  EXPECT_TRUE(was_half_full);
}

TEST(OperationBuffer, ABeginIsTakenOnlyIfAllOpenRangesCanStillEnd) {
  for (size_t text_bytes = 0; text_bytes < 120; ++text_bytes) {
    Buffer buffer(4096);
    std::string text(text_bytes, 'x');
    uint32_t open = 0;
    while (buffer.ring.Begin(Push(open + 1), text, open + 1)) ++open;
    ASSERT_GT(open, 5u);
    for (uint32_t left = open; left > 0; --left) {
      ASSERT_TRUE(buffer.ring.End(OperationEventType::kPop, left, 0, left - 1)) << text_bytes;
    }
    uint32_t count = 0;
    buffer.ring.Drain([&](const OperationEvent&, std::string_view, std::string_view) { ++count; });
    ASSERT_EQ(count, 2 * open);
  }
}

TEST(OperationBuffer, AnEndWithoutAReservedPlaceLeavesThoseOfOthersAlone) {
  Buffer buffer(4096);
  uint32_t open = 0;
  while (buffer.ring.Begin(Push(open + 1), "text", open + 1)) ++open;
  while (buffer.ring.End(OperationEventType::kEnd, 99, 0, open)) {
  }
  for (uint32_t left = open; left > 0; --left) {
    ASSERT_TRUE(buffer.ring.End(OperationEventType::kPop, left, 0, left - 1));
  }
}

TEST(OperationBuffer, OneThreadWritesWhileAnotherReads) {
  Buffer buffer(8192);
  constexpr uint64_t kRanges = 50'000;
  std::thread writer([&] {
    for (uint64_t id = 1; id <= kRanges; ++id) {
      std::string text(id % 97, static_cast<char>('a' + id % 26));
      while (!buffer.ring.Begin(Push(id), text, 1)) std::this_thread::yield();
      ASSERT_TRUE(buffer.ring.End(OperationEventType::kPop, id, id * 10 + 5, 0));
    }
  });
  uint64_t begun = 0, ended = 0;
  while (ended < kRanges) {
    buffer.ring.Drain([&](const OperationEvent& event, std::string_view text, std::string_view) {
      if (event.type == OperationEventType::kPush) {
        ++begun;
        ASSERT_EQ(event.id, begun);
        ASSERT_EQ(text, std::string(begun % 97, static_cast<char>('a' + begun % 26)));
      } else {
        ++ended;
        ASSERT_EQ(event.id, ended);
        ASSERT_EQ(event.time_ns, static_cast<int64_t>(ended * 10 + 5));
      }
    });
  }
  writer.join();
  EXPECT_EQ(begun, kRanges);
}

}  // namespace
}  // namespace tp::collect
