#include "analyzer/import/trace_elements.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tp {
namespace {

constexpr size_t kWindowBytes = 1 << 20;

enum CharacterClass : uint8_t { kOrdinary = 0, kQuote, kOpen, kClose };

constexpr std::array<uint8_t, 256> kClasses = [] {
  std::array<uint8_t, 256> classes{};
  classes['"'] = kQuote;
  classes['{'] = classes['['] = kOpen;
  classes['}'] = classes[']'] = kClose;
  return classes;
}();

bool IsBlank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// The character after a number, or a word such as null.
bool EndsScalar(char c) { return c == ',' || c == '}' || c == ']' || c == ':' || IsBlank(c); }

}  // namespace

TraceElements::TraceElements(FileBytes* bytes, size_t most_bytes)
    : bytes_(bytes), most_bytes_(most_bytes), buffer_(kWindowBytes + kPadding) {}

bool TraceElements::Refill(size_t* keep) {
  const size_t kept = filled_ - *keep;
  if (*keep > 0) {
    std::memmove(buffer_.data(), buffer_.data() + *keep, kept);
    position_ -= *keep;
    filled_ = kept;
    *keep = 0;
  } else if (filled_ + kPadding == buffer_.size()) {
    buffer_.resize((buffer_.size() - kPadding) * 2 + kPadding);
  }
  const size_t got = bytes_->Read(buffer_.data() + filled_, buffer_.size() - kPadding - filled_);
  filled_ += got;
  bytes_read_ += got;
  return got > 0;
}

int TraceElements::Peek() {
  while (true) {
    while (position_ < filled_ && IsBlank(buffer_[position_])) ++position_;
    if (position_ < filled_) return static_cast<unsigned char>(buffer_[position_]);
    size_t keep = position_;
    if (!Refill(&keep)) return -1;
  }
}

const char* TraceElements::FindEnd(const char* at, const char* end, Scan* scan) {
  while (at < end) {
    if (scan->in_string) {
      if (scan->escaped) {
        scan->escaped = false;
        ++at;
        continue;
      }
      const auto* quote =
          static_cast<const char*>(std::memchr(at, '"', static_cast<size_t>(end - at)));
      const char* stop = quote != nullptr ? quote : end;
      const auto* escape =
          static_cast<const char*>(std::memchr(at, '\\', static_cast<size_t>(stop - at)));
      if (escape != nullptr) {
        scan->escaped = true;
        at = escape + 1;
        continue;
      }
      if (quote == nullptr) return nullptr;
      scan->in_string = false;
      at = quote + 1;
      if (scan->depth == 0) return at;
      continue;
    }
    switch (kClasses[static_cast<unsigned char>(*at++)]) {
      case kQuote:
        scan->in_string = true;
        break;
      case kOpen:
        ++scan->depth;
        break;
      case kClose:
        if (--scan->depth == 0) return at;
        break;
      default:
        break;
    }
  }
  return nullptr;
}

bool TraceElements::ReadValue() {
  const int first = Peek();
  if (first < 0) return false;
  // A closing bracket where a value should be is taken as one: its reader will complain of it.
  const uint8_t kind = kClasses[static_cast<size_t>(first)];
  const bool is_scalar = kind == kOrdinary || kind == kClose;
  size_t start = position_;
  Scan scan;
  bool skipped = false;
  while (true) {
    const char* begin = buffer_.data();
    const char* found = nullptr;
    if (is_scalar) {
      const char* end = begin + filled_;
      const char* stop = std::find_if(begin + position_, end, EndsScalar);
      if (stop != end) found = stop;
    } else {
      found = FindEnd(begin + position_, begin + filled_, &scan);
    }
    if (found != nullptr) {
      position_ = static_cast<size_t>(found - begin);
      if (is_scalar && position_ == start) ++position_;
      if (skipped) return false;
      value_ = start;
      value_bytes_ = position_ - start;
      return true;
    }
    position_ = filled_;
    if (filled_ - start > most_bytes_ && !skipped) {
      skipped = true;
      ++too_long_;
    }
    size_t keep = skipped ? filled_ : start;
    if (!Refill(&keep)) {
      cut_off_ = true;
      return false;
    }
    start = keep;
  }
}

TraceElements::Kind TraceElements::End(std::string damage) {
  state_ = State::kEnd;
  if (damage_.empty()) damage_ = std::move(damage);
  // How a gzipped file broke says more than where its text ends.
  if (!bytes_->damage().empty()) damage_ = bytes_->damage();
  value_ = value_bytes_ = 0;
  return Kind::kEnd;
}

TraceElements::Kind TraceElements::Next() {
  constexpr const char* kCutOff = "the file ends in the middle: it was cut off";
  while (true) {
    switch (state_) {
      case State::kStart: {
        int first = Peek();
        if (first == 0xEF && filled_ - position_ >= 3) {  // A byte order mark.
          position_ += 3;
          first = Peek();
        }
        if (first == '{') {
          ++position_;
          in_object_ = true;
          state_ = State::kObject;
        } else if (first == '[') {
          ++position_;
          found_events_ = true;
          state_ = State::kEvents;
        } else {
          return End(first < 0 ? "the file is empty" : "the file is no JSON");
        }
        break;
      }
      case State::kObject: {
        int next = Peek();
        if (next == ',') {
          ++position_;
          break;
        }
        if (next < 0) return End(kCutOff);
        if (next == '}') {
          ++position_;
          return End(Peek() < 0 ? "" : "text after the end of the trace was left out");
        }
        if (next != '"') return End("what is around the events is no JSON from some point on");
        if (!ReadValue()) {
          if (cut_off_) return End(kCutOff);
          return End("what is around the events is no JSON from some point on");
        }
        key_ = std::string(text().substr(1, value_bytes_ - 2));
        if (Peek() != ':') return End(Peek() < 0 ? kCutOff : "a name without a value");
        ++position_;
        next = Peek();
        if (key_ == "traceEvents") {
          if (next == '[') {
            ++position_;
            found_events_ = true;
            state_ = State::kEvents;
            break;
          }
          if (next >= 0 && !found_events_) return End("its \"traceEvents\" are no list");
        }
        if (ReadValue()) return Kind::kField;
        if (cut_off_) return End(kCutOff);
        break;  // Skipped.
      }
      case State::kEvents: {
        const int next = Peek();
        // A list without an object around it need not be closed (Trace Event format).
        if (next < 0) return End(in_object_ ? kCutOff : "");
        if (next == ',') {
          ++position_;
          break;
        }
        if (next == ']') {
          ++position_;
          if (in_object_) {
            state_ = State::kObject;
            break;
          }
          return End(Peek() < 0 ? "" : "text after the end of the trace was left out");
        }
        if (ReadValue()) return Kind::kEvent;
        if (cut_off_) return End(kCutOff);
        break;  // Skipped.
      }
      case State::kEnd:
        return Kind::kEnd;
    }
  }
}

}  // namespace tp
