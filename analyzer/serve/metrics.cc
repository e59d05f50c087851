#include "analyzer/serve/metrics.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "analyzer/present/command.h"
#include "analyzer/present/exposition.h"
#include "analyzer/present/utf8.h"
#include "analyzer/summarize/summary.h"

namespace tp {
namespace {

constexpr size_t kLongestCommand = 100;  // Code points.
constexpr size_t kLongestOperation = 200;
constexpr const char* kOther = "(other)";

// Cut so that no text fills the page.
std::string Cut(std::string_view text, size_t code_points) {
  const std::string valid = ValidUtf8(text);
  return std::string(FirstCodePoints(valid, code_points));
}

std::string StateWord(query::ProcessState state) {
  if (state == query::PROCESS_STATE_UNKNOWN) return "unknown";
  return absl::AsciiStrToLower(query::ProcessState_Name(state));
}

struct Shown {
  const Session* session;
  query::Process process;
};

// Of each pid the latest session; running ones first, each in the order in which they came. Counts
// the others that have not ended (of several pid namespaces, whose processes are all 0 here).
std::vector<Shown> SessionsShown(const SessionStore& store, size_t* left_out) {
  absl::flat_hash_map<pid_t, const Session*> latest;
  for (const auto& session : store.sessions()) latest[session->pid()] = session.get();
  std::vector<Shown> shown;
  for (const auto& session : store.sessions()) {
    if (latest[session->pid()] == session.get()) {
      shown.push_back({session.get(), session->Describe()});
    } else if (!session->HasEnded()) {
      ++*left_out;
    }
  }
  std::stable_partition(shown.begin(), shown.end(),
                        [](const Shown& one) { return one.process.state() != query::GONE; });
  return shown;
}

}  // namespace

// One page while it is written.
class Metrics::Writer {
 public:
  void AddDaemon(const query::Daemon& daemon, size_t processes, size_t left_out) {
    const Labels none;
    daemon_info_->AddNumber(none.With("version", daemon.version()), 1);
    daemon_uptime_->AddSeconds(none, daemon.uptime_ns());
    daemon_events_->AddNumber(none, daemon.events());
    daemon_received_->AddNumber(none, daemon.bytes());
    daemon_connections_->AddNumber(none, daemon.connections());
    daemon_rejected_->AddNumber(none, daemon.rejected_connections());
    daemon_memory_->AddNumber(none, daemon.memory_bytes());
    daemon_processes_->AddNumber(none, processes);
    daemon_left_out_->AddNumber(none, left_out);
  }

  void AddProcess(const Session& session, const query::Process& process, int64_t now_ns,
                  Told* told) {
    told_ = told;
    process_ = Labels()
                   .With("pid", absl::StrCat(process.pid()))
                   .With("command", Cut(ShortCommand(process.command()), kLongestCommand));
    if (process.rank() >= 0) process_ = process_.With("rank", absl::StrCat(process.rank()));
    AddState(process);
    const Summary* summary = &session.summary();
    const query::Table table = Tabulate({&summary, 1}, TableOptions(), now_ns);
    AddDevices(process, table);
    AddWork(summary->Totals());
    AddLosses(process);
    AddOperations(table);
  }

  size_t bytes() const { return page_.bytes(); }
  std::string Text() const { return page_.Text(); }

 private:
  using Family = Exposition::Family;

  Family* Counter(const char* name, const char* help) {
    return page_.AddFamily(name, help, Exposition::kCounter);
  }
  Family* Gauge(const char* name, const char* help) {
    return page_.AddFamily(name, help, Exposition::kGauge);
  }

  // A label that a sample has beside those of its process.
  struct Of {
    std::string_view label, value;
  };

  // A counter's number, or the larger one that it had before: losses turn out to be none, and
  // device work to be impossible.
  uint64_t Steady(const Family& family, std::string_view value, uint64_t number) {
    uint64_t& told = told_->counters[absl::StrCat(family.name(), " ", std::string(value))];
    return told = std::max(told, number);
  }
  void Count(Family* family, uint64_t number, Of of = {}) {
    family->AddNumber(process_.With(of.label, of.value), Steady(*family, of.value, number));
  }
  void CountTime(Family* family, int64_t ns, Of of = {}) {
    const auto number = static_cast<uint64_t>(std::max<int64_t>(ns, 0));
    family->AddSeconds(process_.With(of.label, of.value),
                       static_cast<int64_t>(Steady(*family, of.value, number)));
  }

  void AddState(const query::Process& process) {
    process_info_->AddNumber(process_.With("uid", absl::StrCat(process.uid())), 1);
    for (int state = 0; state < query::ProcessState_ARRAYSIZE; ++state) {
      if (!query::ProcessState_IsValid(state)) continue;
      process_state_->AddNumber(
          process_.With("state", StateWord(static_cast<query::ProcessState>(state))),
          process.state() == state);
    }
    for (const query::KindCount& events : process.events()) {
      Count(events_, events.count(), {"kind", events.kind()});
    }
    CountTime(collector_cpu_, static_cast<int64_t>(process.collector_cpu_ns()));
    collector_memory_->AddNumber(process_, process.collector_memory_bytes());
  }

  // Busy times of several devices cannot be added up: those beyond the bound are left out.
  void AddDevices(const query::Process& process, const query::Table& table) {
    for (int i = 0; i < table.devices_size() && i < static_cast<int>(kMostDevices); ++i) {
      const query::DeviceUse& use = table.devices(i);
      CountTime(busy_, use.busy_ns(), {"device", absl::StrCat(use.device())});
    }
    for (int i = 0; i < process.devices_size() && i < static_cast<int>(kMostDevices); ++i) {
      const query::Device& device = process.devices(i);
      device_info_->AddNumber(process_.With("device", absl::StrCat(device.device()))
                                  .With("name", Cut(device.name(), kLongestCommand))
                                  .With("uuid", device.uuid()),
                              1);
    }
  }

  void AddWork(const WorkTotals& totals) {
    Count(kernels_, static_cast<uint64_t>(totals.kernels));
    CountTime(kernel_time_, totals.kernel_ns);
    for (const auto& [direction, copies] : totals.copies) {
      const Of of{"direction", direction};
      Count(copies_, static_cast<uint64_t>(copies.count), of);
      CountTime(copy_time_, copies.total_ns, of);
      Count(copy_bytes_, copies.bytes, of);
    }
    Count(fills_, static_cast<uint64_t>(totals.fills.count));
    CountTime(fill_time_, totals.fills.total_ns);
    Count(fill_bytes_, totals.fills.bytes);
    Count(launches_, static_cast<uint64_t>(totals.runtime_launches), {"domain", "runtime"});
    Count(launches_, static_cast<uint64_t>(totals.driver_launches), {"domain", "driver"});
  }

  // A collector may tell of other kinds and causes each time: those that came first have their
  // names.
  void AddLosses(const query::Process& process) {
    uint64_t all = 0, others = 0;
    for (const query::Loss& loss : process.losses()) {
      all += loss.count();
      const std::pair what(loss.kind(), loss.cause());
      if (told_->losses.size() < kMostLosses || told_->losses.count(what) > 0) {
        uint64_t& told = told_->losses[what];
        told = std::max(told, loss.count());
      } else {
        others += loss.count();
      }
    }
    for (const auto& [what, count] : told_->losses) {
      losses_->AddNumber(process_.With("kind", what.first).With("cause", what.second), count);
    }
    if (others = Steady(*losses_, kOther, others); others > 0) {
      losses_->AddNumber(process_.With("kind", kOther).With("cause", kOther), others);
    }
    Count(lost_, all);
    more_may_be_lost_->AddNumber(process_, process.more_may_be_lost());
  }

  void AddOperations(const query::Table& table) {
    std::vector<ShownOperations::Row> rows;
    for (const query::OperationRow& row : table.operations()) {
      if (row.self_device_time_total_ns() == 0) continue;
      rows.push_back(
          {Cut(row.name(), kLongestOperation), row.kind(), row.self_device_time_total_ns()});
    }
    for (const ShownOperations::Row& row : told_->operations.Update(rows)) {
      operations_->AddSeconds(process_.With("operation", row.name).With("kind", row.kind),
                              row.self_device_ns);
    }
  }

  Exposition page_;
  Told* told_ = nullptr;
  Labels process_;

  Family* daemon_info_ = Gauge("tensorprof_daemon_info", "The daemon's version; always 1.");
  Family* daemon_uptime_ =
      Gauge("tensorprof_daemon_uptime_seconds", "How long the daemon has been running.");
  Family* daemon_events_ = Counter("tensorprof_daemon_events_total",
                                   "Events that all processes ever sent to the daemon.");
  Family* daemon_received_ =
      Counter("tensorprof_daemon_received_bytes_total", "Bytes that the daemon's socket received.");
  Family* daemon_connections_ =
      Gauge("tensorprof_daemon_connections", "Collectors and tools connected to the daemon.");
  Family* daemon_rejected_ = Counter("tensorprof_daemon_rejected_connections_total",
                                     "Connections that the daemon refused or ended as wrong.");
  Family* daemon_memory_ =
      Gauge("tensorprof_daemon_resident_memory_bytes", "Resident memory of the daemon.");
  Family* daemon_processes_ =
      Gauge("tensorprof_daemon_processes", "Processes that are on this page.");
  Family* daemon_left_out_ = Gauge("tensorprof_daemon_processes_left_out",
                                   "Processes that are not on this page, as it would be too long.");
  Family* process_info_ =
      Gauge("tensorprof_process_info", "A process that the daemon knows; always 1.");
  Family* process_state_ = Gauge("tensorprof_process_state",
                                 "1 for the state that the process is in, 0 for the others.");
  Family* events_ = Counter("tensorprof_events_total",
                            "Events that the daemon received of the process, by kind.");
  Family* collector_cpu_ = Counter("tensorprof_collector_cpu_seconds_total",
                                   "Processor time of the collector's thread in the process.");
  Family* collector_memory_ =
      Gauge("tensorprof_collector_memory_bytes", "Memory that the collector holds in the process.");
  Family* busy_ = Counter("tensorprof_device_busy_seconds_total",
                          "Time during which the process had work running on the device (the union "
                          "of all its work there).");
  Family* device_info_ =
      Gauge("tensorprof_device_info", "A device that the process uses; always 1.");
  Family* kernel_time_ =
      Counter("tensorprof_kernel_seconds_total", "Sum of the durations of kernels.");
  Family* kernels_ = Counter("tensorprof_kernels_total", "Kernels that ran.");
  Family* copy_time_ =
      Counter("tensorprof_copy_seconds_total", "Sum of the durations of copies, by direction.");
  Family* copies_ = Counter("tensorprof_copies_total", "Copies, by direction.");
  Family* copy_bytes_ =
      Counter("tensorprof_copy_bytes_total", "Bytes that copies moved, by direction.");
  Family* fill_time_ =
      Counter("tensorprof_fill_seconds_total", "Sum of the durations of memory fills.");
  Family* fills_ = Counter("tensorprof_fills_total", "Memory fills.");
  Family* fill_bytes_ = Counter("tensorprof_fill_bytes_total", "Bytes that fills wrote.");
  Family* launches_ = Counter("tensorprof_launch_calls_total",
                              "Calls that launch kernels or graphs, by the interface they belong "
                              "to; a call of the runtime makes one of the driver.");
  Family* losses_ =
      Counter("tensorprof_losses_total", "What is missing from the numbers, by kind and cause.");
  Family* lost_ = Counter("tensorprof_lost_total",
                          "What is missing from the numbers, all kinds and causes together.");
  Family* more_may_be_lost_ =
      Gauge("tensorprof_more_may_be_lost",
            "1 if the process ended without a goodbye, so that nobody knows all that is missing.");
  Family* operations_ = Counter("tensorprof_operation_self_device_seconds_total",
                                "Device time of the operations that have most of it, without that "
                                "of operations inside them; the rest is (other).");
};

std::string Metrics::Page(const SessionStore& store, const query::Daemon& daemon, int64_t now_ns) {
  Writer writer;
  size_t left_out = 0, written = 0;
  std::map<Key, Told> told;
  for (const Shown& shown : SessionsShown(store, &left_out)) {
    const Key key(shown.session->pid(), shown.session->connected_ns());
    // Also of one that is left out this time: it is not to go back later.
    Told& known = told[key] = std::move(told_[key]);
    if (writer.bytes() < most_bytes_) {
      writer.AddProcess(*shown.session, shown.process, now_ns, &known);
      ++written;
    } else {
      ++left_out;
    }
  }
  told_ = std::move(told);
  writer.AddDaemon(daemon, written, left_out);
  return writer.Text();
}

}  // namespace tp
