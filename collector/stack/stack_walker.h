// The calling thread's stack, as return addresses, innermost first.
//
// Unwinds by the tables that compilers write for each function (stack/frame_rules.h), so that code
// without frame pointers, which is most, is no obstacle. Not libgcc's unwinder: that aborts the
// program when it meets a table that it does not understand, and reads whatever memory a wrong one
// leads to. Here each step must lead further up within the thread's own stack, or the walk ends;
// and the rule for a place is kept, so that it is looked up once. Modules are found with
// _dl_find_object (glibc 2.35), which takes no lock, so that neither a fork nor a dlopen
// on another thread is in the way.
#ifndef COLLECTOR_STACK_STACK_WALKER_H_
#define COLLECTOR_STACK_STACK_WALKER_H_

#include <cstddef>
#include <cstdint>

#include "collector/stack/frame_rules.h"

namespace tp::collect {

// A frame: the number of its module (stack/loaded_modules.h), and the return address by the file's
// own addresses.
struct StackFrame {
  uint64_t module : 16;
  uint64_t address : 48;
};
static_assert(sizeof(StackFrame) == 8);

inline constexpr size_t kMostStackFrames = 64;

// A thread's own. Zeroed memory is one without anything in it.
class StackWalker {
 public:
  // Once, before the first walk. Frames of the module that has `own_code` are not told, while they
  // are the innermost ones; nullptr: all are. False: this C library has no way to find modules
  // without a lock, and there are no stacks.
  static bool Prepare(const void* own_code);

  // Of the calling thread: what lies beyond is not read. Takes locks and may make system calls. A
  // thread that runs on another stack (a coroutine's) has no frames then.
  void FindStack();

  // Returns how many frames there are. No lock, no allocation, no system call.
  size_t Walk(StackFrame* frames, size_t most);

 private:
  struct Known {
    uintptr_t pc;
    uintptr_t frame_header;
    FrameRule rule;
    uint16_t module;
    bool has_rule;
  };
  static constexpr size_t kKnown = 512;

  const Known* Look(uintptr_t pc);

  uintptr_t stack_begin_, stack_end_;
  Known known_[kKnown];
};

}  // namespace tp::collect

#endif  // COLLECTOR_STACK_STACK_WALKER_H_
