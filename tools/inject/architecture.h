// All that depends on the processor when a thread of another process is made to do something: its
// registers, how a call is set up and undone, and the code that is run there. Implemented once for
// each processor (x86_64.cc).
//
// A thread is borrowed the way in which the kernel calls a signal's handler: what it was doing is
// written into a frame on its stack, and whatever it is made to do returns to the C library's own
// code that ends a handler (rt_sigreturn), which takes everything back from the frame. So nobody
// needs to be there for the thread to find its way back: it does if we die at any moment.
#ifndef TOOLS_INJECT_ARCHITECTURE_H_
#define TOOLS_INJECT_ARCHITECTURE_H_

#include <sys/types.h>
#include <sys/user.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/attach.h"

namespace tp {

#if defined(__x86_64__)

using Registers = user_regs_struct;

#else
#error "processors other than x86-64 are not served yet: write this file's counterpart for yours"
#endif

// PTRACE_GETREGSET and PTRACE_SETREGSET of a thread that is stopped; false after an error (errno).
bool ReadRegisters(pid_t thread, Registers* registers);
bool WriteRegisters(pid_t thread, const Registers& registers);
// Floating point and vector registers, as the kernel has them.
bool ReadVectors(pid_t thread, std::vector<char>* vectors);
bool WriteVectors(pid_t thread, const std::vector<char>& vectors);

uint64_t StackPointer(const Registers& registers);
uint64_t Instruction(const Registers& registers);
// The system call that the thread is in; negative: none.
long SystemCallOf(const Registers& registers);
// What it has returned, or is to return.
long ResultOf(const Registers& registers);

// Places in the C library's code that are needed.
struct CodePlaces {
  uint64_t handler_end = 0;  // The code that ends signals' handlers.
  uint64_t system_call = 0;  // A system call's instruction, with a return behind it.
  bool is_complete() const { return handler_end != 0 && system_call != 0; }
};
// Looks for them in code that lies at `address`; what is there already is kept.
void FindPlaces(std::string_view code, uint64_t address, CodePlaces* places);

// The thread makes its system call anew, as the kernel has it do after it was interrupted.
Registers WithCallAgain(const Registers& registers);
// Not in a system call: the kernel does nothing to the registers when the thread goes on.
Registers WithoutCall(const Registers& registers);

struct Frame {
  uint64_t address = 0;  // Where the stack pointer is at the beginning of each call.
  uint64_t scratch = 0;  // kScratchBytes that nobody else uses.
  std::string bytes;     // From `address` on.
  static constexpr size_t kScratchBytes = 64;
};
// `registers` are those that it brings back, as `vectors` and the mask of blocked signals.
Frame MakeFrame(const Registers& registers, const std::vector<char>& vectors, uint64_t signal_mask,
                const CodePlaces& places);

// Registers for a system call, or a call of a function, that returns through the frame.
Registers ForSystemCall(const Registers& registers, const Frame& frame, const CodePlaces& places,
                        long number, const std::vector<uint64_t>& arguments);
Registers ForCall(const Registers& registers, const Frame& frame, uint64_t function,
                  uint64_t argument);
// At the end of the frame's call, before the kernel takes it back: once more to that place.
Registers ForHandlerEnd(const Registers& registers, const Frame& frame, const CodePlaces& places);
// Whether a thread that is about to call rt_sigreturn does so with this frame.
bool IsAtHandlerEnd(const Registers& registers, const Frame& frame);

// The code that is brought into the process, and the parameters beside it. The borrowed thread does
// nothing but make another: `begin` is called with the parameters, and goes on as pthread_create.
// That thread loads the library, looks its entry point up, calls it with the arguments, closes what
// it need not keep and takes the code away.
struct BootstrapParameters {
  uint64_t pthread_create, pthread_detach, pthread_self, dlopen, dlsym, dlerror, close, send,
      munmap;
  uint64_t region, region_bytes;  // Of code and parameters.
  uint64_t entry;                 // The entry point, if the library is there already; else 0.
  uint64_t thread;
  uint64_t unused;
  int32_t library;  // Descriptors, to be closed; negative: none.
  int32_t other_socket;
  int32_t socket;  // For what goes wrong.
  int32_t padding;
  char path[64];
  char function[32];
  char refusal[8];
  AttachArguments arguments;
};
struct Bootstrap {
  std::string_view code;
  size_t begin;  // Of the function that the borrowed thread calls.
};
Bootstrap BootstrapCode();

}  // namespace tp

#endif  // TOOLS_INJECT_ARCHITECTURE_H_
