#include "analyzer/capture/replay.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "analyzer/capture/capture_reader.h"
#include "analyzer/present/process_list.h"
#include "analyzer/serve/session_store.h"
#include "analyzer/serve/session_table.h"
#include "analyzer/wire/framing.h"
#include "google/protobuf/arena.h"

namespace tp {
namespace {

// Each costs some kilobytes at the least.
constexpr size_t kMostProcesses = 1 << 12;
// A file may claim what it likes.
constexpr uint64_t kMostMegabytes = 1 << 16;
constexpr uint64_t kEntriesBetweenProgress = 64;

class Replayer {
 public:
  explicit Replayer(const ReplayEvents& events) : events_(events) {}

  void Take(const capture::Entry& entry) {
    switch (entry.entry_case()) {
      case capture::Entry::kBeginning:
        replay_.beginning = entry.beginning();
        Saw(entry.beginning().time_ns());
        limits_ = StoreLimits::FromMegabytes(
                      std::min(entry.beginning().memory_megabytes(), kMostMegabytes))
                      .session;
        break;
      case capture::Entry::kProcess:
        Begin(entry.process());
        break;
      case capture::Entry::kMessage:
        Take(entry.message());
        break;
      case capture::Entry::kState:
        if (Known* known = Find(entry.state().process())) {
          Saw(entry.state().time_ns());
          known->session->Restore(entry.state());
          known->has_state = true;
          if (events_.state) events_.state(*known->session, entry.state());
        }
        break;
      case capture::Entry::kStackNames:
        if (Known* known = Find(entry.stack_names().process())) {
          known->session->SetStackNames(entry.stack_names());
        }
        break;
      case capture::Entry::kDisconnected:
        if (Known* known = Find(entry.disconnected().process())) {
          Saw(entry.disconnected().time_ns());
          known->session->Disconnected(entry.disconnected().time_ns());
        }
        break;
      case capture::Entry::kEnded:
        if (Known* known = Find(entry.ended().process())) {
          known->session->Ended(entry.ended().ending());
        }
        break;
      case capture::Entry::kEnd:
        Saw(entry.end().time_ns());
        has_end_ = true;
        end_reason_ = entry.end().reason();
        for (const int64_t pid : entry.end().late_pids()) {
          replay_.late.push_back(static_cast<pid_t>(pid));
        }
        break;
      case capture::Entry::ENTRY_NOT_SET:
        break;
    }
  }

  Replay Finish(const std::string& damage) {
    for (Known& known : known_) {
      // Of one without a state nothing is known but that there was one.
      if (known.has_state) replay_.sessions.push_back(std::move(known.session));
    }
    const auto note = [this](auto... text) { replay_.notes.push_back(absl::StrCat(text...)); };
    if (!damage.empty()) note(damage);
    if (!end_reason_.empty()) {
      note("the recording ended early: ", end_reason_);
    } else if (!has_end_) {
      note(
          "the recording has no end: its recorder was killed, or still runs; up to its last second "
          "is missing");
    }
    if (left_out_processes_ > 0) {
      note(left_out_processes_, " processes were left out: there are more than ", kMostProcesses);
    }
    if (not_understood_ > 0) {
      note(not_understood_,
           " messages that make no sense were left out; of the first: ", first_not_understood_);
    }
    return std::move(replay_);
  }

 private:
  struct Known {
    std::unique_ptr<Session> session;
    bool has_state = false;
  };

  void Saw(int64_t time_ns) { replay_.now_ns = std::max(replay_.now_ns, time_ns); }

  Known* Find(uint64_t number) {
    const auto found = by_number_.find(number);
    return found == by_number_.end() ? nullptr : &known_[found->second];
  }

  void Begin(const capture::Process& process) {
    if (Find(process.number()) != nullptr) return;
    if (known_.size() == kMostProcesses) {
      ++left_out_processes_;
      return;
    }
    by_number_[process.number()] = known_.size();
    known_.push_back({std::make_unique<Session>(process, limits_)});
  }

  void Take(const capture::Message& message) {
    Known* known = Find(message.process());
    if (known == nullptr) return;
    Saw(message.time_ns());
    Session& session = *known->session;
    arena_.Reset();
    auto* told = google::protobuf::Arena::CreateMessage<wire::FromCollector>(&arena_);
    if (message.message().size() > kMaxMessageBytes || !told->ParseFromString(message.message())) {
      NotUnderstood("it does not parse");
      return;
    }
    if (told->has_hello()) {
      session.Greet(told->hello(), message.new_connection(), message.time_ns());
      return;
    }
    const absl::Status taken = session.Take(*told, message.time_ns());
    if (!taken.ok()) NotUnderstood(taken.message());
    if (taken.ok() && told->has_batch() && events_.batch) events_.batch(session, told->batch());
  }

  void NotUnderstood(absl::string_view why) {
    if (not_understood_++ == 0) first_not_understood_ = std::string(why);
  }

  const ReplayEvents& events_;
  Replay replay_;
  SessionLimits limits_ = StoreLimits::FromMegabytes(StoreLimits::kDefaultMegabytes).session;
  std::vector<Known> known_;
  absl::flat_hash_map<uint64_t, size_t> by_number_;
  google::protobuf::Arena arena_;
  bool has_end_ = false;
  std::string end_reason_;
  uint64_t left_out_processes_ = 0;
  uint64_t not_understood_ = 0;
  std::string first_not_understood_;
};

}  // namespace

absl::StatusOr<Replay> ReplayCapture(const std::string& path, const ReplayEvents& events) {
  absl::StatusOr<std::unique_ptr<CaptureReader>> reader = CaptureReader::Open(path);
  if (!reader.ok()) return reader.status();
  Replayer replayer(events);
  capture::Entry entry;
  for (uint64_t entries = 0; (*reader)->Next(&entry); ++entries) {
    replayer.Take(entry);
    if (entries % kEntriesBetweenProgress != 0) continue;
    if (events.progress) events.progress((*reader)->PartRead());
    if (events.cancelled && events.cancelled()) return absl::CancelledError("interrupted");
  }
  return replayer.Finish((*reader)->damage());
}

absl::StatusOr<query::Table> TableOfReplay(const Replay& replay,
                                           const query::TableRequest& request) {
  std::vector<const Session*> sessions;
  for (const auto& session : replay.sessions) {
    if (request.pid() != 0 && session->pid() != request.pid()) continue;
    // Of several that had the number, the latest is meant.
    if (request.pid() != 0) sessions.clear();
    sessions.push_back(session.get());
  }
  if (request.pid() != 0 && sessions.empty()) {
    query::Processes known;
    for (const auto& session : replay.sessions) *known.add_processes() = session->Describe();
    return absl::InvalidArgumentError(
        absl::StrCat("no process ", request.pid(), " is in the capture; ", KnownProcesses(known)));
  }
  query::Table table = TableOf(sessions, request, replay.late, replay.now_ns);
  for (const std::string& note : replay.notes) table.add_notes(note);
  return table;
}

}  // namespace tp
