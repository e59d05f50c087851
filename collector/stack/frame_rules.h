// How to get from a function's frame to its caller's: what the compiler has written down for each
// instruction (DWARF's call frame information, in .eh_frame), as far as a return address needs it.
//
//   FrameRule rule;
//   if (FindRule(object, pc, &rule)) ...      // The rule for the code at `pc`.
//
// Reads the tables of a module that stays loaded meanwhile (its code is on the caller's stack), and
// nothing outside of the module's addresses, whatever the tables say. Understands what compilers
// write; of code that has nothing, or something else (signal frames, registers other than rsp and
// rbp), it says that it does not know. Any thread; no lock, no allocation, no system call.
#ifndef COLLECTOR_STACK_FRAME_RULES_H_
#define COLLECTOR_STACK_FRAME_RULES_H_

#include <cstddef>
#include <cstdint>

namespace tp::collect {

// A module's memory, and where its .eh_frame_hdr begins in it.
struct LoadedObject {
  uintptr_t begin, end;
  uintptr_t frame_header;
};

// The frame's reference address (CFA) is where the caller's rsp points after the return.
struct FrameRule {
  enum class Base : uint8_t { kRsp, kRbp, kBehindRbp /* the value at rbp + cfa_offset */ };
  enum class Rbp : uint8_t { kSame, kAtCfa, kAtRbp, kLost };

  int32_t cfa_offset = 0;
  Base base = Base::kRsp;
  Rbp rbp = Rbp::kSame;
  // Where the caller's rbp is, from the CFA or from rbp on.
  int32_t rbp_offset = 0;
  // Where the return address is, from the CFA on; 0: it is the outermost frame.
  int32_t return_offset = 0;
};

// False: it is not known.
bool FindRule(const LoadedObject& object, uintptr_t pc, FrameRule* rule);

}  // namespace tp::collect

#endif  // COLLECTOR_STACK_FRAME_RULES_H_
