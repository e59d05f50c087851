// SortRows: by which keys the rows of each view can be sorted.
#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/present/table.h"

namespace tp {
namespace {

template <typename Row>
struct SortKey {
  std::vector<std::string_view> names;
  // True if `a` stands before `b`.
  std::function<bool(const Row& a, const Row& b)> before;
};

template <typename Row, typename Value>
SortKey<Row> LargestFirst(std::vector<std::string_view> names, Value value) {
  return {std::move(names), [value](const Row& a, const Row& b) { return value(a) > value(b); }};
}

template <typename Row, typename Value>
SortKey<Row> SmallestFirst(std::vector<std::string_view> names, Value value) {
  return {std::move(names), [value](const Row& a, const Row& b) { return value(a) < value(b); }};
}

double Average(int64_t total, int64_t count) {
  return count == 0 ? 0 : static_cast<double>(total) / static_cast<double>(count);
}

// What groups and single spans have in common. "cpu_time" and "cuda_time" are totals for groups,
// for a single span there is no difference.
std::vector<SortKey<query::OperationRow>> TimeKeys() {
  using Row = query::OperationRow;
  return {
      LargestFirst<Row>({"self_cpu_time", "self_cpu_time_total"},
                        [](const Row& row) { return row.self_cpu_time_total_ns(); }),
      LargestFirst<Row>({"cpu_time", "cpu_time_total"},
                        [](const Row& row) { return row.cpu_time_total_ns(); }),
      LargestFirst<Row>({"calls", "count"}, [](const Row& row) { return row.count(); }),
      LargestFirst<Row>(
          {"self_cuda_time", "self_cuda_time_total", "self_device_time", "self_device_time_total"},
          [](const Row& row) { return row.self_device_time_total_ns(); }),
      LargestFirst<Row>({"cuda_time", "cuda_time_total", "device_time_total"},
                        [](const Row& row) { return row.device_time_total_ns(); }),
      LargestFirst<Row>(
          {"device_time"},
          [](const Row& row) { return Average(row.device_time_total_ns(), row.count()); }),
      LargestFirst<Row>({"flops", "total_flops"}, [](const Row& row) { return row.flops(); }),
  };
}

std::vector<SortKey<query::OperationRow>> OperationKeys() {
  using Row = query::OperationRow;
  std::vector<SortKey<Row>> keys = TimeKeys();
  keys.push_back(SmallestFirst<Row>(
      {"name"}, [](const Row& row) -> const std::string& { return row.name(); }));
  return keys;
}

std::vector<SortKey<query::OperationRow>> SpanKeys() {
  using Row = query::OperationRow;
  std::vector<SortKey<Row>> keys = TimeKeys();
  keys.push_back(LargestFirst<Row>(
      {"name", "key"}, [](const Row& row) -> const std::string& { return row.name(); }));
  keys.push_back(LargestFirst<Row>({"start_ns"}, [](const Row& row) { return row.start_ns(); }));
  keys.push_back(
      LargestFirst<Row>({"output_bytes"}, [](const Row& row) { return row.output_bytes(); }));
  keys.push_back(LargestFirst<Row>({"nested_output_bytes"},
                                   [](const Row& row) { return row.nested_output_bytes(); }));
  return keys;
}

// What the rows of kernels, copies and calls have in common.
template <typename Row>
std::vector<SortKey<Row>> DurationKeys() {
  return {
      LargestFirst<Row>({"total_us", "total_time"}, [](const Row& row) { return row.total_ns(); }),
      LargestFirst<Row>({"count", "calls"}, [](const Row& row) { return row.count(); }),
      LargestFirst<Row>({"avg_us"},
                        [](const Row& row) { return Average(row.total_ns(), row.count()); }),
      LargestFirst<Row>({"min_us"}, [](const Row& row) { return row.min_ns(); }),
      LargestFirst<Row>({"max_us"}, [](const Row& row) { return row.max_ns(); }),
  };
}

std::vector<SortKey<query::WorkRow>> KernelKeys() {
  using Row = query::WorkRow;
  std::vector<SortKey<Row>> keys = DurationKeys<Row>();
  keys.push_back(
      LargestFirst<Row>({"name"}, [](const Row& row) -> const std::string& { return row.name(); }));
  return keys;
}

std::vector<SortKey<query::CopyRow>> CopyKeys() {
  using Row = query::CopyRow;
  std::vector<SortKey<Row>> keys = DurationKeys<Row>();
  keys.push_back(LargestFirst<Row>({"bytes"}, [](const Row& row) { return row.bytes(); }));
  keys.push_back(SmallestFirst<Row>(
      {"name", "direction"}, [](const Row& row) -> const std::string& { return row.direction(); }));
  return keys;
}

std::vector<SortKey<query::CallRow>> CallKeys() {
  using Row = query::CallRow;
  std::vector<SortKey<Row>> keys = DurationKeys<Row>();
  keys.push_back(LargestFirst<Row>({"errors"}, [](const Row& row) { return row.errors(); }));
  keys.push_back(SmallestFirst<Row>(
      {"name"}, [](const Row& row) -> const std::string& { return row.name(); }));
  return keys;
}

std::vector<SortKey<query::StreamRow>> StreamKeys() {
  using Row = query::StreamRow;
  return {
      LargestFirst<Row>({"total_us", "total_time"}, [](const Row& row) { return row.total_ns(); }),
      LargestFirst<Row>({"busy_us", "busy_time"}, [](const Row& row) { return row.busy_ns(); }),
      LargestFirst<Row>({"count", "calls"}, [](const Row& row) { return row.count(); }),
      SmallestFirst<Row>({"stream"}, [](const Row& row) { return row.stream(); }),
      SmallestFirst<Row>({"device"}, [](const Row& row) { return row.device(); }),
      SmallestFirst<Row>({"pid"}, [](const Row& row) { return row.pid(); }),
  };
}

std::vector<SortKey<query::MemoryRow>> MemoryKeys() {
  using Row = query::MemoryRow;
  return {
      LargestFirst<Row>({"live_bytes"}, [](const Row& row) { return row.live_bytes(); }),
      LargestFirst<Row>({"peak_bytes"}, [](const Row& row) { return row.peak_bytes(); }),
      LargestFirst<Row>({"allocated_bytes", "bytes"},
                        [](const Row& row) { return row.allocated_bytes(); }),
      LargestFirst<Row>({"allocations", "count"}, [](const Row& row) { return row.allocations(); }),
      SmallestFirst<Row>({"kind", "name"},
                         [](const Row& row) -> const std::string& { return row.kind(); }),
      SmallestFirst<Row>({"pid"}, [](const Row& row) { return row.pid(); }),
  };
}

std::vector<SortKey<query::Process>> ProcessKeys() {
  using Row = query::Process;
  return {
      SmallestFirst<Row>({"pid"}, [](const Row& row) { return row.pid(); }),
      SmallestFirst<Row>({"name", "command"},
                         [](const Row& row) -> const std::string& { return row.command(); }),
      LargestFirst<Row>({"device_time", "device_time_total"},
                        [](const Row& row) { return row.device_time_ns(); }),
  };
}

std::vector<SortKey<query::CounterRow>> CounterKeys() {
  using Row = query::CounterRow;
  return {
      SmallestFirst<Row>({"name"}, [](const Row& row) -> const std::string& { return row.name(); }),
      LargestFirst<Row>({"count"}, [](const Row& row) { return row.count(); }),
      LargestFirst<Row>({"last"}, [](const Row& row) { return row.last(); }),
      LargestFirst<Row>({"average"}, [](const Row& row) { return row.average(); }),
      LargestFirst<Row>({"min"}, [](const Row& row) { return row.min(); }),
      LargestFirst<Row>({"max"}, [](const Row& row) { return row.max(); }),
  };
}

// Other kinds of device are asked for like this one.
std::string WithCudaNamed(std::string_view asked) {
  std::string key(asked);
  for (std::string_view name : {"privateuse1", "xpu"}) {
    size_t place = key.find(name);
    bool begins_word = place == 0 || (place != key.npos && key[place - 1] == '_');
    if (begins_word) return key.replace(place, name.size(), "cuda");
  }
  return key;
}

template <typename Row>
absl::Status Sort(std::string_view asked, const std::vector<SortKey<Row>>& keys,
                  google::protobuf::RepeatedPtrField<Row>* rows) {
  std::string name = WithCudaNamed(asked);
  std::vector<std::string> known;
  for (const SortKey<Row>& key : keys) {
    if (std::find(key.names.begin(), key.names.end(), name) != key.names.end()) {
      std::stable_sort(rows->pointer_begin(), rows->pointer_end(),
                       [&key](const Row* a, const Row* b) { return key.before(*a, *b); });
      return absl::OkStatus();
    }
    known.insert(known.end(), key.names.begin(), key.names.end());
  }
  return absl::InvalidArgumentError(absl::StrCat("unsupported sort_by: ", std::string(asked),
                                                 " (supported: ", absl::StrJoin(known, ", "), ")"));
}

}  // namespace

absl::Status SortRows(std::string_view key, query::Table* table) {
  switch (table->view()) {
    case query::KERNELS:
      return Sort(key, KernelKeys(), table->mutable_kernels());
    case query::COPIES:
      return Sort(key, CopyKeys(), table->mutable_copies());
    case query::API:
      return Sort(key, CallKeys(), table->mutable_calls());
    case query::STREAMS:
      return Sort(key, StreamKeys(), table->mutable_streams());
    case query::MEMORY:
      return Sort(key, MemoryKeys(), table->mutable_memory());
    case query::COUNTERS:
      return Sort(key, CounterKeys(), table->mutable_counters());
    case query::PROCESSES:
      return Sort(key, ProcessKeys(), table->mutable_processes());
    case query::SPANS:
      return Sort(key, SpanKeys(), table->mutable_operations());
    default:
      return Sort(key, OperationKeys(), table->mutable_operations());
  }
}

}  // namespace tp
