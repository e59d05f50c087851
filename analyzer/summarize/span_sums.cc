#include "analyzer/summarize/span_sums.h"

#include <algorithm>

namespace tp {
namespace {

constexpr size_t kEndsBeforeSpans = 1 << 12;

}  // namespace

SpanSums::SpanSums(size_t span_limit, size_t group_limit)
    : span_limit_(std::clamp<size_t>(span_limit, 1, kNoSpan - 1)),
      nesting_(this),
      groups_(std::min<size_t>(group_limit, (1 << 28) - 1)),
      by_id_(0, HashOfId{&nesting_}, EqualId{&nesting_}),
      work_before_span_(span_limit_),
      end_before_span_(kEndsBeforeSpans) {}

SpanSlot SpanSums::Find(uint64_t id) const {
  auto found = by_id_.find(id);
  return found == by_id_.end() ? kNoSpan : *found;
}

SpanGroup* SpanSums::GroupOf(SpanSlot span) {
  return spans_[span].flags & kInAverages ? &groups_[spans_[span].group] : nullptr;
}

bool SpanSums::Add(const Span& span) {
  bool has_id = span.id != kNoOperation;
  if (has_id && Find(span.id) != kNoSpan) return true;
  if (nesting_.size() >= span_limit_ && !LetGoOldest()) {
    ++too_late_;
    return true;
  }

  int64_t end_ns = span.end_ns;
  if (has_id && end_ns == kStillOpen) {
    if (const int64_t* ended = end_before_span_.Find(span.id)) {
      end_ns = *ended;
      end_before_span_.Erase(span.id);
    }
  }
  bool is_possible = end_ns >= span.start_ns;
  if (!is_possible) end_ns = span.start_ns;
  bool is_open = end_ns == kStillOpen;

  SpanSlot slot = nesting_.next_slot();
  spans_.Reach(slot);
  SpanState& state = spans_[slot];
  state = SpanState();
  state.sequence = static_cast<uint32_t>(added_);
  state.group = groups_.Index({span.name, span.shapes, span.stack, span.kind, span.asynchronous});
  if (is_open || end_ns > span.start_ns) {
    SpanGroup& group = groups_[state.group];
    group.first_seen = std::min(group.first_seen, added_);
  }
  ++added_;
  if (span.given_device_ns >= 0) {
    state.flags |= kGivenDeviceTime;
    state.self_device_ns = state.device_total_ns = state.device_waiting_ns = span.given_device_ns;
    state.kernels = static_cast<int32_t>(span.given_kernel_count);
  }
  if (span.output_bytes > 0 || span.flops != 0) {
    state.flags |= kHasBytes;
    int64_t output = std::max<int64_t>(0, span.output_bytes);
    bytes_[slot] = {span.flops, output, output, output};
  }
  if (!is_open) EnterAverages(slot, end_ns - span.start_ns, span.asynchronous, 0);

  if (span.asynchronous) {
    nesting_.InsertAsynchronous(span.id, span.start_ns, end_ns);
  } else {
    nesting_.Insert(span.thread, span.id, span.start_ns, end_ns);
  }
  if (is_open) {
    open_.insert(slot);
  } else {
    ended_.push_back(slot);
  }
  if (has_id) {
    by_id_.insert(slot);
    if (const DeviceWork* work = work_before_span_.Find(span.id)) {
      AddOwnWork(slot, *work);
      work_before_span_.Erase(span.id);
    }
  }
  return is_possible;
}

bool SpanSums::Close(uint64_t id, int64_t end_ns) {
  if (id == kNoOperation || end_ns == kStillOpen) return true;
  SpanSlot span = Find(id);
  if (span == kNoSpan) {
    end_before_span_.At(id, [](const auto&) {}) = end_ns;
    return true;
  }
  if (open_.erase(span) == 0) return true;
  bool is_possible = end_ns >= nesting_.start_ns(span);
  end_ns = std::max(end_ns, nesting_.start_ns(span));
  EnterAverages(span, end_ns - nesting_.start_ns(span), nesting_.asynchronous(span),
                nesting_.covered_ns(span));
  nesting_.Close(span, end_ns);
  ended_.push_back(span);
  return is_possible;
}

void SpanSums::EnterAverages(SpanSlot span, int64_t duration_ns, bool asynchronous,
                             int64_t covered_ns) {
  if (duration_ns == 0) return;
  SpanState& state = spans_[span];
  state.flags |= kInAverages;
  SpanGroup& group = groups_[state.group];
  group.calls.Add(duration_ns);
  if (!asynchronous) group.self_cpu_ns += duration_ns - covered_ns;
  group.device_total_ns += state.device_total_ns;
  group.self_device_ns += state.self_device_ns;
  group.kernels += state.kernels;
  if (state.flags & kHasBytes) {
    const Bytes& bytes = bytes_[span];
    group.flops += bytes.flops;
    group.output_bytes += bytes.output;
    group.nested_output_bytes += bytes.nested;
  }
}

void SpanSums::CoveredTimeChanged(SpanSlot parent, int64_t delta_ns) {
  if (SpanGroup* group = GroupOf(parent)) group->self_cpu_ns -= delta_ns;
}

void SpanSums::Leaving(SpanSlot child, SpanSlot parent) {
  SpanState& state = spans_[child];
  AddDeviceTotal(parent, state.device_waiting_ns - state.device_total_ns);
  state.device_waiting_ns = state.device_total_ns;
  if (state.flags & kHasBytes) {
    int64_t carried = bytes_[child].nested - bytes_[child].waiting;
    AddNestedBytes(parent, -carried);
    bytes_[child].waiting += carried;
  }
}

void SpanSums::Joined(SpanSlot child, SpanSlot) { MarkDirty(child); }

void SpanSums::MarkDirty(SpanSlot span) {
  SpanState& state = spans_[span];
  if (state.flags & kDirty) return;
  if (state.device_waiting_ns == 0 && !(state.flags & kHasBytes)) return;
  state.flags |= kDirty;
  dirty_.push_back(span);
}

void SpanSums::AddWork(uint64_t operation, const DeviceWork& work) {
  SpanSlot span = Find(operation);
  if (span != kNoSpan) {
    AddOwnWork(span, work);
    return;
  }
  if (any_let_go_ && operation <= largest_let_go_ && work.records > 0) too_late_ += work.records;
  work_before_span_.At(operation, [](const auto&) {}) += work;
}

void SpanSums::AddOwnWork(SpanSlot span, const DeviceWork& work) {
  attributed_records_ += work.records;
  attributed_ns_ += work.duration_ns;
  SpanState& state = spans_[span];
  if (state.flags & kGivenDeviceTime) return;
  state.self_device_ns += work.duration_ns;
  state.kernels += work.kernels;
  if (SpanGroup* group = GroupOf(span)) {
    group->self_device_ns += work.duration_ns;
    group->kernels += work.kernels;
  }
  AddDeviceTotal(span, work.duration_ns);
}

void SpanSums::AddDeviceTotal(SpanSlot span, int64_t delta_ns) {
  if (delta_ns == 0) return;
  SpanState& state = spans_[span];
  SpanGroup* group = GroupOf(span);
  if (state.flags & kGivenDeviceTime) {
    // The total is given: what the spans inside have is not its own.
    state.self_device_ns -= delta_ns;
    if (group != nullptr) group->self_device_ns -= delta_ns;
    return;
  }
  state.device_total_ns += delta_ns;
  state.device_waiting_ns += delta_ns;
  if (group != nullptr) group->device_total_ns += delta_ns;
  MarkDirty(span);
}

void SpanSums::AddNestedBytes(SpanSlot span, int64_t delta) {
  if (delta == 0) return;
  spans_[span].flags |= kHasBytes;
  Bytes& bytes = bytes_[span];
  bytes.nested += delta;
  bytes.waiting += delta;
  if (SpanGroup* group = GroupOf(span)) group->nested_output_bytes += delta;
  MarkDirty(span);
}

void SpanSums::CarryUp(SpanSlot span) {
  SpanState& state = spans_[span];
  state.flags &= ~kDirty;
  SpanSlot parent = nesting_.parent(span);
  if (parent == kNoSpan) return;  // It waits for one that may come.
  AddDeviceTotal(parent, std::exchange(state.device_waiting_ns, 0));
  if (state.flags & kHasBytes) AddNestedBytes(parent, std::exchange(bytes_[span].waiting, 0));
}

void SpanSums::MoveUp() {
  auto earlier = [this](SpanSlot a, SpanSlot b) { return nesting_.Before(a, b); };
  std::make_heap(dirty_.begin(), dirty_.end(), earlier);
  while (!dirty_.empty()) {
    std::pop_heap(dirty_.begin(), dirty_.end(), earlier);
    SpanSlot latest = dirty_.back();
    dirty_.pop_back();
    size_t others = dirty_.size();
    CarryUp(latest);
    if (dirty_.size() > others) std::push_heap(dirty_.begin(), dirty_.end(), earlier);
  }
}

bool SpanSums::LetGoOldest() {
  MoveUp();
  // Several at a time, so that MoveUp is paid for once.
  size_t count = std::min(ended_.size(), 1 + span_limit_ / 64);
  for (size_t i = 0; i < count; ++i) {
    SpanSlot span = ended_.front();
    ended_.pop_front();
    if (uint64_t id = nesting_.id(span); id != kNoOperation) {
      by_id_.erase(span);
      largest_let_go_ = std::max(largest_let_go_, id);
      any_let_go_ = true;
    }
    bytes_.erase(span);
    nesting_.LetGo(span);
  }
  return count > 0;
}

SpanNumbers SpanSums::Numbers(SpanSlot span) const {
  const SpanState& state = spans_[span];
  SpanNumbers numbers = {state.self_device_ns, state.device_total_ns, state.kernels, 0, 0, 0};
  if (auto found = bytes_.find(span); found != bytes_.end()) {
    numbers.flops = found->second.flops;
    numbers.output_bytes = found->second.output;
    numbers.nested_output_bytes = found->second.nested;
  }
  return numbers;
}

uint64_t SpanSums::Sequence(SpanSlot span) const {
  return added_ - (static_cast<uint32_t>(added_) - spans_[span].sequence);
}

int64_t SpanSums::SelfCpu(SpanSlot span, int64_t duration_ns, int64_t covered_ns) const {
  return nesting_.asynchronous(span) ? 0 : std::max<int64_t>(0, duration_ns - covered_ns);
}

std::vector<SpanSums::KeptSpan> SpanSums::Kept(int64_t now_ns) const {
  std::vector<KeptSpan> kept;
  kept.reserve(ended_.size() + open_.size());
  for (SpanSlot span : ended_) {
    const int64_t duration_ns = nesting_.end_ns(span) - nesting_.start_ns(span);
    kept.push_back(
        {span, false, duration_ns, SelfCpu(span, duration_ns, nesting_.covered_ns(span))});
  }
  for (const OpenSpan& open : Open(now_ns)) {
    kept.push_back({open.span, true, open.duration_ns, open.self_cpu_ns});
  }
  std::sort(kept.begin(), kept.end(), [this](const KeptSpan& a, const KeptSpan& b) {
    return Sequence(a.span) < Sequence(b.span);
  });
  return kept;
}

std::vector<SpanSums::OpenSpan> SpanSums::Open(int64_t now_ns) const {
  std::vector<OpenSpan> open;
  absl::flat_hash_map<SpanSlot, int64_t> covered_by_open;
  for (SpanSlot span : open_) {
    open.push_back({span, std::max<int64_t>(0, now_ns - nesting_.start_ns(span)), 0});
    if (SpanSlot parent = nesting_.parent(span); parent != kNoSpan) {
      covered_by_open[parent] += nesting_.CoveredByOpen(span, now_ns);
    }
  }
  for (OpenSpan& span : open) {
    auto covered = covered_by_open.find(span.span);
    int64_t covered_ns =
        nesting_.covered_ns(span.span) + (covered == covered_by_open.end() ? 0 : covered->second);
    span.self_cpu_ns = SelfCpu(span.span, span.duration_ns, covered_ns);
  }
  std::sort(open.begin(), open.end(), [this](const OpenSpan& a, const OpenSpan& b) {
    return Sequence(a.span) < Sequence(b.span);
  });
  return open;
}

size_t SpanSums::memory_bytes() const {
  return nesting_.memory_bytes() + spans_.memory_bytes() + groups_.memory_bytes() +
         by_id_.capacity() * (sizeof(SpanSlot) + 1) + open_.capacity() * (sizeof(SpanSlot) + 1) +
         bytes_.capacity() * (sizeof(std::pair<const SpanSlot, Bytes>) + 1) +
         (ended_.size() + dirty_.capacity()) * sizeof(SpanSlot) + work_before_span_.memory_bytes() +
         end_before_span_.memory_bytes();
}

}  // namespace tp
