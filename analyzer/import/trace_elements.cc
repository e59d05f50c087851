#include "analyzer/import/trace_elements.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tp {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr uint64_t kMostReadAgain = uint64_t{1} << 30;

// What an event of a trace may begin with: {"ph": ...
constexpr std::string_view kEventKeys[] = {"ph",  "cat", "name", "pid", "tid", "ts",
                                           "dur", "id",  "args", "s",   "bp"};

bool SeemsToBeginEvent(const char* begin, const char* brace, const char* end) {
  // After another one: }, {
  const char* before = brace;
  const auto is_before = [&](char c) {
    while (before > begin && IsJsonBlank(before[-1])) --before;
    return before > begin && *--before == c;
  };
  if (!is_before(',') || !is_before('}')) return false;
  const char* at = brace + 1;
  while (at < end && IsJsonBlank(*at)) ++at;
  const std::string_view rest(at, static_cast<size_t>(end - at));
  if (!rest.starts_with('"')) return false;
  return std::any_of(std::begin(kEventKeys), std::end(kEventKeys), [&](std::string_view key) {
    return rest.substr(1).starts_with(key) && rest.substr(1 + key.size()).starts_with('"');
  });
}

// The character after a number, or a word such as null.
bool EndsScalar(char c) { return c == ',' || c == '}' || c == ']' || c == ':' || IsJsonBlank(c); }

}  // namespace

TraceElements::TraceElements(FileBytes* bytes, size_t most_bytes, size_t window_bytes)
    : bytes_(bytes),
      most_bytes_(most_bytes),
      buffer_(std::max(window_bytes, kByteOrderMark.size()) + kJsonPadding) {}

bool TraceElements::Refill(size_t* keep) {
  const size_t kept = filled_ - *keep;
  if (*keep > 0) {
    std::memmove(buffer_.data(), buffer_.data() + *keep, kept);
    position_ -= *keep;
    filled_ = kept;
    *keep = 0;
  } else if (filled_ + kJsonPadding == buffer_.size()) {
    buffer_.resize((buffer_.size() - kJsonPadding) * 2 + kJsonPadding);
  }
  const size_t got =
      bytes_->Read(buffer_.data() + filled_, buffer_.size() - kJsonPadding - filled_);
  filled_ += got;
  return got > 0;
}

int TraceElements::Peek() {
  while (true) {
    while (position_ < filled_ && IsJsonBlank(buffer_[position_])) ++position_;
    if (position_ < filled_) return static_cast<unsigned char>(buffer_[position_]);
    size_t keep = position_;
    if (!Refill(&keep)) return -1;
  }
}

bool TraceElements::ReadValue() {
  const int first = Peek();
  if (first < 0) return false;
  // A closing bracket where a value should be is taken as one: its reader will complain of it.
  const bool is_scalar = first != '"' && first != '[' && first != '{';
  size_t start = position_;
  JsonSkip skip;
  bool skipped = false;
  while (true) {
    const char* begin = buffer_.data();
    const char* found = nullptr;
    if (is_scalar) {
      const char* end = begin + filled_;
      const char* stop = std::find_if(begin + position_, end, EndsScalar);
      if (stop != end) found = stop;
    } else {
      found = SkipJson(begin + position_, begin + filled_, &skip);
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
      ++too_long_;
      if (ReadAgainFrom(start + 1)) return false;
      skipped = true;
    }
    size_t keep = skipped ? filled_ : start;
    const bool is_refilled = Refill(&keep);
    start = keep;
    if (!is_refilled) {
      if (!skipped && ReadAgainFrom(start + 1)) {
        ++without_end_;
        return false;
      }
      cut_off_ = true;
      return false;
    }
  }
}

bool TraceElements::ReadAgainFrom(size_t place) {
  if (!ResumeFrom(place)) return false;
  read_again_ += filled_ - position_;
  return true;
}

bool TraceElements::ResumeFrom(size_t place) {
  if (state_ != State::kEvents || read_again_ > kMostReadAgain) return false;
  const char* const begin = buffer_.data();
  const char* at = begin + place;
  const char* const end = begin + filled_;
  while ((at = static_cast<const char*>(std::memchr(at, '{', static_cast<size_t>(end - at)))) !=
         nullptr) {
    if (SeemsToBeginEvent(begin, at, end)) {
      position_ = static_cast<size_t>(at - begin);
      return true;
    }
    ++at;
  }
  read_again_ += filled_ - place;
  return false;
}

bool TraceElements::ReadEvent(TraceEventReader* reader, TraceEvent* event) {
  is_readable_ = false;
  if (Peek() != '{') return ReadValue();
  while (true) {
    const std::string_view window(buffer_.data() + position_, filled_ - position_);
    if (reader->Read(window, event)) {
      value_ = position_;
      value_bytes_ = reader->passed();
      position_ += value_bytes_;
      is_readable_ = true;
      return true;
    }
    size_t keep = position_;
    if (!reader->ended() || window.size() > most_bytes_ || !Refill(&keep)) break;
  }
  // Behind a break brackets and quotes may be anything: what seems to begin an event says more.
  value_ = position_;
  value_bytes_ = 0;
  if (!reader->ended() && ResumeFrom(position_ + 1 + reader->passed())) return true;
  return ReadValue();
}

TraceElements::Kind TraceElements::End(std::string damage) {
  state_ = State::kEnd;
  if (damage_.empty()) damage_ = std::move(damage);
  if (cut_off_ && read_again_ > kMostReadAgain) {
    damage_ = "it is broken in too many places: the rest was left out";
  }
  // How a gzipped file broke says more than where its text ends.
  if (!bytes_->damage().empty()) damage_ = bytes_->damage();
  value_ = value_bytes_ = 0;
  return Kind::kEnd;
}

TraceElements::Kind TraceElements::Next(TraceEventReader* reader, TraceEvent* event) {
  constexpr const char* kCutOff = "the file ends in the middle: it was cut off";
  while (true) {
    switch (state_) {
      case State::kStart: {
        int first = Peek();
        if (position_ == 0 &&
            std::string_view(buffer_.data(), filled_).starts_with(kByteOrderMark)) {
          position_ += kByteOrderMark.size();
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
          next = Peek();
          if (next == '{' && !found_events_) {
            return End("it is one JSON object after another (JSON Lines), not one with all events");
          }
          return End(next < 0 ? "" : "text after the end of the trace was left out");
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
        if (reader == nullptr ? ReadValue() : ReadEvent(reader, event)) return Kind::kEvent;
        if (cut_off_) return End(kCutOff);
        break;  // Skipped.
      }
      case State::kEnd:
        return Kind::kEnd;
    }
  }
}

}  // namespace tp
