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
      .status();
}

absl::Status CheckWork(std::string_view events, const wire::WorkColumns& columns, uint64_t names) {
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

}  // namespace

absl::Status CheckBatch(const wire::Batch& batch, const NameTable& names) {
  const uint64_t known = names.size();
  if (batch.sequence() == 0) return absl::InvalidArgumentError("a batch without a sequence number");
  for (const absl::Status& status :
       {CheckOperations("operations", batch.operations(), known),
        CheckOperations("opened", batch.opened(), known),
        CheckOperations("reopened", batch.reopened(), known),
        Check("closed", batch.closed().id_delta_size(), known)
            .Ids("id_delta", batch.closed().id_delta())
            .Length("end_delta_ns", batch.closed().end_delta_ns())
            .status(),
        CheckWork("kernels", batch.kernels(), known), CheckWork("copies", batch.copies(), known),
        CheckWork("fills", batch.fills(), known),
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
  EventCounts counts{};
  counts[wire::OPERATION] = static_cast<uint64_t>(batch.operations().start_delta_ns_size()) +
                            static_cast<uint64_t>(batch.opened().start_delta_ns_size());
  counts[wire::KERNEL] = static_cast<uint64_t>(batch.kernels().start_delta_ns_size());
  counts[wire::COPY] = static_cast<uint64_t>(batch.copies().start_delta_ns_size());
  counts[wire::FILL] = static_cast<uint64_t>(batch.fills().start_delta_ns_size());
  counts[wire::RUNTIME_CALL] = static_cast<uint64_t>(batch.runtime_calls().start_delta_ns_size());
  counts[wire::DRIVER_CALL] = static_cast<uint64_t>(batch.driver_calls().start_delta_ns_size());
  counts[wire::LAUNCH_OPERATION] =
      static_cast<uint64_t>(batch.launch_operations().correlation_delta_size());
  return counts;
}

}  // namespace tp
