#include "analyzer/wire/batch_decoder.h"

#include <string_view>

#include "absl/strings/str_cat.h"

namespace tp {
namespace {

// Looks through the columns of one kind of event and keeps the first thing that is wrong.
class Check {
 public:
  Check(std::string_view events, int rows, uint64_t known_names)
      : events_(events), rows_(rows), known_names_(known_names) {}

  template <typename Value>
  Check& Length(std::string_view column, const google::protobuf::RepeatedField<Value>& field) {
    if (status_.ok() && field.size() > 1 && field.size() != rows_) {
      status_ =
          absl::InvalidArgumentError(Text("the column ", column) + " has " +
                                     absl::StrCat(field.size(), " entries for ", rows_, " rows"));
    }
    return *this;
  }

  Check& Names(std::string_view column, const google::protobuf::RepeatedField<uint32_t>& field) {
    Length(column, field);
    uint32_t largest = 0;
    for (const uint32_t id : field) largest = std::max(largest, id);
    if (status_.ok() && largest >= known_names_) {
      status_ = absl::InvalidArgumentError(Text("the column ", column) + " has the name " +
                                           absl::StrCat(largest, ", which was never sent"));
    }
    return *this;
  }

  // Rows of another column, plus one.
  Check& Rows(std::string_view column, const google::protobuf::RepeatedField<uint32_t>& field,
              int rows) {
    Length(column, field);
    uint32_t largest = 0;
    for (const uint32_t row : field) largest = std::max(largest, row);
    if (status_.ok() && largest > static_cast<uint32_t>(rows)) {
      status_ = absl::InvalidArgumentError(Text("the column ", column) + " names row " +
                                           absl::StrCat(largest, " of ", rows));
    }
    return *this;
  }

  // Operations' own ids: 0 and all ones mean none.
  Check& Ids(std::string_view column, const google::protobuf::RepeatedField<int64_t>& field) {
    Length(column, field);
    if (!status_.ok()) return *this;
    RunningSum ids(field);
    bool missing = false;
    for (int row = 0; row < rows_; ++row) {
      // 0 and all ones are the two values that are at most 0 after adding one.
      missing |= ids.Next(static_cast<size_t>(row)) + 1 <= 1;
    }
    if (missing) {
      status_ = absl::InvalidArgumentError(Text("the column ", column) + " leaves out an id");
    }
    return *this;
  }

  absl::Status status() const { return status_; }

 private:
  std::string Text(std::string_view what, std::string_view column) const {
    std::string text(events_);
    return text.append(": ").append(what).append(column);
  }

  std::string_view events_;
  int rows_;
  uint64_t known_names_;
  absl::Status status_;
};

absl::Status CheckOperations(std::string_view events, const wire::OperationColumns& columns,
                             uint64_t names) {
  return Check(events, columns.start_delta_ns_size(), names)
      .Length("duration_ns", columns.duration_ns())
      .Ids("id_delta", columns.id_delta())
      .Names("name_id", columns.name_id())
      .Length("thread_id", columns.thread_id())
      .Length("kind", columns.kind())
      .Length("form", columns.form())
      .Names("domain_id", columns.domain_id())
      .Names("shapes_id", columns.shapes_id())
      .Length("sequence_number", columns.sequence_number())
      .Names("stack_id", columns.stack_id())
      .Names("dtypes_id", columns.dtypes_id())
      .Length("flops", columns.flops())
      .Length("output_bytes", columns.output_bytes())
      .status();
}

absl::Status CheckOperationValues(const wire::OperationValueColumns& columns, uint64_t names) {
  const absl::Status status = Check("operation_values", columns.operation_delta_size(), names)
                                  .Ids("operation_delta", columns.operation_delta())
                                  .Names("name_id", columns.name_id())
                                  .Length("type", columns.type())
                                  .Length("bits", columns.bits())
                                  .status();
  if (!status.ok()) return status;
  const Column<int> type(columns.type());
  const Column<uint64_t> bits(columns.bits());
  for (int row = 0; row < columns.operation_delta_size(); ++row) {
    const auto place = static_cast<size_t>(row);
    if (type[place] == wire::TEXT && bits[place] >= names) {
      return absl::InvalidArgumentError(
          absl::StrCat("operation_values: the column bits has the name ", bits[place],
                       ", which was never sent"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckLaunchConfigurations(const wire::LaunchConfigurationColumns& columns) {
  return Check("launch_configurations", columns.grid_x_size(), 0)
      .Length("grid_y", columns.grid_y())
      .Length("grid_z", columns.grid_z())
      .Length("block_x", columns.block_x())
      .Length("block_y", columns.block_y())
      .Length("block_z", columns.block_z())
      .Length("static_shared_bytes", columns.static_shared_bytes())
      .Length("dynamic_shared_bytes", columns.dynamic_shared_bytes())
      .Length("local_bytes_per_thread", columns.local_bytes_per_thread())
      .Length("registers_per_thread", columns.registers_per_thread())
      .Length("cluster_x", columns.cluster_x())
      .Length("cluster_y", columns.cluster_y())
      .Length("cluster_z", columns.cluster_z())
      .Length("launch_type", columns.launch_type())
      .status();
}

absl::Status CheckWork(std::string_view events, const wire::WorkColumns& columns,
                       int launch_configurations, uint64_t names) {
  return Check(events, columns.start_delta_ns_size(), names)
      .Length("duration_ns", columns.duration_ns())
      .Length("correlation_delta", columns.correlation_delta())
      .Length("device", columns.device())
      .Length("context", columns.context())
      .Length("stream", columns.stream())
      .Names("name_id", columns.name_id())
      .Length("bytes", columns.bytes())
      .Length("copy_kind", columns.copy_kind())
      .Length("source_memory", columns.source_memory())
      .Length("destination_memory", columns.destination_memory())
      .Length("destination_device", columns.destination_device())
      .Length("value", columns.value())
      .Length("graph_node", columns.graph_node())
      .Rows("launch_configuration", columns.launch_configuration(), launch_configurations)
      .Length("queued_to_start_ns", columns.queued_to_start_ns())
      .Length("submitted_to_start_ns", columns.submitted_to_start_ns())
      .Length("graph_id", columns.graph_id())
      .status();
}

absl::Status CheckCalls(std::string_view events, const wire::CallColumns& columns, uint64_t names) {
  return Check(events, columns.start_delta_ns_size(), names)
      .Length("duration_ns", columns.duration_ns())
      .Length("correlation_delta", columns.correlation_delta())
      .Length("thread_id", columns.thread_id())
      .Names("name_id", columns.name_id())
      .Length("result", columns.result())
      .Length("cbid", columns.cbid())
      .status();
}

absl::Status CheckSynchronizations(const wire::SynchronizationColumns& columns) {
  return Check("synchronizations", columns.start_delta_ns_size(), 0)
      .Length("duration_ns", columns.duration_ns())
      .Length("correlation_delta", columns.correlation_delta())
      .Length("type", columns.type())
      .Length("context", columns.context())
      .Length("stream_plus_one", columns.stream_plus_one())
      .Length("event_plus_one", columns.event_plus_one())
      .status();
}

absl::Status CheckMemory(const wire::MemoryColumns& columns) {
  return Check("memory", columns.time_delta_ns_size(), 0)
      .Length("operation", columns.operation())
      .Length("kind", columns.kind())
      .Length("address_delta", columns.address_delta())
      .Length("bytes", columns.bytes())
      .Length("correlation_delta", columns.correlation_delta())
      .Length("device", columns.device())
      .Length("context_plus_one", columns.context_plus_one())
      .Length("stream_plus_one", columns.stream_plus_one())
      .Length("from_pool", columns.from_pool())
      .status();
}

}  // namespace

std::vector<LaunchConfiguration> decoding::LaunchConfigurations(
    const wire::LaunchConfigurationColumns& columns) {
  const Column<uint32_t> grid_x(columns.grid_x()), grid_y(columns.grid_y()),
      grid_z(columns.grid_z());
  const Column<uint32_t> block_x(columns.block_x()), block_y(columns.block_y()),
      block_z(columns.block_z());
  const Column<uint32_t> cluster_x(columns.cluster_x()), cluster_y(columns.cluster_y()),
      cluster_z(columns.cluster_z());
  const Column<uint32_t> registers(columns.registers_per_thread());
  const Column<uint32_t> static_shared(columns.static_shared_bytes());
  const Column<uint32_t> dynamic_shared(columns.dynamic_shared_bytes());
  const Column<uint32_t> local(columns.local_bytes_per_thread());
  const Column<uint32_t> type(columns.launch_type());
  std::vector<LaunchConfiguration> launches(static_cast<size_t>(columns.grid_x_size()));
  for (size_t row = 0; row < launches.size(); ++row) {
    LaunchConfiguration& launch = launches[row];
    launch.grid = {grid_x[row], grid_y[row], grid_z[row]};
    launch.block = {block_x[row], block_y[row], block_z[row]};
    launch.cluster = {cluster_x[row], cluster_y[row], cluster_z[row]};
    launch.registers_per_thread = registers[row];
    launch.static_shared_bytes = static_shared[row];
    launch.dynamic_shared_bytes = dynamic_shared[row];
    launch.local_bytes_per_thread = local[row];
    launch.type = static_cast<LaunchType>(type[row]);
  }
  return launches;
}

absl::Status CheckBatch(const wire::Batch& batch, const NameTable& names) {
  const uint64_t known = names.size();
  const int launches = batch.launch_configurations().grid_x_size();
  if (batch.sequence() == 0) return absl::InvalidArgumentError("a batch without a sequence number");
  for (const absl::Status& status :
       {CheckOperations("operations", batch.operations(), known),
        CheckOperations("opened", batch.opened(), known),
        CheckOperations("reopened", batch.reopened(), known),
        CheckOperationValues(batch.operation_values(), known),
        Check("counters", batch.counters().time_delta_ns_size(), known)
            .Names("name_id", batch.counters().name_id())
            .Length("bits", batch.counters().bits())
            .Length("thread_id", batch.counters().thread_id())
            .status(),
        Check("closed", batch.closed().id_delta_size(), known)
            .Ids("id_delta", batch.closed().id_delta())
            .Length("end_delta_ns", batch.closed().end_delta_ns())
            .status(),
        CheckLaunchConfigurations(batch.launch_configurations()),
        CheckWork("kernels", batch.kernels(), launches, known),
        CheckWork("copies", batch.copies(), launches, known),
        CheckWork("fills", batch.fills(), launches, known),
        CheckWork("graphs", batch.graphs(), launches, known),
        CheckSynchronizations(batch.synchronizations()), CheckMemory(batch.memory()),
        Check("graph_nodes", batch.graph_nodes().node_delta_size(), known)
            .Length("operation_delta", batch.graph_nodes().operation_delta())
            .Length("original_delta", batch.graph_nodes().original_delta())
            .status(),
        CheckCalls("overheads", batch.overheads(), known),
        CheckCalls("compilations", batch.compilations(), known),
        CheckCalls("runtime_calls", batch.runtime_calls(), known),
        CheckCalls("driver_calls", batch.driver_calls(), known),
        Check("launch_operations", batch.launch_operations().correlation_delta_size(), known)
            .Length("operation_delta", batch.launch_operations().operation_delta())
            .status()}) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

EventCounts CountEvents(const wire::Batch& batch) {
  const auto rows = [](const auto& first_column) {
    return static_cast<uint64_t>(first_column.size());
  };
  EventCounts counts{};
  counts[wire::OPERATION] =
      rows(batch.operations().start_delta_ns()) + rows(batch.opened().start_delta_ns());
  counts[wire::KERNEL] = rows(batch.kernels().start_delta_ns());
  counts[wire::COPY] = rows(batch.copies().start_delta_ns());
  counts[wire::FILL] = rows(batch.fills().start_delta_ns());
  counts[wire::RUNTIME_CALL] = rows(batch.runtime_calls().start_delta_ns());
  counts[wire::DRIVER_CALL] = rows(batch.driver_calls().start_delta_ns());
  counts[wire::LAUNCH_OPERATION] = rows(batch.launch_operations().correlation_delta());
  counts[wire::GRAPH] = rows(batch.graphs().start_delta_ns());
  counts[wire::SYNCHRONIZATION] = rows(batch.synchronizations().start_delta_ns());
  counts[wire::MEMORY] = rows(batch.memory().time_delta_ns());
  counts[wire::OVERHEAD] = rows(batch.overheads().start_delta_ns());
  counts[wire::COMPILATION] = rows(batch.compilations().start_delta_ns());
  counts[wire::COUNTER] = rows(batch.counters().time_delta_ns());
  counts[wire::GRAPH_NODE] = rows(batch.graph_nodes().node_delta());
  return counts;
}

}  // namespace tp
