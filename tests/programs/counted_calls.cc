#include "tests/programs/counted_calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

// Returns from the handler of system calls. The kernel lets a system call of its range pass, and
// unwinders know the frame of a signal by these very instructions.
asm(R"(
.text
.globl tp_test_restore
tp_test_restore:
  mov $15, %rax
  syscall
.globl tp_test_restore_end
tp_test_restore_end:
  nop
)");
extern "C" void tp_test_restore();
extern "C" void tp_test_restore_end();

namespace tp::test {
namespace {

enum Call { kAllocation, kLock, kSystemCall, kCalls };

constexpr int kDeepest = 64;
constexpr int kSystemCallBytes = 2;  // The instruction's.
// Linux's prctl.h, for older headers.
constexpr int kSetUserDispatch = 59, kDispatchOff = 0, kDispatchOn = 1;
constexpr char kAllow = 0, kBlock = 1;
constexpr uint64_t kHasRestorer = 0x04000000;

thread_local bool counting = false;
char selector = kAllow;  // The kernel reads it at each system call of the counted thread.
long all_counts[kCalls], library_counts[kCalls];
const char* library_name;
uintptr_t library_begin, library_end;

bool IsWithinLibrary() {
  void* frames[kDeepest];
  const int depth = backtrace(frames, kDeepest);
  for (int i = 0; i < depth; ++i) {
    const auto address = reinterpret_cast<uintptr_t>(frames[i]);
    if (address >= library_begin && address < library_end) return true;
  }
  return false;
}

// What it does itself is not counted.
void Count(Call call) {
  if (!counting) return;
  counting = false;
  const char before = selector;
  selector = kAllow;
  ++all_counts[call];
  if (IsWithinLibrary()) ++library_counts[call];
  selector = before;
  counting = true;
}

int FindLibrary(dl_phdr_info* info, size_t, void*) {
  const size_t length = strlen(info->dlpi_name), wanted = strlen(library_name);
  if (length < wanted || strcmp(info->dlpi_name + length - wanted, library_name) != 0) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    library_begin = info->dlpi_addr + part.p_vaddr;
    library_end = library_begin + part.p_memsz;
  }
  return 1;
}

long Raw(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

void OnSystemCall(int, siginfo_t*, void* context) {
  selector = kAllow;
  Count(kSystemCall);
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const long number = registers[REG_RAX];
  if (number == SYS_clone3 || number == SYS_clone || number == SYS_vfork || number == SYS_fork) {
    // A new thread or process would find itself here, on another stack. So the call is made again
    // from where it was; what follows it is not counted until Continue.
    registers[REG_RIP] -= kSystemCallBytes;
    counting = false;
    return;
  }
  registers[REG_RAX] = Raw(number, registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                           registers[REG_R10], registers[REG_R8], registers[REG_R9]);
  selector = kBlock;
}

// As the kernel has it: the C library's sigaction takes no restorer.
struct KernelAction {
  void (*handler)(int, siginfo_t*, void*);
  uint64_t flags;
  void (*restorer)();
  uint64_t mask;
};

// Not deferred: a mask of signals that is asked for in the handler is then the thread's own.
bool CatchSystemCalls() {
  const KernelAction action = {&OnSystemCall, SA_SIGINFO | SA_NODEFER | kHasRestorer,
                               &tp_test_restore, 0};
  const auto begin = reinterpret_cast<uintptr_t>(&tp_test_restore);
  // The kernel looks at where the system call returns to.
  const uintptr_t bytes = reinterpret_cast<uintptr_t>(&tp_test_restore_end) + 1 - begin;
  return syscall(SYS_rt_sigaction, SIGSYS, &action, nullptr, sizeof(action.mask)) == 0 &&
         prctl(kSetUserDispatch, kDispatchOn, begin, bytes, &selector) == 0;
}

CallCounts Counts(const long (&counts)[kCalls]) {
  return {counts[kAllocation], counts[kLock], counts[kSystemCall]};
}

template <typename Function>
Function* Next(const char* name, Function** found) {
  if (*found == nullptr) *found = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
  return *found;
}

}  // namespace

CallCounter::CallCounter(const char* library) {
  void* warm_up[2];
  backtrace(warm_up, 2);  // Loads what it needs.
  library_name = library;
  dl_iterate_phdr(&FindLibrary, nullptr);
  if (!CatchSystemCalls()) exit(77);
}

CallCounter::~CallCounter() {
  Pause();
  prctl(kSetUserDispatch, kDispatchOff, 0, 0, nullptr);
}

void CallCounter::Continue() {
  counting = true;
  selector = kBlock;
}

void CallCounter::Pause() {
  selector = kAllow;
  counting = false;
}

CallCounts CallCounter::all() const { return Counts(all_counts); }
CallCounts CallCounter::within_library() const { return Counts(library_counts); }

void CallCounter::Reset() {
  memset(all_counts, 0, sizeof(all_counts));
  memset(library_counts, 0, sizeof(library_counts));
}

}  // namespace tp::test

using tp::test::Count;

// In the place of the C library's, for all libraries of the program.
extern "C" {

void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void* memory);

void* malloc(size_t bytes) noexcept {
  Count(tp::test::kAllocation);
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) noexcept {
  Count(tp::test::kAllocation);
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, size_t bytes) noexcept {
  Count(tp::test::kAllocation);
  return __libc_realloc(memory, bytes);
}
void* memalign(size_t alignment, size_t bytes) noexcept {
  Count(tp::test::kAllocation);
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) noexcept { return memalign(alignment, bytes); }
int posix_memalign(void** memory, size_t alignment, size_t bytes) noexcept {
  *memory = memalign(alignment, bytes);
  return *memory != nullptr ? 0 : ENOMEM;
}
void free(void* memory) noexcept {
  Count(tp::test::kAllocation);
  __libc_free(memory);
}

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static int (*next)(pthread_mutex_t*);
  Count(tp::test::kLock);
  return tp::test::Next("pthread_mutex_lock", &next)(mutex);
}
int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  static int (*next)(pthread_mutex_t*);
  Count(tp::test::kLock);
  return tp::test::Next("pthread_mutex_trylock", &next)(mutex);
}
int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  static int (*next)(pthread_rwlock_t*);
  Count(tp::test::kLock);
  return tp::test::Next("pthread_rwlock_rdlock", &next)(lock);
}
int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  static int (*next)(pthread_rwlock_t*);
  Count(tp::test::kLock);
  return tp::test::Next("pthread_rwlock_wrlock", &next)(lock);
}
int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  static int (*next)(pthread_cond_t*);
  Count(tp::test::kLock);
  return tp::test::Next("pthread_cond_signal", &next)(condition);
}
int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  static int (*next)(pthread_cond_t*);
  Count(tp::test::kLock);
  return tp::test::Next("pthread_cond_broadcast", &next)(condition);
}
}
