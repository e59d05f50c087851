#include "tools/control/query_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <thread>

#include "tools/control/fake_daemon.h"

namespace tp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Answered(const query::Request& request) {
  return FakeDaemon::Framed(SampleResponse(request));
}

absl::Status AskBehind(FakeDaemon::Answer answer,
                       std::chrono::milliseconds deadline = QueryClient::kDeadline) {
  FakeDaemon daemon(std::move(answer));
  absl::StatusOr<QueryClient> client = QueryClient::Connect(deadline);
  if (!client.ok()) return client.status();
  return client->AskDaemon().status();
}

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST(QueryClient, GetsOneAnswerForEachQuestion) {
  FakeDaemon daemon(Answered);
  absl::StatusOr<QueryClient> client = QueryClient::Connect();
  ASSERT_TRUE(client.ok()) << client.status();
  const absl::StatusOr<query::Daemon> about = client->AskDaemon();
  ASSERT_TRUE(about.ok()) << about.status();
  EXPECT_EQ(about->pid(), 77);
  const absl::StatusOr<query::Processes> processes = client->AskProcesses();
  ASSERT_TRUE(processes.ok()) << processes.status();
  EXPECT_EQ(processes->processes_size(), 2);
  query::TableRequest request;
  request.set_view(query::KERNELS);
  const absl::StatusOr<query::Table> table = client->AskTable(request);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->kernels_size(), 3);
  EXPECT_TRUE(client->Stop().ok());
}

TEST(QueryClient, TakesAnswersThatComeInPieces) {
  query::Response large;
  large.mutable_daemon()->set_version(std::string(3'000'000, 'x'));
  FakeDaemon daemon([&](const query::Request&) { return FakeDaemon::Framed(large); });
  absl::StatusOr<QueryClient> client = QueryClient::Connect();
  ASSERT_TRUE(client.ok());
  const absl::StatusOr<query::Daemon> about = client->AskDaemon();
  ASSERT_TRUE(about.ok()) << about.status();
  EXPECT_EQ(about->version().size(), 3'000'000u);
}

TEST(QueryClient, DoesNotTalkToAnotherUsersDaemon) {
  if (geteuid() != 0 || seteuid(4242) != 0) {
    GTEST_SKIP() << "only root can listen as another user, and not in a user namespace";
  }
  FakeDaemon daemon(Answered);
  ASSERT_EQ(seteuid(0), 0);
  const absl::Status refused = QueryClient::Connect().status();
  EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
  EXPECT_THAT(Message(refused),
              AllOf(HasSubstr("belongs to another user (uid 4242)"), HasSubstr("TP_SOCKET")));
  EXPECT_TRUE(daemon.requests().empty());
}

TEST(QueryClient, WithoutADaemonSaysHowToStartOne) {
  setenv("TP_SOCKET", "/tmp/there-is-no-such-daemon.sock", 1);
  const absl::Status status = QueryClient::Connect().status();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(Message(status), AllOf(HasSubstr("/tmp/there-is-no-such-daemon.sock"),
                                     HasSubstr("tpctl daemon start"), HasSubstr("TP_SOCKET")));
}

TEST(QueryClient, ASocketPathThatIsTooLongIsABadArgument) {
  setenv("TP_SOCKET", ("/tmp/" + std::string(200, 'x')).c_str(), 1);
  EXPECT_TRUE(absl::IsInvalidArgument(QueryClient::Connect().status()));
}

TEST(QueryClient, ADaemonThatClosesTheConnectionIsAnError) {
  const absl::Status status = AskBehind([](const query::Request&) { return std::string(); });
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_THAT(Message(status), HasSubstr("closed the connection"));
}

TEST(QueryClient, AnAnswerThatIsNoneIsAnError) {
  const std::string garbage[] = {
      std::string("HTTP/1.1 400 Bad Request\r\n\r\n") + std::string(100, ' '),
      std::string(20, '\xff'),              // A length without end.
      std::string("\xff\xff\xff\xff\x7f"),  // Far too long.
      std::string("\x02\x08\x01"),          // Of another message.
      std::string(1, '\0'),                 // Nothing in it.
      Answered(query::Request()) + "more",
  };
  for (const std::string& bytes : garbage) {
    const absl::Status status = AskBehind([&](const query::Request&) { return bytes; });
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  }
}

TEST(QueryClient, AnAnswerThatEndsTooEarlyIsAnError) {
  int answers = 0;
  const absl::Status status = AskBehind(
      [&](const query::Request& request) {
        // The half of an answer, and after that nothing: the second question is never asked.
        ++answers;
        const std::string whole = Answered(request);
        return whole.substr(0, whole.size() / 2);
      },
      std::chrono::milliseconds(200));
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_EQ(answers, 1);
}

TEST(QueryClient, AnotherAnswerThanAskedForIsAnError) {
  const absl::Status status = AskBehind([](const query::Request&) {
    query::Response response;
    response.mutable_processes();
    return FakeDaemon::Framed(response);
  });
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
}

TEST(QueryClient, ADaemonThatDoesNotAnswerIsGivenUp) {
  const absl::Status status = AskBehind(
      [](const query::Request& request) {
        std::this_thread::sleep_for(std::chrono::milliseconds(400));
        return Answered(request);
      },
      std::chrono::milliseconds(100));
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
}

TEST(QueryClient, TheDaemonsErrorIsHandedOn) {
  const absl::Status status = AskBehind([](const query::Request&) {
    query::Response response;
    response.mutable_error()->set_message("too many groups: ask for fewer");
    return FakeDaemon::Framed(response);
  });
  EXPECT_EQ(Message(status), "too many groups: ask for fewer");
}

TEST(QueryClient, InterruptEndsAQuestionUnderWay) {
  std::atomic<bool> asked = false, done = false;
  FakeDaemon daemon([&](const query::Request& request) {
    asked = true;
    while (!done) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return Answered(request);
  });
  absl::StatusOr<QueryClient> client = QueryClient::Connect(std::chrono::hours(1));
  ASSERT_TRUE(client.ok());
  std::thread interrupter([&] {
    while (!asked) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    client->Interrupt();
  });
  EXPECT_FALSE(client->AskDaemon().ok());
  interrupter.join();
  done = true;
}

}  // namespace
}  // namespace tp
