// Cuts a trace in JSON (Chrome's Trace Event format: an object with a list "traceEvents", or that
// list alone) into its elements while it is read, so that a trace of any size passes through a
// window of a few MiB.
//
// It knows only where values end: brackets, strings and escapes. Whether a value is valid JSON its
// reader finds out. One broken event costs that event: where a quote or bracket is missing, reading
// goes on with the next event that seems to begin behind the break.
#ifndef ANALYZER_IMPORT_TRACE_ELEMENTS_H_
#define ANALYZER_IMPORT_TRACE_ELEMENTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/import/file_bytes.h"
#include "analyzer/import/json_cursor.h"
#include "analyzer/import/trace_event.h"

namespace tp {

class TraceElements {
 public:
  enum class Kind {
    kEvent,  // An element of the list of events.
    kField,  // A member of the object around it, but for the list itself.
    kEnd,
  };

  // `bytes` outlives it. A value longer than `most_bytes` is skipped. The window grows to what a
  // value needs.
  explicit TraceElements(FileBytes* bytes, size_t most_bytes = size_t{64} << 20,
                         size_t window_bytes = size_t{1} << 20);

  // The next value: text() holds it until the next call.
  Kind Next() { return Next(nullptr, nullptr); }
  // The same, and reads events where they lie, which is faster than to cut them out first. Of one
  // that cannot be read is_readable() is false.
  Kind Next(TraceEventReader* reader, TraceEvent* event);
  bool is_readable() const { return is_readable_; }

  // kJsonPadding bytes behind it may be read.
  std::string_view text() const { return {buffer_.data() + value_, value_bytes_}; }
  // Of a field.
  const std::string& key() const { return key_; }

  // Whether a list of events was found at all, and whether it is a member of an object.
  bool found_events() const { return found_events_; }
  bool is_object() const { return in_object_; }
  uint64_t too_long() const { return too_long_; }
  // Events that seemed to go on to the end of the file, but for which others were found behind
  // them.
  uint64_t without_end() const { return without_end_; }
  // What is wrong with the frame around the events, for the user; "" if it is whole.
  const std::string& damage() const { return damage_; }

 private:
  enum class State { kStart, kObject, kEvents, kEnd };

  // Makes more bytes follow; keeps those from `keep` on, which moves with them. False at the end of
  // the file.
  bool Refill(size_t* keep);
  // The next byte that is no white space, or -1; does not pass it.
  int Peek();
  // Cuts out the value that begins here. False if the file ends in it, or it was skipped.
  bool ReadValue();
  bool ReadEvent(TraceEventReader* reader, TraceEvent* event);
  // Goes to the first event that seems to begin in the buffer behind `place`; false if none does.
  bool ResumeFrom(size_t place);
  // The same, in what was read already.
  bool ReadAgainFrom(size_t place);
  Kind End(std::string damage = {});

  FileBytes* bytes_;
  size_t most_bytes_;
  std::vector<char> buffer_;  // Ends with kJsonPadding bytes that are none of the file's.
  size_t position_ = 0;
  size_t filled_ = 0;
  size_t value_ = 0;
  size_t value_bytes_ = 0;
  State state_ = State::kStart;
  bool in_object_ = false;
  bool found_events_ = false;
  bool cut_off_ = false;
  bool is_readable_ = false;
  std::string key_;
  std::string damage_;
  uint64_t too_long_ = 0;
  uint64_t without_end_ = 0;
  uint64_t read_again_ = 0;  // Bytes, to find events behind what is broken.
};

}  // namespace tp

#endif  // ANALYZER_IMPORT_TRACE_ELEMENTS_H_
