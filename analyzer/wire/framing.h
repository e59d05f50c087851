// Messages on a byte stream, each preceded by its length as a varint.
//
//   FrameReader frames;
//   std::span<char> room = frames.Room(64 << 10);       // read() into it ...
//   frames.Filled(bytes_read);
//   for (;;) {
//     absl::StatusOr<std::optional<std::string_view>> message = frames.Next();
//     ...                                                // error: the stream is unusable; nullopt:
//     more bytes are needed
//   }
//
// Memory follows the bytes that came, never the length that a peer claims. Not thread-safe.
#ifndef ANALYZER_WIRE_FRAMING_H_
#define ANALYZER_WIRE_FRAMING_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "google/protobuf/message_lite.h"

namespace tp {

inline constexpr size_t kMaxMessageBytes = size_t{4} << 20;

class FrameReader {
 public:
  explicit FrameReader(size_t max_message_bytes = kMaxMessageBytes)
      : max_message_bytes_(max_message_bytes) {}

  // At least `bytes` of room behind what is held. Ends the life of the views given out before.
  std::span<char> Room(size_t bytes);
  // The first `bytes` of that room hold data now.
  void Filled(size_t bytes);

  // The next `bytes` bytes, outside any message (the stream's greeting); nullopt until all are
  // there.
  std::optional<std::string_view> TakeRaw(size_t bytes);
  // The next whole message, without its length; nullopt until it is there. InvalidArgument if what
  // comes is no length, or one beyond the limit: the stream cannot be read any further.
  absl::StatusOr<std::optional<std::string_view>> Next();

  // Bytes that came and were not taken.
  size_t pending_bytes() const { return end_ - begin_; }
  size_t memory_bytes() const { return capacity_; }

 private:
  size_t max_message_bytes_;
  std::unique_ptr<char[]> buffer_;
  size_t capacity_ = 0;
  size_t begin_ = 0;
  size_t end_ = 0;
};

// Appends the message with its length before it.
void AppendMessage(const google::protobuf::MessageLite& message, std::string* out);

}  // namespace tp

#endif  // ANALYZER_WIRE_FRAMING_H_
