#include "analyzer/present/rows.h"

#include <string>
#include <utility>

#include "analyzer/present/process_list.h"
#include "analyzer/present/utf8.h"

namespace tp {
namespace {

using nlohmann::ordered_json;

template <typename Rows>
void Limit(int64_t limit, Rows* rows) {
  if (limit >= 0 && limit < rows->size()) {
    rows->DeleteSubrange(static_cast<int>(limit), rows->size() - static_cast<int>(limit));
  }
}

// Null if there is none.
ordered_json TextOrNull(const std::string& text) {
  return text.empty() ? ordered_json() : ordered_json(ValidUtf8(text));
}

ordered_json NumberOrNull(uint64_t number) {
  return number == 0 ? ordered_json() : ordered_json(number);
}

// Null where there are none.
ordered_json TypesField(const query::OperationRow& row) {
  ordered_json types;
  for (const std::string& type : row.input_types()) types.push_back(ValidUtf8(type));
  return types;
}

ordered_json ValuesField(const google::protobuf::RepeatedPtrField<query::Value>& values) {
  ordered_json fields;
  for (const query::Value& value : values) {
    ordered_json& field = fields[ValidUtf8(value.name())];
    switch (value.value_case()) {
      case query::Value::kSignedNumber:
        field = value.signed_number();
        break;
      case query::Value::kUnsignedNumber:
        field = value.unsigned_number();
        break;
      case query::Value::kRealNumber:
        field = value.real_number();
        break;
      default:
        field = ValidUtf8(value.text());
    }
  }
  return fields;
}

ordered_json Fields(const query::OperationRow& row, bool is_single) {
  ordered_json shapes, stack;  // Null where there are none.
  if (row.has_input_shapes()) {
    shapes = ordered_json::array();
    for (const query::Shape& shape : row.input_shapes()) {
      ordered_json dimensions = ordered_json::array();
      for (int64_t dimension : shape.dimensions()) dimensions.push_back(dimension);
      shapes.push_back(std::move(dimensions));
    }
  }
  for (const std::string& frame : row.stack()) stack.push_back(ValidUtf8(frame));
  ordered_json fields = {
      {"name", ValidUtf8(row.name())},
      {"kind", row.kind()},
      {"count", row.count()},
      {"cpu_time_total_ns", row.cpu_time_total_ns()},
      {"self_cpu_time_total_ns", row.self_cpu_time_total_ns()},
      {"cpu_time_min_ns", row.cpu_time_min_ns()},
      {"cpu_time_max_ns", row.cpu_time_max_ns()},
      {"device_time_total_ns", row.device_time_total_ns()},
      {"self_device_time_total_ns", row.self_device_time_total_ns()},
      {"kernel_count", row.kernel_count()},
      {"flops", row.flops()},
      {"output_bytes", row.output_bytes()},
      {"nested_output_bytes", row.nested_output_bytes()},
      {"input_shapes", std::move(shapes)},
      {"stack", std::move(stack)},
  };
  if (!is_single) {
    fields["captured_device_time_ns"] = row.captured_device_time_ns();
    fields["captured_kernel_count"] = row.captured_kernel_count();
  } else {
    fields["start_ns"] = row.start_ns();
    fields["thread_id"] = row.thread_id();
    fields["thread_name"] = TextOrNull(row.thread_name());
    fields["input_types"] = TypesField(row);
    fields["values"] = ValuesField(row.values());
  }
  return fields;
}

ordered_json Extent(const google::protobuf::RepeatedField<uint32_t>& extent) {
  if (extent.empty()) return nullptr;
  return std::vector<uint32_t>(extent.begin(), extent.end());
}

// Null if there is none.
ordered_json AverageOf(int64_t total, int64_t count) {
  if (count == 0) return nullptr;
  return static_cast<double>(total) / static_cast<double>(count);
}

ordered_json Fields(const query::WorkRow& row) {
  const query::LaunchSummary& launches = row.launches();
  const auto known = [&launches](double average) {
    return launches.launches() == 0 ? ordered_json() : ordered_json(average);
  };
  return {
      {"name", ValidUtf8(row.name())},
      {"kind", row.kind()},
      {"count", row.count()},
      {"total_ns", row.total_ns()},
      {"min_ns", row.min_ns()},
      {"max_ns", row.max_ns()},
      {"grid", Extent(launches.grid())},
      {"block", Extent(launches.block())},
      {"cluster", Extent(launches.cluster())},
      {"avg_blocks", known(launches.average_blocks())},
      {"avg_threads_per_block", known(launches.average_threads_per_block())},
      {"avg_registers_per_thread", known(launches.average_registers())},
      {"avg_static_shared_bytes", known(launches.average_static_shared_bytes())},
      {"avg_dynamic_shared_bytes", known(launches.average_dynamic_shared_bytes())},
      {"avg_local_bytes_per_thread", known(launches.average_local_bytes())},
      {"cooperative_count",
       launches.launches() == 0 ? ordered_json() : ordered_json(launches.cooperative())},
      {"avg_queued_to_start_ns", AverageOf(launches.queued_to_start_total_ns(), launches.queued())},
      {"avg_submitted_to_start_ns",
       AverageOf(launches.submitted_to_start_total_ns(), launches.submitted())}};
}

ordered_json Fields(const query::CopyRow& row) {
  return {{"direction", row.direction()},
          {"source_memory", row.source_memory()},
          {"destination_memory", row.destination_memory()},
          {"count", row.count()},
          {"bytes", row.bytes()},
          {"total_ns", row.total_ns()},
          {"min_ns", row.min_ns()},
          {"max_ns", row.max_ns()}};
}

ordered_json Fields(const query::CallRow& row) {
  return {{"name", ValidUtf8(row.name())}, {"domain", row.domain()}, {"count", row.count()},
          {"total_ns", row.total_ns()},    {"min_ns", row.min_ns()}, {"max_ns", row.max_ns()},
          {"errors", row.errors()}};
}

ordered_json Fields(const query::StreamRow& row) {
  return {{"pid", row.pid()},
          {"device", row.device()},
          {"context", row.context()},
          {"stream", row.stream()},
          {"count", row.count()},
          {"total_ns", row.total_ns()},
          {"busy_ns", row.busy_ns()},
          {"wait_count", row.wait_count()},
          {"wait_ns", row.wait_ns()},
          {"name", TextOrNull(row.name())},
          {"kind", TextOrNull(row.kind())},
          {"priority", row.kind().empty() ? ordered_json() : ordered_json(row.priority())},
          {"device_name", TextOrNull(row.device_name())},
          {"context_name", TextOrNull(row.context_name())}};
}

ordered_json Fields(const query::MemoryRow& row) {
  return {{"pid", row.pid()},
          {"kind", row.kind()},
          {"from_pool", row.from_pool()},
          {"device", row.device()},
          {"allocations", row.allocations()},
          {"releases", row.releases()},
          {"unknown_releases", row.unknown_releases()},
          {"allocated_bytes", row.allocated_bytes()},
          {"live_bytes", row.live_bytes()},
          {"peak_bytes", row.peak_bytes()}};
}

ordered_json Fields(const query::Device& row) {
  return {{"device", row.device()},
          {"name", TextOrNull(row.name())},
          {"given_name", TextOrNull(row.given_name())},
          {"uuid", TextOrNull(row.uuid())},
          {"compute_capability", TextOrNull(row.compute_capability())},
          {"memory_bytes", NumberOrNull(row.memory_bytes())},
          {"memory_kilobytes_per_second", NumberOrNull(row.memory_kilobytes_per_second())},
          {"multiprocessors", NumberOrNull(row.multiprocessors())},
          {"core_clock_khz", NumberOrNull(row.core_clock_khz())},
          {"l2_cache_bytes", NumberOrNull(row.l2_cache_bytes())},
          {"contexts", row.contexts()}};
}

// Numbers are null where there is none.
ordered_json Fields(const query::CounterRow& row) {
  const auto number = [&row](double value) {
    return row.count() == 0 ? ordered_json() : ordered_json(value);
  };
  return {
      {"pid", row.pid()},           {"name", ValidUtf8(row.name())},    {"count", row.count()},
      {"last", number(row.last())}, {"average", number(row.average())}, {"min", number(row.min())},
      {"max", number(row.max())},   {"not_finite", row.not_finite()}};
}

ordered_json Fields(const query::Process& row) {
  ordered_json events = ordered_json::object();
  for (const query::KindCount& event : row.events()) events[event.kind()] = event.count();
  ordered_json activities = ordered_json::array();
  for (const std::string& activity : row.activities()) activities.push_back(ValidUtf8(activity));
  ordered_json devices = ordered_json::array();
  for (const query::Device& device : row.devices()) devices.push_back(Fields(device));
  uint64_t lost = 0;
  for (const query::Loss& loss : row.losses()) lost += loss.count();
  return {{"pid", row.pid()},
          {"command", ValidUtf8(row.command())},
          {"state", StateName(row.state())},
          {"attached", row.attached()},
          {"reason", ValidUtf8(row.reason())},
          {"events", std::move(events)},
          {"lost", lost},
          {"losses", LossFields(row.losses())},
          {"more_may_be_lost", row.more_may_be_lost()},
          {"cupti_version", row.cupti_version()},
          {"driver_version", row.driver_version()},
          {"rank", row.rank()},
          {"device_time_ns", row.device_time_ns()},
          {"unattributed_count", row.unattributed_count()},
          {"unattributed_ns", row.unattributed_ns()},
          {"activities", std::move(activities)},
          {"devices", std::move(devices)}};
}

template <typename Rows>
std::vector<ordered_json> AllFields(const Rows& rows) {
  std::vector<ordered_json> fields;
  for (const auto& row : rows) fields.push_back(Fields(row));
  return fields;
}

}  // namespace

ordered_json LossFields(const google::protobuf::RepeatedPtrField<query::Loss>& losses) {
  ordered_json fields = ordered_json::object();
  for (const query::Loss& loss : losses) {
    auto& count = fields[ValidUtf8(loss.kind())][ValidUtf8(loss.cause())];
    count = (count.is_null() ? 0 : count.get<uint64_t>()) + loss.count();
  }
  return fields;
}

const char* ViewName(query::View view) {
  switch (view) {
    case query::KERNELS:
      return "kernels";
    case query::COPIES:
      return "copies";
    case query::API:
      return "api";
    case query::PROCESSES:
      return "processes";
    case query::STREAMS:
      return "streams";
    case query::MEMORY:
      return "memory";
    case query::COUNTERS:
      return "counters";
    case query::SPANS:
      return "spans";
    default:
      return "operations";
  }
}

absl::StatusOr<query::Table> ShownRows(const query::Table& table, const TextOptions& options) {
  query::Table shown = table;
  if (!options.sort_by.empty()) {
    if (absl::Status status = SortRows(options.sort_by, &shown); !status.ok()) return status;
  }
  Limit(options.row_limit, shown.mutable_operations());
  Limit(options.row_limit, shown.mutable_kernels());
  Limit(options.row_limit, shown.mutable_copies());
  Limit(options.row_limit, shown.mutable_calls());
  Limit(options.row_limit, shown.mutable_streams());
  Limit(options.row_limit, shown.mutable_memory());
  Limit(options.row_limit, shown.mutable_counters());
  if (table.view() == query::PROCESSES) Limit(options.row_limit, shown.mutable_processes());
  return shown;
}

std::vector<ordered_json> RowFields(const query::Table& table) {
  switch (table.view()) {
    case query::KERNELS:
      return AllFields(table.kernels());
    case query::COPIES:
      return AllFields(table.copies());
    case query::API:
      return AllFields(table.calls());
    case query::PROCESSES:
      return AllFields(table.processes());
    case query::STREAMS:
      return AllFields(table.streams());
    case query::MEMORY:
      return AllFields(table.memory());
    case query::COUNTERS:
      return AllFields(table.counters());
    default: {
      std::vector<ordered_json> fields;
      for (const auto& row : table.operations()) {
        fields.push_back(Fields(row, table.view() == query::SPANS));
      }
      return fields;
    }
  }
}

std::vector<std::string> FieldNames(query::View view) {
  query::Table one;
  one.set_view(view);
  one.add_operations();
  one.add_kernels();
  one.add_copies();
  one.add_calls();
  one.add_streams();
  one.add_memory();
  one.add_counters();
  one.add_processes();
  std::vector<ordered_json> rows = RowFields(one);
  std::vector<std::string> names;
  for (const auto& field : rows.front().items()) names.push_back(field.key());
  return names;
}

}  // namespace tp
