#include "collector/link/batch_encoder.h"

#include <protozero/pbf_writer.hpp>

#include "collector/link/frame.h"

namespace tp::collect {
namespace {

// Field numbers of proto/wire.proto.
constexpr uint32_t kBatch = 3;  // Of FromCollector; those below are Batch's.
constexpr uint32_t kSequence = 1, kOperations = 2, kOpened = 3, kClosed = 4, kKernels = 5,
                   kCopies = 6, kFills = 7, kRuntimeCalls = 8, kDriverCalls = 9,
                   kLaunchOperations = 10, kReopened = 20;

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
}

void BatchEncoder::OperationColumns::Write(uint32_t field, std::string* batch, bool with_duration) {
  if (start.rows() == 0) return;
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
}

void BatchEncoder::ClosedColumns::Write(uint32_t field, std::string* batch) {
  if (id.rows() == 0) return;
  ColumnWriter writer(batch, field);
  writer.Rows(1, id);
  writer.Rows(2, end);
}

void BatchEncoder::WorkColumns::Write(uint32_t field, std::string* batch) {
  if (start.rows() == 0) return;
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

void BatchEncoder::AddWork(EventKind kind, const Work& work) {
  WorkColumns& columns = kind == EventKind::kKernel ? kernels_
                         : kind == EventKind::kCopy ? copies_
                                                    : fills_;
  columns.start.Append(work.start_ns);
  columns.duration.Append(Duration(work.start_ns, work.end_ns));
  columns.correlation.Append(work.correlation_id);
  columns.device.Append(work.device);
  columns.context.Append(work.context);
  columns.stream.Append(work.stream);
  columns.name.Append(work.name);
  columns.graph_node.Append(work.graph_node);
  if (kind != EventKind::kKernel) {
    columns.bytes.Append(work.bytes);
    columns.copy_kind.Append(work.copy_kind);
    columns.source_memory.Append(work.source_memory);
    columns.destination_memory.Append(work.destination_memory);
    columns.destination_device.Append(work.destination_device_plus_one);
    columns.value.Append(work.value);
  }
  ++counts_[kind];
  ++rows_;
}

void BatchEncoder::AddCall(EventKind kind, const Call& call) {
  CallColumns& columns = kind == EventKind::kRuntimeCall ? runtime_calls_ : driver_calls_;
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
  reopened_.Write(kReopened, &batch, /*with_duration=*/false);

  encoded.sequence = sequence;
  encoded.last_string = last_string;
  encoded.counts = counts_;
  encoded.frame = Frame(kBatch, batch);
  counts_ = {};
  rows_ = 0;
  return encoded;
}

}  // namespace tp::collect
