// Texts that the program hands to NVTX once and names by a handle ever after: domains and
// registered strings. A handle is the object's address; objects live for ever, since NVTX lets a
// program use a handle at any time.
#ifndef COLLECTOR_OPERATION_TEXT_H_
#define COLLECTOR_OPERATION_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "collector/events.h"

namespace tp::collect {

// The longest text of a range that is kept: what is longer is cut, at the end of a UTF-8 sequence.
inline constexpr size_t kLongestText = 16000;

// The part of `text` that is kept.
std::string_view CutText(const char* text);

// Wide text as UTF-8, cut likewise: writes at most `capacity` bytes to `out`, returns how many.
// Lone surrogates and numbers that are no code points become U+FFFD.
size_t WideToUtf8(const wchar_t* text, char* out, size_t capacity);

class RegisteredText {
 public:
  explicit RegisteredText(std::string_view text) : text_(text) {}
  std::string_view text() const { return text_; }

  // The collector thread's: the id of the text's name once it was looked up; 0 before.
  mutable StringId name = 0;
  mutable StringId shapes = 0;
  mutable int64_t sequence_number_plus_one = 0;
  mutable char kind = 'u';

 private:
  std::string text_;
};

class Domain {
 public:
  explicit Domain(std::string_view name) : name_(name) {}
  std::string_view name() const { return name_; }

  mutable StringId id = 0;  // The collector thread's.

 private:
  std::string name_;
};

// The one object for each text, made at its first use. Takes a lock and may allocate: registering
// is not a hot path. Bounded: when all texts and domains together have taken the bytes set below,
// returns the one for "(other)". Any thread.
const RegisteredText* RegisterText(std::string_view text);
const Domain* RegisterDomain(std::string_view name);

// Before the first text.
void LimitRegisteredTexts(size_t bytes);
size_t RegisteredTextBytes();
// How often "(other)" was given for another text.
uint64_t RegisteredTextsLeftOut();

// In the child of a fork: the lock may be held by a thread that does not exist there.
void ResetTextLockAfterFork();

}  // namespace tp::collect

#endif  // COLLECTOR_OPERATION_TEXT_H_
