#include "collector/thread_names.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "proto/wire.pb.h"

namespace tp::collect {
namespace {

std::map<uint32_t, std::string> Names(const Descriptions& descriptions) {
  uint64_t revision = 0;
  wire::Descriptions message;
  EXPECT_TRUE(message.ParseFromString(descriptions.EncodeAfter(0, &revision)));
  std::map<uint32_t, std::string> names;
  for (const auto& thread : message.threads()) names[thread.thread_id()] = thread.name();
  return names;
}

// A thread with a name, until it is let go.
class NamedThread {
 public:
  explicit NamedThread(const char* name)
      : thread_([this, name] {
          pthread_setname_np(pthread_self(), name);
          std::unique_lock lock(mutex_);
          id_ = static_cast<uint32_t>(gettid());
          changed_.notify_all();
          changed_.wait(lock, [this] { return may_end_; });
        }) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return id_ != 0; });
  }
  ~NamedThread() {
    {
      std::lock_guard lock(mutex_);
      may_end_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  uint32_t id() const { return id_; }
  void Rename(const char* name) { pthread_setname_np(thread_.native_handle(), name); }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  uint32_t id_ = 0;
  bool may_end_ = false;
  std::thread thread_;
};

TEST(ThreadNames, AreReadOnceAndAgainInTurn) {
  Descriptions descriptions;
  ThreadNames names(&descriptions);
  NamedThread one("loader (1)"), other("writer\nthread");
  for (int i = 0; i < 3; ++i) {
    names.Seen(one.id());
    names.Seen(other.id());
  }
  EXPECT_TRUE(Names(descriptions).empty());
  names.ReadNew();
  EXPECT_EQ(Names(descriptions)[one.id()], "loader (1)");
  EXPECT_EQ(Names(descriptions)[other.id()], "writer\nthread");
  other.Rename("renamed");
  names.ReadNew();
  EXPECT_EQ(Names(descriptions)[other.id()], "writer\nthread") << "is not new";
  names.ReadNext();
  names.ReadNext();
  EXPECT_EQ(Names(descriptions)[other.id()], "renamed");
  other.Rename("at last");
  names.ReadAll();
  EXPECT_EQ(Names(descriptions)[other.id()], "at last");
}

TEST(ThreadNames, AThreadThatHasEndedKeepsItsName) {
  Descriptions descriptions;
  ThreadNames names(&descriptions);
  uint32_t id = 0;
  {
    NamedThread thread("short");
    id = thread.id();
    names.Seen(id);
    names.ReadNew();
  }
  names.ReadAll();
  EXPECT_EQ(Names(descriptions)[id], "short");
}

TEST(ThreadNames, OfMoreThreadsThanAreKeptTheLaterHaveNone) {
  const auto own = static_cast<uint32_t>(gettid());
  for (const uint32_t before : {4095u, 4096u}) {
    Descriptions descriptions;
    ThreadNames names(&descriptions);
    // Numbers that no thread has.
    for (uint32_t i = 0; i < before; ++i) names.Seen((uint32_t{1} << 30) + i);
    names.Seen(own);
    for (uint32_t i = 0; i <= before; ++i) names.ReadNew();
    EXPECT_EQ(Names(descriptions).count(own), before < 4096 ? 1u : 0u) << before;
  }
}

TEST(ThreadNames, NothingIsReadAfterAFilterOfSystemCallsHasCome) {
  const pid_t child = fork();
  if (child == 0) {
    Descriptions descriptions;
    ThreadNames names(&descriptions);
    names.Seen(static_cast<uint32_t>(gettid()));
    sock_filter kill_on_open[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_openat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program = {4, kill_on_open};
    if (prctl(PR_GET_SECCOMP) != 0) _exit(2);  // There was one before: a later one does not show.
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) _exit(3);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) _exit(3);
    names.ReadNew();
    names.ReadNext();
    names.ReadAll();
    _exit(Names(descriptions).empty() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) >= 2) GTEST_SKIP() << "no filters can be tried here";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tp::collect
