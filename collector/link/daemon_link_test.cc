#include "collector/link/daemon_link.h"

#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "collector/link/messages.h"
#include "proto/wire.pb.h"

namespace tp::collect {
namespace {

// A daemon of a test: listens on a socket of its own, takes what comes.
class TestDaemon {
 public:
  TestDaemon() {
    char folder[] = "/tmp/tp-link-XXXXXX";
    folder_ = mkdtemp(folder);
    path_ = folder_ + "/tpd.sock";
    setenv("TP_SOCKET", path_.c_str(), 1);
  }
  ~TestDaemon() {
    Stop();
    rmdir(folder_.c_str());
  }
  void Listen() {
    listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    ASSERT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    ASSERT_EQ(listen(listener_, 8), 0);
  }
  bool Accept() {
    Close();
    peer_ = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK);
    in_.clear();
    magic_.clear();
    return peer_ >= 0;
  }
  void Close() {
    if (peer_ >= 0) close(peer_);
    peer_ = -1;
  }
  void Stop() {
    Close();
    if (listener_ >= 0) close(listener_);
    listener_ = -1;
    unlink(path_.c_str());
  }
  // All whole messages that have come.
  std::vector<wire::FromCollector> Read() {
    char bytes[65536];
    for (ssize_t got; (got = recv(peer_, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0;) {
      in_.append(bytes, got);
    }
    if (magic_.empty() && in_.size() >= 4) {
      magic_ = in_.substr(0, 4);
      in_.erase(0, 4);
    }
    std::vector<wire::FromCollector> messages;
    for (;;) {
      google::protobuf::io::CodedInputStream input(reinterpret_cast<const uint8_t*>(in_.data()),
                                                   static_cast<int>(in_.size()));
      uint32_t length;
      if (!input.ReadVarint32(&length)) break;
      int head = input.CurrentPosition();
      if (in_.size() < head + length) break;
      EXPECT_TRUE(messages.emplace_back().ParseFromArray(in_.data() + head, length));
      in_.erase(0, head + length);
    }
    return messages;
  }
  void Send(const wire::FromDaemon& message) {
    std::string bytes;
    {
      google::protobuf::io::StringOutputStream stream(&bytes);
      google::protobuf::io::CodedOutputStream output(&stream);
      output.WriteVarint32(message.ByteSizeLong());
      message.SerializeToCodedStream(&output);
    }
    SendBytes(bytes);
  }
  void SendBytes(const std::string& bytes) {
    EXPECT_EQ(send(peer_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  void Acknowledge(uint64_t sequence) {
    wire::FromDaemon message;
    message.mutable_acknowledge()->set_sequence(sequence);
    Send(message);
  }
  const std::string& magic() const { return magic_; }

 private:
  std::string folder_, path_, in_, magic_;
  int listener_ = -1, peer_ = -1;
};

class DaemonLinkTest : public testing::Test {
 protected:
  void Push(uint64_t sequence, StringId last_string = 0) {
    BatchEncoder encoder;
    Work work = {};
    work.end_ns = static_cast<int64_t>(sequence);
    encoder.AddKernel(work, LaunchConfiguration());
    queue_.Push(encoder.Finish(sequence, last_string));
  }
  void PushMoreThanASocketTakes() {
    BatchEncoder encoder;
    Work work = {};
    for (int i = 0; i < 50'000; ++i) {
      work.start_ns = i % 2 == 0 ? INT64_MAX : 0;
      encoder.AddWork(EventKind::kKernel, work);
    }
    queue_.Push(encoder.Finish(1, 0));
  }
  // A second later: whatever the link waits for is due.
  void Pump() { link_->Pump(now_ns_ += 1'000'000'000); }

  TestDaemon daemon_;
  StringTable strings_;
  Descriptions descriptions_;
  BatchQueue queue_{4 << 20};
  std::unique_ptr<DaemonLink> link_ = std::make_unique<DaemonLink>(
      &queue_, &strings_, &descriptions_,
      DaemonLink::Messages{[this] {
                             HelloFields hello;
                             hello.acknowledged = queue_.acknowledged();
                             hello.oldest_sequence = queue_.oldest_sequence();
                             return EncodeHello(hello);
                           },
                           [] {
                             StatusFields status;
                             status.state = State::kCapturing;
                             return EncodeStatus(status);
                           }});
  int64_t now_ns_ = 0;
};

TEST_F(DaemonLinkTest, WithoutADaemonNothingHappensAndTheBatchesStay) {
  Push(1);
  Pump();
  EXPECT_FALSE(link_->connected());
  EXPECT_EQ(queue_.oldest_sequence(), 1u);
}

TEST_F(DaemonLinkTest, AConnectionBeginsWithMagicHelloStatusStringsThenBatches) {
  daemon_.Listen();
  strings_.Intern("a kernel");
  Push(1, strings_.last_id());
  Pump();
  ASSERT_TRUE(daemon_.Accept());
  std::vector<wire::FromCollector> messages = daemon_.Read();
  EXPECT_EQ(daemon_.magic(), "TPC1");
  ASSERT_EQ(messages.size(), 4u);
  const wire::Hello& hello = messages[0].hello();
  EXPECT_EQ(hello.protocol_version(), 1u);
  EXPECT_EQ(hello.pid(), getpid());
  EXPECT_GT(hello.start_time_ticks(), 0u);
  EXPECT_NE(hello.command().find("daemon_link_test"), std::string::npos);
  EXPECT_EQ(messages[1].status().state(), wire::CAPTURING);
  EXPECT_EQ(messages[2].strings().first_id(), 1u);
  EXPECT_EQ(messages[2].strings().text(0), "a kernel");
  EXPECT_EQ(messages[3].batch().sequence(), 1u);
}

TEST_F(DaemonLinkTest, StringsThatCameLaterAreSentBeforeTheBatchThatNeedsThem) {
  daemon_.Listen();
  Push(1, strings_.Intern("first"));
  Pump();
  ASSERT_TRUE(daemon_.Accept());
  daemon_.Read();
  Push(2, strings_.Intern("second"));
  Pump();
  std::vector<wire::FromCollector> messages = daemon_.Read();
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0].strings().first_id(), 2u);
  ASSERT_EQ(messages[0].strings().text_size(), 1);
  EXPECT_EQ(messages[1].batch().sequence(), 2u);
}

TEST_F(DaemonLinkTest, ADaemonThatComesBackGetsAFreshHelloAllStringsAndWhatWasNotAcknowledged) {
  daemon_.Listen();
  for (uint64_t i = 1; i <= 3; ++i) Push(i, strings_.Intern("name " + std::to_string(i)));
  Pump();
  ASSERT_TRUE(daemon_.Accept());
  daemon_.Read();
  daemon_.Acknowledge(1);
  Pump();
  daemon_.Stop();
  Pump();
  EXPECT_FALSE(link_->connected());
  Push(4);
  daemon_.Listen();
  Pump();
  ASSERT_TRUE(daemon_.Accept());
  std::vector<wire::FromCollector> messages = daemon_.Read();
  ASSERT_EQ(messages.size(), 6u);
  EXPECT_EQ(messages[0].hello().oldest_sequence(), 2u);
  ASSERT_EQ(messages[0].hello().acknowledged_size(), 1);
  EXPECT_EQ(messages[0].hello().acknowledged(0).kind(), wire::KERNEL);
  EXPECT_EQ(messages[0].hello().acknowledged(0).count(), 1u);
  EXPECT_EQ(messages[2].strings().text_size(), 3);
  for (uint64_t i = 2; i <= 4; ++i) EXPECT_EQ(messages[i + 1].batch().sequence(), i);
}

TEST_F(DaemonLinkTest, FlushDoneComesAfterTheBatchesBeforeIt) {
  daemon_.Listen();
  Pump();
  ASSERT_TRUE(daemon_.Accept());
  daemon_.Read();
  wire::FromDaemon flush;
  flush.mutable_flush()->set_token(42);
  daemon_.Send(flush);
  Pump();
  EXPECT_EQ(link_->TakeFlushRequest(), 42u);
  EXPECT_EQ(link_->TakeFlushRequest(), std::nullopt);
  link_->SendFlushDone(42);
  Push(1);
  Pump();
  std::vector<wire::FromCollector> messages = daemon_.Read();
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_TRUE(messages[0].has_batch());
  EXPECT_EQ(messages[1].flush_done().token(), 42u);
}

TEST_F(DaemonLinkTest, GoodbyeIsLastAndAllIsSettledWhenAcknowledged) {
  daemon_.Listen();
  Push(1);
  link_->SendGoodbye(GoodbyeReason::kExit);
  Pump();
  ASSERT_TRUE(daemon_.Accept());
  std::vector<wire::FromCollector> messages = daemon_.Read();
  EXPECT_EQ(messages.back().goodbye().reason(), wire::Goodbye::EXIT);
  EXPECT_FALSE(link_->settled());
  daemon_.Acknowledge(1);
  Pump();
  EXPECT_TRUE(link_->settled());
}

TEST_F(DaemonLinkTest, NonsenseFromTheDaemonEndsTheConnectionAndNothingElse) {
  for (const std::string& nonsense :
       {std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12),  // No varint.
        std::string("\xff\xff\xff\x7f", 4),                                   // Too long.
        std::string("\x02\x0a\x7f", 3),  // A field beyond the end.
        std::string("\x01\x07", 2)}) {   // A wire type that there is not.
    daemon_.Listen();
    Push(queue_.oldest_sequence());
    now_ns_ += 20'000'000'000;
    Pump();
    ASSERT_TRUE(daemon_.Accept());
    daemon_.SendBytes(nonsense);
    link_->Pump(now_ns_);
    EXPECT_FALSE(link_->connected());
    EXPECT_FALSE(queue_.empty());
    daemon_.Stop();
  }
}

TEST_F(DaemonLinkTest, UnknownMessagesAreSkipped) {
  daemon_.Listen();
  Pump();
  ASSERT_TRUE(daemon_.Accept());
  // Field 15 with two bytes; field 3 (flush) as a number; then a flush as it should be.
  daemon_.SendBytes(std::string("\x04\x7a\x02xy", 5) + std::string("\x02\x18\x05", 3) +
                    std::string("\x04\x1a\x02\x08\x09", 5));
  Pump();
  EXPECT_TRUE(link_->connected());
  EXPECT_EQ(link_->TakeFlushRequest(), 9u);
}

TEST_F(DaemonLinkTest, ADescriptorThatTheProgramClosedAndUsedAgainIsNotTouched) {
  daemon_.Listen();
  Pump();
  ASSERT_TRUE(daemon_.Accept());
  // A program that closes everything, and whose next file has our number.
  int ours = -1;
  for (int fd = 1023; fd > 2; --fd) {
    sockaddr_un name = {};
    socklen_t length = sizeof(name);
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&name), &length) == 0 &&
        std::string(name.sun_path).find("tp-link-") != std::string::npos) {
      ours = fd;
      break;
    }
  }
  ASSERT_GE(ours, 960) << "out of the way of the program's own";
  FILE* file = tmpfile();
  ASSERT_EQ(dup2(fileno(file), ours), ours);
  Push(1);
  link_->Pump(now_ns_);
  EXPECT_FALSE(link_->connected());
  fseek(file, 0, SEEK_END);
  EXPECT_EQ(ftell(file), 0) << "our bytes went into the program's file";
  EXPECT_EQ(write(ours, "x", 1), 1) << "the program's file was closed";
  close(ours);
  fclose(file);
}

TEST_F(DaemonLinkTest, ASlowDaemonBlocksNothing) {
  daemon_.Listen();
  Pump();
  ASSERT_TRUE(daemon_.Accept());
  PushMoreThanASocketTakes();
  Pump();
  EXPECT_TRUE(link_->connected());
  EXPECT_TRUE(link_->blocked());
  EXPECT_FALSE(link_->settled());
}

TEST_F(DaemonLinkTest, ADaemonThatReadsNothingForHoursGetsOneStatusForAll) {
  daemon_.Listen();
  Pump();
  ASSERT_TRUE(daemon_.Accept());
  PushMoreThanASocketTakes();
  for (int i = 0; i < 10'000; ++i) {
    link_->SendStatus();
    Pump();
  }
  ASSERT_TRUE(link_->blocked());
  int statuses = 0;
  for (int i = 0; i < 100; ++i) {
    for (const wire::FromCollector& message : daemon_.Read()) statuses += message.has_status();
    Pump();
  }
  EXPECT_EQ(statuses, 3) << "that of the connection, one before the batch, one after it";
}

TEST_F(DaemonLinkTest, TheLastWordsFindRoomBehindWhatADaemonHasNotRead) {
  daemon_.Listen();
  Pump();
  ASSERT_TRUE(daemon_.Accept());
  uint64_t last = 0;
  for (; !link_->blocked(); Pump()) Push(++last);
  for (int i = 0; i < 3; ++i) Push(++last);
  link_->SendGoodbye(GoodbyeReason::kExit);
  Pump();
  ASSERT_TRUE(link_->blocked());
  link_->GiveUpUnsent();
  Pump();
  EXPECT_FALSE(link_->blocked());
  std::vector<wire::FromCollector> messages = daemon_.Read();
  ASSERT_GT(messages.size(), 3u);
  EXPECT_TRUE(messages.back().has_goodbye());
  EXPECT_TRUE(messages[messages.size() - 2].has_status());
  const wire::FromCollector& before = messages[messages.size() - 3];
  EXPECT_EQ(before.batch().sequence() + queue_.dropped()[EventKind::kKernel], last);
  EXPECT_GE(queue_.dropped()[EventKind::kKernel], 3u);
}

TEST_F(DaemonLinkTest, UnderAFilterOfSystemCallsThatCameLaterNoSocketIsMade) {
  Pump();
  daemon_.Listen();
  // On a thread of its own: a filter stays. This one ends the process at the forbidden call.
  std::thread thread([&] {
    sock_filter no_sockets[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog program = {static_cast<unsigned short>(std::size(no_sockets)), no_sockets};
    ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0), 0);
    Pump();
  });
  thread.join();
  EXPECT_FALSE(link_->connected());
  EXPECT_NE(link_->refusal().find("seccomp"), std::string_view::npos) << link_->refusal();
}

TEST_F(DaemonLinkTest, WithFewDescriptorsItsOwnIsAmongTheLast) {
  daemon_.Listen();
  rlimit before;
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit few = before;
  few.rlim_cur = 200;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  Pump();
  setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_TRUE(link_->connected());
  EXPECT_EQ(fcntl(150, F_GETFD), FD_CLOEXEC);
}

TEST_F(DaemonLinkTest, EachDaemonIsToldWhatIsKnownAndThenWhatHasChanged) {
  descriptions_.SetThreadName(1, "one");
  descriptions_.SetThreadName(2, "two");
  daemon_.Listen();
  Pump();
  ASSERT_TRUE(daemon_.Accept());
  const auto told = [this] {
    std::vector<std::string> names;
    for (const wire::FromCollector& message : daemon_.Read()) {
      for (const auto& thread : message.descriptions().threads()) names.push_back(thread.name());
    }
    return names;
  };
  EXPECT_EQ(told(), (std::vector<std::string>{"one", "two"}));
  descriptions_.SetThreadName(2, "other");
  EXPECT_FALSE(link_->settled());
  Pump();
  EXPECT_EQ(told(), (std::vector<std::string>{"other"}));
  EXPECT_TRUE(link_->settled());
  daemon_.Close();
  Pump();
  Pump();
  ASSERT_TRUE(daemon_.Accept());
  Pump();
  EXPECT_EQ(told(), (std::vector<std::string>{"one", "other"}));
}

}  // namespace
}  // namespace tp::collect
