#include "collector/stack/stack_walker.h"

#include <alloca.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unwind.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "collector/stack/loaded_modules.h"

namespace tp::collect {
namespace {

using testing::ElementsAreArray;
using testing::Gt;
using testing::SizeIs;

using Addresses = std::vector<uintptr_t>;

StackWalker& ThreadsWalker() {
  thread_local const auto walker = [] {
    auto made = std::make_unique<StackWalker>();
    memset(static_cast<void*>(made.get()), 0, sizeof(StackWalker));
    made->FindStack();
    return made;
  }();
  return *walker;
}

Addresses InMemory(const StackFrame* frames, size_t count) {
  Addresses addresses;
  for (size_t i = 0; i < count; ++i) {
    addresses.push_back(frames[i].address + ModuleOf(frames[i].module).load_bias);
  }
  return addresses;
}

// libgcc's unwinder, to compare with.
Addresses ByLibgcc() {
  Addresses addresses;
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* found) {
        static_cast<Addresses*>(found)->push_back(_Unwind_GetIP(context));
        return _URC_NO_REASON;
      },
      &addresses);
  return addresses;
}

// What both of them find here. The innermost frames are those of the unwinders.
struct Walked {
  Addresses ours, libgcc;
};
Walked g_walked;

__attribute__((noinline)) void WalkHere() {
  StackFrame frames[kMostStackFrames];
  g_walked.ours = InMemory(frames, ThreadsWalker().Walk(frames, kMostStackFrames));
  g_walked.libgcc = ByLibgcc();
  asm volatile("" ::: "memory");
}

// That the callers of WalkHere are the same to both, to the outermost.
void ExpectTheSame(size_t at_least) {
  const Addresses& ours = g_walked.ours;
  Addresses libgcc = g_walked.libgcc;
  // The end of the stack, which libgcc tells as a place.
  while (!libgcc.empty() && libgcc.back() == 0) libgcc.pop_back();
  ASSERT_THAT(ours, SizeIs(Gt(at_least)));
  ASSERT_THAT(libgcc, SizeIs(Gt(at_least)));
  const size_t common = std::min(ours.size(), libgcc.size()) - 2;
  EXPECT_GE(common, at_least);
  EXPECT_THAT(Addresses(ours.end() - common, ours.end()),
              ElementsAreArray(Addresses(libgcc.end() - common, libgcc.end())));
}

class StackWalkerTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(StackWalker::Prepare(nullptr)); }
};

__attribute__((noinline)) int Recurse(int depth) {
  if (depth == 0) {
    WalkHere();
    return 0;
  }
  const int below = Recurse(depth - 1);
  asm volatile("" ::: "memory");  // Or a loop would be made of it.
  return below + 1;
}

TEST_F(StackWalkerTest, ARecursionIsFoundFrameByFrame) {
  EXPECT_EQ(Recurse(10), 10);
  ExpectTheSame(15);
  // All but the innermost call return to the same place.
  const Addresses& ours = g_walked.ours;
  size_t equal = 0;
  for (size_t i = 1; i < ours.size(); ++i) equal += ours[i] == ours[i - 1];
  EXPECT_EQ(equal, 9u);
}

TEST_F(StackWalkerTest, FramesThatGrowWithTheirArgumentsAreFollowed) {
  struct Grows {
    __attribute__((noinline)) static void Call(size_t bytes) {
      auto* memory = static_cast<volatile char*>(alloca(bytes));
      memory[0] = 1;
      WalkHere();
      memory[bytes - 1] = 1;
    }
  };
  volatile size_t bytes = 1000;
  Grows::Call(bytes);
  ExpectTheSame(5);
}

TEST_F(StackWalkerTest, FramesThatAlignTheStackAreFollowed) {
  struct Aligns {
    __attribute__((noinline)) static int Call(size_t bytes) {
      alignas(128) volatile char aligned[128] = {};
      auto* memory = static_cast<volatile char*>(alloca(bytes));
      memory[0] = 1;
      WalkHere();
      aligned[5] = memory[0];
      return aligned[5];
    }
  };
  volatile size_t bytes = 100;
  EXPECT_EQ(Aligns::Call(bytes), 1);
  ExpectTheSame(5);
}

TEST_F(StackWalkerTest, CallsThroughTheCLibraryAreFollowed) {
  int numbers[] = {3, 1, 2};
  qsort(numbers, 3, sizeof(int), [](const void* a, const void* b) {
    WalkHere();
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
  });
  ExpectTheSame(6);
}

TEST_F(StackWalkerTest, AThreadsStackEndsWithTheThread) {
  std::thread([] { Recurse(3); }).join();
  ExpectTheSame(5);
}

TEST_F(StackWalkerTest, NoMoreFramesThanAskedFor) {
  struct Asks {
    __attribute__((noinline)) static size_t Call(int depth, StackFrame* frames, size_t most) {
      if (depth == 0) return ThreadsWalker().Walk(frames, most);
      const size_t count = Call(depth - 1, frames, most);
      asm volatile("");
      return count;
    }
  };
  StackFrame frames[kMostStackFrames + 1] = {};
  EXPECT_EQ(Asks::Call(100, frames, kMostStackFrames), kMostStackFrames);
  EXPECT_EQ(frames[kMostStackFrames].module, 0u);
  EXPECT_EQ(Asks::Call(100, frames, 1), 1u);
}

TEST_F(StackWalkerTest, WalkingAgainFindsTheSame) {
  for (int i = 0; i < 3; ++i) {
    Recurse(20);
    ExpectTheSame(20);
  }
}

TEST_F(StackWalkerTest, AnotherStackThanTheThreadsHasNoFrames) {
  static size_t found = 1;
  static ucontext_t here, there;
  static char stack[1 << 16];
  ThreadsWalker();
  getcontext(&there);
  there.uc_stack = {.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof(stack)};
  there.uc_link = &here;
  makecontext(
      &there,
      [] {
        StackFrame frames[8];
        found = ThreadsWalker().Walk(frames, 8);
      },
      0);
  swapcontext(&here, &there);
  EXPECT_EQ(found, 0u);
}

// Code that no table speaks of, as compilers at run time make it, calls back.
TEST_F(StackWalkerTest, TheWalkEndsAtCodeWithoutTables) {
  void* code =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(code, MAP_FAILED);
  // sub $8, %rsp; call *%rdi; add $8, %rsp; ret
  const unsigned char bytes[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x08, 0xc3};
  memcpy(code, bytes, sizeof(bytes));
  static size_t found;
  found = 0;
  reinterpret_cast<void (*)(void (*)())>(code)([] {
    StackFrame frames[kMostStackFrames];
    found = ThreadsWalker().Walk(frames, kMostStackFrames);
  });
  EXPECT_GE(found, 1u);
  EXPECT_LE(found, 3u);
  munmap(code, 4096);
}

TEST_F(StackWalkerTest, ModulesAreToldWithTheirFilesAndBuildIds) {
  Recurse(1);
  StackFrame frames[kMostStackFrames];
  const size_t count = ThreadsWalker().Walk(frames, kMostStackFrames);
  ASSERT_GT(count, 3u);
  char own[4096] = {};
  ASSERT_GT(readlink("/proc/self/exe", own, sizeof(own) - 1), 0);
  bool found_c_library = false, found_own = false;
  for (size_t i = 0; i < count; ++i) {
    const std::string described = DescribeModule(ModuleOf(frames[i].module));
    found_c_library |= described.find("libc.so.6\nb") != std::string::npos;
    found_own |= described.rfind(std::string(own) + "\n", 0) == 0;
  }
  EXPECT_TRUE(found_c_library);
  EXPECT_TRUE(found_own);
}

}  // namespace
}  // namespace tp::collect
