// What a recording knows of a session: as it is told by the daemon, and as it goes on in a file.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/serve/session.h"
#include "analyzer/wire/descriptions_decoder.h"

namespace tp {
namespace {

// An operation that is open takes some hundred bytes: these are more than anyone has open.
constexpr int kMostOpen = 1 << 16;
constexpr size_t kMostOpenBytes = size_t{2} << 20;
constexpr const char* kNotRecorded = "recorder was slow";

}  // namespace

void Session::SaveState(int64_t now_ns, capture::State* state) const {
  state->set_time_ns(now_ns);
  state->set_from_the_beginning(last_sequence() == 0);
  state->set_connected(connected());
  *state->mutable_hello() = hello_;
  *state->mutable_status() = status_;
  state->mutable_status()->set_state(state_);
  state->mutable_status()->set_recording_start_ns(recording_start_ns_);
  if (goodbye_.has_value()) state->mutable_goodbye()->set_reason(*goodbye_);
  EncodeDescriptions(summary_->descriptions(), state->mutable_descriptions());
  for (const ClockReading& reading : clock_.recent()) {
    wire::ClockPair* pair = state->add_clocks();
    pair->set_host_ns(reading.host_ns);
    pair->set_cupti_ns(reading.cupti_ns);
    pair->set_bracket_ns(reading.bracket_ns);
  }
  state->set_last_seen_ns(last_seen_ns_);
  state->set_last_told_ns(last_told_ns_);
  losses_.Save(state->mutable_account());
  state->set_names_left_out(names_.left_out());
  state->set_descriptions_left_out(descriptions_left_out_);

  size_t bytes = 0;
  summary_->VisitOpenSpans([&](const Span& span, bool has_key) {
    const auto text = [&](StringId id) { return std::string(Text(id)); };
    if (state->open_size() == kMostOpen || bytes >= kMostOpenBytes) {
      state->set_open_left_out(state->open_left_out() + 1);
      return;
    }
    capture::OpenOperation* open = state->add_open();
    open->set_id(span.id);
    open->set_start_ns(span.start_ns);
    open->set_thread(span.thread);
    open->set_name(has_key ? text(span.name) : "(other)");
    open->set_kind(static_cast<unsigned char>(span.kind));
    open->set_asynchronous(span.asynchronous);
    open->set_shapes(text(span.shapes));
    open->set_dtypes(text(span.dtypes));
    open->set_stack(text(span.stack));
    open->set_flops(span.flops);
    open->set_output_bytes(span.output_bytes);
    bytes += open->ByteSizeLong();
  });
}

void Session::Restore(const capture::State& state) {
  const bool is_first = !recording_->before.has_value();
  losses_.Restore(state.account());
  if (is_first) {
    recording_->before = state.from_the_beginning() ? LossAccount() : losses_;
    recording_->from_the_beginning = state.from_the_beginning();
    recording_->open_at_first = static_cast<uint64_t>(state.open_size()) + state.open_left_out();
  }
  recording_->open_left_out += state.open_left_out();
  recording_->not_recorded = CountsOf(state.not_recorded());
  if (!is_first) CloseUnseen(state);

  Greet(state.hello(), /*new_connection=*/false, state.last_seen_ns());
  wire::Status status = state.status();
  // The account has them.
  status.clear_clock();
  *status.mutable_losses() = state.account().told();
  *status.mutable_produced() = state.account().produced();
  Told(status);
  last_told_ns_ = state.last_told_ns();
  if (state.has_goodbye()) Told(state.goodbye());
  clock_ = ClockTime();
  for (const wire::ClockPair& pair : state.clocks()) {
    clock_.Add({pair.host_ns(), pair.cupti_ns(), pair.bracket_ns()});
  }
  Add(state.descriptions());
  descriptions_left_out_ = state.descriptions_left_out();
  names_.SetLeftOut(state.names_left_out());
  recorded_connection_ = state.connected();
  summary_->SetRecordingEnd(state.connected() ? INT64_MAX : state.last_seen_ns());

  // Of what began before only what follows is known: neither what it contained nor what it
  // launched.
  if (!state.from_the_beginning()) summary_->SetSpansFrom(state.time_ns());
  for (const capture::OpenOperation& open : state.open()) AddOpen(open);
}

void Session::AddOpen(const capture::OpenOperation& open) {
  Span span;
  span.id = open.id();
  span.start_ns = open.start_ns();
  span.thread = open.thread();
  span.name = strings_->Intern(open.name());
  const auto kind = static_cast<SpanKind>(open.kind());
  if (kind == SpanKind::kOperation || kind == SpanKind::kBackward) span.kind = kind;
  span.asynchronous = open.asynchronous();
  span.shapes = strings_->Intern(open.shapes());
  span.dtypes = strings_->Intern(open.dtypes());
  span.stack = strings_->Intern(open.stack());
  span.flops = open.flops();
  span.output_bytes = open.output_bytes();
  summary_->AddSpan(span);
}

void Session::CloseUnseen(const capture::State& state) {
  if (state.open_left_out() > 0) return;  // It is not known then which are still open.
  std::set<uint64_t> still_open;
  for (const capture::OpenOperation& open : state.open()) still_open.insert(open.id());
  std::vector<uint64_t> ended;
  summary_->VisitOpenSpans([&](const Span& span, bool) {
    if (still_open.count(span.id) == 0) ended.push_back(span.id);
  });
  // Nothing is known of them after this.
  for (const uint64_t id : ended) summary_->CloseSpan(id, last_seen_ns_);
  recording_->ended_unseen += ended.size();
}

void Session::SetStackNames(const capture::StackNames& stacks) {
  for (int i = 0; i < std::min(stacks.stack_id_size(), stacks.text_size()); ++i) {
    names_.SetStack(stacks.stack_id(i), stacks.text(i));
  }
}

EventCounts Session::Events() const {
  EventCounts events = losses_.received();
  if (!recording_.has_value() || !recording_->before.has_value()) return events;
  for (size_t kind = 0; kind < events.size(); ++kind) {
    for (const uint64_t other :
         {recording_->before->received()[kind], recording_->not_recorded[kind]}) {
      events[kind] -= std::min(events[kind], other);
    }
  }
  return events;
}

std::vector<query::Loss> Session::Losses() const {
  std::vector<query::Loss> losses = losses_.Losses(/*ended=*/!connected());
  if (!recording_.has_value() || !recording_->before.has_value()) return losses;
  std::map<std::pair<std::string, std::string>, uint64_t> before;
  for (const query::Loss& loss : recording_->before->Losses(/*ended=*/false)) {
    before[{loss.kind(), loss.cause()}] = loss.count();
  }
  std::vector<query::Loss> since;
  for (query::Loss& loss : losses) {
    const auto known = before.find({loss.kind(), loss.cause()});
    const uint64_t earlier = known == before.end() ? 0 : known->second;
    if (loss.count() <= earlier) continue;
    loss.set_count(loss.count() - earlier);
    since.push_back(std::move(loss));
  }
  for (size_t kind = 0; kind < recording_->not_recorded.size(); ++kind) {
    if (recording_->not_recorded[kind] == 0) continue;
    query::Loss& loss = since.emplace_back();
    loss.set_kind(KindWord(static_cast<int>(kind)));
    loss.set_cause(kNotRecorded);
    loss.set_count(recording_->not_recorded[kind]);
  }
  return since;
}

void Session::AddNotesOfRecording(query::Process* process) const {
  if (!recording_->from_the_beginning) {
    process->add_notes(
        "it ran already when its recording began: device work that was launched before has no "
        "operation, and memory that was allocated before is not known");
    if (recording_->open_at_first > 0) {
      process->add_notes(
          absl::StrCat(recording_->open_at_first,
                       recording_->open_at_first == 1 ? " operation was" : " operations were",
                       " open when the recording began: counted from then on"));
    }
  }
  if (recording_->open_left_out > 0) {
    process->add_notes(absl::StrCat(
        recording_->open_left_out,
        " operations that were open are not in the recording: there were too many of them"));
  }
  if (recording_->ended_unseen > 0) {
    process->add_notes(absl::StrCat(
        recording_->ended_unseen,
        " operations ended in a part that the recorder was too slow for: they count up to there"));
  }
}

}  // namespace tp
