// One event of a trace in Chrome's Trace Event format, with those arguments that PyTorch's profiler
// (Kineto) writes and we understand, in any version's spelling.
#ifndef ANALYZER_IMPORT_TRACE_EVENT_H_
#define ANALYZER_IMPORT_TRACE_EVENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tp {

// A time or number of the trace: not there, there, or there and not to be understood.
enum class Presence { kAbsent, kRead, kUnreadable };

// Texts are good until the next event is read.
struct TraceEvent {
  char phase = 0;  // "ph": 'X' complete, 'i' instant, 'M' metadata, ...; 0: none.
  std::string_view category, name;
  // Process and thread as they are written, without quotes: numbers or words.
  std::string_view process, thread;
  int64_t start_ns = 0;     // "ts".
  int64_t duration_ns = 0;  // "dur".
  Presence start = Presence::kAbsent;
  Presence duration = Presence::kAbsent;

  // From "args".
  std::optional<uint64_t> correlation, external_id, stream, device, context, cbid;
  std::optional<int64_t> bytes;  // Negative: freed.
  std::optional<uint64_t> address;
  std::optional<uint64_t> device_type;  // Of memory: 0 is the host.
  std::string_view shapes, dtypes;      // JSON lists as they are written; empty: none.
  std::string_view call_stack;          // Frames with ';' between.
  std::string_view label;               // "name" of metadata.

  // From "args" of traces that an export of ours has written (analyzer/export/chrome_trace.h).
  std::string_view call_site;
  std::string_view memory_device;  // Of memory: "cpu", "cuda:0".
  std::string_view allocation;     // Of memory: "alloc", "free".
  std::string_view frames;         // Of a sample: a JSON list of texts, innermost first.
  std::optional<uint64_t> output_bytes, flops, kernels, given_device_ns, duration_in_args_ns;
  std::optional<uint64_t> copy_kind, source_memory, destination_memory, value, result;
  bool backward = false, asynchronous = false;
};

class TraceEventReader {
 public:
  TraceEventReader();
  ~TraceEventReader();

  // Reads `json`, of which `readable_bytes` from its start on may be read (64 more than its
  // length). False if it is no JSON object. Bytes that are no UTF-8, control characters and halves
  // of surrogate pairs become U+FFFD.
  bool Read(std::string_view json, size_t readable_bytes, TraceEvent* event);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tp

#endif  // ANALYZER_IMPORT_TRACE_EVENT_H_
