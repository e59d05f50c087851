#include "tests/simcuda/cupti/lane.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>

#include "tests/simcuda/cupti/client.h"
#include "tests/simcuda/cupti/dropped_records.h"
#include "tests/simcuda/cupti/faults.h"

namespace simcupti {
namespace {

constexpr size_t kDeviceLanes = 16;

struct Lanes {
  std::array<Lane, kDeviceLanes> device;
  Lane shared;  // Of all threads, where they have none of their own.
  std::mutex mutex;
  // Guarded by mutex. Lanes of threads that have ended stay until a flush has emptied them.
  std::vector<std::shared_ptr<Lane>> of_threads;
  std::atomic<bool> per_thread{true};
};

Lanes& CurrentLanes() { return OfClient<Lanes>(); }

// Set when this thread's own variables are being destroyed: calls that come later share a lane.
thread_local bool thread_is_ending = false;

struct OwnLane {
  std::shared_ptr<Lane> lane = std::make_shared<Lane>();
  OwnLane() {
    Lanes& lanes = CurrentLanes();
    std::lock_guard lock(lanes.mutex);
    lanes.of_threads.push_back(lane);
  }
  ~OwnLane() { thread_is_ending = true; }
};

}  // namespace

void Lane::RetireCurrent() {
  if (current_ == nullptr) return;
  if (current_->incomplete > 0) {
    withheld_.push_back(std::move(current_));
  } else {
    ReturnLater(std::move(current_));
  }
}

void Lane::WriteBytes(const PosedRecord& record, RecordOrigin origin, const WorkKey* running) {
  if (ActiveFaults().drop_record.Next()) {
    CountDroppedRecord(origin.context_id, origin.stream_id);
    return;
  }
  std::unique_lock lock(mutex_);
  while (current_ == nullptr || !current_->HasRoom(record.bytes)) {
    RetireCurrent();
    if (!spare_.empty() && spare_.back()->HasRoom(record.bytes)) {
      current_ = std::move(spare_.back());
      spare_.pop_back();
      break;
    }
    const uint64_t generation = generation_;
    lock.unlock();
    std::unique_ptr<ClientBuffer> fresh = RequestClientBuffer(record.bytes);
    if (fresh == nullptr) {
      CountDroppedRecord(origin.context_id, origin.stream_id);
      return;
    }
    lock.lock();
    // The client that lent it has finalized meanwhile: a later one must not be given it.
    if (generation != generation_) return;
    if (current_ == nullptr) {
      current_ = std::move(fresh);
    } else {
      spare_.push_back(std::move(fresh));
    }
  }
  ClientBuffer& buffer = *current_;
  record.CopyTo(buffer.data + buffer.used_bytes);
  if (running != nullptr) {
    running_.emplace(*running, Place{&buffer, buffer.used_bytes});
    ++buffer.incomplete;
  }
  buffer.used_bytes += record.bytes;
  ++buffer.records;
  if (buffer.records == buffer.max_records) RetireCurrent();
}

bool Lane::FinishBytes(const WorkKey& key, const PosedRecord& record) {
  std::lock_guard lock(mutex_);
  if (const auto given = given_away_running_.find(key); given != given_away_running_.end()) {
    given_away_running_.erase(given);
    return true;
  }
  const auto found = running_.find(key);
  if (found == running_.end()) return false;
  const Place place = found->second;
  running_.erase(found);
  record.CopyTo(place.buffer->data + place.offset);
  if (--place.buffer->incomplete > 0 || place.buffer == current_.get()) return true;
  const auto withheld = std::find_if(withheld_.begin(), withheld_.end(),
                                     [&](const auto& held) { return held.get() == place.buffer; });
  ReturnLater(std::move(*withheld));
  withheld_.erase(withheld);
  return true;
}

void Lane::TakeBuffers(bool forced, std::vector<std::unique_ptr<ClientBuffer>>* buffers) {
  std::lock_guard lock(mutex_);
  if (forced) {
    for (auto& buffer : withheld_) buffers->push_back(std::move(buffer));
    withheld_.clear();
    for (const auto& [key, place] : running_) given_away_running_.emplace(key, 0);
    running_.clear();
    if (current_ != nullptr) buffers->push_back(std::move(current_));
    for (auto& buffer : spare_) buffers->push_back(std::move(buffer));
    spare_.clear();
  } else if (current_ != nullptr && current_->incomplete == 0) {
    buffers->push_back(std::move(current_));
  }
}

void Lane::Discard() {
  std::lock_guard lock(mutex_);
  ++generation_;
  current_.reset();
  withheld_.clear();
  spare_.clear();
  running_.clear();
  given_away_running_.clear();
}

bool Lane::Empty() {
  std::lock_guard lock(mutex_);
  return current_ == nullptr && withheld_.empty() && spare_.empty();
}

Lane& HostLane() {
  if (thread_is_ending || !LanePerThread()) return CurrentLanes().shared;
  static thread_local std::array<std::optional<OwnLane>, kMostClients> of_clients;
  std::optional<OwnLane>& own = of_clients[static_cast<size_t>(CurrentClient())];
  if (!own.has_value()) own.emplace();
  return *own->lane;
}

void SetLanePerThread(bool per_thread) {
  CurrentLanes().per_thread.store(per_thread, std::memory_order_relaxed);
}
bool LanePerThread() { return CurrentLanes().per_thread.load(std::memory_order_relaxed); }

Lane& DeviceLane(uint32_t context_id) { return CurrentLanes().device[context_id % kDeviceLanes]; }

void FlushLanes(bool forced) {
  Lanes& lanes = CurrentLanes();
  std::vector<std::shared_ptr<Lane>> of_threads;
  {
    std::lock_guard lock(lanes.mutex);
    of_threads = lanes.of_threads;
  }
  std::vector<std::unique_ptr<ClientBuffer>> buffers;
  for (const auto& lane : of_threads) lane->TakeBuffers(forced, &buffers);
  lanes.shared.TakeBuffers(forced, &buffers);
  for (Lane& lane : lanes.device) lane.TakeBuffers(forced, &buffers);
  of_threads.clear();
  {
    std::lock_guard lock(lanes.mutex);
    // Held by nobody else: its thread has ended.
    std::erase_if(lanes.of_threads,
                  [](const auto& lane) { return lane.use_count() == 1 && lane->Empty(); });
  }
  ReturnNow(std::move(buffers), forced);
}

void DiscardLanes() {
  Lanes& lanes = CurrentLanes();
  std::lock_guard lock(lanes.mutex);
  for (const auto& lane : lanes.of_threads) lane->Discard();
  lanes.shared.Discard();
  for (Lane& lane : lanes.device) lane.Discard();
}

}  // namespace simcupti
