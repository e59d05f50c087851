#include "analyzer/wire/framing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "proto/wire.pb.h"

namespace tp {
namespace {

void Feed(FrameReader& frames, std::string_view bytes) {
  std::span<char> room = frames.Room(bytes.size());
  ASSERT_GE(room.size(), bytes.size());
  std::copy(bytes.begin(), bytes.end(), room.begin());
  frames.Filled(bytes.size());
}

std::string Flush(uint64_t token) {
  wire::FromDaemon message;
  message.mutable_flush()->set_token(token);
  std::string bytes;
  AppendMessage(message, &bytes);
  return bytes;
}

// All whole messages that are there.
std::vector<std::string> TakeAll(FrameReader& frames) {
  std::vector<std::string> taken;
  for (;;) {
    absl::StatusOr<std::optional<std::string_view>> message = frames.Next();
    EXPECT_TRUE(message.ok()) << message.status();
    if (!message.ok() || !message->has_value()) return taken;
    taken.emplace_back(**message);
  }
}

TEST(FrameReader, GivesTheSameMessagesWhereverTheStreamIsCut) {
  wire::FromCollector large;
  large.mutable_strings()->add_text(std::string(300, 'x'));
  std::string stream;
  AppendMessage(large, &stream);
  stream += Flush(7);
  AppendMessage(wire::FromCollector(), &stream);  // Empty: a length of 0.
  stream += Flush(1 << 30);
  for (size_t first = 0; first <= stream.size(); ++first) {
    for (size_t second : {first, first + 1, first + 3, stream.size()}) {
      if (second < first || second > stream.size()) continue;
      FrameReader frames;
      std::vector<std::string> taken;
      const std::string_view whole = stream;
      for (std::string_view part :
           {whole.substr(0, first), whole.substr(first, second - first), whole.substr(second)}) {
        Feed(frames, part);
        for (std::string& message : TakeAll(frames)) taken.push_back(std::move(message));
      }
      ASSERT_EQ(taken.size(), 4u) << first << ' ' << second;
      wire::FromCollector read;
      ASSERT_TRUE(read.ParseFromString(taken[0]));
      EXPECT_EQ(read.strings().text(0), std::string(300, 'x'));
      wire::FromDaemon flush;
      ASSERT_TRUE(flush.ParseFromString(taken[3]));
      EXPECT_EQ(flush.flush().token(), 1u << 30);
      EXPECT_EQ(taken[2], "");
      EXPECT_EQ(frames.pending_bytes(), 0u);
    }
  }
}

TEST(FrameReader, GivesTheGreetingBeforeTheMessages) {
  FrameReader frames;
  Feed(frames, "TP");
  EXPECT_FALSE(frames.TakeRaw(4).has_value());
  Feed(frames, "C1" + Flush(5));
  EXPECT_EQ(frames.TakeRaw(4), "TPC1");
  EXPECT_EQ(TakeAll(frames).size(), 1u);
}

TEST(FrameReader, RefusesAMessageBeyondTheLimit) {
  FrameReader frames(/*max_message_bytes=*/300);
  Feed(frames, std::string("\xac\x02", 2) + std::string(300, 'a'));  // 300 is within.
  ASSERT_EQ(TakeAll(frames).size(), 1u);
  Feed(frames, std::string("\xad\x02", 2));
  EXPECT_EQ(frames.Next().status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(FrameReader, RefusesWhatIsNoLength) {
  FrameReader frames;
  Feed(frames, std::string(4, '\xff'));
  EXPECT_TRUE(frames.Next().ok());
  Feed(frames, std::string(1, '\xff'));
  EXPECT_EQ(frames.Next().status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(FrameReader, TakesNoMemoryForALengthThatIsOnlyClaimed) {
  FrameReader frames;
  Feed(frames, std::string("\x80\x80\x80\x02", 4));  // 4 MiB to come.
  EXPECT_TRUE(frames.Next().ok());
  frames.Room(1024);
  EXPECT_LT(frames.memory_bytes(), 64u << 10);
}

TEST(FrameReader, GivesTheMemoryOfALongMessageBack) {
  FrameReader frames;
  Feed(frames, std::string("\x80\x80\xc0\x01", 4));
  Feed(frames, std::string(3 << 20, 'a'));
  EXPECT_EQ(TakeAll(frames).size(), 1u);
  frames.Room(1024);
  EXPECT_LT(frames.memory_bytes(), 64u << 10);
}

}  // namespace
}  // namespace tp
