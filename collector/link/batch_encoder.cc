#include "collector/link/batch_encoder.h"

#include <bit>
#include <cstddef>
#include <cstring>
#include <protozero/pbf_writer.hpp>

#include "collector/link/frame.h"

namespace tp::collect {
namespace {

// Field numbers of proto/wire.proto.
constexpr uint32_t kBatch = 3;  // Of FromCollector; those below are Batch's.
constexpr uint32_t kSequence = 1, kOperations = 2, kOpened = 3, kClosed = 4, kKernels = 5,
                   kCopies = 6, kFills = 7, kRuntimeCalls = 8, kDriverCalls = 9,
                   kLaunchOperations = 10, kLaunchConfigurations = 11, kGraphs = 12,
                   kSynchronizations = 13, kMemory = 14, kOverheads = 15, kCompilations = 16,
                   kGraphNodes = 17, kReopened = 20, kOperationValues = 21, kCounters = 22;

// Writes packed columns into one of the batch's submessages.
class ColumnWriter {
 public:
  ColumnWriter(std::string* batch, uint32_t field) : parent_(*batch), message_(parent_, field) {}

  // A column with one entry per row, as it is.
  template <typename Column>
  void Rows(uint32_t field, Column& column) {
    message_.add_bytes(field, column.bytes().data(), column.bytes().size());
    column.Clear();
  }
  void Values(uint32_t field, ValueColumn& column) {
    std::string_view bytes = column.Finish();
    if (!bytes.empty()) message_.add_bytes(field, bytes.data(), bytes.size());
    column.Clear();
  }

 private:
  protozero::pbf_writer parent_;
  protozero::pbf_writer message_;
};

// end - start as CUPTI gave them, wrapping: whatever they are, the daemon gets the same two numbers
// back.
uint64_t Duration(int64_t start_ns, int64_t end_ns) {
  return ZigZag(
      static_cast<int64_t>(static_cast<uint64_t>(end_ns) - static_cast<uint64_t>(start_ns)));
}

// Reads what the reader has just written in the pieces in which it wrote it: the processor passes
// those on without waiting for memory.
bool Same(const LaunchConfiguration& left, const LaunchConfiguration& right) {
  if (memcmp(&left, &right, offsetof(LaunchConfiguration, static_shared_bytes)) != 0) return false;
  if (left.static_shared_bytes != right.static_shared_bytes ||
      left.dynamic_shared_bytes != right.dynamic_shared_bytes ||
      left.local_bytes_per_thread != right.local_bytes_per_thread ||
      left.registers_per_thread != right.registers_per_thread) {
    return false;
  }
  return left.cluster[0] == right.cluster[0] && left.cluster[1] == right.cluster[1] &&
         left.cluster[2] == right.cluster[2] && left.launch_type == right.launch_type;
}

// From `then` to the start, as WorkColumns has it. 0: not known.
uint64_t TimeToStart(int64_t then_ns, int64_t start_ns) {
  if (then_ns == 0) return 0;
  const auto waited_ns =
      static_cast<int64_t>(static_cast<uint64_t>(start_ns) - static_cast<uint64_t>(then_ns));
  return ZigZag(waited_ns >= 0 && waited_ns < INT64_MAX ? waited_ns + 1 : waited_ns);
}

}  // namespace

void BatchEncoder::OperationColumns::Add(const Operation& operation) {
  start.Append(operation.start_ns);
  id.Append(operation.id);
  name.Append(operation.name);
  thread.Append(operation.thread_id);
  kind.Append(static_cast<uint8_t>(operation.kind));
  form.Append(operation.asynchronous);
  domain.Append(operation.domain);
  shapes.Append(operation.shapes);
  sequence_number.Append(ZigZag(operation.sequence_number_plus_one));
  stack.Append(operation.stack);
  if (__builtin_expect((operation.dtypes | operation.flops | operation.output_bytes) != 0, 0)) {
    const size_t rows_before = start.rows() - 1;
    for (ValueColumn* column : {&dtypes, &flops, &output_bytes}) column->PadTo(rows_before);
    dtypes.Append(operation.dtypes);
    flops.Append(ZigZag(operation.flops));
    output_bytes.Append(ZigZag(operation.output_bytes));
  }
}

void BatchEncoder::OperationColumns::Write(uint32_t field, std::string* batch, bool with_duration) {
  if (start.rows() == 0) return;
  for (ValueColumn* column : {&dtypes, &flops, &output_bytes}) {
    if (column->rows() > 0) column->PadTo(start.rows());
  }
  ColumnWriter writer(batch, field);
  writer.Rows(1, start);
  if (with_duration) writer.Rows(2, duration);
  writer.Rows(3, id);
  writer.Values(4, name);
  writer.Values(5, thread);
  writer.Values(6, kind);
  writer.Values(7, form);
  writer.Values(8, domain);
  writer.Values(9, shapes);
  writer.Values(10, sequence_number);
  writer.Values(20, dtypes);
  writer.Values(21, flops);
  writer.Values(22, output_bytes);
  writer.Values(40, stack);
}

void BatchEncoder::OperationValueColumns::Write(uint32_t field, std::string* batch) {
  if (operation.rows() == 0) return;
  ColumnWriter writer(batch, field);
  writer.Rows(1, operation);
  writer.Values(2, name);
  writer.Values(3, type);
  writer.Values(4, bits);
}

void BatchEncoder::CounterColumns::Write(uint32_t field, std::string* batch) {
  if (time.rows() == 0) return;
  ColumnWriter writer(batch, field);
  writer.Rows(1, time);
  writer.Values(2, name);
  writer.Values(3, bits);
  writer.Values(4, thread);
}

void BatchEncoder::ClosedColumns::Write(uint32_t field, std::string* batch) {
  if (id.rows() == 0) return;
  ColumnWriter writer(batch, field);
  writer.Rows(1, id);
  writer.Rows(2, end);
}

void BatchEncoder::WorkColumns::Write(uint32_t field, std::string* batch) {
  if (start.rows() == 0) return;
  for (ValueColumn* column : {&queued, &submitted}) {
    if (column->rows() > 0) column->PadTo(start.rows());
  }
  ColumnWriter writer(batch, field);
  writer.Rows(1, start);
  writer.Rows(2, duration);
  writer.Rows(3, correlation);
  writer.Values(4, device);
  writer.Values(5, context);
  writer.Values(6, stream);
  writer.Values(7, name);
  writer.Values(8, bytes);
  writer.Values(9, copy_kind);
  writer.Values(10, source_memory);
  writer.Values(11, destination_memory);
  writer.Values(12, destination_device);
  writer.Values(13, value);
  writer.Values(14, graph_node);
  writer.Values(15, launch_configuration);
  writer.Values(16, queued);
  writer.Values(17, submitted);
  writer.Values(18, graph_id);
}

void BatchEncoder::SynchronizationColumns::Write(uint32_t field, std::string* batch) {
  if (start.rows() == 0) return;
  ColumnWriter writer(batch, field);
  writer.Rows(1, start);
  writer.Rows(2, duration);
  writer.Rows(3, correlation);
  writer.Values(4, type);
  writer.Values(5, context);
  writer.Values(6, stream);
  writer.Values(7, event);
}

void BatchEncoder::MemoryColumns::Write(uint32_t field, std::string* batch) {
  if (time.rows() == 0) return;
  ColumnWriter writer(batch, field);
  writer.Rows(1, time);
  writer.Values(2, operation);
  writer.Values(3, kind);
  writer.Rows(4, address);
  writer.Values(5, bytes);
  writer.Rows(6, correlation);
  writer.Values(7, device);
  writer.Values(8, context);
  writer.Values(9, stream);
  writer.Values(10, from_pool);
}

void BatchEncoder::GraphNodeColumns::Write(uint32_t field, std::string* batch) {
  if (node.rows() == 0) return;
  ColumnWriter writer(batch, field);
  writer.Rows(1, node);
  writer.Rows(2, operation);
  writer.Rows(3, original);
}

void BatchEncoder::CallColumns::Write(uint32_t field, std::string* batch) {
  if (start.rows() == 0) return;
  ColumnWriter writer(batch, field);
  writer.Rows(1, start);
  writer.Rows(2, duration);
  writer.Rows(3, correlation);
  writer.Values(4, thread);
  writer.Values(5, name);
  writer.Values(6, result);
  writer.Values(7, cbid);
}

void BatchEncoder::LaunchOperationColumns::Write(uint32_t field, std::string* batch) {
  if (correlation.rows() == 0) return;
  ColumnWriter writer(batch, field);
  writer.Rows(1, correlation);
  writer.Rows(2, operation);
}

uint32_t BatchEncoder::LaunchConfigurations::Row(const LaunchConfiguration& launch,
                                                 StringId kernel) {
  // A kernel's configurations differ in these, if in anything.
  uint32_t hash = launch.grid[0] * 0x9e3779b1u ^ launch.grid[1] * 0x7feb352du ^
                  launch.grid[2] * 0x846ca68bu ^ launch.block[0] * 0x85ebca6bu ^
                  launch.dynamic_shared_bytes * 0x27d4eb2fu ^ kernel * 0xc2b2ae35u;
  hash = (hash ^ hash >> 15) * 0x2c1b3c6du;
  Slot* pair = slots_[hash >> kPairShift].data();
  if (pair[0].batch == batch_ && Same(pair[0].launch, launch)) return pair[0].row;
  if (pair[1].batch == batch_ && Same(pair[1].launch, launch)) return pair[1].row;
  pair[1] = pair[0];
  return Add(launch, &pair[0]);
}

uint32_t BatchEncoder::LaunchConfigurations::Add(const LaunchConfiguration& launch, Slot* slot) {
  uint32_t numbers[kLaunchNumbers];
  memcpy(numbers, &launch, sizeof(numbers));
  grid_x_.Append(numbers[0]);
  for (size_t i = 1; i < kLaunchNumbers; ++i) others_[i - 1].Append(numbers[i]);
  *slot = {launch, ++rows_, batch_};
  return rows_;
}

void BatchEncoder::LaunchConfigurations::Write(uint32_t field, std::string* batch) {
  if (rows_ == 0) return;
  ColumnWriter writer(batch, field);
  writer.Rows(1, grid_x_);
  for (size_t i = 1; i < kLaunchNumbers; ++i) {
    writer.Values(static_cast<uint32_t>(i + 1), others_[i - 1]);
  }
  rows_ = 0;
  ++batch_;
}

void BatchEncoder::AddOperation(const Operation& operation) {
  operations_.Add(operation);
  operations_.duration.Append(Duration(operation.start_ns, operation.end_ns));
  ++counts_[EventKind::kOperation];
  ++rows_;
}

void BatchEncoder::AddOpened(const Operation& operation) {
  opened_.Add(operation);
  ++counts_[EventKind::kOperation];
  ++rows_;
}

void BatchEncoder::AddClosed(uint64_t id, int64_t end_ns) {
  closed_.id.Append(id);
  closed_.end.Append(end_ns);
  ends_.push_back({id, end_ns});
  ++rows_;
}

void BatchEncoder::AddReopened(const Operation& operation) {
  reopened_.Add(operation);
  ++rows_;
}

void BatchEncoder::AddOperationValue(uint64_t operation_id, const OperationValue& value) {
  operation_values_.operation.Append(operation_id);
  operation_values_.name.Append(value.name);
  operation_values_.type.Append(static_cast<uint8_t>(value.type));
  operation_values_.bits.Append(value.bits);
  ++rows_;
}

void BatchEncoder::AddCounter(const CounterValue& counter) {
  counters_.time.Append(counter.time_ns);
  counters_.name.Append(counter.name);
  counters_.bits.Append(std::bit_cast<uint64_t>(counter.value));
  counters_.thread.Append(counter.thread_id);
  ++counts_[EventKind::kCounter];
  ++rows_;
}

void BatchEncoder::WorkColumns::AddCommon(const Work& work) {
  start.Append(work.start_ns);
  duration.Append(Duration(work.start_ns, work.end_ns));
  correlation.Append(work.correlation_id);
  device.Append(work.device);
  context.Append(work.context);
  stream.Append(work.stream);
  name.Append(work.name);
  graph_node.Append(work.graph_node);
}

void BatchEncoder::AddKernel(const Work& work, const LaunchConfiguration& launch) {
  kernels_.AddCommon(work);
  kernels_.launch_configuration.Append(launch_configurations_.Row(launch, work.name));
  if (__builtin_expect((work.queued_ns | work.submitted_ns) != 0, 0)) {
    const size_t rows_before = kernels_.start.rows() - 1;
    kernels_.queued.PadTo(rows_before);
    kernels_.queued.Append(TimeToStart(work.queued_ns, work.start_ns));
    kernels_.submitted.PadTo(rows_before);
    kernels_.submitted.Append(TimeToStart(work.submitted_ns, work.start_ns));
  }
  ++counts_[EventKind::kKernel];
  ++rows_;
}

BatchEncoder::WorkColumns& BatchEncoder::ColumnsOfWork(EventKind kind) {
  if (kind == EventKind::kCopy) return copies_;
  return kind == EventKind::kFill ? fills_ : graphs_;
}

BatchEncoder::CallColumns& BatchEncoder::ColumnsOfCall(EventKind kind) {
  switch (kind) {
    case EventKind::kRuntimeCall:
      return runtime_calls_;
    case EventKind::kDriverCall:
      return driver_calls_;
    case EventKind::kOverhead:
      return overheads_;
    default:
      return compilations_;
  }
}

void BatchEncoder::AddSynchronization(const Synchronization& synchronization) {
  SynchronizationColumns& columns = synchronizations_;
  columns.start.Append(synchronization.start_ns);
  columns.duration.Append(Duration(synchronization.start_ns, synchronization.end_ns));
  columns.correlation.Append(synchronization.correlation_id);
  columns.type.Append(synchronization.type);
  columns.context.Append(synchronization.context);
  columns.stream.Append(synchronization.stream_plus_one);
  columns.event.Append(synchronization.event_plus_one);
  ++counts_[EventKind::kSynchronization];
  ++rows_;
}

void BatchEncoder::AddMemory(const MemoryEvent& event) {
  memory_.time.Append(event.time_ns);
  memory_.operation.Append(static_cast<uint8_t>(event.operation));
  memory_.kind.Append(event.kind);
  memory_.address.Append(event.address);
  memory_.bytes.Append(event.bytes);
  memory_.correlation.Append(event.correlation_id);
  memory_.device.Append(event.device);
  memory_.context.Append(event.context_plus_one);
  memory_.stream.Append(event.stream_plus_one);
  memory_.from_pool.Append(event.from_pool);
  ++counts_[EventKind::kMemory];
  ++rows_;
}

void BatchEncoder::AddGraphNode(const GraphNode& node) {
  graph_nodes_.node.Append(node.id);
  graph_nodes_.operation.Append(node.operation_id);
  graph_nodes_.original.Append(node.original_id);
  ++counts_[EventKind::kGraphNode];
  ++rows_;
}

void BatchEncoder::AddWork(EventKind kind, const Work& work) {
  WorkColumns& columns = ColumnsOfWork(kind);
  columns.AddCommon(work);
  columns.bytes.Append(work.bytes);
  columns.copy_kind.Append(work.copy_kind);
  columns.source_memory.Append(work.source_memory);
  columns.destination_memory.Append(work.destination_memory);
  columns.destination_device.Append(work.destination_device_plus_one);
  columns.value.Append(work.value);
  columns.graph_id.Append(work.graph_id);
  ++counts_[kind];
  ++rows_;
}

void BatchEncoder::AddCall(EventKind kind, const Call& call) {
  CallColumns& columns = ColumnsOfCall(kind);
  columns.start.Append(call.start_ns);
  columns.duration.Append(Duration(call.start_ns, call.end_ns));
  columns.correlation.Append(call.correlation_id);
  columns.thread.Append(call.thread_id);
  columns.name.Append(call.name);
  columns.result.Append(call.result);
  columns.cbid.Append(call.cbid);
  ++counts_[kind];
  ++rows_;
}

void BatchEncoder::AddLaunchOperation(uint32_t correlation_id, uint64_t operation_id) {
  launch_operations_.correlation.Append(correlation_id);
  launch_operations_.operation.Append(operation_id);
  ++counts_[EventKind::kLaunchOperation];
  ++rows_;
}

EncodedBatch BatchEncoder::Finish(uint64_t sequence, StringId last_string) {
  EncodedBatch encoded;
  encoded.has_begins = opened_.start.rows() > 0 || reopened_.start.rows() > 0;
  encoded.ends.swap(ends_);

  std::string batch;
  protozero::pbf_writer(batch).add_uint64(kSequence, sequence);
  operations_.Write(kOperations, &batch, /*with_duration=*/true);
  opened_.Write(kOpened, &batch, /*with_duration=*/false);
  closed_.Write(kClosed, &batch);
  kernels_.Write(kKernels, &batch);
  copies_.Write(kCopies, &batch);
  fills_.Write(kFills, &batch);
  runtime_calls_.Write(kRuntimeCalls, &batch);
  driver_calls_.Write(kDriverCalls, &batch);
  launch_operations_.Write(kLaunchOperations, &batch);
  launch_configurations_.Write(kLaunchConfigurations, &batch);
  graphs_.Write(kGraphs, &batch);
  synchronizations_.Write(kSynchronizations, &batch);
  memory_.Write(kMemory, &batch);
  overheads_.Write(kOverheads, &batch);
  compilations_.Write(kCompilations, &batch);
  graph_nodes_.Write(kGraphNodes, &batch);
  reopened_.Write(kReopened, &batch, /*with_duration=*/false);
  operation_values_.Write(kOperationValues, &batch);
  counters_.Write(kCounters, &batch);

  encoded.sequence = sequence;
  encoded.last_string = last_string;
  encoded.counts = counts_;
  encoded.frame = Frame(kBatch, batch);
  counts_ = {};
  rows_ = 0;
  return encoded;
}

}  // namespace tp::collect
