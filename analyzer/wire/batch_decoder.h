// From the columns of a wire::Batch to the plain records of a recording, handed to a sink row by
// row: a Summary, or anything that has its AddSpan, AddSpanValue, CloseSpan, AddActivity,
// AddLaunchOperation, AddMemory, AddGraphNode and AddCounter.
// Nothing is allocated per event.
//
//   absl::StatusOr<EventCounts> counts = DecodeBatch(batch, &names, clock, summary);
//
// A batch is handed on whole or not at all: columns of a wrong length, names that were never sent
// and operations without an id give InvalidArgument before the sink sees a row. Every other value
// may come in: sums of deltas wrap around, times stop at the ends of their range.
#ifndef ANALYZER_WIRE_BATCH_DECODER_H_
#define ANALYZER_WIRE_BATCH_DECODER_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analyzer/model/clock_time.h"
#include "analyzer/model/recording.h"
#include "analyzer/wire/event_kind.h"
#include "analyzer/wire/name_table.h"
#include "google/protobuf/repeated_field.h"
#include "proto/wire.pb.h"

namespace tp {

// InvalidArgument if a row of the batch cannot be read.
absl::Status CheckBatch(const wire::Batch& batch, const NameTable& names);

// What the batch holds: an operation counts where it begins (whole, or opened), not where it is
// closed.
EventCounts CountEvents(const wire::Batch& batch);

// One column: an entry per row, or one for all rows, or none (zero for all rows). The length is
// checked elsewhere.
template <typename Value>
class Column {
 public:
  template <typename Stored>
  explicit Column(const google::protobuf::RepeatedField<Stored>& field)
      : first_(field.empty() ? &kZero : field.data()), step_(field.size() > 1 ? 1 : 0) {
    static_assert(sizeof(Stored) == sizeof(Value));
  }
  Value operator[](size_t row) const { return first_[row * step_]; }

 private:
  static constexpr Value kZero = 0;
  const Value* first_;
  size_t step_;
};

// A column of differences, read from its first row to its last.
class RunningSum {
 public:
  explicit RunningSum(const google::protobuf::RepeatedField<int64_t>& field) : deltas_(field) {}
  uint64_t Next(size_t row) { return sum_ += static_cast<uint64_t>(deltas_[row]); }

 private:
  Column<int64_t> deltas_;
  uint64_t sum_ = 0;
};

namespace decoding {

inline uint64_t OperationOrNone(uint64_t id) { return id == 0 ? kNoOperation : id; }

inline SpanKind KindOfSpan(uint32_t letter) {
  if (letter == 'o') return SpanKind::kOperation;
  return letter == 'b' ? SpanKind::kBackward : SpanKind::kUserAnnotation;
}

// The end of a span that is over: an absurd one must not pass for one that is still open.
inline int64_t EndOfSpan(int64_t end_ns) { return std::min(end_ns, kStillOpen - 1); }

template <typename Sink>
void Operations(const wire::OperationColumns& columns, bool open, NameTable& names, Sink& sink) {
  RunningSum start(columns.start_delta_ns());
  RunningSum id(columns.id_delta());
  const Column<int64_t> duration(columns.duration_ns());
  const Column<uint32_t> name(columns.name_id());
  const Column<uint32_t> thread(columns.thread_id());
  const Column<uint32_t> kind(columns.kind());
  const Column<int> form(columns.form());
  const Column<uint32_t> shapes(columns.shapes_id());
  const Column<uint32_t> stack(columns.stack_id());
  const Column<uint32_t> dtypes(columns.dtypes_id());
  const Column<int64_t> flops(columns.flops());
  const Column<int64_t> output_bytes(columns.output_bytes());
  const auto rows = static_cast<size_t>(columns.start_delta_ns_size());
  for (size_t row = 0; row < rows; ++row) {
    Span span;
    span.id = id.Next(row);
    span.start_ns = static_cast<int64_t>(start.Next(row));
    span.end_ns = open ? kStillOpen : EndOfSpan(AddWithinRange(span.start_ns, duration[row]));
    span.thread = thread[row];
    span.name = names.Name(name[row]);
    span.kind = KindOfSpan(kind[row]);
    span.asynchronous = form[row] != wire::PUSH_POP;
    span.shapes = names.Name(shapes[row]);
    span.stack = names.Stack(stack[row]);
    span.dtypes = names.Name(dtypes[row]);
    span.flops = flops[row];
    span.output_bytes = output_bytes[row];
    sink.AddSpan(span);
  }
}

template <typename Sink>
void OperationValues(const wire::OperationValueColumns& columns, const NameTable& names,
                     Sink& sink) {
  RunningSum operation(columns.operation_delta());
  const Column<uint32_t> name(columns.name_id());
  const Column<int> type(columns.type());
  const Column<uint64_t> bits(columns.bits());
  const auto rows = static_cast<size_t>(columns.operation_delta_size());
  for (size_t row = 0; row < rows; ++row) {
    SpanValue value;
    value.span = operation.Next(row);
    value.name = names.Name(name[row]);
    value.bits = bits[row];
    if (type[row] < wire::SIGNED || type[row] > wire::TEXT) continue;  // Of a newer collector.
    value.type = static_cast<ValueType>(type[row]);
    if (value.type == ValueType::kText) value.bits = names.Name(static_cast<uint32_t>(bits[row]));
    sink.AddSpanValue(value);
  }
}

template <typename Sink>
void Counters(const wire::CounterColumns& columns, const NameTable& names, Sink& sink) {
  RunningSum time(columns.time_delta_ns());
  const Column<uint32_t> name(columns.name_id());
  const Column<uint64_t> bits(columns.bits());
  const Column<uint32_t> thread(columns.thread_id());
  const auto rows = static_cast<size_t>(columns.time_delta_ns_size());
  for (size_t row = 0; row < rows; ++row) {
    CounterValue counter;
    counter.time_ns = static_cast<int64_t>(time.Next(row));
    counter.thread = thread[row];
    counter.name = names.Name(name[row]);
    counter.value = std::bit_cast<double>(bits[row]);
    sink.AddCounter(counter);
  }
}

template <typename Sink>
void Closed(const wire::ClosedColumns& columns, Sink& sink) {
  RunningSum id(columns.id_delta());
  RunningSum end(columns.end_delta_ns());
  const auto rows = static_cast<size_t>(columns.id_delta_size());
  for (size_t row = 0; row < rows; ++row) {
    const uint64_t operation = id.Next(row);
    sink.CloseSpan(operation, EndOfSpan(static_cast<int64_t>(end.Next(row))));
  }
}

std::vector<LaunchConfiguration> LaunchConfigurations(
    const wire::LaunchConfigurationColumns& columns);

// Of a column in which 0 says that there is none.
inline int64_t DurationOrUnknown(int64_t stored) {
  return stored == 0 ? kUnknownDuration : stored - (stored > 0);
}

template <typename Sink>
void Work(const wire::WorkColumns& columns, ActivityKind kind,
          const std::vector<LaunchConfiguration>& launches, NameTable& names,
          const ClockTime& clock, Sink& sink) {
  RunningSum start(columns.start_delta_ns());
  RunningSum correlation(columns.correlation_delta());
  const Column<int64_t> duration(columns.duration_ns());
  const Column<uint32_t> device(columns.device());
  const Column<uint32_t> context(columns.context());
  const Column<uint32_t> stream(columns.stream());
  const Column<uint32_t> name(columns.name_id());
  const Column<uint64_t> bytes(columns.bytes());
  const Column<uint32_t> copy_kind(columns.copy_kind());
  const Column<uint32_t> source_memory(columns.source_memory());
  const Column<uint32_t> destination_memory(columns.destination_memory());
  const Column<uint32_t> value(columns.value());
  const Column<uint64_t> graph_node(columns.graph_node());
  const Column<uint32_t> graph_id(columns.graph_id());
  const Column<uint32_t> launch(columns.launch_configuration());
  const Column<int64_t> queued(columns.queued_to_start_ns());
  const Column<int64_t> submitted(columns.submitted_to_start_ns());
  const auto rows = static_cast<size_t>(columns.start_delta_ns_size());
  for (size_t row = 0; row < rows; ++row) {
    DeviceActivity activity;
    activity.kind = kind;
    activity.start_ns = clock.HostFromCupti(static_cast<int64_t>(start.Next(row)));
    activity.end_ns = AddWithinRange(activity.start_ns, duration[row]);
    activity.correlation = correlation.Next(row);
    activity.device = static_cast<int32_t>(device[row]);
    activity.context = context[row];
    activity.stream = stream[row];
    activity.bytes = bytes[row];
    activity.copy_kind = NarrowKind(copy_kind[row]);
    activity.source_memory = NarrowKind(source_memory[row]);
    activity.destination_memory = NarrowKind(destination_memory[row]);
    activity.value = value[row];
    activity.graph_node = graph_node[row];
    activity.name = names.Name(name[row]);
    if (activity.name == 0 && kind == ActivityKind::kCopy) {
      activity.name =
          names.CopyName(activity.copy_kind, activity.source_memory, activity.destination_memory);
    } else if (activity.name == 0 && kind == ActivityKind::kFill) {
      activity.name = names.FillName(activity.source_memory);
    } else if (kind == ActivityKind::kGraph) {
      activity.name = names.GraphName(graph_id[row]);
    }
    sink.AddActivity(activity);
    if (launch[row] == 0 && queued[row] == 0 && submitted[row] == 0) continue;
    KernelLaunch told;
    if (launch[row] != 0) told.configuration = launches[launch[row] - 1];
    told.queued_to_start_ns = DurationOrUnknown(queued[row]);
    told.submitted_to_start_ns = DurationOrUnknown(submitted[row]);
    sink.AddKernelLaunch(activity.name, told);
  }
}

template <typename Sink>
void Calls(const wire::CallColumns& columns, ActivityKind kind, const NameTable& names,
           const ClockTime& clock, Sink& sink) {
  RunningSum start(columns.start_delta_ns());
  RunningSum correlation(columns.correlation_delta());
  const Column<int64_t> duration(columns.duration_ns());
  const Column<uint32_t> thread(columns.thread_id());
  const Column<uint32_t> name(columns.name_id());
  const Column<uint32_t> result(columns.result());
  const Column<uint32_t> cbid(columns.cbid());
  const auto rows = static_cast<size_t>(columns.start_delta_ns_size());
  for (size_t row = 0; row < rows; ++row) {
    DeviceActivity activity;
    activity.kind = kind;
    activity.start_ns = clock.HostFromCupti(static_cast<int64_t>(start.Next(row)));
    activity.end_ns = AddWithinRange(activity.start_ns, duration[row]);
    activity.correlation = correlation.Next(row);
    activity.device = -1;
    activity.thread = thread[row];
    activity.name = names.Name(name[row]);
    activity.result = result[row];
    activity.cbid = cbid[row];
    sink.AddActivity(activity);
  }
}

template <typename Sink>
void Synchronizations(const wire::SynchronizationColumns& columns, NameTable& names,
                      const ClockTime& clock, Sink& sink) {
  RunningSum start(columns.start_delta_ns());
  RunningSum correlation(columns.correlation_delta());
  const Column<int64_t> duration(columns.duration_ns());
  const Column<uint32_t> type(columns.type());
  const Column<uint32_t> context(columns.context());
  const Column<uint32_t> stream(columns.stream_plus_one());
  const auto rows = static_cast<size_t>(columns.start_delta_ns_size());
  for (size_t row = 0; row < rows; ++row) {
    DeviceActivity activity;
    activity.kind = ActivityKind::kSynchronization;
    activity.start_ns = clock.HostFromCupti(static_cast<int64_t>(start.Next(row)));
    activity.end_ns = AddWithinRange(activity.start_ns, duration[row]);
    activity.correlation = correlation.Next(row);
    activity.device = -1;
    activity.context = context[row];
    activity.has_stream = stream[row] != 0;
    activity.stream = activity.has_stream ? stream[row] - 1 : 0;
    activity.name = names.SynchronizationName(type[row]);
    sink.AddActivity(activity);
  }
}

template <typename Sink>
void Memory(const wire::MemoryColumns& columns, const ClockTime& clock, Sink& sink) {
  RunningSum time(columns.time_delta_ns());
  RunningSum address(columns.address_delta());
  const Column<int> operation(columns.operation());
  const Column<uint32_t> kind(columns.kind());
  const Column<uint64_t> bytes(columns.bytes());
  const Column<uint32_t> device(columns.device());
  const Column<uint32_t> from_pool(columns.from_pool());
  const auto rows = static_cast<size_t>(columns.time_delta_ns_size());
  for (size_t row = 0; row < rows; ++row) {
    MemoryChange event;
    event.time_ns = clock.HostFromCupti(static_cast<int64_t>(time.Next(row)));
    event.operation = static_cast<MemoryOperation>(operation[row]);
    event.kind = kind[row];
    event.address = address.Next(row);
    event.bytes = bytes[row];
    event.device = device[row];
    event.from_pool = from_pool[row] != 0;
    sink.AddMemory(event);
  }
}

template <typename Sink>
void GraphNodes(const wire::GraphNodeColumns& columns, Sink& sink) {
  RunningSum node(columns.node_delta());
  RunningSum operation(columns.operation_delta());
  RunningSum original(columns.original_delta());
  const auto rows = static_cast<size_t>(columns.node_delta_size());
  for (size_t row = 0; row < rows; ++row) {
    GraphNode made;
    made.id = node.Next(row);
    made.operation = OperationOrNone(operation.Next(row));
    made.original = original.Next(row);
    sink.AddGraphNode(made);
  }
}

template <typename Sink>
void LaunchOperations(const wire::LaunchOperationColumns& columns, Sink& sink) {
  RunningSum correlation(columns.correlation_delta());
  RunningSum operation(columns.operation_delta());
  const auto rows = static_cast<size_t>(columns.correlation_delta_size());
  for (size_t row = 0; row < rows; ++row) {
    const uint64_t call = correlation.Next(row);
    sink.AddLaunchOperation(call, OperationOrNone(operation.Next(row)));
  }
}

}  // namespace decoding

template <typename Sink>
absl::StatusOr<EventCounts> DecodeBatch(const wire::Batch& batch, NameTable* names,
                                        const ClockTime& clock, Sink& sink) {
  if (absl::Status checked = CheckBatch(batch, *names); !checked.ok()) return checked;
  const std::vector<LaunchConfiguration> launches =
      decoding::LaunchConfigurations(batch.launch_configurations());
  // Causes before effects: what refers to an operation or a launch then mostly finds it.
  decoding::Operations(batch.opened(), /*open=*/true, *names, sink);
  decoding::Operations(batch.reopened(), /*open=*/true, *names, sink);
  decoding::Operations(batch.operations(), /*open=*/false, *names, sink);
  decoding::OperationValues(batch.operation_values(), *names, sink);
  decoding::LaunchOperations(batch.launch_operations(), sink);
  decoding::GraphNodes(batch.graph_nodes(), sink);
  decoding::Calls(batch.runtime_calls(), ActivityKind::kRuntimeCall, *names, clock, sink);
  decoding::Calls(batch.driver_calls(), ActivityKind::kDriverCall, *names, clock, sink);
  decoding::Work(batch.kernels(), ActivityKind::kKernel, launches, *names, clock, sink);
  decoding::Work(batch.copies(), ActivityKind::kCopy, launches, *names, clock, sink);
  decoding::Work(batch.fills(), ActivityKind::kFill, launches, *names, clock, sink);
  decoding::Work(batch.graphs(), ActivityKind::kGraph, launches, *names, clock, sink);
  decoding::Synchronizations(batch.synchronizations(), *names, clock, sink);
  decoding::Memory(batch.memory(), clock, sink);
  decoding::Calls(batch.overheads(), ActivityKind::kOverhead, *names, clock, sink);
  decoding::Calls(batch.compilations(), ActivityKind::kCompilation, *names, clock, sink);
  decoding::Counters(batch.counters(), *names, sink);
  decoding::Closed(batch.closed(), sink);
  return CountEvents(batch);
}

}  // namespace tp

#endif  // ANALYZER_WIRE_BATCH_DECODER_H_
