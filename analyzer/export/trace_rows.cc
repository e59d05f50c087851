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

bool IsOnDevice(const DeviceActivity& activity) { return !IsOnHost(activity.kind); }

}  // namespace

// The processes of a recording by the numbers that threads give them.
class TraceRows::Hosts {
 public:
  Hosts(const WholeRecording& recording, const std::string& unnamed, TraceRows* rows)
      : recording_(recording), unnamed_(unnamed), rows_(rows) {
    for (const auto& [number, thread] : recording.threads) {
      std::string& name = names_[thread.process];
      if (name.empty()) name = thread.process_name;
    }
  }

  bool are_several() const { return names_.size() > 1; }
  // The process of a thread. One that is not told of is taken for one of the only process, if there
  // is but one.
  int64_t NumberOf(int64_t thread) const {
    const auto told = recording_.threads.find(thread);
    if (told != recording_.threads.end()) return told->second.process;
    return names_.size() == 1 ? names_.begin()->first : 0;
  }
  int64_t First() const { return names_.empty() ? 0 : names_.begin()->first; }

  // Its place among the rows' processes, where it is now if it was not yet.
  uint32_t Place(int64_t number) {
    const auto [found, is_new] = places_.emplace(number, 0);
    if (is_new) {
      const auto named = names_.find(number);
      const bool has_name = named != names_.end() && !named->second.empty();
      found->second = rows_->AddProcess(
          {.pid = rows_->pids_.Take(number), .name = has_name ? named->second : unnamed_});
    }
    return found->second;
  }

 private:
  const WholeRecording& recording_;
  const std::string& unnamed_;
  TraceRows* rows_;
  std::map<int64_t, std::string> names_;
  absl::flat_hash_map<int64_t, uint32_t> places_;
};

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

  Hosts hosts(recording, unnamed, this);
  AddThreads(recording, &hosts);
  AddAsynchronousSpans(recording);
  AddOwners(recording, &hosts);
  AddOverhead(recording, &hosts);
  if (processes_.empty()) hosts.Place(hosts.First());
  const bool is_one_process = processes_.size() == 1;
  absl::flat_hash_map<int32_t, uint32_t> process_of_device;
  for (const auto& [device, pid] : pids) {
    process_of_device[device] = AddProcess(
        {.pid = pid,
         .is_device = true,
         .device = device,
         .name = is_one_process ? processes_.front().name : absl::StrCat("GPU ", device)});
  }
  AddStreams(recording, hosts, process_of_device);
}

uint32_t TraceRows::AddProcess(Process process) {
  processes_.push_back(std::move(process));
  tids_.emplace_back();
  return static_cast<uint32_t>(processes_.size() - 1);
}

void TraceRows::AddThreads(const WholeRecording& recording, Hosts* hosts) {
  const auto row = [&](int64_t thread) {
    const auto [found, is_new] = thread_rows_.emplace(thread, rows_.size());
    if (!is_new) return found->second;
    const auto told = recording.threads.find(thread);
    const int64_t tid = told == recording.threads.end() ? thread : told->second.thread;
    const bool is_named = told != recording.threads.end() && !told->second.thread_name.empty();
    AddRow(hosts->Place(hosts->NumberOf(thread)), tid,
           is_named ? told->second.thread_name : absl::StrCat("thread ", tid));
    return found->second;
  };

  span_rows_.reserve(recording.spans.size());
  for (const Span& span : recording.spans) span_rows_.push_back(row(span.thread));
  activity_rows_.reserve(recording.activities.size());
  for (const DeviceActivity& activity : recording.activities) {
    activity_rows_.push_back(IsHostCall(activity.kind) ? row(activity.thread) : 0);
  }
  for (const MemoryEvent& event : recording.memory_events) row(event.thread);
  for (const Sample& sample : recording.samples) row(sample.thread);
  for (const CounterValue& counter : recording.counters) row(counter.thread);
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

void TraceRows::AddOwners(const WholeRecording& recording, Hosts* hosts) {
  if (!hosts->are_several()) return;
  for (const DeviceActivity& activity : recording.activities) {
    if (!IsOnDevice(activity) || recording.threads.count(activity.thread) == 0) continue;
    const auto [owner, is_new] = owner_of_thread_.emplace(activity.thread, 0);
    if (is_new) owner->second = hosts->Place(hosts->NumberOf(activity.thread));
  }
}

std::optional<uint32_t> TraceRows::Owner(const DeviceActivity& activity) const {
  const auto owner = owner_of_thread_.find(activity.thread);
  if (owner == owner_of_thread_.end()) return {};
  return processes_[owner->second].pid;
}

void TraceRows::AddOverhead(const WholeRecording& recording, Hosts* hosts) {
  std::map<uint32_t, Lanes> all;
  for (size_t i = 0; i < recording.activities.size(); ++i) {
    const DeviceActivity& activity = recording.activities[i];
    if (IsHostCall(activity.kind) || IsOnDevice(activity)) continue;
    const uint32_t process = hosts->Place(hosts->NumberOf(activity.thread));
    Lanes& lanes = all[process];
    lanes.process = process;
    lanes.name = "overhead";
    lanes.slices.push_back({static_cast<uint32_t>(i), activity.start_ns, activity.end_ns});
  }
  for (auto& [process, lanes] : all) Spread(&lanes, &activity_rows_);
}

void TraceRows::AddStreams(const WholeRecording& recording, const Hosts& hosts,
                           const absl::flat_hash_map<int32_t, uint32_t>& process_of_device) {
  // Numbers of streams are a context's, those of contexts a process's.
  using Stream = std::pair<int32_t, uint32_t>;
  const auto owner = [&](const DeviceActivity& activity) {
    return hosts.are_several() ? hosts.NumberOf(activity.thread) : 0;
  };
  absl::flat_hash_map<Stream, std::set<int64_t>> owners;
  absl::flat_hash_map<std::pair<Stream, int64_t>, std::set<uint32_t>> contexts;
  for (const DeviceActivity& activity : recording.activities) {
    if (!IsOnDevice(activity)) continue;
    const Stream stream = {activity.device, activity.stream};
    owners[stream].insert(owner(activity));
    contexts[{stream, owner(activity)}].insert(activity.context);
  }
  std::vector<Lanes> all;
  absl::flat_hash_map<std::tuple<Stream, int64_t, uint32_t, bool>, size_t> known;
  for (size_t i = 0; i < recording.activities.size(); ++i) {
    const DeviceActivity& activity = recording.activities[i];
    if (!IsOnDevice(activity)) continue;
    const bool is_work = IsDeviceWork(activity.kind);
    const Stream stream = {activity.device, activity.stream};
    const int64_t process = owner(activity);
    const auto [found, is_new] =
        known.emplace(std::tuple(stream, process, activity.context, is_work), all.size());
    if (is_new) {
      std::string name = absl::StrCat("stream ", activity.stream);
      if (owners[stream].size() > 1 && process != 0)
        absl::StrAppend(&name, " (process ", process, ")");
      if (contexts[{stream, process}].size() > 1) {
        absl::StrAppend(&name, " (context ", activity.context, ")");
      }
      all.push_back({.process = process_of_device.at(activity.device),
                     .wanted_tid = is_work ? int64_t{activity.stream} : -1,
                     .name = is_work ? std::move(name) : absl::StrCat(name, " annotations"),
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
