#include "collector/stack/frame_rules.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

namespace tp::collect {
namespace {

// Memory with nothing readable behind or before it.
class Guarded {
 public:
  explicit Guarded(size_t bytes) : pages_((bytes + 4095) / 4096 + 2) {
    begin_ = static_cast<char*>(
        mmap(nullptr, pages_ * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(begin_ + 4096, (pages_ - 2) * 4096, PROT_READ | PROT_WRITE);
  }
  ~Guarded() { munmap(begin_, pages_ * 4096); }
  unsigned char* data() { return reinterpret_cast<unsigned char*>(begin_) + 4096; }
  size_t size() const { return (pages_ - 2) * 4096; }

 private:
  size_t pages_;
  char* begin_;
};

TEST(FrameRules, AFunctionOfTheCLibraryHasOne) {
  dl_find_object found;
  ASSERT_EQ(_dl_find_object(reinterpret_cast<void*>(&qsort), &found), 0);
  FrameRule rule;
  ASSERT_TRUE(FindRule({.begin = reinterpret_cast<uintptr_t>(found.dlfo_map_start),
                        .end = reinterpret_cast<uintptr_t>(found.dlfo_map_end),
                        .frame_header = reinterpret_cast<uintptr_t>(found.dlfo_eh_frame)},
                       reinterpret_cast<uintptr_t>(&qsort), &rule));
  // At a function's first instruction there is nothing on the stack but the way back.
  EXPECT_EQ(rule.base, FrameRule::Base::kRsp);
  EXPECT_EQ(rule.cfa_offset, 8);
  EXPECT_EQ(rule.return_offset, -8);
  EXPECT_EQ(rule.rbp, FrameRule::Rbp::kSame);
}

// Of tables that are damaged, nothing outside of the module is read.
TEST(FrameRules, DamagedTablesLeadNowhereElse) {
  dl_find_object found;
  ASSERT_EQ(_dl_find_object(reinterpret_cast<void*>(&tp::collect::FindRule), &found), 0);
  const auto* begin = static_cast<const unsigned char*>(found.dlfo_map_start);
  const auto* header = static_cast<const unsigned char*>(found.dlfo_eh_frame);
  // The tables follow each other: .eh_frame_hdr, .eh_frame.
  const size_t bytes =
      std::min<size_t>(static_cast<const unsigned char*>(found.dlfo_map_end) - header, 64 << 10);
  const auto code = static_cast<uintptr_t>(
      reinterpret_cast<const unsigned char*>(&tp::collect::FindRule) - begin);
  Guarded memory(bytes);
  std::mt19937 random(1);
  const size_t readable = std::min<size_t>(bytes, 16 << 10);
  // Through the kernel: an address sanitizer takes a walk over all that lies there for an overflow.
  std::vector<unsigned char> sound(readable);
  const int own_memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(pread(own_memory, sound.data(), readable, reinterpret_cast<off_t>(header)),
            static_cast<ssize_t>(readable));
  close(own_memory);
  for (int round = 0; round < 3000; ++round) {
    memcpy(memory.data(), sound.data(), readable);
    // Damage in few places keeps most of it plausible.
    for (int i = 0; i < round % 8; ++i) {
      memory.data()[random() % 64] = static_cast<unsigned char>(random());
      memory.data()[random() % readable] = static_cast<unsigned char>(random());
    }
    const auto base = reinterpret_cast<uintptr_t>(memory.data());
    const LoadedObject object = {.begin = base, .end = base + memory.size(), .frame_header = base};
    FrameRule rule;
    for (int i = 0; i < 20; ++i) {
      const uintptr_t back = static_cast<uintptr_t>(header - begin) - code;
      FindRule(object, base - back + random() % 4096, &rule);
      FindRule(object, base + random() % (1 << 20), &rule);
    }
  }
}

}  // namespace
}  // namespace tp::collect
