// x86-64 for architecture.h.
#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>

#include <algorithm>
#include <cstring>

#include "tools/inject/architecture.h"

namespace tp {
namespace {

// mov $15, %rax; syscall: glibc's __restore_rt, which debuggers know signals' frames by.
constexpr unsigned char kHandlerEnd[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
// syscall; ret
constexpr unsigned char kSystemCall[] = {0x0f, 0x05, 0xc3};
constexpr uint64_t kSystemCallBytes = 2;

// Below the stack pointer, a function's own.
constexpr uint64_t kRedZoneBytes = 128;
constexpr size_t kLegacyBytes = 512, kHeaderBytes = 64;
constexpr size_t kSoftwareBytesOffset = 464;
// Interrupts on, nothing else set.
constexpr uint64_t kPlainFlags = 0x202;

// The kernel's struct rt_sigframe: where the stack pointer is when a handler begins.
struct SignalFrame {
  uint64_t handler_end;
  struct {
    uint64_t flags;
    uint64_t link;
    uint64_t stack[3];
    uint64_t general[23];
    uint64_t state;  // Where the extended state is.
    uint64_t reserved[8];
    uint64_t mask;
  } context;
  char info[128];
};
static_assert(sizeof(SignalFrame) == 8 + 40 + 256 + 8 + 128);
constexpr uint64_t kHasExtendedState = 1, kStrictStack = 4;
// No such flags exist: the kernel then leaves the thread's alternate stack, which it does not tell
// us of, as it is.
constexpr uint64_t kKeepAlternateStack = 0x40;

// How much of the extended state holds something, by the features that are in use.
size_t BytesInUse(uint64_t features) {
  size_t bytes = kLegacyBytes + kHeaderBytes;
  for (unsigned i = 2; i < 63; ++i) {
    if ((features & (uint64_t{1} << i)) == 0) continue;
    unsigned size = 0, offset = 0, c = 0, d = 0;
    if (__get_cpuid_count(0xd, i, &size, &offset, &c, &d) == 0) continue;
    bytes = std::max<size_t>(bytes, size_t{offset} + size);
  }
  return bytes;
}

template <typename Value>
Value ValueAt(const std::vector<char>& bytes, size_t offset) {
  Value value = 0;
  if (offset + sizeof(value) <= bytes.size()) memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

// The state as the kernel puts it into frames: with its size, and marks before and after.
std::string ExtendedState(const std::vector<char>& vectors) {
  const auto features = ValueAt<uint64_t>(vectors, kLegacyBytes);
  const size_t bytes = std::min(BytesInUse(features), vectors.size());
  std::string state(vectors.data(), bytes);
  if (bytes < kLegacyBytes + kHeaderBytes) return state;
  _fpx_sw_bytes software = {};
  software.magic1 = FP_XSTATE_MAGIC1;
  software.extended_size = static_cast<uint32_t>(bytes + FP_XSTATE_MAGIC2_SIZE);
  software.xstate_bv = features;
  software.xstate_size = static_cast<uint32_t>(bytes);
  memcpy(state.data() + kSoftwareBytesOffset, &software, sizeof(software));
  const uint32_t end = FP_XSTATE_MAGIC2;
  state.append(reinterpret_cast<const char*>(&end), sizeof(end));
  return state;
}

}  // namespace

bool ReadRegisters(pid_t thread, Registers* registers) {
  iovec bytes = {registers, sizeof(*registers)};
  return ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &bytes) == 0;
}

bool WriteRegisters(pid_t thread, const Registers& registers) {
  iovec bytes = {const_cast<Registers*>(&registers), sizeof(registers)};
  return ptrace(PTRACE_SETREGSET, thread, NT_PRSTATUS, &bytes) == 0;
}

bool ReadVectors(pid_t thread, std::vector<char>* vectors) {
  vectors->resize(size_t{64} << 10);
  iovec bytes = {vectors->data(), vectors->size()};
  if (ptrace(PTRACE_GETREGSET, thread, NT_X86_XSTATE, &bytes) != 0) return false;
  vectors->resize(bytes.iov_len);
  return true;
}

bool WriteVectors(pid_t thread, const std::vector<char>& vectors) {
  iovec bytes = {const_cast<char*>(vectors.data()), vectors.size()};
  return ptrace(PTRACE_SETREGSET, thread, NT_X86_XSTATE, &bytes) == 0;
}

uint64_t StackPointer(const Registers& registers) { return registers.rsp; }
uint64_t Instruction(const Registers& registers) { return registers.rip; }
long SystemCallOf(const Registers& registers) { return static_cast<long>(registers.orig_rax); }
long ResultOf(const Registers& registers) { return static_cast<long>(registers.rax); }

void FindPlaces(std::string_view code, uint64_t address, CodePlaces* places) {
  const auto find = [&](const unsigned char* bytes, size_t size, uint64_t* place) {
    if (*place != 0) return;
    const size_t found = code.find({reinterpret_cast<const char*>(bytes), size});
    if (found != code.npos) *place = address + found;
  };
  find(kHandlerEnd, sizeof(kHandlerEnd), &places->handler_end);
  find(kSystemCall, sizeof(kSystemCall), &places->system_call);
}

Registers WithCallAgain(const Registers& registers) {
  Registers again = registers;
  again.rax = registers.orig_rax;
  again.rip -= kSystemCallBytes;
  return WithoutCall(again);
}

Registers WithoutCall(const Registers& registers) {
  Registers without = registers;
  without.orig_rax = ~uint64_t{0};
  return without;
}

Frame MakeFrame(const Registers& registers, const std::vector<char>& vectors, uint64_t signal_mask,
                const CodePlaces& places) {
  const std::string state = ExtendedState(vectors);
  Frame frame;
  frame.scratch = (registers.rsp - kRedZoneBytes - Frame::kScratchBytes) & ~uint64_t{63};
  const uint64_t state_address = (frame.scratch - state.size()) & ~uint64_t{63};
  // As at the beginning of a function: 8 beyond a multiple of 16.
  frame.address = ((state_address - sizeof(SignalFrame)) & ~uint64_t{15}) - 8;
  SignalFrame signal = {};
  signal.handler_end = places.handler_end;
  signal.context.flags = kHasExtendedState | kStrictStack;
  signal.context.stack[1] = kKeepAlternateStack;
  uint64_t* general = signal.context.general;
  general[REG_R8] = registers.r8;
  general[REG_R9] = registers.r9;
  general[REG_R10] = registers.r10;
  general[REG_R11] = registers.r11;
  general[REG_R12] = registers.r12;
  general[REG_R13] = registers.r13;
  general[REG_R14] = registers.r14;
  general[REG_R15] = registers.r15;
  general[REG_RDI] = registers.rdi;
  general[REG_RSI] = registers.rsi;
  general[REG_RBP] = registers.rbp;
  general[REG_RBX] = registers.rbx;
  general[REG_RDX] = registers.rdx;
  general[REG_RAX] = registers.rax;
  general[REG_RCX] = registers.rcx;
  general[REG_RSP] = registers.rsp;
  general[REG_RIP] = registers.rip;
  general[REG_EFL] = registers.eflags;
  general[REG_CSGSFS] = (registers.cs & 0xffff) | (registers.ss & 0xffff) << 48;
  signal.context.state = state_address;
  signal.context.mask = signal_mask;
  frame.bytes.assign(frame.scratch + Frame::kScratchBytes - frame.address, '\0');
  memcpy(frame.bytes.data(), &signal, sizeof(signal));
  memcpy(frame.bytes.data() + (state_address - frame.address), state.data(), state.size());
  return frame;
}

Registers ForSystemCall(const Registers& registers, const Frame& frame, const CodePlaces& places,
                        long number, const std::vector<uint64_t>& arguments) {
  Registers call = WithoutCall(registers);
  unsigned long long* const places_of_arguments[] = {&call.rdi, &call.rsi, &call.rdx,
                                                     &call.r10, &call.r8,  &call.r9};
  for (size_t i = 0; i < arguments.size() && i < 6; ++i) *places_of_arguments[i] = arguments[i];
  call.rax = static_cast<uint64_t>(number);
  call.rip = places.system_call;
  call.rsp = frame.address;
  call.eflags = kPlainFlags;
  return call;
}

Registers ForCall(const Registers& registers, const Frame& frame, uint64_t function,
                  uint64_t argument) {
  Registers call = WithoutCall(registers);
  call.rdi = argument;
  call.rip = function;
  call.rsp = frame.address;
  call.eflags = kPlainFlags;
  return call;
}

Registers ForHandlerEnd(const Registers& registers, const Frame& frame, const CodePlaces& places) {
  Registers end = WithoutCall(registers);
  end.rip = places.handler_end;
  end.rsp = frame.address + sizeof(uint64_t);  // As after the return to it.
  return end;
}

bool IsAtHandlerEnd(const Registers& registers, const Frame& frame) {
  return registers.rsp == frame.address + sizeof(uint64_t);
}

// Offsets of BootstrapParameters in the code below.
#define TP_OFFSET(member, offset) \
  static_assert(offsetof(BootstrapParameters, member) == (offset), #member)
TP_OFFSET(pthread_create, 0);
TP_OFFSET(pthread_detach, 8);
TP_OFFSET(pthread_self, 16);
TP_OFFSET(dlopen, 24);
TP_OFFSET(dlsym, 32);
TP_OFFSET(dlerror, 40);
TP_OFFSET(close, 48);
TP_OFFSET(send, 56);
TP_OFFSET(munmap, 64);
TP_OFFSET(region, 72);
TP_OFFSET(region_bytes, 80);
TP_OFFSET(entry, 88);
TP_OFFSET(thread, 96);
TP_OFFSET(library, 112);
TP_OFFSET(other_socket, 116);
TP_OFFSET(socket, 120);
TP_OFFSET(path, 128);
TP_OFFSET(function, 192);
TP_OFFSET(refusal, 224);
TP_OFFSET(arguments, 232);
#undef TP_OFFSET

extern "C" {
extern const char tp_bootstrap_code[], tp_bootstrap_code_end[];
}

asm(R"(
  .pushsection .rodata
  .balign 16
  .globl tp_bootstrap_code
  .hidden tp_bootstrap_code
tp_bootstrap_code:
  # The borrowed thread: makes another.
  # It does not come back here: by then the other one may have taken this code away.
  mov %rdi, %rcx
  lea 96(%rcx), %rdi
  xor %esi, %esi
  lea 1f(%rip), %rdx
  jmp *0(%rcx)

1: # The other one.
  push %rbx
  push %rbp
  sub $8, %rsp
  mov %rdi, %rbx
  call *16(%rbx)
  mov %rax, %rdi
  call *8(%rbx)
  mov 116(%rbx), %edi
  test %edi, %edi
  js 2f
  call *48(%rbx)
2:
  mov 88(%rbx), %rax
  test %rax, %rax
  jnz 3f
  lea 128(%rbx), %rdi
  mov $0x102, %esi           # RTLD_NOW | RTLD_GLOBAL: the header's functions are looked for there.
  call *24(%rbx)
  test %rax, %rax
  jz 4f
  mov %rax, %rdi
  lea 192(%rbx), %rsi
  call *32(%rbx)
  test %rax, %rax
  jz 4f
3:
  lea 232(%rbx), %rdi
  call *%rax
  jmp 7f
4: # Says what the loader says.
  mov 120(%rbx), %edi
  lea 224(%rbx), %rsi
  mov $4, %edx
  mov $0x4000, %ecx          # MSG_NOSIGNAL
  call *56(%rbx)
  call *40(%rbx)
  test %rax, %rax
  jz 6f
  mov %rax, %rsi
  xor %edx, %edx
5:
  cmpb $0, (%rsi,%rdx)
  je 5f
  inc %rdx
  jmp 5b
5:
  mov 120(%rbx), %edi
  mov $0x4000, %ecx
  call *56(%rbx)
6:
  mov 120(%rbx), %edi
  call *48(%rbx)
7:
  mov 112(%rbx), %edi
  test %edi, %edi
  js 8f
  call *48(%rbx)
8: # Nothing of this is needed any more; munmap returns to who began the thread.
  mov 72(%rbx), %rdi
  mov 80(%rbx), %rsi
  mov 64(%rbx), %rax
  add $8, %rsp
  pop %rbp
  pop %rbx
  jmp *%rax
  .globl tp_bootstrap_code_end
  .hidden tp_bootstrap_code_end
tp_bootstrap_code_end:
  .popsection
)");

Bootstrap BootstrapCode() {
  return {{tp_bootstrap_code, static_cast<size_t>(tp_bootstrap_code_end - tp_bootstrap_code)}, 0};
}

}  // namespace tp
