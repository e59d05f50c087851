#include "analyzer/serve/session_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <random>
#include <string>

#include "analyzer/serve/query_service.h"
#include "analyzer/serve/traced_process.h"

namespace tp {
namespace {

wire::Hello Hello(uint64_t start_time_ticks, int64_t capture_start_ns = 1000) {
  wire::Hello hello;
  hello.set_protocol_version(1);
  hello.set_pid(getpid());
  hello.set_start_time_ticks(start_time_ticks);
  hello.set_capture_start_ns(capture_start_ns);
  hello.set_command("app");
  return hello;
}

wire::Batch Batch(uint64_t sequence) {
  wire::Batch batch;
  batch.set_sequence(sequence);
  batch.mutable_kernels()->add_start_delta_ns(5000);
  batch.mutable_kernels()->add_duration_ns(10);
  return batch;
}

class SessionStoreTest : public testing::Test {
 protected:
  Session* Greet(const wire::Hello& hello, uid_t uid = 1000) {
    Session* session = store_.Greet({.pid = getpid(), .uid = uid}, hello, ++now_ns_);
    session->Greet(hello, /*new_connection=*/true, now_ns_);
    return session;
  }

  SessionStore store_{StoreLimits::FromMegabytes(64)};
  int64_t now_ns_ = 0;
};

TEST(TracedProcess, TellsRunningProcessesFromEndedOnes) {
  EXPECT_TRUE(FindProcess(getpid()).has_value());
  EXPECT_FALSE(FindProcess(0).has_value());
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  EXPECT_GE(FindProcess(child)->start_ticks, FindProcess(getpid())->start_ticks);
  kill(child, SIGKILL);
  siginfo_t ended;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(FindProcess(child).has_value());  // Only its exit status is left.
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(FindProcess(child).has_value());
}

TEST(TracedProcess, IsAnotherAfterExecThoughItStartedWhenItDid) {
  int executed[2];
  ASSERT_EQ(pipe2(executed, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    raise(SIGSTOP);
    execl("/bin/sleep", "sleep", "60", nullptr);
    _exit(1);
  }
  close(executed[1]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  const std::optional<TracedProcess> before = FindProcess(child);
  kill(child, SIGCONT);
  char none;
  EXPECT_EQ(read(executed[0], &none, 1), 0);  // The exec closes the other end.
  const std::optional<TracedProcess> after = FindProcess(child);
  EXPECT_EQ(after->start_ticks, before->start_ticks);
  EXPECT_NE(after->stack_start, before->stack_start);
  close(executed[0]);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_F(SessionStoreTest, TheSameProcessGoesOnWithItsSession) {
  Session* session = Greet(Hello(7));
  ASSERT_TRUE(session->Add(Batch(1)).ok());
  session->Disconnected(++now_ns_);
  EXPECT_EQ(Greet(Hello(7)), session);
  ASSERT_TRUE(session->Add(Batch(1)).ok());
  ASSERT_TRUE(session->Add(Batch(2)).ok());
  EXPECT_EQ(session->losses().received()[wire::KERNEL], 2u);
  EXPECT_EQ(session->losses().repeated_batches(), 1u);
}

TEST_F(SessionStoreTest, AReusedPidIsAnotherProcess) {
  Session* session = Greet(Hello(7));
  EXPECT_NE(Greet(Hello(8)), session);
  EXPECT_EQ(store_.sessions().size(), 2u);
}

TEST_F(SessionStoreTest, AnotherCollectorInTheSameProcessBeginsAnew) {
  Session* before_exec = Greet(Hello(7, 1000));
  ASSERT_TRUE(before_exec->Add(Batch(1)).ok());
  Session* after_exec = Greet(Hello(7, 2000));
  EXPECT_NE(after_exec, before_exec);
  EXPECT_EQ(before_exec->Describe().state(), query::GONE);
  EXPECT_NE(before_exec->Describe().ShortDebugString().find("without a goodbye"),
            std::string::npos);
  ASSERT_TRUE(after_exec->Add(Batch(1)).ok());
  EXPECT_EQ(after_exec->losses().received()[wire::KERNEL], 1u);
}

TEST_F(SessionStoreTest, AttachingAgainAfterAGoodbyeBeginsAnew) {
  Session* first = Greet(Hello(7));
  wire::Goodbye goodbye;
  goodbye.set_reason(wire::Goodbye::DETACHED);
  first->Told(goodbye);
  EXPECT_EQ(first->Describe().state(), query::DETACHED);
  EXPECT_NE(Greet(Hello(7)), first);
}

TEST_F(SessionStoreTest, ABrokenBatchChangesNothing) {
  Session* session = Greet(Hello(7));
  wire::Batch broken = Batch(1);
  broken.mutable_kernels()->add_name_id(3);
  EXPECT_FALSE(session->Add(broken).ok());
  EXPECT_EQ(session->last_sequence(), 0u);
  EXPECT_TRUE(session->Add(Batch(1)).ok());
  EXPECT_EQ(session->losses().received()[wire::KERNEL], 1u);
}

TEST_F(SessionStoreTest, TheLastProcessesThatEndedStay) {
  for (uint64_t ticks = 1; ticks <= 40; ++ticks) {
    Session* session = Greet(Hello(ticks));
    ASSERT_TRUE(session->Add(Batch(1)).ok());
    wire::Goodbye goodbye;
    goodbye.set_reason(wire::Goodbye::EXIT);
    session->Told(goodbye);
    session->Disconnected(++now_ns_);
  }
  Session* running = Greet(Hello(99));
  store_.Trim();
  EXPECT_EQ(store_.sessions().size(), 33u);
  EXPECT_EQ(store_.let_go(), 8u);
  EXPECT_EQ(store_.sessions().back().get(), running);
  EXPECT_EQ(store_.events(), 40u);  // Those of the processes that were let go are not forgotten.
}

// A batch of one operation with a launch and a kernel in it, all with numbers of their own.
wire::Batch Step(uint64_t sequence, int rows) {
  wire::Batch batch;
  batch.set_sequence(sequence);
  const int64_t first = static_cast<int64_t>(sequence - 1) * rows;
  for (int row = 0; row < rows; ++row) {
    wire::OperationColumns* operations = batch.mutable_operations();
    operations->add_start_delta_ns(row == 0 ? 10'000 + first * 1000 : 1000);
    operations->add_duration_ns(900);
    operations->add_id_delta(row == 0 ? first + 1 : 1);
    operations->add_name_id(static_cast<uint32_t>((first + row) % 2000));
    operations->add_shapes_id(static_cast<uint32_t>((first + row) % 1999));
    wire::WorkColumns* kernels = batch.mutable_kernels();
    kernels->add_start_delta_ns(row == 0 ? 10'100 + first * 1000 : 1000);
    kernels->add_duration_ns(300);
    kernels->add_correlation_delta(row == 0 ? first + 1 : 1);
    kernels->add_name_id(static_cast<uint32_t>((first + row) % 1999));
    kernels->add_stream(static_cast<uint32_t>(row % 32));
    wire::LaunchOperationColumns* launches = batch.mutable_launch_operations();
    launches->add_correlation_delta(row == 0 ? first + 1 : 1);
    launches->add_operation_delta(row == 0 ? first + 1 : 1);
  }
  return batch;
}

TEST_F(SessionStoreTest, ABusyProcessStaysWithinItsShare) {
  Session* session = Greet(Hello(7));
  wire::Strings names;
  names.set_first_id(1);
  for (int i = 0; i < 2000; ++i)
    names.add_text("a name of usual length, number " + std::to_string(i));
  ASSERT_TRUE(session->Add(names).ok());
  constexpr size_t kShare = (size_t{64} << 20) / 8;
  for (uint64_t sequence = 1; sequence <= 150; ++sequence) {
    ASSERT_TRUE(session->Add(Step(sequence, 1000)).ok());
    ASSERT_LE(session->memory_bytes(), kShare) << sequence;
  }
  // And makes use of it.
  EXPECT_GE(session->memory_bytes(), kShare / 4);
  EXPECT_EQ(session->summary().device_time_ns(), 150'000 * 300);
}

TEST_F(SessionStoreTest, ImpossibleRecordsAreLossesAndInNoSum) {
  now_ns_ = 10'000;
  Session* session = Greet(Hello(7));  // Captures since 1,000.
  constexpr int64_t kHourNs = 3'600'000'000'000;
  wire::Batch batch;
  batch.set_sequence(1);
  wire::WorkColumns& kernels = *batch.mutable_kernels();
  int64_t last = 0;
  const auto add_kernel = [&](int64_t start_ns, int64_t duration_ns) {
    kernels.add_start_delta_ns(start_ns - last);
    kernels.add_duration_ns(duration_ns);
    kernels.add_correlation_delta(kernels.correlation_delta_size() == 0 ? 5 : 0);
    last = start_ns;
  };
  add_kernel(6000, 10);       // Right.
  add_kernel(4999, 2000);     // Its call began at 5,000.
  add_kernel(900, 5000);      // Capturing had not begun.
  add_kernel(7000, -1);       // Ends before it starts.
  add_kernel(7000, kHourNs);  // Ends when it has not come yet.
  wire::Batch calls;
  calls.set_sequence(2);
  calls.mutable_runtime_calls()->add_start_delta_ns(5000);
  calls.mutable_runtime_calls()->add_duration_ns(50);
  calls.mutable_runtime_calls()->add_correlation_delta(5);
  ASSERT_TRUE(session->Add(batch).ok());
  ASSERT_TRUE(session->Add(calls).ok());

  query::TableRequest request;
  request.set_view(query::KERNELS);
  const query::Response response = MakeTable(store_, {.pid = 1, .uid = 0}, request, {}, now_ns_);
  const query::Table& table = response.table();
  EXPECT_EQ(table.device_time_total_ns(), 10);
  ASSERT_EQ(table.kernels_size(), 1);
  EXPECT_EQ(table.kernels(0).count(), 1);
  std::map<std::string, uint64_t> losses;
  for (const query::Loss& loss : table.losses()) {
    EXPECT_EQ(loss.kind(), "kernels");
    losses[loss.cause()] = loss.count();
  }
  EXPECT_EQ(losses, (std::map<std::string, uint64_t>{{"start before their launch", 1},
                                                     {"end before they start", 1},
                                                     {"outside the time of the recording", 2}}));
}

TEST_F(SessionStoreTest, DamagedBatchesAreTakenOrRefused) {
  Session* session = Greet(Hello(7));
  wire::Strings names;
  names.set_first_id(1);
  for (int i = 0; i < 2000; ++i) names.add_text(std::to_string(i));
  ASSERT_TRUE(session->Add(names).ok());
  std::mt19937_64 random(1);
  uint64_t taken = 0, refused = 0;
  for (uint64_t round = 0; round < 1500; ++round) {
    std::string bytes = Step(session->last_sequence() % 1000 + 1, 20).SerializeAsString();
    for (uint64_t damage = random() % 4; damage > 0; --damage) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    wire::Batch batch;
    if (!batch.ParseFromString(bytes)) continue;
    batch.set_sequence(session->last_sequence() + 1);
    ++(session->Add(batch).ok() ? taken : refused);
  }
  EXPECT_GT(taken, 300u);
  EXPECT_GT(refused, 50u);
  query::TableRequest request;
  for (int view = query::View_MIN; view <= query::View_MAX; ++view) {
    if (!query::View_IsValid(view)) continue;
    request.set_view(static_cast<query::View>(view));
    EXPECT_TRUE(MakeTable(store_, {.pid = 1, .uid = 0}, request, {}, 1'000'000).has_table());
  }
}

TEST_F(SessionStoreTest, ATextThatIsNoUtf8IsMadeOne) {
  wire::Hello hello = Hello(7);
  hello.set_command("a\xff\xc3\xa4\xed\xa0\x80");
  query::Process process = Greet(hello)->Describe();
  EXPECT_EQ(process.command(), "a\xef\xbf\xbd\xc3\xa4\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_TRUE(query::Process().ParseFromString(process.SerializeAsString()));
}

TEST_F(SessionStoreTest, AUserSeesTheOwnProcessesAndRootAll) {
  Greet(Hello(1), 1000);
  Greet(Hello(2), 2000);
  EXPECT_EQ(DescribeProcesses(store_, {.pid = 1, .uid = 1000}, 0).processes_size(), 1);
  EXPECT_EQ(DescribeProcesses(store_, {.pid = 1, .uid = 0}, 0).processes_size(), 2);
  EXPECT_EQ(DescribeProcesses(store_, {.pid = 1, .uid = 3000}, 0).processes_size(), 0);
  EXPECT_FALSE(SessionsConcerned(store_, {.pid = 1, .uid = 3000}, getpid()).ok());
  EXPECT_EQ(SessionsConcerned(store_, {.pid = 1, .uid = 2000}, 0)->size(), 1u);
}

TEST_F(SessionStoreTest, AProcessThatIsNotThereIsAnsweredWithThoseThatAre) {
  Greet(Hello(1), 1000);
  const query::Response response = MakeTable(
      store_, {.pid = 1, .uid = 1000},
      [] {
        query::TableRequest request;
        request.set_pid(1);
        return request;
      }(),
      {}, 0);
  EXPECT_NE(response.error().message().find("no process 1 is traced here"), std::string::npos);
  EXPECT_NE(response.error().message().find(std::to_string(getpid()) + " (app"), std::string::npos)
      << response.error().message();
}

TEST_F(SessionStoreTest, AProcessThatNamesAnotherPidIsFoundByTheKernelsWord) {
  wire::Hello hello = Hello(1);
  hello.set_pid(1);
  const query::Process process = Greet(hello)->Describe();
  EXPECT_EQ(process.pid(), getpid());
  ASSERT_EQ(process.notes_size(), 1);
  EXPECT_NE(process.notes(0).find("calls itself pid 1"), std::string::npos);
}

}  // namespace
}  // namespace tp
