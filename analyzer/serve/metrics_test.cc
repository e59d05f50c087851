#include "analyzer/serve/metrics.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <sstream>
#include <string>

#include "proto/wire.pb.h"

namespace tp {
namespace {

using Samples = std::map<std::string, std::string>;

// By name and labels. No two may have the same.
Samples Read(const std::string& page) {
  Samples samples;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind('#', 0) == 0) continue;
    const size_t space = line.rfind(' ');
    EXPECT_TRUE(samples.emplace(line.substr(0, space), line.substr(space + 1)).second) << line;
  }
  return samples;
}

wire::Hello Hello(uint64_t start_time_ticks, const std::string& command = "/opt/app --x") {
  wire::Hello hello;
  hello.set_protocol_version(1);
  hello.set_start_time_ticks(start_time_ticks);
  hello.set_capture_start_ns(1000);
  hello.set_command(command);
  hello.set_rank(-1);
  return hello;
}

class MetricsTest : public testing::Test {
 protected:
  Session* Greet(pid_t pid, const wire::Hello& hello) {
    Session* session = store_.Greet({.pid = pid, .uid = 1000}, hello, ++now_ns_);
    session->Greet(hello, /*new_connection=*/true, now_ns_);
    return session;
  }

  // `count` operations, each with a kernel of `kernel_ns`; of the first device.
  void Work(Session* session, uint64_t sequence, int count, int64_t kernel_ns) {
    wire::Strings names;
    names.set_first_id(1);
    for (int i = 0; i < count; ++i) names.add_text("op" + std::to_string(i));
    ASSERT_TRUE(session->Add(names).ok());
    wire::Batch batch;
    batch.set_sequence(sequence);
    const int64_t first = static_cast<int64_t>(sequence) * 1'000'000;
    for (int i = 0; i < count; ++i) {
      wire::OperationColumns* operations = batch.mutable_operations();
      operations->add_start_delta_ns(i == 0 ? first : 1000);
      operations->add_duration_ns(500);
      operations->add_id_delta(i == 0 ? first : 1);
      operations->add_name_id(i + 1);
      operations->add_kind('o');
      operations->add_shapes_id(0);
      operations->add_thread_id(1);
      batch.mutable_kernels()->add_start_delta_ns(i == 0 ? first : kernel_ns);
      batch.mutable_kernels()->add_duration_ns(kernel_ns);
      batch.mutable_kernels()->add_correlation_delta(i == 0 ? first : 1);
      batch.mutable_launch_operations()->add_correlation_delta(i == 0 ? first : 1);
      batch.mutable_launch_operations()->add_operation_delta(i == 0 ? first : 1);
    }
    ASSERT_TRUE(session->Add(batch).ok());
  }

  Samples Page() { return Read(metrics_.Page(store_, query::Daemon(), 1'000'000'000)); }

  SessionStore store_{StoreLimits::FromMegabytes(64)};
  Metrics metrics_;
  int64_t now_ns_ = 0;
};

TEST_F(MetricsTest, TellsOfAProcess) {
  wire::Hello hello = Hello(7);
  hello.set_rank(3);
  Work(Greet(getpid(), hello), 1, 2, 1'500'000);
  const std::string who =
      "{pid=\"" + std::to_string(getpid()) + "\",command=\"app --x\",rank=\"3\"";
  Samples samples = Page();
  EXPECT_EQ(samples["tensorprof_kernels_total" + who + "}"], "2");
  EXPECT_EQ(samples["tensorprof_kernel_seconds_total" + who + "}"], "0.003000000");
  EXPECT_EQ(samples["tensorprof_device_busy_seconds_total" + who + ",device=\"0\"}"],
            "0.003000000");
  EXPECT_EQ(samples["tensorprof_operation_self_device_seconds_total" + who +
                    ",operation=\"op1\",kind=\"o\"}"],
            "0.001500000");
  EXPECT_EQ(samples["tensorprof_events_total" + who + ",kind=\"kernels\"}"], "2");
  EXPECT_EQ(samples["tensorprof_lost_total" + who + "}"], "0");
  EXPECT_EQ(samples["tensorprof_process_info" + who + ",uid=\"1000\"}"], "1");
  EXPECT_EQ(samples["tensorprof_daemon_processes"], "1");
}

TEST_F(MetricsTest, OfSeveralSessionsOfAProcessTheLatestIsShown) {
  Work(Greet(getpid(), Hello(7)), 1, 3, 10);
  Work(Greet(getpid(), Hello(8)), 1, 2, 10);
  int found = 0;
  for (const auto& [name, value] : Page()) {
    if (name.rfind("tensorprof_kernels_total{", 0) == 0) {
      ++found;
      EXPECT_EQ(value, "2") << name;
    }
  }
  EXPECT_EQ(found, 1);
}

TEST_F(MetricsTest, LossesThatTurnOutToBeNoneDoNotGoBack) {
  Session* session = Greet(getpid(), Hello(7));
  wire::Status status;
  wire::Loss* loss = status.add_losses();
  loss->set_kind(wire::KERNEL);
  loss->set_cause(wire::CUPTI_DROPPED);
  loss->set_count(5);
  session->Told(status);
  const std::string name = "tensorprof_losses_total{pid=\"" + std::to_string(getpid()) +
                           "\",command=\"app --x\",kind=\"kernels\",cause=\"dropped by CUPTI\"}";
  EXPECT_EQ(Page()[name], "5");
  status.mutable_losses(0)->set_count(3);
  session->Told(status);
  EXPECT_EQ(Page()[name], "5");
  status.mutable_losses(0)->set_count(9);
  session->Told(status);
  EXPECT_EQ(Page()[name], "9");
}

TEST_F(MetricsTest, AProcessThatTellsOfEverOtherThingsHasABoundedPage) {
  Session* session = Greet(getpid(), Hello(7));
  for (int round = 0; round < 20; ++round) {
    wire::Status status;
    for (int i = 0; i < 200; ++i) {
      wire::Loss* loss = status.add_losses();
      loss->set_kind(wire::KERNEL);
      loss->set_cause(static_cast<wire::LossCause>(100 + round * 200 + i));
      loss->set_count(1);
    }
    session->Told(status);
    Work(session, round + 1, 500 + round, 10 + round);
    size_t losses = 0, operations = 0;
    for (const auto& [name, value] : Page()) {
      losses += name.rfind("tensorprof_losses_total{", 0) == 0;
      operations += name.rfind("tensorprof_operation_self", 0) == 0;
    }
    EXPECT_EQ(losses, Metrics::kMostLosses + 1);
    EXPECT_LE(operations, ShownOperations::kMost + 1);
  }
}

TEST_F(MetricsTest, WhatWouldMakeThePageTooLongIsLeftOutAndCounted) {
  for (pid_t pid = 1'000'000'000; pid < 1'000'000'100; ++pid) {
    Greet(pid, Hello(7, std::string(5000, '"')));
  }
  Metrics metrics(/*most_bytes=*/50'000);
  const std::string page = metrics.Page(store_, query::Daemon(), 1);
  EXPECT_LT(page.size(), 100'000u);
  Samples samples = Read(page);
  const int shown = std::stoi(samples["tensorprof_daemon_processes"]);
  EXPECT_GT(shown, 0);
  EXPECT_LT(shown, 100);
  EXPECT_EQ(std::stoi(samples["tensorprof_daemon_processes_left_out"]), 100 - shown);
}

TEST_F(MetricsTest, TextsOfAnyKindStayInTheirLines) {
  Greet(getpid(), Hello(7, "a\nb\"c\\d\xff"));
  const std::string page = metrics_.Page(store_, query::Daemon(), 1);
  EXPECT_NE(page.find("command=\"a\\nb\\\"c\\\\d\xef\xbf\xbd\""), std::string::npos) << page;
}

TEST_F(MetricsTest, NamesAreConventional) {
  Work(Greet(getpid(), Hello(7)), 1, 1, 10);
  std::istringstream lines(metrics_.Page(store_, query::Daemon(), 1));
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("# TYPE ", 0) != 0) continue;
    EXPECT_EQ(line.rfind("# TYPE tensorprof_", 0), 0u) << line;
    const bool is_counter = line.find(" counter") != std::string::npos;
    EXPECT_EQ(line.find("_total ") != std::string::npos, is_counter) << line;
  }
}

}  // namespace
}  // namespace tp
