#include "analyzer/export/trace_rows.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tp {
namespace {

bool IsOnDevice(const DeviceActivity& activity) { return !IsHostCall(activity.kind); }

// The processes of a recording by the numbers that threads give them.
class HostProcesses {
 public:
  HostProcesses(const WholeRecording& recording, const std::string& unnamed)
      : recording_(recording), unnamed_(unnamed) {
    for (const auto& [number, thread] : recording.threads) {
      std::string& name = names_[thread.process];
      if (name.empty()) name = thread.process_name;
    }
  }

  // A thread that is not told of is taken for one of the only process, if there is but one.
  int64_t Of(int64_t thread) const {
    const auto told = recording_.threads.find(thread);
    if (told != recording_.threads.end()) return told->second.process;
    return names_.size() == 1 ? names_.begin()->first : 0;
  }
  int64_t First() const { return names_.empty() ? 0 : names_.begin()->first; }
  const std::string& Name(int64_t process) const {
    const auto named = names_.find(process);
    return named == names_.end() || named->second.empty() ? unnamed_ : named->second;
  }

 private:
  const WholeRecording& recording_;
  const std::string& unnamed_;
  std::map<int64_t, std::string> names_;
};

}  // namespace

uint32_t TraceRows::Numbers::Take(int64_t wanted) {
  if (wanted >= 0 && wanted < UINT32_MAX && taken_.insert(static_cast<uint32_t>(wanted)).second) {
    return static_cast<uint32_t>(wanted);
  }
  while (!taken_.insert(next_).second) ++next_;
  return next_++;
}

TraceRows::TraceRows(const WholeRecording& recording, const std::string& unnamed) {
  // Devices come first to their numbers: tools take the pid of device work for that of its device.
  std::set<int32_t> devices;
  for (const DeviceActivity& activity : recording.activities) {
    if (IsOnDevice(activity)) devices.insert(activity.device);
  }
  std::map<int32_t, uint32_t> pids;
  for (int32_t device : devices) pids[device] = pids_.Take(device);

  AddThreads(recording, unnamed);
  const bool is_one_process = processes_.size() == 1;
  absl::flat_hash_map<int32_t, uint32_t> process_of_device;
  for (const auto& [device, pid] : pids) {
    process_of_device[device] = static_cast<uint32_t>(processes_.size());
    processes_.push_back(
        {.pid = pid,
         .is_device = true,
         .device = device,
         .name = is_one_process ? processes_.front().name : absl::StrCat("GPU ", device)});
    tids_.emplace_back();
  }
  AddAsynchronousSpans(recording);
  AddStreams(recording, process_of_device);
}

void TraceRows::AddThreads(const WholeRecording& recording, const std::string& unnamed) {
  const HostProcesses hosts(recording, unnamed);
  absl::flat_hash_map<int64_t, uint32_t> known;
  const auto process = [&](int64_t number) {
    const auto [found, is_new] = known.emplace(number, processes_.size());
    if (is_new) {
      processes_.push_back({.pid = pids_.Take(number), .name = hosts.Name(number)});
      tids_.emplace_back();
    }
    return found->second;
  };
  const auto row = [&](int64_t thread) {
    const auto [found, is_new] = thread_rows_.emplace(thread, rows_.size());
    if (!is_new) return found->second;
    const auto told = recording.threads.find(thread);
    const int64_t tid = told == recording.threads.end() ? thread : told->second.thread;
    const bool is_named = told != recording.threads.end() && !told->second.thread_name.empty();
    AddRow(process(hosts.Of(thread)), tid,
           is_named ? told->second.thread_name : absl::StrCat("thread ", tid));
    return found->second;
  };

  span_rows_.reserve(recording.spans.size());
  for (const Span& span : recording.spans) span_rows_.push_back(row(span.thread));
  activity_rows_.reserve(recording.activities.size());
  for (const DeviceActivity& activity : recording.activities) {
    activity_rows_.push_back(IsOnDevice(activity) ? 0 : row(activity.thread));
  }
  for (const MemoryEvent& event : recording.memory_events) row(event.thread);
  for (const Sample& sample : recording.samples) row(sample.thread);
  if (processes_.empty()) process(hosts.First());
}

void TraceRows::AddAsynchronousSpans(const WholeRecording& recording) {
  std::vector<Lanes> all;
  absl::flat_hash_map<int64_t, size_t> lanes_of_thread;
  for (size_t i = 0; i < recording.spans.size(); ++i) {
    const Span& span = recording.spans[i];
    if (!span.asynchronous) continue;
    const auto [found, is_new] = lanes_of_thread.emplace(span.thread, all.size());
    if (is_new) {
      const Named& row = rows_[span_rows_[i]];
      all.push_back(
          {.process = row.row.process, .name = absl::StrCat(row.name, " ranges"), .slices = {}});
    }
    all[found->second].slices.push_back({static_cast<uint32_t>(i), span.start_ns, span.end_ns});
  }
  for (Lanes& lanes : all) Spread(&lanes, &span_rows_);
}

void TraceRows::AddStreams(const WholeRecording& recording,
                           const absl::flat_hash_map<int32_t, uint32_t>& process_of_device) {
  absl::flat_hash_map<std::pair<int32_t, uint32_t>, std::set<uint32_t>> contexts;
  for (const DeviceActivity& activity : recording.activities) {
    if (IsOnDevice(activity)) {
      contexts[{activity.device, activity.stream}].insert(activity.context);
    }
  }
  std::vector<Lanes> all;
  absl::flat_hash_map<std::tuple<int32_t, uint32_t, uint32_t, bool>, size_t> known;
  for (size_t i = 0; i < recording.activities.size(); ++i) {
    const DeviceActivity& activity = recording.activities[i];
    if (!IsOnDevice(activity)) continue;
    const bool is_work = IsDeviceWork(activity.kind);
    const auto [found, is_new] = known.emplace(
        std::tuple(activity.device, activity.context, activity.stream, is_work), all.size());
    if (is_new) {
      const bool is_shared = contexts[{activity.device, activity.stream}].size() > 1;
      all.push_back(
          {.process = process_of_device.at(activity.device),
           .wanted_tid = is_work ? int64_t{activity.stream} : -1,
           .name = absl::StrCat("stream ", activity.stream,
                                is_shared ? absl::StrCat(" (context ", activity.context, ")") : "",
                                is_work ? "" : " annotations"),
           .slices = {}});
    }
    all[found->second].slices.push_back(
        {static_cast<uint32_t>(i), activity.start_ns, activity.end_ns});
  }
  for (Lanes& lanes : all) Spread(&lanes, &activity_rows_);
}

void TraceRows::Spread(Lanes* lanes, std::vector<uint32_t>* row_of_place) {
  std::stable_sort(lanes->slices.begin(), lanes->slices.end(),
                   [](const Slice& a, const Slice& b) { return a.start_ns < b.start_ns; });
  std::vector<uint32_t> rows;
  // TraceRows by when they are free again, and those that are, the first ones first.
  using End = std::pair<int64_t, size_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> busy;
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> free;
  for (const Slice& slice : lanes->slices) {
    while (!busy.empty() && busy.top().first <= slice.start_ns) {
      free.push(busy.top().second);
      busy.pop();
    }
    size_t lane = rows.size();
    if (free.empty()) {
      const bool is_first = rows.empty();
      rows.push_back(AddRow(lanes->process, is_first ? lanes->wanted_tid : -1,
                            is_first ? lanes->name : absl::StrCat(lanes->name, " #", lane + 1)));
    } else {
      lane = free.top();
      free.pop();
    }
    busy.push({slice.end_ns, lane});
    (*row_of_place)[slice.place] = rows[lane];
  }
}

uint32_t TraceRows::AddRow(uint32_t process, int64_t wanted_tid, std::string name) {
  rows_.push_back({{process, tids_[process].Take(wanted_tid)}, std::move(name)});
  return static_cast<uint32_t>(rows_.size() - 1);
}

std::vector<TraceRows::Named> TraceRows::ByProcess() const {
  std::vector<Named> rows = rows_;
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Named& a, const Named& b) { return a.row.process < b.row.process; });
  return rows;
}

}  // namespace tp
