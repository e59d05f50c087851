// The daemon's program over real sockets: its collectors and tools are played by this test.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/serve/daemon_lock.h"
#include "analyzer/serve/daemon_under_test.h"
#include "analyzer/serve/reactor.h"

namespace tp {
namespace {

constexpr int64_t kCuptiAheadNs = 5'000'000'000;

// Names as the batches below use them.
const std::vector<std::string> kNames = {"mm", "step", "_Z6matmulPf", "cudaLaunchKernel_v7000",
                                         "[[2, 3], []]"};

// An operation "mm" inside a range "step", a launch in it, and its kernel; 10 us each, from
// `base_ns` on. Ids begin at `first_id`.
wire::Batch OneStep(uint64_t sequence, int64_t base_ns, int64_t first_id) {
  wire::Batch batch;
  batch.set_sequence(sequence);
  wire::OperationColumns* operations = batch.mutable_operations();
  operations->add_start_delta_ns(base_ns + 1'000);
  operations->add_start_delta_ns(-1'000);
  for (int64_t duration : {10'000, 30'000}) operations->add_duration_ns(duration);
  for (int64_t delta : {first_id, int64_t{1}}) operations->add_id_delta(delta);
  for (uint32_t name : {1, 2}) operations->add_name_id(name);
  for (uint32_t kind : {'o', 'u'}) operations->add_kind(kind);
  for (uint32_t shapes : {5, 0}) operations->add_shapes_id(shapes);
  operations->add_thread_id(11);
  wire::CallColumns* calls = batch.mutable_runtime_calls();
  calls->add_start_delta_ns(base_ns + 2'000 + kCuptiAheadNs);
  calls->add_duration_ns(3'000);
  calls->add_correlation_delta(first_id);
  calls->add_thread_id(11);
  calls->add_name_id(4);
  calls->add_cbid(211);
  wire::WorkColumns* kernels = batch.mutable_kernels();
  kernels->add_start_delta_ns(base_ns + 100'000 + kCuptiAheadNs);
  kernels->add_duration_ns(40'000);
  kernels->add_correlation_delta(first_id);
  kernels->add_name_id(3);
  kernels->add_context(1);
  kernels->add_stream(7);
  batch.mutable_launch_operations()->add_correlation_delta(first_id);
  batch.mutable_launch_operations()->add_operation_delta(first_id);
  return batch;
}

std::map<std::string, uint64_t> Events(const query::Process& process) {
  std::map<std::string, uint64_t> events;
  for (const query::KindCount& kind : process.events()) events[kind.kind()] = kind.count();
  return events;
}

const query::OperationRow* Row(const query::Table& table, const std::string& name) {
  for (const query::OperationRow& row : table.operations()) {
    if (row.name() == name) return &row;
  }
  return nullptr;
}

std::string Text(const google::protobuf::Message& message) { return message.ShortDebugString(); }

class DaemonTest : public testing::Test {
 protected:
  DaemonTest() : daemon_(std::make_unique<DaemonProcess>(folder_.path() + "/tpd.sock")) {}

  const std::string& socket_path() const { return daemon_->socket_path(); }

  // A collector that has said hello and captures.
  std::unique_ptr<CollectorClient> Connect(const wire::Hello& hello) {
    auto collector = std::make_unique<CollectorClient>(socket_path());
    EXPECT_FALSE(collector->Greet(hello).refused());
    EXPECT_TRUE(collector->Told(wire::CAPTURING));
    EXPECT_TRUE(collector->SendStrings(1, kNames));
    return collector;
  }

  // Sends one step and sees that the daemon takes and shows it: it works.
  void ExpectToServe(CollectorClient& collector, uint64_t sequence) {
    ASSERT_TRUE(collector.SendBatch(OneStep(sequence, MonotonicNow(), int64_t(sequence) * 10)));
    ASSERT_TRUE(collector.WaitUntilAcknowledged(sequence));
    QueryClient tool(socket_path());
    const query::Table table = tool.Table(query::OPERATIONS);
    const query::OperationRow* row = Row(table, "mm");
    ASSERT_NE(row, nullptr) << Text(table);
    EXPECT_EQ(row->count(), static_cast<int64_t>(sequence));
    EXPECT_EQ(row->self_device_time_total_ns(), 40'000 * static_cast<int64_t>(sequence));
  }

  TemporaryFolder folder_;
  std::unique_ptr<DaemonProcess> daemon_;
};

TEST_F(DaemonTest, AUsualFlowGivesExactTables) {
  auto collector = Connect(CollectorClient::UsualHello());
  const int64_t base_ns = MonotonicNow();
  for (uint64_t sequence = 1; sequence <= 3; ++sequence) {
    ASSERT_TRUE(collector->SendBatch(
        OneStep(sequence, base_ns + 1'000'000 * int64_t(sequence), int64_t(sequence) * 10)));
  }
  ASSERT_TRUE(collector->WaitUntilAcknowledged(3));
  QueryClient tool(socket_path());

  const query::Table operations = tool.Table(query::OPERATIONS);
  const query::OperationRow* mm = Row(operations, "mm");
  const query::OperationRow* step = Row(operations, "step");
  ASSERT_NE(mm, nullptr) << Text(operations);
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(mm->count(), 3);
  EXPECT_EQ(mm->kind(), "o");
  EXPECT_EQ(mm->cpu_time_total_ns(), 30'000);
  EXPECT_EQ(mm->self_device_time_total_ns(), 120'000);
  EXPECT_EQ(mm->kernel_count(), 3);
  EXPECT_EQ(step->cpu_time_total_ns(), 90'000);
  EXPECT_EQ(step->self_cpu_time_total_ns(), 60'000);
  EXPECT_EQ(step->device_time_total_ns(), 120'000);
  EXPECT_EQ(step->self_device_time_total_ns(), 0);
  EXPECT_EQ(operations.device_time_total_ns(), 120'000);
  EXPECT_EQ(operations.losses_size(), 0) << Text(operations);
  EXPECT_EQ(operations.notes_size(), 0) << Text(operations);

  const query::Table kernels = tool.Table(query::KERNELS, getpid());
  ASSERT_EQ(kernels.kernels_size(), 1) << Text(kernels);
  EXPECT_EQ(kernels.kernels(0).name(), "matmul(float*)");
  EXPECT_EQ(kernels.kernels(0).count(), 3);
  EXPECT_EQ(kernels.kernels(0).total_ns(), 120'000);

  const query::Processes processes = tool.Processes();
  ASSERT_EQ(processes.processes_size(), 1);
  const query::Process& process = processes.processes(0);
  EXPECT_EQ(process.pid(), getpid());
  EXPECT_EQ(process.uid(), getuid());
  EXPECT_EQ(process.state(), query::CAPTURING);
  EXPECT_EQ(process.command(), "python train.py");
  EXPECT_EQ(process.cupti_version(), 130001u);
  EXPECT_EQ(process.device_time_ns(), 120'000);
  EXPECT_EQ(Events(process), (std::map<std::string, uint64_t>{{"operations", 6},
                                                              {"kernels", 3},
                                                              {"copies", 0},
                                                              {"fills", 0},
                                                              {"runtime_calls", 3},
                                                              {"driver_calls", 0}}));
  const query::Daemon daemon = tool.Daemon();
  EXPECT_EQ(daemon.pid(), daemon_->pid());
  EXPECT_EQ(daemon.events(), 12u);
  EXPECT_EQ(daemon.connections(), 2u);
  EXPECT_EQ(daemon.rejected_connections(), 0u);
  EXPECT_GT(daemon.bytes(), 100u);
  EXPECT_EQ(daemon.socket(), socket_path());
}

TEST_F(DaemonTest, ARangeThatIsOpenShowsItsDeviceTime) {
  auto collector = Connect(CollectorClient::UsualHello());
  const int64_t base_ns = MonotonicNow() - 1'000'000;
  wire::Batch batch;
  batch.set_sequence(1);
  batch.mutable_opened()->add_start_delta_ns(base_ns);
  batch.mutable_opened()->add_id_delta(5);
  batch.mutable_opened()->add_name_id(2);
  batch.mutable_opened()->add_kind('u');
  batch.mutable_opened()->add_thread_id(11);
  wire::WorkColumns* kernels = batch.mutable_kernels();
  kernels->add_start_delta_ns(base_ns + 500 + kCuptiAheadNs);
  kernels->add_duration_ns(700);
  kernels->add_correlation_delta(1);
  kernels->add_name_id(3);
  batch.mutable_launch_operations()->add_correlation_delta(1);
  batch.mutable_launch_operations()->add_operation_delta(5);
  ASSERT_TRUE(collector->SendBatch(batch));
  ASSERT_TRUE(collector->WaitUntilAcknowledged(1));
  QueryClient tool(socket_path());
  query::Table table = tool.Table(query::OPERATIONS);
  const query::OperationRow* step = Row(table, "step");
  ASSERT_NE(step, nullptr) << Text(table);
  EXPECT_EQ(step->open(), 1);
  EXPECT_EQ(step->self_device_time_total_ns(), 700);
  EXPECT_EQ(step->cpu_time_total_ns(), table.now_ns() - base_ns);

  wire::Batch end;
  end.set_sequence(2);
  end.mutable_closed()->add_id_delta(5);
  end.mutable_closed()->add_end_delta_ns(base_ns + 900'000);
  ASSERT_TRUE(collector->SendBatch(end));
  ASSERT_TRUE(collector->WaitUntilAcknowledged(2));
  table = tool.Table(query::OPERATIONS);
  step = Row(table, "step");
  ASSERT_NE(step, nullptr) << Text(table);
  EXPECT_EQ(step->open(), 0);
  EXPECT_EQ(step->cpu_time_total_ns(), 900'000);
  EXPECT_EQ(Events(tool.Processes().processes(0))["operations"], 1u);
}

TEST_F(DaemonTest, ConnectingAgainRepeatsAndLosesNothing) {
  const wire::Hello hello = CollectorClient::UsualHello();
  auto collector = Connect(hello);
  const int64_t base_ns = MonotonicNow();
  for (uint64_t sequence : {1, 2}) {
    ASSERT_TRUE(collector->SendBatch(OneStep(sequence, base_ns, int64_t(sequence) * 10)));
  }
  ASSERT_TRUE(collector->WaitUntilAcknowledged(2));
  collector->Close();
  collector = Connect(hello);
  for (uint64_t sequence : {1, 2, 3}) {
    ASSERT_TRUE(collector->SendBatch(OneStep(sequence, base_ns, int64_t(sequence) * 10)));
  }
  ASSERT_TRUE(collector->WaitUntilAcknowledged(3));
  QueryClient tool(socket_path());
  const query::Processes processes = tool.Processes();
  ASSERT_EQ(processes.processes_size(), 1);
  EXPECT_EQ(Events(processes.processes(0))["kernels"], 3u);
  EXPECT_EQ(processes.processes(0).losses_size(), 0);
  EXPECT_EQ(Row(tool.Table(query::OPERATIONS), "mm")->count(), 3);
}

TEST_F(DaemonTest, WhatAnEarlierDaemonTookIsALoss) {
  wire::Hello hello = CollectorClient::UsualHello();
  auto collector = Connect(hello);
  ASSERT_TRUE(collector->SendBatch(OneStep(1, MonotonicNow(), 10)));
  ASSERT_TRUE(collector->WaitUntilAcknowledged(1));
  EXPECT_EQ(daemon_->End(SIGKILL), -SIGKILL);
  // The socket that it left is taken over.
  daemon_ = std::make_unique<DaemonProcess>(socket_path());
  for (auto [kind, count] : {std::pair(wire::KERNEL, 1), {wire::OPERATION, 2}}) {
    wire::KindCount* acknowledged = hello.add_acknowledged();
    acknowledged->set_kind(kind);
    acknowledged->set_count(static_cast<uint64_t>(count));
  }
  hello.set_oldest_sequence(2);
  collector = Connect(hello);
  ASSERT_TRUE(collector->SendBatch(OneStep(2, MonotonicNow(), 20)));
  ASSERT_TRUE(collector->WaitUntilAcknowledged(2));
  QueryClient tool(socket_path());
  const query::Table table = tool.Table(query::OPERATIONS);
  ASSERT_EQ(table.losses_size(), 2) << Text(table);
  EXPECT_EQ(table.losses(0).kind(), "kernels");
  EXPECT_EQ(table.losses(0).cause(), "earlier daemon");
  EXPECT_EQ(table.losses(0).count(), 1u);
  EXPECT_EQ(table.losses(1).kind(), "operations");
  EXPECT_EQ(table.losses(1).count(), 2u);
}

TEST_F(DaemonTest, BrokenPeersAreClosedAndOthersGoOn) {
  auto healthy = Connect(CollectorClient::UsualHello());
  ExpectToServe(*healthy, 1);
  const std::string large_message = "\x80\x80\x80\x03";  // 6 MiB.
  struct Case {
    const char* what;
    std::string greeting;
    std::string bytes;
    const char* logged;
  };
  wire::FromCollector batch_first;
  *batch_first.mutable_batch() = OneStep(1, 0, 1);
  std::string early;
  AppendMessage(batch_first, &early);
  for (const Case& broken : std::vector<Case>{
           {"greeting", "GET ", "/ HTTP/1.1\r\n", "neither a collector nor a tool"},
           {"length", "TPC1", std::string(16, '\xff'), "not the length of a message"},
           {"oversized", "TPC1", large_message, "the limit is"},
           {"oversized for a tool", "TPQ1", large_message, "the limit is"},
           {"garbage", "TPC1", std::string("\x03\xff\xff\xff", 4), "does not parse"},
           {"garbage for a tool", "TPQ1", std::string("\x03\xff\xff\xff", 4), "does not parse"},
           {"order", "TPC1", early, "before the hello"}}) {
    Peer peer(socket_path(), broken.greeting);
    peer.SendBytes(broken.bytes);
    EXPECT_TRUE(peer.WaitUntilClosed()) << broken.what;
    // It closes first and logs then; this comes after both.
    QueryClient(socket_path()).Daemon();
    EXPECT_NE(daemon_->Log().find(broken.logged), std::string::npos) << broken.what << '\n'
                                                                     << daemon_->Log();
  }
  Peer truncated(socket_path(), "TPC1");
  truncated.SendBytes(std::string("\x10half", 5));
  truncated.Close();
  ExpectToServe(*healthy, 2);
  EXPECT_NE(daemon_->Log().find("in the middle of a message"), std::string::npos);
  EXPECT_NE(daemon_->Log().find("pid " + std::to_string(getpid())), std::string::npos);
  EXPECT_EQ(QueryClient(socket_path()).Daemon().rejected_connections(), 8u);
}

TEST_F(DaemonTest, ABatchThatLiesEndsItsConnectionAndCountsNothing) {
  auto healthy = Connect(CollectorClient::UsualHello());
  wire::Hello other = CollectorClient::UsualHello();
  other.set_start_time_ticks(1);
  other.set_command("liar");
  auto liar = Connect(other);
  wire::Batch batch = OneStep(1, MonotonicNow(), 10);
  batch.mutable_kernels()->add_device(1);
  batch.mutable_kernels()->add_device(1);
  batch.mutable_kernels()->add_device(1);
  ASSERT_TRUE(liar->SendBatch(batch));
  EXPECT_TRUE(liar->WaitUntilClosed());
  ExpectToServe(*healthy, 1);
  EXPECT_NE(daemon_->Log().find("kernels: the column device has 3 entries for 1 rows"),
            std::string::npos)
      << daemon_->Log();
}

TEST_F(DaemonTest, ATextThatIsNoUtf8Arrives) {
  auto collector = Connect(CollectorClient::UsualHello());
  ASSERT_TRUE(collector->SendStrings(6, {std::string("bad\xff\0name", 9)}));
  wire::Batch batch = OneStep(1, MonotonicNow(), 10);
  batch.mutable_operations()->set_name_id(0, 6);
  ASSERT_TRUE(collector->SendBatch(batch));
  ASSERT_TRUE(collector->WaitUntilAcknowledged(1));
  const query::Table table = QueryClient(socket_path()).Table(query::OPERATIONS);
  ASSERT_EQ(table.operations_size(), 2) << Text(table);
}

TEST_F(DaemonTest, AHelloThatIsNoUtf8IsRefusedInTheLogAlone) {
  testing::internal::CaptureStderr();  // The daemon writes where we do.
  {
    const DaemonProcess daemon(socket_path() + ".other");
    // The first byte of its collector_version, field 14, is no UTF-8.
    Peer peer(daemon.socket_path(), "TPC1");
    ASSERT_TRUE(peer.SendBytes(std::string("\x05\x0a\x03\x72\x01\xff", 6)));
    EXPECT_TRUE(peer.WaitUntilClosed());
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(DaemonTest, TwoHundredConnectionsAreServed) {
  auto healthy = Connect(CollectorClient::UsualHello());
  std::vector<std::unique_ptr<Peer>> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(std::make_unique<Peer>(socket_path(), "TP"));
  std::vector<std::unique_ptr<CollectorClient>> others;
  for (uint64_t i = 0; i < 100; ++i) {
    wire::Hello hello = CollectorClient::UsualHello();
    hello.set_start_time_ticks(1000 + i);
    others.push_back(Connect(hello));
  }
  ExpectToServe(*healthy, 1);
  const query::Daemon daemon = QueryClient(socket_path()).Daemon();
  EXPECT_EQ(daemon.connections(), 202u);
  EXPECT_EQ(QueryClient(socket_path()).Processes().processes_size(), 101);
  // Those that never say what they want are sent away; the others stay.
  for (auto& peer : silent) EXPECT_TRUE(peer->WaitUntilClosed());
  ExpectToServe(*healthy, 2);
  EXPECT_EQ(QueryClient(socket_path()).Daemon().connections(), 102u);
}

TEST_F(DaemonTest, ACollectorThatReadsNothingIsServedAllTheSame) {
  auto collector = Connect(CollectorClient::UsualHello());
  for (uint64_t sequence = 1; sequence <= 50'000; ++sequence) {
    wire::Batch batch;
    batch.set_sequence(sequence);
    batch.mutable_fills()->add_start_delta_ns(MonotonicNow() + kCuptiAheadNs);
    ASSERT_TRUE(collector->SendBatch(batch)) << sequence;
  }
  ASSERT_TRUE(collector->WaitUntilAcknowledged(50'000));
}

TEST_F(DaemonTest, AToolThatReadsNothingIsClosedAndHoldsNobodyUp) {
  auto healthy = Connect(CollectorClient::UsualHello());
  Peer greedy(socket_path(), "TPQ1");
  query::Request request;
  request.mutable_table();
  std::string bytes;
  for (int i = 0; i < 200'000; ++i) AppendMessage(request, &bytes);
  // The daemon stops reading from it before it has heard all.
  const timeval brief{.tv_sec = 0, .tv_usec = 200'000};
  setsockopt(greedy.fd(), SOL_SOCKET, SO_SNDTIMEO, &brief, sizeof(brief));
  EXPECT_FALSE(greedy.SendBytes(bytes));
  ExpectToServe(*healthy, 1);
  pollfd closed{.fd = greedy.fd(), .events = 0, .revents = 0};
  EXPECT_EQ(poll(&closed, 1, 30'000), 1);
  EXPECT_NE(closed.revents & POLLHUP, 0);
  ExpectToServe(*healthy, 2);
  EXPECT_NE(daemon_->Log().find("has not read anything"), std::string::npos) << daemon_->Log();
}

TEST_F(DaemonTest, AFloodOnOneConnectionLeavesTheOthersTheirTurns) {
  auto healthy = Connect(CollectorClient::UsualHello());
  const pid_t flooding = fork();
  if (flooding == 0) {
    CollectorClient collector(socket_path());
    wire::Hello hello = CollectorClient::UsualHello();
    collector.Greet(hello);
    wire::Batch batch;
    for (int row = 0; row < 50'000; ++row) batch.mutable_runtime_calls()->add_start_delta_ns(1);
    for (uint64_t sequence = 1;; ++sequence) {
      batch.set_sequence(sequence);
      if (!collector.SendBatch(batch)) _exit(1);
    }
  }
  for (uint64_t sequence = 1; sequence <= 20; ++sequence) ExpectToServe(*healthy, sequence);
  EXPECT_EQ(waitpid(flooding, nullptr, WNOHANG), 0);  // It still does.
  kill(flooding, SIGKILL);
  waitpid(flooding, nullptr, 0);
}

TEST_F(DaemonTest, AFlushBringsWhatTheCollectorHolds) {
  auto collector = Connect(CollectorClient::UsualHello());
  ExpectToServe(*collector, 1);
  QueryClient tool(socket_path());
  query::Request request;
  request.mutable_table()->set_flush(true);
  ASSERT_TRUE(tool.Send(request));
  const std::optional<uint64_t> token = collector->WaitForFlush();
  ASSERT_TRUE(token.has_value());
  ASSERT_TRUE(collector->SendBatch(OneStep(2, MonotonicNow(), 20)));
  ASSERT_TRUE(collector->SendFlushDone(*token));
  query::Response response;
  ASSERT_TRUE(tool.Receive(&response));
  ASSERT_NE(Row(response.table(), "mm"), nullptr) << Text(response);
  EXPECT_EQ(Row(response.table(), "mm")->count(), 2);
  EXPECT_EQ(response.table().notes_size(), 0) << Text(response);
}

TEST_F(DaemonTest, ACollectorThatDoesNotAnswerAFlushIsNamed) {
  auto collector = Connect(CollectorClient::UsualHello());
  ExpectToServe(*collector, 1);
  QueryClient tool(socket_path());
  const query::Table table = tool.Table(query::OPERATIONS, 0, /*flush=*/true);
  ASSERT_EQ(table.notes_size(), 1) << Text(table);
  EXPECT_NE(table.notes(0).find("did not answer in time"), std::string::npos);
  EXPECT_EQ(Row(table, "mm")->count(), 1);
}

TEST_F(DaemonTest, ACollectorThatLeavesDuringAFlushHoldsNobodyUp) {
  auto collector = Connect(CollectorClient::UsualHello());
  ExpectToServe(*collector, 1);
  QueryClient tool(socket_path());
  query::Request request;
  request.mutable_table()->set_flush(true);
  // Two requests at once: the answers come in their order.
  ASSERT_TRUE(tool.Send(request));
  request.mutable_daemon();
  ASSERT_TRUE(tool.Send(request));
  ASSERT_TRUE(collector->WaitForFlush().has_value());
  ASSERT_TRUE(collector->SendBatch(OneStep(2, MonotonicNow(), 20)));
  collector->Close();
  query::Response response;
  ASSERT_TRUE(tool.Receive(&response));
  ASSERT_NE(Row(response.table(), "mm"), nullptr) << Text(response);
  EXPECT_EQ(Row(response.table(), "mm")->count(), 2);
  ASSERT_TRUE(tool.Receive(&response));
  EXPECT_EQ(response.daemon().pid(), daemon_->pid());
}

TEST_F(DaemonTest, AProcessThatIsAwayIsToldFromOneThatEnded) {
  auto away = Connect(CollectorClient::UsualHello());
  ExpectToServe(*away, 1);
  away->Close();
  const pid_t child = fork();
  if (child == 0) {
    // Ends without a goodbye.
    wire::Hello hello = CollectorClient::UsualHello();
    CollectorClient collector(socket_path());
    collector.Greet(hello);
    collector.SendStrings(1, kNames);
    collector.SendBatch(OneStep(1, MonotonicNow(), 10));
    _exit(collector.WaitUntilAcknowledged(1) ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  QueryClient tool(socket_path());
  query::Processes processes;
  // The daemon may still be about to see the connections end.
  for (int tries = 0; tries < 500; ++tries) {
    processes = tool.Processes();
    ASSERT_EQ(processes.processes_size(), 2);
    if (processes.processes(1).state() == query::GONE &&
        processes.processes(0).state() == query::PROCESS_STATE_UNKNOWN) {
      break;
    }
    usleep(10'000);
  }
  EXPECT_EQ(processes.processes(0).pid(), getpid());
  EXPECT_EQ(processes.processes(0).state(), query::PROCESS_STATE_UNKNOWN);
  EXPECT_NE(processes.processes(0).reason(), "");
  EXPECT_EQ(processes.processes(1).pid(), child);
  EXPECT_EQ(processes.processes(1).state(), query::GONE);
  EXPECT_EQ(Row(tool.Table(query::OPERATIONS, child), "mm")->count(), 1);
}

TEST_F(DaemonTest, TheLastProcessesThatEndedStayReadable) {
  for (uint64_t ticks = 1; ticks <= 36; ++ticks) {
    wire::Hello hello = CollectorClient::UsualHello();
    hello.set_start_time_ticks(ticks);
    hello.set_command("run " + std::to_string(ticks));
    auto collector = Connect(hello);
    ASSERT_TRUE(collector->SendBatch(OneStep(1, MonotonicNow(), 10)));
    ASSERT_TRUE(collector->SendGoodbye(wire::Goodbye::EXIT));
    ASSERT_TRUE(collector->WaitUntilAcknowledged(1));
  }
  QueryClient tool(socket_path());
  query::Processes processes;
  for (int tries = 0; tries < 500; ++tries) {
    processes = tool.Processes();
    if (processes.processes_size() == 32 && processes.processes(0).command() == "run 36") break;
    usleep(10'000);
  }
  ASSERT_EQ(processes.processes_size(), 32);
  for (const query::Process& process : processes.processes()) {
    EXPECT_EQ(process.state(), query::GONE) << process.command();
  }
  EXPECT_EQ(processes.processes(0).command(), "run 36");
  EXPECT_EQ(processes.processes(31).command(), "run 5");
  EXPECT_EQ(Row(tool.Table(query::OPERATIONS), "mm")->count(), 32);
}

TEST_F(DaemonTest, WhatRunsCanBeAskedForWithoutWhatEnded) {
  wire::Hello hello = CollectorClient::UsualHello();
  hello.set_start_time_ticks(1);
  auto ended = Connect(hello);
  ASSERT_TRUE(ended->SendBatch(OneStep(1, MonotonicNow(), 10)));
  ASSERT_TRUE(ended->SendGoodbye(wire::Goodbye::EXIT));
  ASSERT_TRUE(ended->WaitUntilAcknowledged(1));
  ended->Close();
  QueryClient tool(socket_path());
  query::Request request;
  request.mutable_table()->set_running(true);
  while (tool.Processes().processes(0).state() != query::GONE) usleep(10'000);
  query::Table table = tool.Ask(request).table();
  EXPECT_EQ(Row(table, "mm")->count(), 1) << "there is nothing else to show";
  EXPECT_EQ(table.ended_left_out(), 0);

  auto running = Connect(CollectorClient::UsualHello());
  ASSERT_TRUE(running->SendBatch(OneStep(1, MonotonicNow(), 10)));
  ASSERT_TRUE(running->WaitUntilAcknowledged(1));
  table = tool.Ask(request).table();
  EXPECT_EQ(Row(table, "mm")->count(), 1);
  EXPECT_EQ(table.processes_size(), 1);
  EXPECT_EQ(table.ended_left_out(), 1);
  EXPECT_EQ(Row(tool.Table(query::OPERATIONS), "mm")->count(), 2);
  request.mutable_table()->set_view(query::PROCESSES);
  EXPECT_EQ(tool.Ask(request).table().processes_size(), 2);
}

TEST_F(DaemonTest, ARemovedSocketIsMadeAnewAndNobodyIsLost) {
  auto collector = Connect(CollectorClient::UsualHello());
  ExpectToServe(*collector, 1);
  for (const char* removed : {"", ".lock"}) {
    ASSERT_EQ(unlink((socket_path() + removed).c_str()), 0);
    while (access((socket_path() + removed).c_str(), F_OK) != 0) usleep(10'000);
    ExpectToServe(*collector, *removed == 0 ? 2 : 3);
    EXPECT_EQ(RunDaemonProgram({"--foreground", "--socket", socket_path()}).exit_status, 3);
    EXPECT_EQ(LockHolder(socket_path()).value_or(0), daemon_->pid());
  }
  // A second daemon at a path that is not in the hands of the first any more.
  ASSERT_EQ(unlink((socket_path() + ".lock").c_str()), 0);
  ASSERT_EQ(unlink(socket_path().c_str()), 0);
  const DaemonProcess other(socket_path());
  // Who starts here listens before it writes its pid, and answers after.
  const pid_t serving = QueryClient(socket_path()).Daemon().pid();
  EXPECT_EQ(LockHolder(socket_path()).value_or(0), serving);
}

TEST_F(DaemonTest, WhatIsNotCollectedIsToldWithHowManyProcessesItGoesFor) {
  const auto connect = [this](uint64_t ticks, const std::vector<std::string>& activities) {
    wire::Hello hello = CollectorClient::UsualHello();
    hello.set_start_time_ticks(ticks);
    auto collector = Connect(hello);
    wire::FromCollector message;
    message.mutable_status()->set_state(wire::CAPTURING);
    for (const std::string& activity : activities)
      message.mutable_status()->add_activities(activity);
    EXPECT_TRUE(collector->Send(message));
    EXPECT_TRUE(collector->SendBatch(OneStep(1, MonotonicNow(), 10)));
    EXPECT_TRUE(collector->WaitUntilAcknowledged(1));
    return collector;
  };
  const std::string note = "memory is not collected: TP_ACTIVITIES=+memory";
  const auto first = connect(1, {"kernels"});
  QueryClient tool(socket_path());
  query::Table table = tool.Table(query::MEMORY);
  ASSERT_EQ(table.notes_size(), 1);
  EXPECT_EQ(table.notes(0), note);
  const auto second = connect(2, {"kernels", "memory"});
  table = tool.Table(query::MEMORY);
  ASSERT_EQ(table.notes_size(), 1);
  EXPECT_EQ(table.notes(0), note + " (goes for 1 of 2 processes)");
}

TEST_F(DaemonTest, ACollectorOfAnotherProtocolIsRefusedWithAReason) {
  CollectorClient collector(socket_path());
  wire::Hello hello = CollectorClient::UsualHello();
  hello.set_protocol_version(2);
  const wire::Welcome welcome = collector.Greet(hello);
  EXPECT_TRUE(welcome.refused());
  EXPECT_NE(welcome.reason(), "");
  EXPECT_TRUE(collector.WaitUntilClosed());
  EXPECT_EQ(QueryClient(socket_path()).Processes().processes_size(), 0);
}

TEST_F(DaemonTest, AnUnknownProcessIsAnsweredWithTheKnownOnes) {
  auto collector = Connect(CollectorClient::UsualHello());
  query::Request request;
  request.mutable_table()->set_pid(1);
  const query::Response response = QueryClient(socket_path()).Ask(request);
  EXPECT_NE(response.error().message().find("python train.py"), std::string::npos)
      << Text(response);
  EXPECT_NE(QueryClient(socket_path()).Ask(query::Request()).error().message(), "");
}

TEST_F(DaemonTest, AToolCanEndIt) {
  query::Request request;
  request.mutable_stop();
  EXPECT_TRUE(QueryClient(socket_path()).Ask(request).has_stop());
  EXPECT_EQ(daemon_->End(0), 0);
  EXPECT_NE(access(socket_path().c_str(), F_OK), 0);
}

}  // namespace
}  // namespace tp
