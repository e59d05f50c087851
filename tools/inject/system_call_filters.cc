#include "tools/inject/system_call_filters.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <iterator>

#ifndef PTRACE_SECCOMP_GET_FILTER
#define PTRACE_SECCOMP_GET_FILTER 0x420c
#endif

namespace tp {
namespace {

constexpr size_t kMostFilters = 64;

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#endif

// Classic BPF, as far as seccomp allows it.
uint32_t Run(const FilterProgram& program, const seccomp_data& data) {
  uint32_t a = 0, x = 0, memory[BPF_MEMWORDS] = {};
  for (size_t at = 0; at < program.size(); ++at) {
    const sock_filter& step = program[at];
    const uint32_t k = step.k;
    const uint32_t source = BPF_SRC(step.code) == BPF_X ? x : k;
    switch (BPF_CLASS(step.code)) {
      case BPF_LD:
        if (BPF_MODE(step.code) == BPF_ABS && k + 4 <= sizeof(data)) {
          memcpy(&a, reinterpret_cast<const char*>(&data) + k, 4);
        } else if (BPF_MODE(step.code) == BPF_MEM && k < BPF_MEMWORDS) {
          a = memory[k];
        } else if (BPF_MODE(step.code) == BPF_LEN) {
          a = sizeof(data);
        } else {
          a = k;
        }
        break;
      case BPF_LDX:
        x = BPF_MODE(step.code) == BPF_MEM && k < BPF_MEMWORDS ? memory[k]
            : BPF_MODE(step.code) == BPF_LEN                   ? sizeof(data)
                                                               : k;
        break;
      case BPF_ST:
        if (k < BPF_MEMWORDS) memory[k] = a;
        break;
      case BPF_STX:
        if (k < BPF_MEMWORDS) memory[k] = x;
        break;
      case BPF_ALU:
        switch (BPF_OP(step.code)) {
          case BPF_ADD:
            a += source;
            break;
          case BPF_SUB:
            a -= source;
            break;
          case BPF_MUL:
            a *= source;
            break;
          case BPF_DIV:
            a = source == 0 ? 0 : a / source;
            break;
          case BPF_OR:
            a |= source;
            break;
          case BPF_AND:
            a &= source;
            break;
          case BPF_XOR:
            a ^= source;
            break;
          case BPF_LSH:
            a = source < 32 ? a << source : 0;
            break;
          case BPF_RSH:
            a = source < 32 ? a >> source : 0;
            break;
          case BPF_NEG:
            a = -a;
            break;
          default:
            return SECCOMP_RET_KILL_PROCESS;
        }
        break;
      case BPF_JMP: {
        bool is_true = false;
        switch (BPF_OP(step.code)) {
          case BPF_JA:
            at += k;
            continue;
          case BPF_JEQ:
            is_true = a == source;
            break;
          case BPF_JGT:
            is_true = a > source;
            break;
          case BPF_JGE:
            is_true = a >= source;
            break;
          case BPF_JSET:
            is_true = (a & source) != 0;
            break;
          default:
            return SECCOMP_RET_KILL_PROCESS;
        }
        at += is_true ? step.jt : step.jf;
        break;
      }
      case BPF_RET:
        return BPF_RVAL(step.code) == BPF_A ? a : k;
      case BPF_MISC:
        if (BPF_MISCOP(step.code) == BPF_TAX) x = a;
        if (BPF_MISCOP(step.code) == BPF_TXA) a = x;
        break;
    }
  }
  return SECCOMP_RET_KILL_PROCESS;
}

struct NeededCall {
  long number;
  const char* name;
  uint64_t arguments[6];
};
constexpr NeededCall kNeeded[] = {
    {SYS_memfd_create, "memfd_create", {}},
    {SYS_socketpair, "socketpair", {AF_UNIX, SOCK_STREAM}},
    {SYS_mmap, "mmap", {0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE}},
    {SYS_munmap, "munmap", {}},
    {SYS_mprotect, "mprotect", {0, 4096, PROT_READ}},
    {SYS_madvise, "madvise", {}},
    {SYS_openat, "openat", {}},
    {SYS_read, "read", {}},
    {SYS_pread64, "pread64", {}},
    {SYS_write, "write", {}},
    {SYS_close, "close", {}},
    {SYS_fstat, "fstat", {}},
    {SYS_newfstatat, "newfstatat", {}},
    {SYS_clone,
     "clone",
     {CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
      CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID}},
    {SYS_clone3, "clone3", {}},
    {SYS_set_robust_list, "set_robust_list", {}},
    {SYS_rseq, "rseq", {}},
    {SYS_exit, "exit", {}},
    {SYS_rt_sigprocmask, "rt_sigprocmask", {}},
    {SYS_rt_sigreturn, "rt_sigreturn", {}},
    {SYS_futex, "futex", {}},
    {SYS_socket, "socket", {AF_UNIX, SOCK_STREAM}},
    {SYS_connect, "connect", {}},
    {SYS_getsockopt, "getsockopt", {}},
    {SYS_setsockopt, "setsockopt", {}},
    {SYS_sendto, "sendto", {}},
    {SYS_recvfrom, "recvfrom", {}},
    {SYS_poll, "poll", {}},
    {SYS_fcntl, "fcntl", {}},
    {SYS_prctl, "prctl", {}},
    {SYS_prlimit64, "prlimit64", {}},
    {SYS_clock_gettime, "clock_gettime", {}},
    {SYS_clock_nanosleep, "clock_nanosleep", {}},
    {SYS_sched_yield, "sched_yield", {}},
    {SYS_getpid, "getpid", {}},
    {SYS_gettid, "gettid", {}},
    {SYS_geteuid, "geteuid", {}},
};

}  // namespace

std::optional<std::vector<FilterProgram>> ReadFilters(pid_t thread) {
  std::vector<FilterProgram> filters;
  for (size_t i = 0; i < kMostFilters; ++i) {
    const long steps =
        ptrace(static_cast<__ptrace_request>(PTRACE_SECCOMP_GET_FILTER), thread, i, nullptr);
    if (steps < 0) {
      if (errno == ENOENT) return filters;
      return std::nullopt;
    }
    FilterProgram program(static_cast<size_t>(steps));
    if (ptrace(static_cast<__ptrace_request>(PTRACE_SECCOMP_GET_FILTER), thread, i,
               program.data()) < 0) {
      return std::nullopt;
    }
    filters.push_back(std::move(program));
  }
  return std::nullopt;
}

uint32_t ActionOf(const std::vector<FilterProgram>& filters, long number,
                  std::span<const uint64_t> arguments) {
  seccomp_data data = {};
  data.nr = static_cast<int>(number);
  data.arch = kArchitecture;
  std::copy_n(arguments.begin(), std::min(arguments.size(), std::size(data.args)), data.args);
  // The one that allows least counts: as signed numbers, the smallest.
  uint32_t least = SECCOMP_RET_ALLOW;
  for (const FilterProgram& filter : filters) {
    const uint32_t action = Run(filter, data) & SECCOMP_RET_ACTION_FULL;
    if (static_cast<int32_t>(action) < static_cast<int32_t>(least)) least = action;
  }
  return least;
}

const char* DeadlyCall(const std::vector<FilterProgram>& filters) {
  for (const NeededCall& call : kNeeded) {
    const uint32_t action = ActionOf(filters, call.number, call.arguments);
    if (action == SECCOMP_RET_KILL_PROCESS || action == SECCOMP_RET_KILL_THREAD ||
        action == SECCOMP_RET_TRAP) {
      return call.name;
    }
  }
  return nullptr;
}

}  // namespace tp
