#include "collector/link/system_call_filter.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <cstddef>
#include <iterator>
#include <thread>

namespace tp::collect {
namespace {

TEST(SystemCallFilter, AFilterThatComesIsCounted) {
  int before = SystemCallFilters();
  ASSERT_GE(before, 0);
  int after = -1, allowed = -1;
  // On a thread of its own: a filter stays.
  std::thread thread([&] {
    sock_filter allow_all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    sock_fprog program = {static_cast<unsigned short>(std::size(allow_all)), allow_all};
    allowed = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (allowed == 0) allowed = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
    after = SystemCallFilters();
  });
  thread.join();
  ASSERT_EQ(allowed, 0);
  EXPECT_EQ(after, before + 1);
  EXPECT_EQ(SystemCallFilters(), before);
}

}  // namespace
}  // namespace tp::collect
