// Where the process meets us: the library's constructor, and the functions that the CUDA driver,
// NVTX and programs with our header call.

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <exception>
#include <new>
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

namespace tp::collect {
namespace {

constexpr int64_t kExitDeadlineNs = 2'000'000'000;

int64_t g_loaded_ns = 0;
// Of this library, as an absolute path.
char g_path[PATH_MAX];

// Stacks are wanted, and this C library has no way to walk them without locks.
bool g_cannot_walk_stacks = false;
pthread_once_t g_operations_once = PTHREAD_ONCE_INIT;
pthread_mutex_t g_start_lock = PTHREAD_MUTEX_INITIALIZER;
// Made at the first InitializeInjection, never destroyed: other threads may be in it when the
// process ends.
std::atomic<Collector*> g_collector{nullptr};
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

void WakeCollector() {
  if (Collector* collector = g_collector.load(std::memory_order_acquire)) collector->Wake();
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
  Collector* collector = g_collector.load(std::memory_order_acquire);
  if (collector != nullptr && getpid() == g_collector_pid) {
    collector->Finish(HostTimeNs() + kExitDeadlineNs);
  }
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
    ThreadOperationsList::Configure(limits.operation_buffers, &WakeCollector, stack_frames);
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

void StartCollector(bool unannounced) {
  pthread_mutex_lock(&g_start_lock);
  if (g_collector.load(std::memory_order_relaxed) == nullptr) {
    try {
      PrepareOperations();
      Settings settings = ReadSettings();
      NoteOtherInjections(&settings.notes);
      if (g_cannot_walk_stacks) {
        settings.notes.push_back("TP_STACKS needs glibc 2.35 or later: there are no stacks");
      }
      auto* collector = new Collector({.memory_bytes = settings.memory_bytes,
                                       .library = g_path,
                                       .loaded_ns = g_loaded_ns,
                                       .activities = settings.activities,
                                       .with_stacks = ReadStackFrames() > 0,
                                       .dormant = settings.mode == Mode::kDormant,
                                       .unannounced = unannounced,
                                       .priority = settings.priority,
                                       .notes = std::move(settings.notes),
                                       .wake = &WakeCollector});
      g_collector_pid = getpid();
      g_collector.store(collector, std::memory_order_release);
      if (collector->Start()) {
        atexit(&AtExit);
        at_quick_exit(&AtExit);
      }
    } catch (const std::exception& error) {
      Log(LogLevel::kError, error.what());
    }
  }
  pthread_mutex_unlock(&g_start_lock);
}

// The program has ranges. False: nobody wants them.
bool BeginToListen() {
  if (ReadMode() == Mode::kOff) return false;
  PrepareOperations();
  // The driver will not call us then; but a program that has ranges is likely to use CUDA.
  if (OtherInjection(kCudaInjection, g_path) != nullptr) StartCollector(/*unannounced=*/true);
  return true;
}

// A preload runs this in every process of a job: two variables are all that it may cost one that
// never uses CUDA.
__attribute__((constructor)) void Loaded() {
  g_loaded_ns = HostTimeNs();
  if (ReadMode() == Mode::kOff) return;
  WatchMainThread();
  PrepareLog();
  FindOwnPath();
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
}
