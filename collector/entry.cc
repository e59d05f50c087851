// Where the process meets us: the library's constructor, and the functions that the CUDA driver,
// NVTX and programs with our header call.

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collector/collector.h"
#include "collector/environment.h"
#include "collector/last_thread.h"
#include "collector/log.h"
#include "collector/operation/header_listener.h"
#include "collector/operation/nvtx_listener.h"
#include "collector/operation/nvtx_names.h"
#include "collector/operation/nvtx_registry.h"
#include "collector/operation/text.h"
#include "collector/operation/thread_operations.h"
#include "collector/settings.h"
#include "collector/stack/stack_walker.h"
#include "proto/activity_set.h"
#include "proto/attach.h"

namespace tp::collect {
namespace {

constexpr int64_t kExitDeadlineNs = 2'000'000'000;

// The beginning of the path under which the injector loads us.
constexpr char kBroughtIn[] = "/proc/self/fd/";

int64_t g_loaded_ns = 0;
// Of this library, as an absolute path.
char g_path[PATH_MAX];

// Stacks are wanted, and this C library has no way to walk them without locks.
bool g_cannot_walk_stacks = false;
pthread_once_t g_operations_once = PTHREAD_ONCE_INIT;
pthread_mutex_t g_start_lock = PTHREAD_MUTEX_INITIALIZER;
// Made at the first InitializeInjection, or when somebody attaches. Destroyed when it has left, and
// under the lock; else never: other threads may be in it when the process ends.
std::atomic<Collector*> g_collector{nullptr};
bool g_ends_registered = false;
// One that was here has left: only who attaches brings another.
std::atomic<bool> g_has_left{false};
// Whose it is: a child that was made behind fork's back (_Fork, clone) has its memory, too.
pid_t g_collector_pid = 0;

void FindOwnPath() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&FindOwnPath), &info) == 0 || info.dli_fname == nullptr) {
    return;
  }
  // The variables must hold for children in other folders, too.
  if (info.dli_fname[0] == '/') {
    strncpy(g_path, info.dli_fname, sizeof(g_path) - 1);
  } else if (realpath(info.dli_fname, g_path) == nullptr) {
    g_path[0] = '\0';
  }
}

// The child has the memory of the parent's threads, but not the threads. Where the parent has not
// begun with CUDA, all goes on as in a new process; where it has, CUDA is of no use to the child,
// and neither are we.
void AfterForkInChild() {
  g_start_lock = PTHREAD_MUTEX_INITIALIZER;
  ResetTextLockAfterFork();
  ResetNameLockAfterFork();
  ResetNvtxRegistryLockAfterFork();
  Collector* collector = g_collector.load(std::memory_order_acquire);
  ThreadOperationsList::AfterForkInChild(/*keep=*/collector == nullptr);
  if (collector != nullptr) collector->AbandonAfterFork();
}

void AtExit() {
  pthread_mutex_lock(&g_start_lock);
  Collector* collector = g_collector.load(std::memory_order_acquire);
  if (collector != nullptr && getpid() == g_collector_pid) {
    collector->Finish(HostTimeNs() + kExitDeadlineNs);
  }
  pthread_mutex_unlock(&g_start_lock);
}

// On the collector's thread.
void Left(Collector* collector) {
  pthread_mutex_lock(&g_start_lock);
  g_collector.store(nullptr, std::memory_order_release);
  g_has_left = true;
  pthread_mutex_unlock(&g_start_lock);
  delete collector;
}

void PrepareOperations() {
  pthread_once(&g_operations_once, [] {
    size_t stack_frames = ReadStackFrames();
    if (stack_frames > 0 &&
        !StackWalker::Prepare(reinterpret_cast<const void*>(&PrepareOperations))) {
      g_cannot_walk_stacks = true;
      stack_frames = 0;
    }
    MemoryLimits limits = DivideMemory(ReadMemoryBytes(), stack_frames > 0);
    ThreadOperationsList::Configure(limits.operation_buffers, &Collector::Wake, stack_frames);
    LimitRegisteredTexts(limits.registered_texts);
    pthread_atfork(nullptr, nullptr, &AfterForkInChild);
  });
}

void NoteOtherInjections(std::vector<std::string>* notes) {
  if (const char* other = OtherInjection(kCudaInjection, g_path)) {
    notes->push_back(std::string("CUDA_INJECTION64_PATH names ") + other +
                     " and was kept: the beginning is missing");
  }
  if (const char* other = OtherInjection(kNvtxInjection, g_path)) {
    notes->push_back(std::string("NVTX_INJECTION64_PATH names ") + other +
                     " and was kept: ranges are not seen");
  }
}

// With g_start_lock. False if there can be no thread.
bool MakeCollector(bool unannounced, std::optional<AttachOrder> attach) {
  PrepareOperations();
  ThreadOperationsList::Reopen();
  Settings settings = ReadSettings();
  if (!attach.has_value()) {
    NoteOtherInjections(&settings.notes);
  } else if (!attach->activities.empty()) {
    std::vector<std::string> unknown;
    settings.activities = ParseActivities(attach->activities, &unknown);
  }
  if (g_cannot_walk_stacks) {
    settings.notes.push_back("TP_STACKS needs glibc 2.35 or later: there are no stacks");
  }
  const bool is_attached = attach.has_value();
  auto* collector = new Collector({.memory_bytes = settings.memory_bytes,
                                   .library = g_path,
                                   .loaded_ns = is_attached ? HostTimeNs() : g_loaded_ns,
                                   .activities = settings.activities,
                                   .with_stacks = ReadStackFrames() > 0,
                                   .dormant = !is_attached && settings.mode == Mode::kDormant,
                                   .unannounced = unannounced,
                                   .attach = std::move(attach),
                                   .priority = settings.priority,
                                   .notes = std::move(settings.notes),
                                   .left = &Left});
  g_collector_pid = getpid();
  g_collector.store(collector, std::memory_order_release);
  if (!collector->Start()) return false;
  if (!std::exchange(g_ends_registered, true)) {
    atexit(&AtExit);
    at_quick_exit(&AtExit);
  }
  return true;
}

void StartCollector(bool unannounced) {
  pthread_mutex_lock(&g_start_lock);
  if (g_collector.load(std::memory_order_relaxed) == nullptr && !g_has_left) {
    try {
      MakeCollector(unannounced, std::nullopt);
    } catch (const std::exception& error) {
      Log(LogLevel::kError, error.what());
    }
  }
  pthread_mutex_unlock(&g_start_lock);
}

// Why nobody can attach here; empty: the collector has the order.
std::string Attach(const AttachArguments& arguments) {
  AttachOrder order = {.socket = arguments.socket,
                       .duration_ns = arguments.duration_ns,
                       .socket_path = arguments.socket_path,
                       .activities = arguments.activities};
  pthread_mutex_lock(&g_start_lock);
  std::string why_not;
  try {
    Collector* collector = g_collector.load(std::memory_order_relaxed);
    if (collector == nullptr) {
      if (!MakeCollector(/*unannounced=*/true, std::move(order))) why_not = "no thread can be made";
    } else if (g_collector_pid != getpid()) {
      why_not = "the process was forked from one that uses CUDA: CUDA is of no use to it";
    } else if (!collector->TakeOver(std::move(order))) {
      why_not = "the collector in it is about to leave: try again";
    }
  } catch (const std::exception& error) {
    why_not = error.what();
  }
  pthread_mutex_unlock(&g_start_lock);
  return why_not;
}

// The program has ranges. False: nobody wants them.
bool BeginToListen() {
  if (ReadMode() == Mode::kOff) return false;
  if (g_has_left && g_collector.load(std::memory_order_acquire) == nullptr) return false;
  PrepareOperations();
  // The driver will not call us then; but a program that has ranges is likely to use CUDA.
  if (OtherInjection(kCudaInjection, g_path) != nullptr) StartCollector(/*unannounced=*/true);
  return true;
}

// A preload runs this in every process of a job: two variables are all that it may cost one that
// never uses CUDA.
__attribute__((constructor)) void Loaded() {
  g_loaded_ns = HostTimeNs();
  FindOwnPath();
  // Brought in by whoever attaches, while the program runs: all else waits for the call that
  // follows.
  if (strncmp(g_path, kBroughtIn, sizeof(kBroughtIn) - 1) == 0) {
    PrepareLog();
    return;
  }
  if (ReadMode() == Mode::kOff) return;
  WatchMainThread();
  PrepareLog();
  if (g_path[0] != '\0') SetInjectionVariables(g_path);
}

}  // namespace
}  // namespace tp::collect

extern "C" {

// The CUDA driver's, from cuInit (CUDA_INJECTION64_PATH).
__attribute__((visibility("default"))) int InitializeInjection() {
  if (tp::collect::ReadMode() != tp::collect::Mode::kOff) {
    tp::collect::StartCollector(/*unannounced=*/false);
  }
  return 1;
}

// NVTX's, from the first call of each module (NVTX_INJECTION64_PATH). Not 0: we stay.
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    tp::collect::NvtxGetExportTable get_export_table) {
  if (!tp::collect::BeginToListen()) return 0;
  return tp::collect::ListenToNvtx(get_export_table) ? 1 : 0;
}

// NVTX's, from the first call of an extension in each module.
__attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(void* module_info) {
  if (!tp::collect::BeginToListen()) return 0;
  return tp::collect::ListenToNvtxExtension(module_info) ? 1 : 0;
}

// collector/tpcollect.h's, from the first call of each module.
__attribute__((visibility("default"))) const tpcollect_functions* tpcollect_get_functions(void) {
  try {
    return tp::collect::BeginToListen() ? tp::collect::HeaderFunctions() : nullptr;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// The injector's (proto/attach.h), from a thread that it has made.
__attribute__((visibility("default"))) int TensorProfAttach(const tp::AttachArguments* told) {
  if (told == nullptr || told->struct_bytes < sizeof(*told)) return 1;
  const std::string why_not = tp::collect::Attach(*told);
  if (why_not.empty()) return 0;
  if (told->socket >= 0) {
    const std::string refusal = tp::kAttachRefusal + why_not;
    send(told->socket, refusal.data(), refusal.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    close(told->socket);
  }
  return 1;
}
}
