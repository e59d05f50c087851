#include "collector/last_thread.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

namespace tp::collect {
namespace {

TEST(LastThread, IsNotOneBesideTheMainOne) {
  EXPECT_FALSE(IsLastThread());
  bool last = true;
  std::thread([&] { last = IsLastThread(); }).join();
  EXPECT_FALSE(last);
}

TEST(LastThread, IsTheOneThatOutlivesAllOthers) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the sanitizer has a thread of its own";
#endif
  pid_t child = fork();
  if (child == 0) {
    std::thread([] {
      while (!IsLastThread()) usleep(1000);
      _exit(17);
    }).detach();
    std::thread([] { usleep(20'000); }).detach();
    syscall(SYS_exit, 0);  // What pthread_exit comes to, without unwinding through the test.
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 17);
}

// That a watched main thread's end is noticed shows in tests/end_to_end/endings_test.

}  // namespace
}  // namespace tp::collect
