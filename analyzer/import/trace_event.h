// One event of a trace in Chrome's Trace Event format, with those arguments that PyTorch's profiler
// (Kineto) writes and we understand, in any version's spelling.
#ifndef ANALYZER_IMPORT_TRACE_EVENT_H_
#define ANALYZER_IMPORT_TRACE_EVENT_H_

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

#include "analyzer/import/json_cursor.h"

namespace tp {

// Everything is as it is written, escapes in texts resolved: numbers are for decimal.h to read, a
// number in quotes comes without them. What is not there is empty.
struct TraceEvent {
  char phase = 0;  // "ph": 'X' complete, 'i' instant, 'M' metadata, ...; 0: none.
  std::string_view category, name;
  std::string_view process, thread;  // "pid" and "tid": numbers or words.
  std::string_view start, duration;  // "ts" and "dur", in microseconds.

  // From "args".
  std::string_view correlation, external_id, stream, device, context, cbid;
  std::string_view bytes;  // Of memory: negative, freed.
  std::string_view address;
  std::string_view device_type;     // Of memory: 0 is the host.
  std::string_view shapes, dtypes;  // JSON lists.
  std::string_view call_stack;      // Frames with ';' between.
  std::string_view label;           // "name" of metadata.

  // From "args" of traces that an export of ours has written (analyzer/export/chrome_trace.h);
  // there the device of memory is "cpu", "cuda:0".
  std::string_view call_site;
  std::string_view allocation;  // Of memory: "alloc", "free".
  std::string_view frames;      // Of a sample: a JSON list of texts, innermost first.
  std::string_view output_bytes, flops, kernels, given_device_ns, duration_in_args_ns;
  std::string_view copy_kind, source_memory, destination_memory, value, result;
  std::string_view wait_stream;             // Of a wait on the host: the stream waited for.
  std::string_view owner;                   // Of device work: its process.
  std::string_view backward, asynchronous;  // "true".
  std::string_view values;                  // Of a span: a JSON object.
};

class TraceEventReader {
 public:
  // Reads the object that `json` begins with; kJsonPadding bytes behind it may be read. False if it
  // is none, or does not end in it. The event's texts are good until the next call, and as long as
  // those of `json`. Strings may hold any bytes.
  bool Read(std::string_view json, TraceEvent* event);
  // Of `json`, what the object takes; or what is surely read if it failed: behind that a quote may
  // be missing.
  size_t passed() const { return passed_; }
  // It failed because the text ends in the object.
  bool ended() const { return ended_; }

 private:
  std::string_view Text(const JsonValue& value);
  void ReadArguments(JsonCursor* cursor, TraceEvent* event);

  std::deque<std::string> texts_;  // Those that had escapes.
  size_t passed_ = 0;
  bool ended_ = false;
};

}  // namespace tp

#endif  // ANALYZER_IMPORT_TRACE_EVENT_H_
