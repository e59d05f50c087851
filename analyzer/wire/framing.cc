#include "analyzer/wire/framing.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tp {
namespace {

// A length that needs more bytes is beyond any limit.
constexpr size_t kMaxLengthBytes = 5;
// A buffer that grew for a long message goes back to the system once it is empty.
constexpr size_t kBytesKeptWhenEmpty = size_t{256} << 10;

}  // namespace

std::span<char> FrameReader::Room(size_t bytes) {
  if (begin_ == end_) {
    begin_ = end_ = 0;
    if (capacity_ > std::max(kBytesKeptWhenEmpty, bytes)) {
      buffer_.reset();
      capacity_ = 0;
    }
  }
  if (capacity_ - end_ < bytes) {
    const size_t held = end_ - begin_;
    if (capacity_ - held >= bytes && begin_ >= held) {
      memcpy(buffer_.get(), buffer_.get() + begin_, held);
    } else {
      const size_t capacity = std::max(held + bytes, 2 * held);
      auto buffer = std::make_unique_for_overwrite<char[]>(capacity);
      if (held > 0) memcpy(buffer.get(), buffer_.get() + begin_, held);
      buffer_ = std::move(buffer);
      capacity_ = capacity;
    }
    begin_ = 0;
    end_ = held;
  }
  return {buffer_.get() + end_, capacity_ - end_};
}

void FrameReader::Filled(size_t bytes) { end_ += bytes; }

std::optional<std::string_view> FrameReader::TakeRaw(size_t bytes) {
  if (pending_bytes() < bytes) return std::nullopt;
  const std::string_view taken(buffer_.get() + begin_, bytes);
  begin_ += bytes;
  return taken;
}

absl::StatusOr<std::optional<std::string_view>> FrameReader::Next() {
  uint64_t length = 0;
  size_t length_bytes = 0;
  for (bool more = true; more; ++length_bytes) {
    if (length_bytes == kMaxLengthBytes) {
      return absl::InvalidArgumentError("what came is not the length of a message");
    }
    if (length_bytes == pending_bytes()) return std::nullopt;
    const auto byte = static_cast<uint8_t>(buffer_[begin_ + length_bytes]);
    length |= uint64_t{byte & 0x7fu} << (7 * length_bytes);
    more = (byte & 0x80u) != 0;
  }
  if (length > max_message_bytes_) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a message of ", length, " bytes was announced; the limit is ", max_message_bytes_));
  }
  if (pending_bytes() - length_bytes < length) return std::nullopt;
  const std::string_view message(buffer_.get() + begin_ + length_bytes, length);
  begin_ += length_bytes + length;
  return message;
}

void AppendMessage(const google::protobuf::MessageLite& message, std::string* out) {
  size_t length = message.ByteSizeLong();
  while (length >= 0x80) {
    out->push_back(static_cast<char>(length | 0x80));
    length >>= 7;
  }
  out->push_back(static_cast<char>(length));
  message.AppendToString(out);
}

}  // namespace tp
