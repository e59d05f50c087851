#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/model/copy_kind.h"
#include "analyzer/model/frames.h"
#include "analyzer/present/demangle.h"
#include "analyzer/present/utf8.h"
#include "analyzer/summarize/state.h"
#include "analyzer/summarize/summary.h"
#include "analyzer/summarize/texts.h"

namespace tp {
namespace {

constexpr std::string_view kOther = "(other)";

// Groups of several recordings with the same texts, in the order in which they were first met.
template <typename Key, typename Group>
class Merged {
 public:
  Group& operator[](const Key& key) {
    auto [found, is_new] = index_.emplace(key, entries_.size());
    if (is_new) entries_.push_back({key, Group{}});
    return entries_[found->second].second;
  }
  std::vector<std::pair<Key, Group>>& entries() { return entries_; }

 private:
  std::vector<std::pair<Key, Group>> entries_;
  absl::flat_hash_map<Key, size_t> index_;
};

// Largest first, equal ones as they were.
template <typename Entries, typename Value>
void SortDescending(Entries* entries, Value value) {
  std::stable_sort(entries->begin(), entries->end(),
                   [&](const auto& a, const auto& b) { return value(a) > value(b); });
}

void FillStack(std::string_view stack, query::OperationRow* row) {
  for (const std::string& frame : SplitFrames(stack)) row->add_stack(ValidUtf8(frame));
}

void FillShapes(std::string_view shapes, query::OperationRow* row) {
  if (shapes.empty()) return;
  row->set_has_input_shapes(true);
  ParseShapes(shapes, row->mutable_input_shapes());
}

std::string KindText(SpanKind kind) { return std::string(1, static_cast<char>(kind)); }

const char* DomainOf(ActivityKind kind) {
  switch (kind) {
    case ActivityKind::kDriverCall:
      return "driver";
    case ActivityKind::kSynchronization:
      return "synchronization";
    case ActivityKind::kOverhead:
      return "overhead";
    case ActivityKind::kCompilation:
      return "compilation";
    default:
      return "runtime";
  }
}

// Its members are texts of the summaries' string tables.
using OperationKey = std::tuple<std::string_view, SpanKind, std::string_view, std::string_view>;

struct OperationSums {
  SpanGroup sums;
  DeviceWork captured;
  int64_t open = 0;
  bool all_asynchronous = true;
};

}  // namespace

class Tabulation {
 public:
  Tabulation(std::span<const Summary* const> summaries, const TableOptions& options, int64_t now_ns)
      : options_(options), now_ns_(now_ns) {
    for (const Summary* summary : summaries) states_.push_back(summary->state_.get());
    table_.set_view(options.view);
    table_.set_now_ns(now_ns);
  }

  query::Table Make() {
    for (State* state : states_) {
      state->spans.MoveUp();
      AddUnconfirmed(*state);
    }
    switch (options_.view) {
      case query::KERNELS:
        AddKernels();
        break;
      case query::COPIES:
        AddCopies();
        break;
      case query::API:
        AddCalls();
        break;
      case query::STREAMS:
        AddStreams();
        break;
      case query::MEMORY:
        AddMemory();
        break;
      case query::SPANS:
        AddSpans();
        break;
      case query::COUNTERS:
        AddCounters();
        break;
      default:
        break;
    }
    AddOperations();
    AddDevices();
    return std::move(table_);
  }

 private:
  using State = Summary::State;

  // What no call has confirmed counts as long as no call contradicts it.
  void AddUnconfirmed(const State& state) {
    if (state.unconfirmed.empty()) return;
    DeviceSums& sums = with_unconfirmed_.emplace(&state, state.device).first->second;
    state.unconfirmed.VisitAll([&](const UnconfirmedWork::Record& record) {
      if (!record.impossible) sums.Add(record.activity);
    });
  }
  const DeviceSums& DeviceOf(const State& state) const {
    auto found = with_unconfirmed_.find(&state);
    return found == with_unconfirmed_.end() ? state.device : found->second;
  }

  int64_t NowOf(const State& state) const { return std::min(now_ns_, state.recording_end_ns); }

  void AddOperations() {
    Merged<OperationKey, OperationSums> merged;
    uint64_t before = 0;  // Spans of the recordings before this one.
    for (State* state : states_) {
      const auto& groups = state->spans.groups().entries();
      for (const auto& [group, work] : state->captured.ByGroup()) {
        captured_[{state, group}] = work;
      }
      for (uint32_t i = 0; i < groups.size(); ++i) {
        const SpanGroup& group = groups[i].group;
        if (group.calls.count == 0) continue;
        OperationSums& row = merged[KeyOf(*state, i)];
        row.all_asynchronous &= groups[i].key.asynchronous;
        row.captured += TakeCaptured(*state, i);
        if (i == Groups<SpanGroupKey, SpanGroup>::kOther) spans_in_other_ += group.calls.count;
        SpanGroup& sums = row.sums;
        sums.calls.Add(group.calls);
        // Only where a span was let go before one around it came can there be less than nothing.
        sums.self_cpu_ns += std::max<int64_t>(0, group.self_cpu_ns);
        sums.device_total_ns += group.device_total_ns;
        sums.self_device_ns += group.self_device_ns;
        sums.kernels += group.kernels;
        sums.flops += group.flops;
        sums.output_bytes += group.output_bytes;
        sums.nested_output_bytes += group.nested_output_bytes;
        sums.first_seen = std::min(sums.first_seen, before + group.first_seen);
      }
      for (const SpanSums::OpenSpan& open : state->spans.Open(NowOf(*state))) {
        uint32_t group = state->spans.group(open.span);
        OperationSums& row = merged[KeyOf(*state, group)];
        row.all_asynchronous &= state->spans.nesting().asynchronous(open.span);
        ++row.open;
        if (group == Groups<SpanGroupKey, SpanGroup>::kOther) ++spans_in_other_;
        row.captured += TakeCaptured(*state, group);
        SpanNumbers numbers = state->spans.Numbers(open.span);
        SpanGroup& sums = row.sums;
        sums.calls.Add(open.duration_ns);
        sums.self_cpu_ns += open.self_cpu_ns;
        sums.device_total_ns += numbers.device_total_ns;
        sums.self_device_ns += numbers.self_device_ns;
        sums.kernels += numbers.kernels;
        sums.flops += numbers.flops;
        sums.output_bytes += numbers.output_bytes;
        sums.nested_output_bytes += numbers.nested_output_bytes;
        sums.first_seen = std::min(sums.first_seen, before + groups[group].group.first_seen);
      }
      before += state->spans.added();
    }

    auto& entries = merged.entries();
    std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
      const SpanGroup &one = a.second.sums, &other = b.second.sums;
      if (one.self_cpu_ns != other.self_cpu_ns) return one.self_cpu_ns > other.self_cpu_ns;
      return one.first_seen < other.first_seen;
    });
    int64_t self_cpu_ns = 0, self_device_ns = 0;
    for (const auto& [key, group] : entries) {
      self_cpu_ns += group.sums.self_cpu_ns;
      self_device_ns += group.sums.self_device_ns;
      if (options_.view == query::OPERATIONS) AddOperation(key, group);
    }
    if (options_.view == query::OPERATIONS) CountOther(spans_in_other_);
    if (options_.view != query::SPANS) {
      table_.set_self_cpu_time_total_ns(self_cpu_ns);
      table_.set_self_device_time_total_ns(self_device_ns);
    }
  }

  // What was captured in the operations of a group; once, whoever of them asks first.
  DeviceWork TakeCaptured(const State& state, uint32_t group) {
    const auto found = captured_.find({&state, group});
    return found == captured_.end() ? DeviceWork() : std::exchange(found->second, {});
  }

  OperationKey KeyOf(const State& state, uint32_t group) const {
    if (group == Groups<SpanGroupKey, SpanGroup>::kOther)
      return {kOther, SpanKind::kOperation, {}, {}};
    const SpanGroupKey& key = state.spans.groups().entries()[group].key;
    std::string_view shapes, stack;
    if (options_.group_by_shape) shapes = state.strings->Text(key.shapes);
    if (options_.group_by_stack > 0) {
      stack = InnermostFrames(state.strings->Text(key.stack), options_.group_by_stack);
    }
    return {state.strings->Text(key.name), key.kind, shapes, stack};
  }

  void AddOperation(const OperationKey& key, const OperationSums& group) {
    query::OperationRow* row = table_.add_operations();
    const SpanGroup& sums = group.sums;
    row->set_name(ValidUtf8(std::get<0>(key)));
    row->set_kind(KindText(std::get<1>(key)));
    FillShapes(std::get<2>(key), row);
    FillStack(std::get<3>(key), row);
    row->set_count(sums.calls.count);
    row->set_cpu_time_total_ns(sums.calls.total_ns);
    row->set_self_cpu_time_total_ns(sums.self_cpu_ns);
    row->set_cpu_time_min_ns(sums.calls.min_ns);
    row->set_cpu_time_max_ns(sums.calls.max_ns);
    row->set_device_time_total_ns(sums.device_total_ns);
    row->set_self_device_time_total_ns(sums.self_device_ns);
    row->set_kernel_count(sums.kernels);
    row->set_flops(sums.flops);
    row->set_output_bytes(sums.output_bytes);
    row->set_nested_output_bytes(sums.nested_output_bytes);
    row->set_captured_device_time_ns(group.captured.duration_ns);
    row->set_captured_kernel_count(group.captured.kernels);
    row->set_asynchronous(group.all_asynchronous);
    row->set_open(group.open);
    row->set_first_seen(sums.first_seen);
  }

  static void AddValues(const SpanDetails::Details& details, const StringTable& strings,
                        query::OperationRow* row) {
    for (const SpanValue& value : details.values) {
      query::Value* told = row->add_values();
      told->set_name(ValidUtf8(strings.Text(value.name)));
      switch (value.type) {
        case ValueType::kSigned:
          told->set_signed_number(static_cast<int64_t>(value.bits));
          break;
        case ValueType::kUnsigned:
          told->set_unsigned_number(value.bits);
          break;
        case ValueType::kReal:
          told->set_real_number(std::bit_cast<double>(value.bits));
          break;
        case ValueType::kText:
          told->set_text(ValidUtf8(strings.Text(static_cast<StringId>(value.bits))));
          break;
      }
    }
  }

  void AddCounters() {
    for (const State* state : states_) {
      bool is_other = true;  // The first entry.
      for (const auto& [name, sums] : state->counters.entries()) {
        if (is_other) CountOther(sums.count + sums.not_finite);
        if (sums.count + sums.not_finite > 0) {
          query::CounterRow* row = table_.add_counters();
          row->set_pid(state->pid);
          row->set_name(is_other ? std::string(kOther) : ValidUtf8(state->strings->Text(name)));
          row->set_count(sums.count);
          row->set_not_finite(sums.not_finite);
          if (sums.count > 0) {
            row->set_last(sums.last);
            row->set_average(sums.sum / static_cast<double>(sums.count));
            row->set_min(sums.min);
            row->set_max(sums.max);
          }
        }
        is_other = false;
      }
    }
  }

  void AddSpans() {
    uint64_t before = 0;
    int64_t self_cpu_ns = 0, self_device_ns = 0;
    for (State* state : states_) {
      const SpanSums& spans = state->spans;
      for (const auto& [span, is_open, duration_ns, self_ns] : spans.Kept(NowOf(*state))) {
        SpanNumbers numbers = spans.Numbers(span);
        self_cpu_ns += self_ns;
        self_device_ns += numbers.self_device_ns;
        if (options_.top_level && spans.nesting().parent(span) != kNoSpan) continue;

        query::OperationRow* row = table_.add_operations();
        uint32_t group = spans.group(span);
        const SpanGroupKey& key = spans.groups().entries()[group].key;
        bool is_other = group == Groups<SpanGroupKey, SpanGroup>::kOther;
        CountOther(is_other);
        row->set_name(is_other ? std::string(kOther) : ValidUtf8(state->strings->Text(key.name)));
        row->set_kind(KindText(key.kind));
        FillShapes(state->strings->Text(key.shapes), row);
        FillStack(state->strings->Text(key.stack), row);
        row->set_count(1);
        row->set_cpu_time_total_ns(duration_ns);
        row->set_self_cpu_time_total_ns(self_ns);
        row->set_cpu_time_min_ns(duration_ns);
        row->set_cpu_time_max_ns(duration_ns);
        row->set_device_time_total_ns(numbers.device_total_ns);
        row->set_self_device_time_total_ns(numbers.self_device_ns);
        row->set_kernel_count(numbers.kernels);
        row->set_flops(numbers.flops);
        row->set_output_bytes(numbers.output_bytes);
        row->set_nested_output_bytes(numbers.nested_output_bytes);
        row->set_asynchronous(spans.nesting().asynchronous(span));
        row->set_open(is_open);
        row->set_start_ns(spans.nesting().start_ns(span));
        row->set_thread_id(spans.nesting().thread(span));
        const auto thread = state->descriptions.threads.find(spans.nesting().thread(span));
        if (thread != state->descriptions.threads.end()) {
          row->set_thread_name(ValidUtf8(thread->second.shown()));
        }
        if (const StringId dtypes = spans.dtypes(span); dtypes != 0) {
          ParseTypes(state->strings->Text(dtypes), row->mutable_input_types());
        }
        if (const auto* details = state->details.Find(spans.nesting().id(span))) {
          AddValues(*details, *state->strings, row);
        }
        row->set_first_seen(before + spans.Sequence(span));
      }
      before += spans.added();
    }
    table_.set_self_cpu_time_total_ns(self_cpu_ns);
    table_.set_self_device_time_total_ns(self_device_ns);
  }

  void CountOther(uint64_t records) { table_.set_other_records(table_.other_records() + records); }

  // The text of a group's name; the group of all others has one of its own.
  static std::string_view NameOf(const State& state, const NameAndKind& key, bool is_other) {
    return is_other ? kOther : state.strings->Text(key.first);
  }

  void AddKernels() {
    Merged<std::pair<std::string_view, ActivityKind>, Durations> merged;
    absl::flat_hash_map<std::string_view, LaunchSums> launches;
    for (const State* state : states_) {
      bool is_other = true;  // The first entry.
      for (const auto& [key, group] : DeviceOf(*state).work.entries()) {
        if (group.count > 0) merged[{NameOf(*state, key, is_other), key.second}].Add(group);
        if (is_other) CountOther(group.count);
        is_other = false;
      }
      is_other = true;
      for (const auto& [key, group] : state->kernel_launches.entries()) {
        if (!group.empty()) {
          launches[NameOf(*state, {key, ActivityKind::kKernel}, is_other)].Add(group);
        }
        is_other = false;
      }
    }
    SortDescending(&merged.entries(), [](const auto& entry) { return entry.second.total_ns; });
    for (const auto& [key, group] : merged.entries()) {
      query::WorkRow* row = table_.add_kernels();
      row->set_name(ValidUtf8(Demangle(key.first)));
      row->set_raw_name(ValidUtf8(key.first));
      row->set_kind(std::string(1, static_cast<char>(key.second)));
      row->set_count(group.count);
      row->set_total_ns(group.total_ns);
      row->set_min_ns(group.min_ns);
      row->set_max_ns(group.max_ns);
      if (key.second != ActivityKind::kKernel) continue;
      const auto found = launches.find(key.first);
      if (found != launches.end()) found->second.Describe(row->mutable_launches());
    }
  }

  void AddCopies() {
    // Unknown numbers share a row.
    using Key = std::tuple<std::string_view, std::string_view, std::string_view>;
    Merged<Key, CopyGroup> merged;
    for (const State* state : states_) {
      bool is_other = true;
      for (const auto& [key, group] : DeviceOf(*state).copies.entries()) {
        auto [kind, source, destination] = key;
        bool is_fill = kind == kFillDirection;
        Key texts = is_other ? Key{kOther, "", ""}
                             : Key{is_fill ? "fill" : CopyDirection(kind), MemoryKind(source),
                                   MemoryKind(destination)};
        if (is_other) CountOther(group.copies.count);
        is_other = false;
        if (group.copies.count == 0) continue;
        CopyGroup& sums = merged[texts];
        sums.copies.Add(group.copies);
        sums.bytes += group.bytes;
      }
    }
    SortDescending(&merged.entries(),
                   [](const auto& entry) { return entry.second.copies.total_ns; });
    for (const auto& [key, group] : merged.entries()) {
      query::CopyRow* row = table_.add_copies();
      row->set_direction(std::string(std::get<0>(key)));
      row->set_source_memory(std::string(std::get<1>(key)));
      row->set_destination_memory(std::string(std::get<2>(key)));
      row->set_count(group.copies.count);
      row->set_bytes(static_cast<int64_t>(group.bytes));
      row->set_total_ns(group.copies.total_ns);
      row->set_min_ns(group.copies.min_ns);
      row->set_max_ns(group.copies.max_ns);
    }
  }

  void AddCalls() {
    Merged<std::pair<std::string_view, ActivityKind>, CallGroup> merged;
    for (const State* state : states_) {
      bool is_other = true;
      for (const auto& [key, group] : state->calls.entries()) {
        if (group.calls.count > 0) {
          ActivityKind kind = is_other ? ActivityKind::kRuntimeCall : key.second;
          CallGroup& sums = merged[{NameOf(*state, key, is_other), kind}];
          sums.calls.Add(group.calls);
          sums.errors += group.errors;
        }
        if (is_other) CountOther(group.calls.count);
        is_other = false;
      }
    }
    SortDescending(&merged.entries(),
                   [](const auto& entry) { return entry.second.calls.total_ns; });
    for (const auto& [key, group] : merged.entries()) {
      query::CallRow* row = table_.add_calls();
      row->set_name(ValidUtf8(key.first));
      row->set_domain(DomainOf(key.second));
      row->set_count(group.calls.count);
      row->set_total_ns(group.calls.total_ns);
      row->set_min_ns(group.calls.min_ns);
      row->set_max_ns(group.calls.max_ns);
      row->set_errors(group.errors);
    }
  }

  void AddStreams() {
    std::map<std::tuple<int64_t, StreamKey>, StreamUse> merged;
    std::map<std::tuple<int64_t, std::pair<uint32_t, uint32_t>>, Durations> waits;
    for (const State* state : states_) {
      for (const auto& [key, group] : DeviceOf(*state).streams.entries()) {
        if (group.work.count == 0) continue;
        StreamUse& use = merged[{state->pid, key}];
        use.work.Add(group.work);
        use.busy.Add(group.busy);
      }
      for (const auto& [key, group] : state->stream_waits.entries()) {
        if (group.count > 0) waits[{state->pid, key}].Add(group);
      }
    }
    for (const auto& [key, group] : merged) {
      query::StreamRow* row = table_.add_streams();
      auto [device, context, stream] = std::get<1>(key);
      row->set_pid(std::get<0>(key));
      row->set_device(static_cast<uint32_t>(device));
      row->set_context(context);
      row->set_stream(stream);
      row->set_count(group.work.count);
      row->set_total_ns(group.work.total_ns);
      row->set_busy_ns(group.busy.total_ns());
      DescribeStream(std::get<0>(key), row);
      const auto wait = waits.find({std::get<0>(key), {context, stream}});
      if (wait == waits.end()) continue;
      row->set_wait_count(wait->second.count);
      row->set_wait_ns(wait->second.total_ns);
    }
  }

  void DescribeStream(int64_t pid, query::StreamRow* row) const {
    for (const State* state : states_) {
      if (state->pid != pid) continue;
      const Descriptions& known = state->descriptions;
      row->set_name(ValidUtf8(known.StreamName(row->context(), row->stream())));
      row->set_device_name(ValidUtf8(known.DeviceName(row->device())));
      const auto context = known.contexts.find(row->context());
      if (context != known.contexts.end()) {
        row->set_context_name(ValidUtf8(context->second.given_name));
      }
      const auto stream = known.streams.find({row->context(), row->stream()});
      if (stream == known.streams.end()) continue;
      row->set_kind(KindOf(stream->second.kind));
      row->set_priority(stream->second.priority);
    }
  }

  static const char* KindOf(StreamKind kind) {
    switch (kind) {
      case StreamKind::kDefault:
        return "blocking";
      case StreamKind::kNonBlocking:
        return "non-blocking";
      case StreamKind::kNull:
        return "default";
      case StreamKind::kUnknown:
        break;
    }
    return "";
  }

  void AddMemory() {
    for (const State* state : states_) {
      for (const auto& [key, sums] : state->memory.Now()) {
        query::MemoryRow* row = table_.add_memory();
        row->set_pid(state->pid);
        row->set_kind(key.is_pool ? "pool" : std::string(MemoryKind(key.kind)));
        row->set_from_pool(key.from_pool);
        row->set_device(key.device);
        row->set_allocations(sums.allocations);
        row->set_releases(sums.releases);
        row->set_unknown_releases(sums.unknown_releases);
        row->set_allocated_bytes(sums.allocated_bytes);
        row->set_live_bytes(sums.live_bytes);
        row->set_peak_bytes(sums.peak_bytes);
      }
    }
  }

  void AddDevices() {
    std::map<int32_t, BusyTime> devices;
    int64_t device_ns = 0;
    bool has_device_work = false;
    for (const State* state : states_) {
      device_ns += state->device_ns;
      has_device_work |= state->device_records > 0 || state->given_device_time;
      for (const auto& [device, busy] : DeviceOf(*state).devices) {
        // One recording's is taken as it is; only several need their union.
        if (auto [found, is_new] = devices.emplace(device, busy); !is_new) found->second.Add(busy);
      }
    }
    for (const auto& [device, busy] : devices) {
      if (busy.empty()) continue;
      query::DeviceUse* use = table_.add_devices();
      use->set_device(static_cast<uint32_t>(device));
      // The first to know it; a name that one of several processes gave is not the others'.
      for (const State* state : states_) {
        const auto known = state->descriptions.devices.find(device);
        if (known == state->descriptions.devices.end() || !use->name().empty()) continue;
        use->set_name(ValidUtf8(states_.size() == 1 ? state->descriptions.DeviceName(device)
                                                    : known->second.name));
      }
      use->set_busy_ns(busy.total_ns());
      use->set_first_ns(busy.first_ns());
      use->set_last_ns(busy.last_ns());
    }
    table_.set_device_time_total_ns(device_ns);
    if (has_device_work) table_.set_device_kind("cuda");
  }

  TableOptions options_;
  int64_t now_ns_;
  std::vector<State*> states_;
  std::map<const State*, DeviceSums> with_unconfirmed_;
  absl::flat_hash_map<std::pair<const State*, uint32_t>, DeviceWork> captured_;
  uint64_t spans_in_other_ = 0;
  query::Table table_;
};

query::Table Tabulate(std::span<const Summary* const> summaries, const TableOptions& options,
                      int64_t now_ns) {
  return Tabulation(summaries, options, now_ns).Make();
}

query::OperationRow TotalRow(const query::Table& table) {
  query::OperationRow total;
  total.set_name("Total");
  total.set_kind(KindText(SpanKind::kOperation));
  for (const query::OperationRow& row : table.operations()) {
    bool is_first = total.count() == 0;
    total.set_cpu_time_min_ns(is_first ? row.cpu_time_min_ns()
                                       : std::min(total.cpu_time_min_ns(), row.cpu_time_min_ns()));
    total.set_cpu_time_max_ns(std::max(total.cpu_time_max_ns(), row.cpu_time_max_ns()));
    total.set_count(total.count() + row.count());
    total.set_open(total.open() + row.open());
    total.set_cpu_time_total_ns(total.cpu_time_total_ns() + row.cpu_time_total_ns());
    total.set_self_cpu_time_total_ns(total.self_cpu_time_total_ns() + row.self_cpu_time_total_ns());
    total.set_device_time_total_ns(total.device_time_total_ns() + row.device_time_total_ns());
    total.set_self_device_time_total_ns(total.self_device_time_total_ns() +
                                        row.self_device_time_total_ns());
    total.set_captured_device_time_ns(total.captured_device_time_ns() +
                                      row.captured_device_time_ns());
    total.set_captured_kernel_count(total.captured_kernel_count() + row.captured_kernel_count());
    total.set_kernel_count(total.kernel_count() + row.kernel_count());
    total.set_flops(total.flops() + row.flops());
    total.set_output_bytes(total.output_bytes() + row.output_bytes());
    total.set_nested_output_bytes(total.nested_output_bytes() + row.nested_output_bytes());
  }
  return total;
}

}  // namespace tp
