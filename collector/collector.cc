#include "collector/collector.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "collector/last_thread.h"
#include "collector/life_log.h"
#include "collector/log.h"
#include "collector/operation/nvtx_names.h"
#include "collector/operation/nvtx_registry.h"
#include "collector/operation/text.h"
#include "collector/operation/thread_operations.h"

namespace tp::collect {
namespace {

constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kSecond = 1000 * kMillisecond;
// How long finished work waits in our buffers before it is sent.
constexpr int64_t kTickNs = 50 * kMillisecond;
// While the socket is full.
constexpr int64_t kBlockedNs = 2 * kMillisecond;
// A plain flush, and a word to the daemon after it: CUPTI holds complete buffers back until they
// are full otherwise. Each flush makes every thread that calls CUDA take a new buffer at its next
// call, so it is not done more often; what came since the last is what a killed process takes
// along.
constexpr int64_t kFlushNs = kSecond;
// While CUPTI holds most of our buffers, mostly for threads that have ended.
constexpr int64_t kScarceFlushNs = 20 * kMillisecond;
// How long after a stop CUPTI is asked for records of work that still runs.
constexpr int64_t kLongestDrainNs = 2000 * kMillisecond;
// Before CUDA 12.9, CUPTI crashes when it asks for a buffer and gets none.
constexpr uint32_t kFirstVersionThatTakesNoBuffer = 27;
// Between tries to begin, while another profiler has CUPTI.
constexpr int64_t kTryNs = 2 * kSecond;
constexpr size_t kRowsPerBatch = 16384;
// For the rest when the program is over without a word.
constexpr int64_t kLastDeadlineNs = 2 * kSecond;
// Of the time until a deadline, for what is left to say to a daemon that has not taken everything,
// and after it, for the log.
constexpr int64_t kLastWordsNs = 200 * kMillisecond;
constexpr int64_t kLastLineNs = 50 * kMillisecond;
// For CUPTI to let us go, when we leave.
constexpr int64_t kFinalizeNs = kSecond;
constexpr size_t kStackBytes = 512 << 10;
constexpr int kFirstClockTries = 50;
constexpr int kClockTries = 10;

ProcessCupti& TheCupti() {
  static auto* cupti = new ProcessCupti;
  return *cupti;
}

}  // namespace

std::atomic<uint32_t> Collector::awake_{0};

MemoryLimits DivideMemory(size_t limit_bytes, bool with_stacks) {
  size_t part = limit_bytes / 32;
  // The last two are for the batch that is being made and the one that is being written.
  return {.activity_buffers = 8 * part,
          .operation_buffers = (with_stacks ? 8 : 9) * part,
          .open_operations = 2 * part,
          .stacks = with_stacks ? part : 0,
          .batches = 7 * part,
          .strings = 5 * part / 2,
          .descriptions = part / 2,
          .registered_texts = part};
}

Collector::Collector(Options options)
    : options_(std::move(options)),
      limits_(DivideMemory(options_.memory_bytes, options_.with_stacks)),
      cupti_(TheCupti().api),
      strings_(limits_.strings),
      descriptions_(limits_.descriptions),
      thread_names_(&descriptions_),
      queue_(limits_.batches),
      operations_(&strings_, &encoder_, &uncorrelated_, &reopened_, limits_.open_operations,
                  limits_.stacks),
      link_(&queue_, &strings_, &descriptions_,
            {[this] { return MakeHello(); }, [this] { return EncodeStatus(Status()); }}) {
  pthread_mutex_init(&finished_lock_, nullptr);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&finished_, &attributes);
  pthread_condattr_destroy(&attributes);
}

bool Collector::Start() {
  // The ranges that there were since we were loaded are in the threads' buffers.
  if (!options_.dormant) BeginCapturedTime(options_.loaded_ns);
  if (options_.attach.has_value()) {
    nvtx_modules_.Listen();
    BeginCapture(/*anyway=*/false);
    // Then the first thing that the daemon is told is what came of it.
    TakeOrder(*std::exchange(options_.attach, AttachOrder()));
  } else if (options_.dormant) {
    reason_ = "waits for `tpctl start`";
  } else if (options_.unannounced) {
    // Whoever is announced has the time to come first.
    WaitToBegin("CUDA has not begun in this process, or another library was loaded for it");
  } else {
    BeginCapture(/*anyway=*/false);
  }

  // No signal of the program's may be handled on our thread; but a system call of ours that it has
  // forbidden may be one that its handler makes up for.
  sigset_t all, before;
  sigfillset(&all);
  sigdelset(&all, SIGSYS);
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

bool Collector::TakeOver(AttachOrder order) {
  pthread_mutex_lock(&finished_lock_);
  const bool takes = phase_ == Phase::kRunning && !is_leaving_ && !order_.has_value();
  if (takes) order_ = std::move(order);
  pthread_mutex_unlock(&finished_lock_);
  Wake();
  return takes;
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
  pthread_mutex_init(&finished_lock_, nullptr);  // May be held by a thread that is not there.
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
    if (collector->capture_ != nullptr) collector->capture_->Abandon();
    collector->link_.Abandon();
  }
  pthread_mutex_lock(&collector->finished_lock_);
  collector->phase_ = Phase::kFinished;
  pthread_cond_broadcast(&collector->finished_);
  pthread_mutex_unlock(&collector->finished_lock_);
  if (collector->is_leaving_) collector->options_.left(collector);
  return nullptr;
}

void Collector::Run() {
  LifeLog::Begin({.library = options_.library,
                  .loaded_ns_ago = HostTimeNs() - options_.loaded_ns,
                  .memory_bytes = options_.memory_bytes,
                  .dormant = options_.dormant,
                  .others_come_first = options_.priority == Capture::Priority::kOthers});
  status_changed_ = true;
  is_running_ = true;
  if (capture_ != nullptr) clock_ = capture_->ReadClock(kFirstClockTries);
  LeaveOwnCallsOut();
  if (capture_ != nullptr && capture_->active()) LookForAnother();
  if (options_.attach.has_value() && state_ == State::kCapturing) capture_->DescribeExisting();
  last_flush_ns_ = HostTimeNs();
  int64_t next_status_ns = last_flush_ns_ + kFlushNs;
  while (phase_ == Phase::kRunning) {
    int64_t now_ns = HostTimeNs();
    bool status_due = now_ns >= next_status_ns;
    FlushCupti(now_ns, status_due);
    if (state_ == State::kWaiting && now_ns >= next_try_ns_) BeginCapture(/*anyway=*/false);
    Collect();
    // Records that still come after a stop are read with the subscription.
    if (capture_ != nullptr && stopped_ns_ == 0) capture_->LetGo();
    Seal();
    LookAfterStop(now_ns);
    if (status_due) {
      next_status_ns = now_ns + kFlushNs;
      DescribeIfNotKnown();
      if (options_.attach.has_value()) nvtx_modules_.Listen();
      if (is_wanted_) thread_names_.ReadNext();
      // Then the C library ends the process when we return.
      if (IsLastThread()) {
        deadline_ns_ = now_ns + kLastDeadlineNs;
        break;
      }
    }
    if (status_due || status_changed_) {
      if (state_ == State::kCapturing) clock_ = capture_->ReadClock(kClockTries);
      link_.SendStatus();
      LogChanges();
      status_changed_ = false;
    }
    link_.Pump(now_ns);
    life_log_.Look(link_);
    ObeyDaemon();
    EndIfItsTime(now_ns);
    if (!leave_reason_.empty()) {
      Leave();
      return;
    }
    const bool is_capturing = state_ == State::kCapturing;
    if (is_capturing) buffers_->KeepReady();
    const bool is_scarce = is_capturing && buffers_->scarce();
    Sleep(link_.blocked() ? kBlockedNs : is_scarce ? kScarceFlushNs : kTickNs);
  }
  SendRest(GoodbyeReason::kExit);
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
  SendRangesAgain();
  CollectNames();
}

// CUPTI tells of devices when CUDA begins, if it was asked in time.
void Collector::DescribeIfNotKnown() {
  if (state_ != State::kCapturing || asked_for_devices_ || descriptions_.has_devices()) return;
  asked_for_devices_ = true;
  capture_->DescribeExisting();
}

void Collector::CollectNames() {
  for (const GivenName& given : TakeGivenNames()) {
    given.is_thread ? descriptions_.GiveThreadName(given.id, given.name)
                    : descriptions_.GiveDeviceName(given.id, given.name);
  }
  if (!is_wanted_) return;
  ThreadOperationsList::ForEachAlive([this](const ThreadOperations& thread) {
    thread_names_.Seen(static_cast<uint32_t>(thread.thread_id()));
  });
  thread_names_.ReadNew();
}

// Batches that were let go had begins and ends of ranges in them, and a daemon that has come anew
// knows of no open range.
void Collector::SendRangesAgain() {
  const bool is_new_connection = link_.connections() > std::max<uint64_t>(connections_, 1);
  connections_ = link_.connections();
  if (queue_.TakeBeginsGone() || is_new_connection) operations_.SendOpenAgain();
  for (const RangeEnd& end : queue_.TakeEnds()) encoder_.AddClosed(end.id, end.end_ns);
}

void Collector::CollectAll() {
  std::string reason;
  if (CuptiMayHoldRecords() && !capture_->Flush(/*forced=*/false, &reason)) {
    Disable(std::move(reason));
  }
  Collect();
  Seal();
}

bool Collector::CuptiMayHoldRecords() const {
  return state_ == State::kCapturing || (capture_ != nullptr && !buffers_->all_free());
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
  if (std::optional<CaptureCommand> command = link_.TakeCaptureCommand(); command.has_value()) {
    Obey(*command);
  }
  if (link_.TakeDetachRequest()) leave_reason_ = "left as `tpctl detach` told it to";
  pthread_mutex_lock(&finished_lock_);
  std::optional<AttachOrder> order = std::exchange(order_, std::nullopt);
  pthread_mutex_unlock(&finished_lock_);
  if (!order.has_value()) return;
  leave_reason_.clear();
  Obey({.on = true,
        .token = capture_token_,
        .activities = order->activities,
        .duration_ns = order->duration_ns});
  TakeOrder(*std::move(order));
}

void Collector::TakeOrder(AttachOrder order) {
  if (!order.socket_path.empty()) link_.set_path(std::move(order.socket_path));
  if (order.socket >= 0) link_.Adopt(order.socket);
  end_ns_ = order.duration_ns > 0 ? HostTimeNs() + order.duration_ns : 0;
}

// Capturing that was asked for so long is over, whoever asked may be gone.
void Collector::EndIfItsTime(int64_t now_ns) {
  if (end_ns_ == 0 || now_ns < end_ns_) return;
  end_ns_ = 0;
  if (options_.attach.has_value()) {
    leave_reason_ = "left when the time was over that it was attached for";
  } else if (is_wanted_) {
    StopCapture("the time is over that it was to be captured for");
    status_changed_ = true;
  }
}

void Collector::Obey(const CaptureCommand& command) {
  capture_token_ = command.token;
  status_changed_ = true;
  end_ns_ = command.on && command.duration_ns > 0 ? HostTimeNs() + command.duration_ns : 0;
  if (command.on && !command.activities.empty()) SetActivities(command.activities);
  if (command.on && state_ != State::kCapturing) {
    if (!is_wanted_) {
      // What ended before is read now, and not told; what follows is told by its times.
      operations_.Read(&SealIfLargeCallback, this);
      BeginCapturedTime(HostTimeNs());
    }
    BeginCapture(/*anyway=*/true);
    if (state_ == State::kCapturing) clock_ = capture_->ReadClock(kFirstClockTries);
  } else if (!command.on && is_wanted_) {
    StopCapture("stopped by `tpctl stop`");
  }
}

// The tool has looked at the words: those that are not known here are of a newer one, and whoever
// asked sees what is collected.
void Collector::SetActivities(std::string_view words) {
  std::vector<std::string> unknown;
  options_.activities = ParseActivities(words, &unknown);
  if (capture_ == nullptr) return;
  std::string reason;
  if (!capture_->SetActivities(options_.activities, &reason)) {
    Disable(std::move(reason));
  } else if (state_ == State::kCapturing) {
    FollowActivities();
  }
}

void Collector::StopCapture(std::string reason) {
  if (state_ == State::kCapturing) {
    Collect();  // After it, it is known whose calls those of the open ranges are.
    capture_->End();
    stopped_ns_ = HostTimeNs();
  }
  EndCapturedTime();
  waited_ns_ = WaitedNs();
  waiting_since_ns_ = 0;
  state_ = State::kDormant;
  reason_ = std::move(reason);
  CollectAll();
  LookAfterStop(HostTimeNs());
}

void Collector::BeginCapturedTime(int64_t start_ns) {
  is_wanted_ = true;
  operations_.BeginCapture(start_ns);
  if (start_ns != options_.loaded_ns) {
    lost_outside_ += ThreadOperationsList::lost() - lost_before_pause_;
  }
  if (recording_start_ns_ == 0) recording_start_ns_ = start_ns;
}

// After the last launch that is captured.
void Collector::EndCapturedTime() {
  is_wanted_ = false;
  uncorrelated_.End(Capture::CuptiTimeNs());
  operations_.EndCapture(HostTimeNs(), &SealIfLargeCallback, this);
  lost_before_pause_ = ThreadOperationsList::lost();
}

void Collector::FlushCupti(int64_t now_ns, bool is_due) {
  const bool is_capturing = state_ == State::kCapturing;
  if (is_capturing) {
    if (uint32_t error = capture_->TakeApplicationError(); error != 0) {
      Disable("external correlation failed with CUPTI error " + std::to_string(error));
      return;
    }
    const bool is_scarce = buffers_->scarce() && now_ns >= last_flush_ns_ + kScarceFlushNs;
    if (!is_due && !is_scarce) return;
  } else if (stopped_ns_ == 0) {
    return;
  }
  last_flush_ns_ = now_ns;
  std::string reason;
  if (!capture_->Flush(/*forced=*/false, &reason)) {
    Disable(std::move(reason));
  } else if (is_capturing && is_due) {
    LeaveOwnCallsOut();
    LookForAnother();
  }
}

// On the collector thread: its calls are not the program's.
void Collector::LeaveOwnCallsOut() {
  if (activities_ == nullptr) return;
  activities_->set_own_thread(static_cast<uint32_t>(
      cupti_.SetThreadIdType != nullptr ? static_cast<uintptr_t>(gettid()) : pthread_self()));
}

// After a stop CUPTI is asked until it has handed over what it held, or for so long: what then
// still comes, comes when somebody asks for a table, capturing begins again or the process ends.
void Collector::LookAfterStop(int64_t now_ns) {
  if (stopped_ns_ == 0) return;
  if (buffers_->all_free()) {
    uncorrelated_.Forget();
  } else if (now_ns - stopped_ns_ < kLongestDrainNs) {
    return;
  }
  stopped_ns_ = 0;
}

// Finds CUPTI and makes what needs it: not before it is wanted, so that a dormant process does not
// pay for it. False, and nothing can be captured: the state says why.
bool Collector::Prepare() {
  if (capture_ != nullptr) return true;
  ProcessCupti& cupti = TheCupti();
  std::string reason;
  if (cupti.client == nullptr) {
    if (!LoadCupti(&cupti_, &reason)) {
      Disable(std::move(reason));
      return false;
    }
    cupti.client = std::make_unique<CuptiClient>(&cupti_);
  }
  if (cupti.capture == nullptr) {
    auto buffers = std::make_unique<ActivityBuffers>(
        ActivityBuffers::Options{.limit_bytes = limits_.activity_buffers,
                                 .may_refuse = cupti_.version >= kFirstVersionThatTakesNoBuffer,
                                 .scarce = &Wake});
    if (!buffers->ok()) {
      Disable("no memory for CUPTI's buffers");
      return false;
    }
    cupti.buffers = std::move(buffers);
    cupti.capture = std::make_unique<Capture>(cupti.client.get(), cupti.buffers.get(),
                                              options_.priority, options_.activities);
  } else {
    cupti.buffers->KeepReady();
    cupti.capture->BeginAnew();
    cupti.capture->SetActivities(options_.activities, &reason);
  }
  client_ = cupti.client.get();
  buffers_ = cupti.buffers.get();
  activities_ = std::make_unique<ActivityReader>(client_, &strings_, &encoder_, &descriptions_,
                                                 &uncorrelated_, &reopened_);
  // Otherwise they are not the system's.
  if (cupti_.SetThreadIdType != nullptr || client_->api().has_per_subscriber()) {
    activities_->set_thread_seen([this](uint32_t thread_id) { thread_names_.Seen(thread_id); });
  }
  capture_ = cupti.capture.get();
  link_.SendHello();  // It tells CUPTI's version.
  return true;
}

void Collector::BeginCapture(bool anyway) {
  if (options_.unannounced && dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) == nullptr) {
    WaitToBegin({});
    return;
  }
  if (!Prepare()) return;
  std::string reason;
  switch (capture_->Begin(anyway, &reason)) {
    case Capture::Begun::kYes:
      waited_ns_ = WaitedNs();
      waiting_since_ns_ = 0;
      FollowActivities();
      uncorrelated_.Begin(Capture::CuptiTimeNs());
      if (is_running_) capture_->DescribeExisting();
      stopped_ns_ = 0;
      state_ = State::kCapturing;
      reason_.clear();
      status_changed_ = true;
      break;
    case Capture::Begun::kLater:
      WaitToBegin(std::move(reason));
      break;
    case Capture::Begun::kNo:
      Disable(std::move(reason));
      break;
  }
}

// An empty reason: that of before.
void Collector::WaitToBegin(std::string reason) {
  int64_t now_ns = HostTimeNs();
  next_try_ns_ = now_ns + kTryNs;
  if (waiting_since_ns_ == 0) waiting_since_ns_ = now_ns;
  if (state_ == State::kWaiting && (reason.empty() || reason == reason_)) return;
  state_ = State::kWaiting;
  reason_ = std::move(reason);
  status_changed_ = true;
}

int64_t Collector::WaitedNs() const {
  return waited_ns_ + (waiting_since_ns_ > 0 ? HostTimeNs() - waiting_since_ns_ : 0);
}

void Collector::LookForAnother() {
  if (!capture_->AnotherTookOver()) return;
  std::string reason;
  if (options_.priority == Capture::Priority::kOthers) {
    capture_->GiveWay(&reason);
    // It has been silent for so long already.
    waiting_since_ns_ = HostTimeNs() - 2 * kFlushNs;
    WaitToBegin(std::move(reason));
  } else if (capture_->TakeBack(&reason)) {
    ++taken_back_;
  } else {
    Disable(std::move(reason));
  }
}

// What the reader has to know of what is collected.
void Collector::FollowActivities() {
  activities_->set_leaves_out_chatty_calls(capture_->chatty_calls_come() &&
                                           !capture_->collected().Has(Activity::kChatty));
  status_changed_ = true;
}

void Collector::Disable(std::string reason) {
  if (capture_ != nullptr) capture_->Abandon();
  if (state_ == State::kCapturing) uncorrelated_.End(Capture::CuptiTimeNs());
  stopped_ns_ = 0;
  state_ = State::kDisabled;
  reason_ = std::move(reason);
  status_changed_ = true;
}

void Collector::LogChanges() {
  if (!IsLogged(LogLevel::kError)) return;
  life_log_.Look(cupti_, client_);
  life_log_.Look(Status());
}

// Puts all back as it was before we came, as far as that can be, and says goodbye.
void Collector::Leave() {
  pthread_mutex_lock(&finished_lock_);
  is_leaving_ = true;
  if (phase_ == Phase::kRunning) deadline_ns_ = 0;
  pthread_mutex_unlock(&finished_lock_);
  if (is_wanted_) StopCapture(leave_reason_);
  state_ = State::kDormant;
  reason_ = leave_reason_;
  NvtxModules::StopListening();
  ThreadOperationsList::Close();
  if (capture_ != nullptr) {
    // Work that runs on the device still is given some time.
    const int64_t until_ns = HostTimeNs() + kLongestDrainNs;
    while (!buffers_->all_free() && phase_ == Phase::kRunning && HostTimeNs() < until_ns) {
      CollectAll();
      link_.Pump(HostTimeNs());
      if (!buffers_->all_free()) Sleep(5 * kMillisecond);
    }
    std::string reason;
    if (!buffers_->all_free()) capture_->Flush(/*forced=*/true, &reason);
    Collect();
    if (!capture_->Finalize(HostTimeNs() + kFinalizeNs)) {
      options_.notes.push_back(
          "CUPTI stays in the process and may go on to cost something: another profiler is loaded, "
          "or no CUDA call came at whose end it could be ended");
    }
    buffers_->GiveBackAll();
  }
  if (phase_ == Phase::kRunning) deadline_ns_ = HostTimeNs() + kLastDeadlineNs;
  SendRest(GoodbyeReason::kDetached);
}

// At the end: everything, also what is not complete.
void Collector::SendRest(GoodbyeReason why) {
  std::string reason;
  if (CuptiMayHoldRecords()) capture_->Flush(/*forced=*/true, &reason);
  Collect();
  operations_.CloseAll(HostTimeNs());
  if (is_wanted_) thread_names_.ReadAll();
  Seal();
  if (!link_.connected()) link_.HurryConnect();
  link_.Pump(HostTimeNs());
  LogChanges();  // A short process may end before it is looked at for the first time.
  life_log_.Look(link_);
  link_.SendStatus();
  link_.SendGoodbye(why);
  bool has_given_up = false;
  while (HostTimeNs() < deadline_ns_ - kLastLineNs) {
    link_.Pump(HostTimeNs());
    if (!link_.connected() || link_.settled()) break;
    if (!has_given_up && HostTimeNs() >= deadline_ns_ - kLastWordsNs) {
      has_given_up = true;
      link_.GiveUpUnsent();
    } else {
      link_.WaitForDaemon(10);
    }
  }
  LifeLog::End(Status(), link_.settled());
}

std::string Collector::MakeHello() {
  HelloFields fields;
  fields.cupti_version = cupti_.version;
  fields.cupti_path = cupti_.path;
  fields.driver_version = cupti_.driver_version;
  fields.clock = clock_;
  fields.acknowledged = queue_.acknowledged();
  fields.oldest_sequence = queue_.oldest_sequence();
  fields.capture_start_ns = options_.loaded_ns;
  fields.attached = options_.attach.has_value();
  return EncodeHello(fields);
}

uint64_t Collector::LostRanges() const {
  const uint64_t lost = is_wanted_ ? ThreadOperationsList::lost() : lost_before_pause_;
  return lost - lost_outside_ + operations_.lost();
}

StatusFields Collector::Status() const {
  StatusFields fields;
  fields.state = state_;
  fields.reason = reason_;
  fields.losses.push_back({EventKind::kOperation, LossCause::kOperationBufferFull, LostRanges()});
  fields.losses.push_back({EventKind::kCounter, LossCause::kOperationBufferFull,
                           ThreadOperationsList::lost_counters()});
  if (capture_ != nullptr) {
    fields.losses.push_back({EventKind::kUnknown, LossCause::kCuptiDropped,
                             capture_->dropped() + buffers_->swallowed()});
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
  fields.memory_bytes = strings_.memory_bytes() + descriptions_.memory_bytes() +
                        RegisteredTextBytes() + NvtxRegistryBytes() + queue_.bytes() +
                        operations_.memory_bytes() + ThreadOperationsList::memory_bytes() +
                        (capture_ != nullptr ? capture_->graph_nodes().memory_bytes() : 0) +
                        (buffers_ != nullptr ? buffers_->memory_bytes() : 0);
  fields.activities =
      ActivityWords(capture_ != nullptr ? capture_->collected() : options_.activities);
  fields.capture_token = capture_token_;
  fields.recording_start_ns = recording_start_ns_;
  fields.notes = options_.notes;
  if (nvtx_modules_.taken() > 0) {
    fields.notes.push_back("another tool has the NVTX of " + std::to_string(nvtx_modules_.taken()) +
                           " libraries: their ranges are not seen");
  }
  if (capture_ != nullptr) {
    for (std::string& refusal : capture_->Refusals()) fields.notes.push_back(std::move(refusal));
  }
  if (int64_t waited_ns = WaitedNs(); waited_ns > 0) {
    fields.notes.push_back("capturing had to wait for " +
                           std::to_string((waited_ns + kSecond - 1) / kSecond) +
                           " s, for another profiler or for CUDA to begin: device work and calls "
                           "of that time are missing");
  }
  if (taken_back_ > 0) {
    fields.notes.push_back("another profiler took CUPTI's buffers over and they were taken back (" +
                           std::to_string(taken_back_) +
                           " times): up to 3 s before that are "
                           "missing here, and what followed there");
  }
  if (operations_.cut() > 0) {
    fields.notes.push_back(std::to_string(operations_.cut()) +
                           " ranges were open when capturing began or stopped: they count with the "
                           "part that was captured");
  }
  if (strings_.overflowed() > 0) {
    fields.notes.push_back("too many different names: " + std::to_string(strings_.overflowed()) +
                           " events have the name (other)");
  }
  const uint64_t stacks_lost = ThreadOperationsList::lost_stacks() + operations_.stacks_left_out();
  if (stacks_lost > 0) {
    fields.notes.push_back("ranges without their stack, for want of room: " +
                           std::to_string(stacks_lost) + " (TP_BUFFER_MB gives more)");
  }
  if (RegisteredTextsLeftOut() > 0) {
    fields.notes.push_back("too many registered strings and domains: " +
                           std::to_string(RegisteredTextsLeftOut()) + " are called (other)");
  }
  if (const uint64_t left_out = descriptions_.left_out() + GivenNamesLeftOut(); left_out > 0) {
    fields.notes.push_back("too many devices, contexts, streams, threads and names of them: " +
                           std::to_string(left_out) + " are shown without");
  }
  if (uint64_t lost = ThreadOperationsList::lost_details() + operations_.lost_values(); lost > 0) {
    fields.notes.push_back("inputs and payloads of ranges were left out (" + std::to_string(lost) +
                           " times): too large, too many, or of a layout that is not known");
  }
  if (NvtxRegistrationsLeftOut() > 0) {
    fields.notes.push_back("too many NVTX categories, payload schemas and entries of these: " +
                           std::to_string(NvtxRegistrationsLeftOut()) + " are not known");
  }
  return fields;
}

}  // namespace tp::collect
