// A recording that is over and wholly in memory: what an import makes of a file, and what tables
// and exports are made from.
#ifndef ANALYZER_MODEL_WHOLE_RECORDING_H_
#define ANALYZER_MODEL_WHOLE_RECORDING_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/model/recording.h"
#include "analyzer/model/string_table.h"

namespace tp {

// Memory that was allocated or freed.
struct MemoryEvent {
  int64_t time_ns = 0;
  uint64_t address = 0;
  int64_t bytes = 0;
  bool allocated = false;
  bool on_device = false;
  int32_t device = -1;
  uint32_t stream = 0;
  int64_t thread = 0;
};

// A call chain at a moment.
struct Sample {
  int64_t time_ns = 0;
  int64_t thread = 0;
  StringId frames = 0;  // Joined as spans' stacks are (frames.h), innermost first.
};

// A host thread as the source names it: threads of several processes have different numbers here
// (Span::thread).
struct ThreadIdentity {
  int64_t process = 0;
  int64_t thread = 0;
  std::string process_name, thread_name;
};

struct WholeRecording {
  std::unique_ptr<StringTable> strings = std::make_unique<StringTable>();
  // In the order of the source. A host call's `operation` is the span that it was made in; device
  // work finds its own through its correlation, unless its record names one. Correlations are
  // unique over the whole recording.
  std::vector<Span> spans;
  std::vector<DeviceActivity> activities;
  std::vector<MemoryEvent> memory_events;
  std::vector<Sample> samples;
  std::vector<SpanValue> span_values;  // Of one name and span the last one counts.
  std::vector<CounterValue> counters;
  std::map<int64_t, ThreadIdentity>
      threads;              // By Span::thread; only those that the source tells of.
  int64_t base_ns = 0;      // The earliest start.
  std::string device_kind;  // "cuda", "xpu"; empty: cuda if there is device work.
  int32_t rank = -1;        // Of a distributed job, where the source says it.
  // What was left out or is doubtful, a line each, for the user.
  std::vector<std::string> notes;
};

}  // namespace tp

#endif  // ANALYZER_MODEL_WHOLE_RECORDING_H_
