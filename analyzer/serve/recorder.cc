#include "analyzer/serve/recorder.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "analyzer/serve/query_service.h"
#include "analyzer/serve/traced_process.h"
#include "analyzer/wire/batch_decoder.h"
#include "analyzer/wire/framing.h"
#include "proto/version.h"

namespace tp {
namespace {

constexpr size_t kNamesAtATime = size_t{256} << 10;  // Bytes.

int64_t RealtimeNow() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// What ties launches to operations is no event of the user's.
uint64_t EventsIn(const EventCounts& counts) {
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0}) -
         counts[wire::LAUNCH_OPERATION];
}

uint64_t LossesOf(const Session& session) {
  uint64_t losses = 0;
  for (const query::Loss& loss : session.losses().Losses(/*ended=*/!session.connected())) {
    losses += loss.count();
  }
  return losses;
}

}  // namespace

Recorder::Recorder(Connection* connection, const Credentials& asker,
                   const query::RecordRequest& request, size_t memory_bytes, int64_t now_ns)
    : connection_(connection), asker_(asker), request_(request) {
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  capture::Entry entry;
  capture::Beginning* beginning = entry.mutable_beginning();
  beginning->set_daemon_version(kVersion);
  beginning->set_host_name(host);
  beginning->set_time_ns(now_ns);
  beginning->set_realtime_ns(RealtimeNow());
  beginning->set_memory_megabytes(memory_bytes >> 20);
  Tell(entry);
}

bool Recorder::Wants(const Session& session) const {
  if (!MaySee(asker_, session)) return false;
  if (request_.descendants()) return DescendsFrom(session.pid(), asker_.pid);
  const auto& pids = request_.pids();
  return pids.empty() || std::find(pids.begin(), pids.end(), session.pid()) != pids.end();
}

void Recorder::Begin(const Session& session, int64_t now_ns) {
  if (ending_) return;
  const auto [place, is_new] = tracked_.try_emplace(&session);
  if (!is_new) return;
  Tracked& tracked = place->second;
  tracked.number = ++processes_;
  tracked.lost_before = session.last_sequence() == 0 ? 0 : LossesOf(session);
  LookForLosses(session, &tracked);
  capture::Entry entry;
  capture::Process* process = entry.mutable_process();
  process->set_number(tracked.number);
  process->set_pid(session.pid());
  process->set_uid(session.uid());
  process->set_connected_ns(session.connected_ns());
  *process->mutable_hello() = session.hello();
  Tell(entry);
  CatchUp(session, &tracked, now_ns);
}

void Recorder::CatchUp(const Session& session, Tracked* tracked, int64_t now_ns) {
  const bool all = TellNames(session, tracked, now_ns) && TellStacks(session, tracked);
  if (all && HasRoom(1)) TellState(session, tracked, now_ns);
}

bool Recorder::TellNames(const Session& session, Tracked* tracked, int64_t now_ns) {
  const NameTable& names = session.names();
  while (tracked->names < names.size() && HasRoom(kNamesAtATime)) {
    wire::FromCollector message;
    wire::Strings* strings = message.mutable_strings();
    strings->set_first_id(static_cast<uint32_t>(tracked->names));
    for (size_t bytes = 0; tracked->names < names.size() && bytes < kNamesAtATime;
         ++tracked->names) {
      const std::string_view text = names.Text(static_cast<uint32_t>(tracked->names));
      strings->add_text(text.data(), text.size());
      bytes += text.size() + 8;
    }
    capture::Entry entry;
    entry.mutable_message()->set_process(tracked->number);
    entry.mutable_message()->set_time_ns(now_ns);
    message.SerializeToString(entry.mutable_message()->mutable_message());
    Tell(entry);
  }
  return tracked->names >= names.size();
}

bool Recorder::TellStacks(const Session& session, Tracked* tracked) {
  const std::vector<uint32_t>& known = session.names().known_stacks();
  while (tracked->stacks < known.size() && HasRoom(kNamesAtATime)) {
    capture::Entry entry;
    capture::StackNames* stacks = entry.mutable_stack_names();
    stacks->set_process(tracked->number);
    for (size_t bytes = 0; tracked->stacks < known.size() && bytes < kNamesAtATime;
         ++tracked->stacks) {
      const std::string_view text = session.names().KnownStackText(known[tracked->stacks]);
      stacks->add_stack_id(known[tracked->stacks]);
      stacks->add_text(text.data(), text.size());
      bytes += text.size() + 8;
    }
    Tell(entry);
  }
  return tracked->stacks == known.size();
}

void Recorder::TellState(const Session& session, Tracked* tracked, int64_t now_ns) {
  capture::Entry entry;
  capture::State* state = entry.mutable_state();
  state->set_process(tracked->number);
  session.SaveState(now_ns, state);
  SaveCounts(tracked->not_recorded, state->mutable_not_recorded());
  tracked->has_begun = tracked->is_told = true;
  Tell(entry);
  TellEnding(session, tracked);
}

void Recorder::TellEnding(const Session& session, Tracked* tracked) {
  const bool is_told = tracked->ending != capture::NOT_ENDED;
  if (is_told || !tracked->is_told || session.connected()) return;
  const capture::Ending ending = session.ending();
  if (ending == capture::NOT_ENDED) return;
  tracked->ending = ending;
  all_ended_ = HaveAllEnded();
  capture::Entry entry;
  entry.mutable_ended()->set_process(tracked->number);
  entry.mutable_ended()->set_ending(ending);
  Tell(entry);
}

bool Recorder::HaveAllEnded() const {
  const auto has_ended = [this](int64_t pid) {
    return std::any_of(tracked_.begin(), tracked_.end(), [pid](const auto& known) {
      const capture::Ending ending = known.second.ending;
      // After the others another program or collector goes on under the same pid.
      return known.first->pid() == pid && (ending == capture::GOODBYE || ending == capture::GONE);
    });
  };
  return !request_.pids().empty() &&
         std::all_of(request_.pids().begin(), request_.pids().end(), has_ended);
}

void Recorder::Taken(const Session& session, const wire::FromCollector& message,
                     std::string_view bytes, bool new_connection, int64_t now_ns) {
  if (ending_) return;
  const auto place = tracked_.find(&session);
  if (place == tracked_.end()) {
    if (message.has_hello() && Wants(session)) Begin(session, now_ns);
    return;
  }
  Tracked& tracked = place->second;
  if (message.has_flush_done()) return;
  if (message.has_status()) LookForLosses(session, &tracked);
  const EventCounts events = message.has_batch() ? CountEvents(message.batch()) : EventCounts{};
  if (tracked.is_told && TellStacks(session, &tracked) && HasRoom(bytes.size())) {
    capture::Entry entry;
    capture::Message* told = entry.mutable_message();
    told->set_process(tracked.number);
    told->set_time_ns(now_ns);
    told->set_new_connection(new_connection);
    told->set_message(bytes.data(), bytes.size());
    events_ += EventsIn(events);
    if (message.has_strings()) tracked.names = session.names().size();
    if (message.has_hello()) tracked.ending = capture::NOT_ENDED;
    Tell(entry);
    return;
  }
  tracked.is_told = false;
  if (!tracked.has_begun) return;
  for (size_t kind = 0; kind < events.size(); ++kind) tracked.not_recorded[kind] += events[kind];
  not_recorded_ += EventsIn(events);
}

void Recorder::Disconnected(const Session& session, int64_t now_ns) {
  const auto place = tracked_.find(&session);
  if (ending_ || place == tracked_.end()) return;
  LookForLosses(session, &place->second);
  if (!place->second.is_told) return;  // Its state will tell.
  capture::Entry entry;
  entry.mutable_disconnected()->set_process(place->second.number);
  entry.mutable_disconnected()->set_time_ns(now_ns);
  Tell(entry);
  TellEnding(session, &place->second);
}

void Recorder::LookForEndings() {
  for (auto& [session, tracked] : tracked_) TellEnding(*session, &tracked);
}

void Recorder::LetGo(const Session& session, int64_t now_ns) {
  const auto place = tracked_.find(&session);
  if (place == tracked_.end()) return;
  Tracked& tracked = place->second;
  if (!ended_ && !tracked.is_told) TellState(session, &tracked, now_ns);
  if (!ended_) TellEnding(session, &tracked);
  tracked_.erase(place);
}

void Recorder::Drained(int64_t now_ns) {
  for (auto& [session, tracked] : tracked_) {
    if (!tracked.is_told) CatchUp(*session, &tracked, now_ns);
  }
  EndIfTold(now_ns);
}

void Recorder::End(const std::vector<pid_t>& late, int64_t now_ns) {
  if (ending_) return;
  late_ = late;
  LookForEndings();
  ending_ = true;
  Drained(now_ns);
}

void Recorder::LookForLosses(const Session& session, Tracked* tracked) {
  const uint64_t losses = LossesOf(session);
  const uint64_t lost = losses - std::min(losses, tracked->lost_before);
  lost_ += lost - tracked->lost;
  tracked->lost = lost;
}

void Recorder::EndIfTold(int64_t now_ns) {
  if (!ending_ || ended_) return;
  for (const auto& [session, tracked] : tracked_) {
    if (!tracked.is_told) return;
  }
  ended_ = true;
  capture::Entry entry;
  entry.mutable_end()->set_time_ns(now_ns);
  for (const pid_t pid : late_) entry.mutable_end()->add_late_pids(pid);
  Tell(entry, /*last=*/true);
}

void Recorder::Tell(const capture::Entry& entry, bool last) {
  query::Response response;
  query::Recorded* recorded = response.mutable_recorded();
  AppendMessage(entry, recorded->mutable_entries());
  recorded->set_events(events_);
  recorded->set_not_recorded(not_recorded_);
  recorded->set_lost(lost_);
  recorded->set_processes(static_cast<uint32_t>(processes_));
  recorded->set_last(last);
  recorded->set_all_ended(all_ended_);
  connection_->Send(response);
}

}  // namespace tp
