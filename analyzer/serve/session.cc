#include "analyzer/serve/session.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/present/command.h"
#include "analyzer/present/utf8.h"
#include "analyzer/wire/batch_decoder.h"
#include "analyzer/wire/descriptions_decoder.h"

namespace tp {
namespace {

constexpr int kMaxNotes = 16;
constexpr int kMaxActivities = 64;
constexpr size_t kMaxTextBytes = 4096;
// What has happened may seem to lie ahead of this machine's clock by the error of comparing clocks.
constexpr int64_t kClockToleranceNs = 60'000'000'000;

// Texts that are kept and shown are cut: the collector's are short, and others are nobody's to
// believe.
std::string Shown(std::string_view text) { return ValidUtf8(text.substr(0, kMaxTextBytes)); }

wire::Hello Bounded(const wire::Hello& hello) {
  wire::Hello bounded = hello;
  bounded.clear_acknowledged();  // Has gone into the losses.
  for (std::string* text : {bounded.mutable_command(), bounded.mutable_executable(),
                            bounded.mutable_cupti_path(), bounded.mutable_collector_version()}) {
    if (text->size() > kMaxTextBytes) text->resize(kMaxTextBytes);
  }
  bounded.DiscardUnknownFields();
  return bounded;
}

// What is shown of it; the numbers have gone elsewhere.
wire::Status Bounded(const wire::Status& status) {
  wire::Status bounded;
  bounded.set_reason(status.reason().substr(0, kMaxTextBytes));
  bounded.set_collector_cpu_ns(status.collector_cpu_ns());
  bounded.set_memory_bytes(status.memory_bytes());
  for (int i = 0; i < std::min(status.notes_size(), kMaxNotes); ++i) {
    bounded.add_notes(status.notes(i).substr(0, kMaxTextBytes));
  }
  for (int i = 0; i < std::min(status.activities_size(), kMaxActivities); ++i) {
    bounded.add_activities(status.activities(i).substr(0, kMaxTextBytes));
  }
  return bounded;
}

ClockReading Reading(const wire::ClockPair& pair) {
  return {.host_ns = pair.host_ns(), .cupti_ns = pair.cupti_ns(), .bracket_ns = pair.bracket_ns()};
}

}  // namespace

Session::Session(const Credentials& peer, const wire::Hello& hello, const SessionLimits& limits,
                 int64_t now_ns, Symbolizer* symbolizer)
    : credentials_(peer),
      claimed_start_ticks_(hello.start_time_ticks()),
      process_(FindProcess(peer.pid)),
      connected_ns_(now_ns),
      last_seen_ns_(now_ns),
      last_told_ns_(now_ns),
      strings_(std::make_unique<StringTable>()),
      names_(strings_.get(), limits.names),
      summary_(std::make_unique<Summary>(strings_.get(), limits.summary)) {
  summary_->SetProcess(peer.pid);
  if (symbolizer != nullptr) {
    names_.SetFrameNamer([symbolizer, pid = peer.pid](std::string_view module, uint64_t address) {
      return symbolizer->FrameName(pid, module, address);
    });
  }
}

Session::Session(const capture::Process& recorded, const SessionLimits& limits)
    : Session({.pid = static_cast<pid_t>(recorded.pid()), .uid = recorded.uid()}, recorded.hello(),
              limits, recorded.connected_ns()) {
  process_.reset();
  recording_.emplace();
}

bool Session::IsProcess(const Credentials& peer, const wire::Hello& hello) const {
  return credentials_.pid == peer.pid && credentials_.uid == peer.uid &&
         claimed_start_ticks_ == hello.start_time_ticks();
}

bool Session::IsContinuedBy(const Credentials& peer, const wire::Hello& hello) const {
  if (!IsProcess(peer, hello) || goodbye_.has_value() || replaced_) return false;
  // The one that was here before captured from another moment on. Zero: not told.
  return hello.capture_start_ns() == 0 || hello_.capture_start_ns() == 0 ||
         hello.capture_start_ns() == hello_.capture_start_ns();
}

void Session::Greet(const wire::Hello& hello, bool new_connection, int64_t now_ns) {
  if (new_connection) {
    recorded_connection_ = recording_.has_value();
    losses_.Greeted(hello);
    summary_->SetRecordingEnd(INT64_MAX);
  }
  hello_ = Bounded(hello);
  clock_.Add(Reading(hello.clock()));
  SetRecordingStart(hello.capture_start_ns());
  Seen(now_ns);
}

void Session::Seen(int64_t now_ns) {
  last_seen_ns_ = now_ns;
  // Without a start the times may be those of another clock.
  if (hello_.capture_start_ns() > 0) summary_->SetLatest(now_ns + kClockToleranceNs);
}

void Session::SetRecordingStart(int64_t start_ns) {
  if (start_ns <= 0) return;
  recording_start_ns_ = start_ns;
  summary_->SetRecordingStart(start_ns);
}

absl::Status Session::Add(const wire::Strings& strings) { return names_.Add(strings); }

void Session::Add(const wire::Descriptions& descriptions) {
  descriptions_left_out_ += DecodeDescriptions(descriptions, &summary_->descriptions());
}

absl::Status Session::Take(const wire::FromCollector& message, int64_t now_ns) {
  Seen(now_ns);
  switch (message.message_case()) {
    case wire::FromCollector::kStrings:
      return Add(message.strings());
    case wire::FromCollector::kBatch:
      return Add(message.batch());
    case wire::FromCollector::kDescriptions:
      Add(message.descriptions());
      break;
    case wire::FromCollector::kStatus:
      Told(message.status());
      break;
    case wire::FromCollector::kGoodbye:
      Told(message.goodbye());
      break;
    case wire::FromCollector::kFlushDone:
    case wire::FromCollector::kHello:
    case wire::FromCollector::MESSAGE_NOT_SET:
      break;
  }
  return absl::OkStatus();
}

absl::Status Session::Add(const wire::Batch& batch) {
  if (batch.sequence() > 0 && batch.sequence() <= losses_.last_sequence()) {
    losses_.IsNew(batch.sequence());
    return absl::OkStatus();
  }
  uint64_t found_again = 0, id = 0;
  for (const int64_t delta : batch.reopened().id_delta()) {
    id += static_cast<uint64_t>(delta);
    if (!summary_->HasSpan(id)) ++found_again;
  }
  const absl::StatusOr<EventCounts> counts = DecodeBatch(batch, &names_, clock_, *summary_);
  if (!counts.ok()) return counts.status();
  losses_.FoundAgain(found_again);
  losses_.IsNew(batch.sequence());
  losses_.Received(*counts);
  return absl::OkStatus();
}

void Session::Told(const wire::Status& status) {
  // A daemon that was held up reads it late. (Only while capturing is it stamped.)
  const bool is_stamped = status.state() == wire::CAPTURING && status.clock().host_ns() > 0;
  last_told_ns_ = is_stamped ? std::min(last_seen_ns_, status.clock().host_ns()) : last_seen_ns_;
  losses_.Told(status);
  clock_.Add(Reading(status.clock()));
  state_ = status.state();
  SetRecordingStart(status.recording_start_ns());
  status_ = Bounded(status);
}

void Session::Disconnected(int64_t now_ns) {
  peer_ = nullptr;
  recorded_connection_ = false;
  last_seen_ns_ = now_ns;
  summary_->SetRecordingEnd(now_ns);
}

capture::Ending Session::How() const {
  if (goodbye_ == wire::Goodbye::EXIT) return capture::GOODBYE;
  if (replaced_) return capture::REPLACED;
  if (recording_.has_value()) return told_ending_;
  // One that this machine does not show (another pid namespace) ends with its connection.
  if (!process_.has_value()) return capture::GONE;
  const std::optional<TracedProcess> now = FindProcess(credentials_.pid);
  if (!now.has_value() || now->start_ticks != process_->start_ticks) return capture::GONE;
  const bool told = now->stack_start != 0 && process_->stack_start != 0;
  return told && now->stack_start != process_->stack_start ? capture::EXECUTED : capture::NOT_ENDED;
}

size_t Session::memory_bytes() const {
  return sizeof(*this) + strings_->memory_bytes() + summary_->memory_bytes();
}

std::string Session::Name() const {
  std::string command = ValidUtf8(ShortCommand(hello_.command()).substr(0, 60));
  for (char& c : command) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return absl::StrCat(credentials_.pid, " (", command, ")");
}

query::Process Session::Describe() const {
  query::Process process;
  process.set_pid(credentials_.pid);
  process.set_uid(credentials_.uid);
  process.set_command(Shown(hello_.command()));
  process.set_cupti_version(hello_.cupti_version());
  process.set_driver_version(hello_.driver_version());
  process.set_rank(hello_.rank());
  process.set_attached(hello_.attached());
  process.set_connected_ns(connected_ns_);
  process.set_last_seen_ns(last_seen_ns_);
  process.set_collector_cpu_ns(status_.collector_cpu_ns());
  process.set_collector_memory_bytes(connected() ? status_.memory_bytes() : 0);

  process.set_reason(Shown(status_.reason()));
  const capture::Ending ending = this->ending();
  if (ending != capture::NOT_ENDED) {
    process.set_state(query::GONE);
    if (ending == capture::REPLACED) {
      process.set_reason("another program or collector took its place in the process");
    } else if (ending == capture::EXECUTED) {
      process.set_reason("the process has executed another program");
    }
  } else if (!connected() && goodbye_ == wire::Goodbye::DETACHED) {
    process.set_state(query::DETACHED);
  } else if (!connected()) {
    process.set_state(query::PROCESS_STATE_UNKNOWN);
    process.set_reason(recording_.has_value()
                           ? "its collector's connection ended; the recording does not tell how"
                           : "its collector's connection ended, the process still runs");
  } else if (state_ == wire::DORMANT) {
    process.set_state(query::DORMANT);
  } else if (state_ == wire::CAPTURING) {
    process.set_state(query::CAPTURING);
  } else if (state_ == wire::DISABLED) {
    process.set_state(query::DISABLED);
  } else if (state_ == wire::WAITING) {
    process.set_state(query::WAITING);
  } else {
    process.set_state(query::PROCESS_STATE_UNKNOWN);
    if (process.reason().empty()) process.set_reason("its collector has not told its state yet");
  }

  AddEvents(Events(), &process);
  for (query::Loss& loss : Losses()) *process.add_losses() = std::move(loss);
  summary_->impossible().AddTo(process.mutable_losses());
  process.set_more_may_be_lost(EndedWithoutGoodbye(ending));
  summary_->AddDevices(&process);
  process.set_device_time_ns(summary_->device_time_ns());
  process.set_unattributed_count(summary_->unattributed_count());
  process.set_unattributed_ns(summary_->unattributed_ns());
  for (const std::string& activity : status_.activities()) {
    process.add_activities(Shown(activity));
  }
  AddNotes(ending, &process);
  return process;
}

void Session::AddNotes(capture::Ending ending, query::Process* process) const {
  for (const std::string& note : status_.notes()) process->add_notes(Shown(note));
  if (hello_.pid() != credentials_.pid) {
    process->add_notes(
        absl::StrCat("calls itself pid ", hello_.pid(), " (in a pid namespace of its own)"));
  }
  const auto count = [&](uint64_t number, std::string_view what) {
    if (number > 0) {
      process->add_notes(absl::StrCat(number, " ", absl::string_view(what.data(), what.size())));
    }
  };
  if (EndedWithoutGoodbye(ending)) {
    // What it did since was with CUPTI, which hands it over when the collector asks, or on its way.
    process->add_notes(absl::StrFormat(
        "ended without a goodbye (a signal, _exit, exec, or it was not listened to for 2 s): "
        "device "
        "work and calls of its last %.1f s may be missing, and ranges of its last moment",
        std::max(static_cast<double>(last_seen_ns_ - last_told_ns_) / 1e9, 0.1)));
  }
  const LateRecords late = summary_->late();
  count(late.launch_let_go,
        "records of device work came too long after their launch: counted without an operation");
  count(late.operation_let_go,
        "records of device work came too long after their operation: counted without it");
  count(summary_->details_let_go(),
        "spans are kept without their payloads: only the latest have them");
  const uint64_t left_out_before = recording_.has_value() && recording_->before.has_value()
                                       ? recording_->before->batches_left_out()
                                       : 0;
  count(losses_.batches_left_out() - std::min(losses_.batches_left_out(), left_out_before),
        "batches did not come because the collector had to drop them (see the losses)");
  count(names_.left_out(), "names did not fit into memory: shown as (other)");
  count(descriptions_left_out_,
        "descriptions of streams, threads and the like did not fit: shown without");
  const EventCounts received = Events();
  const bool has_cupti_times = received[wire::KERNEL] + received[wire::COPY] +
                                   received[wire::FILL] + received[wire::RUNTIME_CALL] +
                                   received[wire::DRIVER_CALL] + received[wire::GRAPH] +
                                   received[wire::SYNCHRONIZATION] + received[wire::MEMORY] >
                               0;
  if (!clock_.known() && has_cupti_times) {
    process->add_notes(
        "its collector has not compared the clocks: device times are not in the host's time");
  }
  if (recording_.has_value()) AddNotesOfRecording(process);
}

}  // namespace tp
