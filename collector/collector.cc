#include "collector/collector.h"

#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <exception>
#include <string_view>
#include <utility>

#include "collector/log.h"
#include "collector/operation/thread_operations.h"

namespace tp::collect {
namespace {

constexpr int64_t kMillisecond = 1'000'000;
// How long finished work waits in our buffers before it is sent.
constexpr int64_t kTickNs = 50 * kMillisecond;
// While the socket is full.
constexpr int64_t kBlockedNs = 2 * kMillisecond;
// A plain flush: CUPTI holds complete buffers back until they are full otherwise.
constexpr int64_t kFlushNs = 1000 * kMillisecond;
constexpr int64_t kStatusNs = 1000 * kMillisecond;
constexpr size_t kRowsPerBatch = 16384;
constexpr size_t kStackBytes = 512 << 10;
constexpr int kFirstClockTries = 50;
constexpr int kClockTries = 10;

size_t Megabytes(const char* text, size_t otherwise) {
  if (text == nullptr) return otherwise;
  std::string_view view(text);
  size_t value;
  auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  return error == std::errc() && end == view.data() + view.size() ? value : otherwise;
}

}  // namespace

MemoryLimits DivideMemory(size_t limit_bytes) {
  size_t eighth = limit_bytes / 8;
  return {2 * eighth, 3 * eighth, 2 * eighth, eighth};
}

size_t MemoryLimitBytes() {
  size_t megabytes = Megabytes(getenv("TP_BUFFER_MB"), 64);
  return std::clamp<size_t>(megabytes, 4, 65536) << 20;
}

Collector::Collector(Options options)
    : options_(std::move(options)),
      limits_(DivideMemory(options_.memory_bytes)),
      strings_(limits_.strings),
      queue_(limits_.batches),
      operations_(&strings_, &encoder_, &uncorrelated_),
      link_(&queue_, &strings_, {[this] { return MakeHello(); }, [this] { return MakeStatus(); }}) {
  pthread_mutex_init(&finished_lock_, nullptr);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&finished_, &attributes);
  pthread_condattr_destroy(&attributes);
}

bool Collector::Start() {
  std::string reason;
  if (!LoadCupti(&cupti_, &reason)) {
    Disable(std::move(reason));
  } else {
    buffers_ = std::make_unique<ActivityBuffers>(limits_.activity_buffers);
    activities_ = std::make_unique<ActivityReader>(&cupti_, &strings_, &encoder_, &uncorrelated_);
    capture_ = std::make_unique<Capture>(&cupti_, buffers_.get(), options_.activities);
    if (!buffers_->ok()) {
      Disable("no memory for CUPTI's buffers");
    } else if (!options_.dormant) {
      BeginCapture();
    }
  }

  // No signal of the program's may be handled on our thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  int error = pthread_create(&thread_, &attributes, &Main, this);
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error == 0) {
    pthread_setname_np(thread_, "tpcollect");
    pthread_detach(thread_);
    return true;
  }
  if (capture_ != nullptr) capture_->End();
  phase_ = Phase::kFinished;
  Log(LogLevel::kError, "no thread could be made: nothing is collected");
  return false;
}

void Collector::Finish(int64_t deadline_ns) {
  pthread_mutex_lock(&finished_lock_);
  if (phase_ == Phase::kRunning) {
    deadline_ns_ = deadline_ns;
    phase_ = Phase::kFinishing;
  }
  Wake();
  timespec until = {deadline_ns / 1'000'000'000, deadline_ns % 1'000'000'000};
  while (phase_ != Phase::kFinished) {
    if (pthread_cond_timedwait(&finished_, &finished_lock_, &until) != 0) break;
  }
  pthread_mutex_unlock(&finished_lock_);
}

void Collector::Wake() {
  if (awake_.exchange(1, std::memory_order_release) == 0) {
    syscall(SYS_futex, &awake_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
}

void Collector::Sleep(int64_t ns) {
  if (awake_.exchange(0, std::memory_order_acquire) != 0) return;
  timespec timeout = {ns / 1'000'000'000, ns % 1'000'000'000};
  syscall(SYS_futex, &awake_, FUTEX_WAIT_PRIVATE, 0, &timeout, nullptr, 0);
  awake_.store(0, std::memory_order_relaxed);
}

void Collector::AbandonAfterFork() {
  phase_ = Phase::kFinished;
  link_.Abandon();
}

void* Collector::Main(void* self) {
  auto* collector = static_cast<Collector*>(self);
  try {
    collector->Run();
  } catch (const std::exception& error) {
    // Out of memory, most likely: the program needs it more than we do.
    Log(LogLevel::kError, error.what());
    ThreadOperationsList::Close();
    if (collector->capture_ != nullptr) collector->capture_->End();
    collector->link_.Abandon();
  }
  pthread_mutex_lock(&collector->finished_lock_);
  collector->phase_ = Phase::kFinished;
  pthread_cond_broadcast(&collector->finished_);
  pthread_mutex_unlock(&collector->finished_lock_);
  return nullptr;
}

void Collector::Run() {
  if (capture_ != nullptr) clock_ = capture_->ReadClock(kFirstClockTries);
  int64_t next_flush_ns = HostTimeNs() + kFlushNs;
  int64_t next_status_ns = HostTimeNs() + kStatusNs;
  while (phase_ == Phase::kRunning) {
    int64_t now_ns = HostTimeNs();
    std::string reason;
    if (capture_ != nullptr && capture_->active()) {
      if (uint32_t error = capture_->TakeApplicationError(); error != 0) {
        Disable("external correlation failed with CUPTI error " + std::to_string(error));
      } else if (now_ns >= next_flush_ns && !capture_->Flush(/*forced=*/false, &reason)) {
        Disable(std::move(reason));
      }
    }
    if (now_ns >= next_flush_ns) next_flush_ns = now_ns + kFlushNs;
    Collect();
    Seal();
    if (now_ns >= next_status_ns || status_changed_) {
      if (capture_ != nullptr) clock_ = capture_->ReadClock(kClockTries);
      link_.SendStatus();
      status_changed_ = false;
      next_status_ns = now_ns + kStatusNs;
    }
    link_.Pump(now_ns);
    ObeyDaemon();
    if (buffers_ != nullptr && buffers_->ok()) buffers_->KeepReady();
    Sleep(link_.blocked() ? kBlockedNs : kTickNs);
  }
  SendRest();
}

void Collector::Collect() {
  if (uncorrelated_.wanted()) {
    operations_.Read(&SealIfLargeCallback, this);
    uncorrelated_.Update(operations_, Capture::CuptiTimeNs());
  }
  if (capture_ != nullptr) {
    capture_->graph_nodes().ReadAll([this](const GraphNode& node) {
      encoder_.AddGraphNode(node);
      SealIfLarge();
    });
  }
  // Activities first: then the operations that they name are there as well.
  if (buffers_ != nullptr && activities_ != nullptr) {
    buffers_->ReadFilled([this](const FilledBuffer& buffer) {
      activities_->Read(buffer, &SealIfLargeCallback, this);
    });
  }
  operations_.Read(&SealIfLargeCallback, this);
  operations_.SendOpen();
}

void Collector::CollectAll() {
  std::string reason;
  if (capture_ != nullptr && !capture_->Flush(/*forced=*/false, &reason)) {
    Disable(std::move(reason));
  }
  Collect();
  Seal();
}

void Collector::SealIfLargeCallback(void* self) { static_cast<Collector*>(self)->SealIfLarge(); }

void Collector::SealIfLarge() {
  if (encoder_.rows() >= kRowsPerBatch) Seal();
}

void Collector::Seal() {
  if (encoder_.empty()) return;
  EncodedBatch batch = encoder_.Finish(next_sequence_++, strings_.last_id());
  produced_ += batch.counts;
  queue_.Push(std::move(batch));
}

void Collector::ObeyDaemon() {
  if (std::optional<uint64_t> token = link_.TakeFlushRequest(); token.has_value()) {
    CollectAll();
    link_.SendStatus();  // Losses belong to the answer.
    link_.SendFlushDone(*token);
    link_.Pump(HostTimeNs());
  }
  std::optional<bool> capture = link_.TakeCaptureRequest();
  if (!capture.has_value() || capture_ == nullptr || !buffers_->ok()) return;
  if (*capture && !capture_->active()) {
    BeginCapture();
  } else if (!*capture && capture_->active()) {
    CollectAll();
    capture_->End();
    state_ = State::kDormant;
    reason_ = "stopped";
    status_changed_ = true;
  }
}

void Collector::BeginCapture() {
  std::string reason;
  if (!capture_->Begin(&reason)) {
    Disable(std::move(reason));
    return;
  }
  FollowActivities();
  uncorrelated_.Begin(Capture::CuptiTimeNs());
  state_ = State::kCapturing;
  reason_.clear();
  status_changed_ = true;
}

// What the reader has to know of what is collected.
void Collector::FollowActivities() {
  activities_->set_leaves_out_chatty_calls(capture_->chatty_calls_come() &&
                                           !capture_->collected().Has(Activity::kChatty));
  status_changed_ = true;
}

void Collector::Disable(std::string reason) {
  if (capture_ != nullptr) capture_->End();
  state_ = State::kDisabled;
  reason_ = std::move(reason);
  status_changed_ = true;
  Log(LogLevel::kWarning, reason_);
}

// At the process's end: everything, also what is not complete.
void Collector::SendRest() {
  std::string reason;
  if (capture_ != nullptr) capture_->Flush(/*forced=*/true, &reason);
  Collect();
  operations_.CloseAll(HostTimeNs());
  Seal();
  if (!link_.connected()) link_.HurryConnect();
  link_.Pump(HostTimeNs());
  link_.SendStatus();
  link_.SendGoodbye(GoodbyeReason::kExit);
  while (HostTimeNs() < deadline_ns_) {
    link_.Pump(HostTimeNs());
    if (!link_.connected() || link_.settled()) break;
    link_.WaitForDaemon(10);
  }
}

std::string Collector::MakeHello() {
  HelloFields fields;
  fields.cupti_version = cupti_.version;
  fields.cupti_path = cupti_.path;
  fields.clock = clock_;
  fields.acknowledged = queue_.acknowledged();
  fields.oldest_sequence = queue_.oldest_sequence();
  fields.capture_start_ns = options_.loaded_ns;
  return EncodeHello(fields);
}

std::string Collector::MakeStatus() {
  StatusFields fields;
  fields.state = state_;
  fields.reason = reason_;
  fields.losses.push_back(
      {EventKind::kOperation, LossCause::kOperationBufferFull, ThreadOperationsList::lost()});
  if (capture_ != nullptr) {
    fields.losses.push_back({EventKind::kUnknown, LossCause::kCuptiDropped, capture_->dropped()});
    fields.losses.push_back(
        {EventKind::kGraphNode, LossCause::kOperationBufferFull, capture_->graph_nodes().lost()});
    fields.losses.push_back(
        {EventKind::kUnknown, LossCause::kUnreadable, activities_->unreadable()});
  }
  for (size_t kind = 0; kind < kEventKinds; ++kind) {
    auto event_kind = static_cast<EventKind>(kind);
    fields.losses.push_back({event_kind, LossCause::kQueueFull, queue_.dropped()[event_kind]});
  }
  fields.produced = produced_;
  fields.clock = clock_;
  timespec cpu = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
  fields.collector_cpu_ns = cpu.tv_sec * uint64_t{1'000'000'000} + cpu.tv_nsec;
  fields.memory_bytes = strings_.memory_bytes() + queue_.bytes() + operations_.memory_bytes() +
                        ThreadOperationsList::memory_bytes() +
                        (capture_ != nullptr ? capture_->graph_nodes().memory_bytes() : 0) +
                        (buffers_ != nullptr ? buffers_->memory_bytes() : 0);
  fields.activities =
      ActivityWords(capture_ != nullptr ? capture_->collected() : options_.activities);
  fields.notes = options_.notes;
  if (capture_ != nullptr) {
    for (std::string& refusal : capture_->Refusals()) fields.notes.push_back(std::move(refusal));
  }
  if (strings_.overflowed() > 0) {
    fields.notes.push_back("too many different names: " + std::to_string(strings_.overflowed()) +
                           " events have the name (other)");
  }
  return EncodeStatus(fields);
}

}  // namespace tp::collect
