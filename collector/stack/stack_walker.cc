#include "collector/stack/stack_walker.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <cstring>

#include "collector/stack/loaded_modules.h"

namespace tp::collect {
namespace {

using FindObject = int (*)(void*, dl_find_object*);

// Programs of older C libraries load us, too.
FindObject g_find_object = nullptr;
uintptr_t g_own_begin = 0, g_own_end = 0;

// Ours come first and are not told.
constexpr size_t kMostOwnFrames = 16;
constexpr uintptr_t kWordBytes = sizeof(uintptr_t);

}  // namespace

bool StackWalker::Prepare(const void* own_code) {
  g_find_object = reinterpret_cast<FindObject>(dlsym(RTLD_DEFAULT, "_dl_find_object"));
  if (g_find_object == nullptr) return false;
  dl_find_object own;
  if (own_code != nullptr && g_find_object(const_cast<void*>(own_code), &own) == 0) {
    g_own_begin = reinterpret_cast<uintptr_t>(own.dlfo_map_start);
    g_own_end = reinterpret_cast<uintptr_t>(own.dlfo_map_end);
  }
  return true;
}

void StackWalker::FindStack() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* begin = nullptr;
  size_t bytes = 0;
  if (pthread_attr_getstack(&attributes, &begin, &bytes) == 0) {
    stack_begin_ = reinterpret_cast<uintptr_t>(begin);
    stack_end_ = stack_begin_ + bytes;
  }
  pthread_attr_destroy(&attributes);
}

// Of code at `pc`; nullptr: it belongs to no module.
const StackWalker::Known* StackWalker::Look(uintptr_t pc) {
  dl_find_object object;
  // Each time: what was there may have been unloaded, and another be there now.
  if (g_find_object(reinterpret_cast<void*>(pc), &object) != 0) return nullptr;
  const auto frame_header = reinterpret_cast<uintptr_t>(object.dlfo_eh_frame);
  Known& known = known_[(pc * 0x9e3779b97f4a7c15) >> 55];
  static_assert(kKnown == size_t{1} << (64 - 55));
  const uint32_t module = NumberOfModule(object);
  if (known.pc == pc && known.frame_header == frame_header && known.module == module) {
    return &known;
  }
  known.pc = pc;
  known.frame_header = frame_header;
  known.module = static_cast<uint16_t>(module);
  known.rule = {};
  known.has_rule =
      frame_header != 0 && FindRule({.begin = reinterpret_cast<uintptr_t>(object.dlfo_map_start),
                                     .end = reinterpret_cast<uintptr_t>(object.dlfo_map_end),
                                     .frame_header = frame_header},
                                    pc, &known.rule);
  return &known;
}

__attribute__((noinline)) size_t StackWalker::Walk(StackFrame* frames, size_t most) {
  uintptr_t pc, sp, bp;
  // The three belong together: none of these instructions moves the stack.
  asm volatile(
      "leaq 0(%%rip), %0\n\t"
      "movq %%rsp, %1\n\t"
      "movq %%rbp, %2"
      : "=&a"(pc), "=&c"(sp), "=&d"(bp));
  const auto is_within = [&](uintptr_t at) {
    return at >= sp && at <= stack_end_ - kWordBytes && at % kWordBytes == 0;
  };
  const auto word = [](uintptr_t at) {
    uintptr_t value;
    memcpy(&value, reinterpret_cast<const void*>(at), sizeof(value));
    return value;
  };
  if (sp < stack_begin_ || sp >= stack_end_) return 0;
  size_t count = 0;
  bool is_own = true;
  for (size_t step = 0; count < most && step < most + kMostOwnFrames; ++step) {
    // A return address may be that of the next function: the call is before it.
    const Known* known = Look(step == 0 ? pc : pc - 1);
    if (known == nullptr) break;
    is_own = is_own && pc >= g_own_begin && pc < g_own_end;
    if (!is_own) {
      if (known->module == kMostModules) break;
      frames[count++] = {.module = known->module,
                         .address = pc - ModuleOf(known->module).load_bias};
    }
    const FrameRule& rule = known->rule;
    if (!known->has_rule || rule.return_offset == 0) break;
    uintptr_t cfa = (rule.base == FrameRule::Base::kRsp ? sp : bp) +
                    static_cast<uintptr_t>(intptr_t{rule.cfa_offset});
    if (rule.base == FrameRule::Base::kBehindRbp) {
      if (!is_within(cfa)) break;
      cfa = word(cfa);
    }
    const uintptr_t return_at = cfa + static_cast<uintptr_t>(intptr_t{rule.return_offset});
    if (cfa <= sp || cfa > stack_end_ || !is_within(return_at)) break;
    if (rule.rbp == FrameRule::Rbp::kAtCfa || rule.rbp == FrameRule::Rbp::kAtRbp) {
      const uintptr_t at = (rule.rbp == FrameRule::Rbp::kAtCfa ? cfa : bp) +
                           static_cast<uintptr_t>(intptr_t{rule.rbp_offset});
      if (!is_within(at)) break;
      bp = word(at);
    } else if (rule.rbp == FrameRule::Rbp::kLost) {
      bp = 0;
    }
    pc = word(return_at);
    sp = cfa;
  }
  return count;
}

}  // namespace tp::collect
