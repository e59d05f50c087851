#include "analyzer/serve/tcp_address.h"

#include <gtest/gtest.h>

#include <string>

namespace tp {
namespace {

TEST(TcpAddress, IsReadAndWritten) {
  EXPECT_EQ(TcpAddress::Parse("127.0.0.1:9400")->Text(), "127.0.0.1:9400");
  EXPECT_EQ(TcpAddress::Parse("localhost:1")->Text(), "127.0.0.1:1");
  EXPECT_EQ(TcpAddress::Parse("65535")->Text(), "127.0.0.1:65535");
  EXPECT_EQ(TcpAddress::Parse("[::1]:80")->Text(), "[::1]:80");
  EXPECT_EQ(TcpAddress::Parse("0.0.0.0:0")->Text(), "0.0.0.0:0");
}

TEST(TcpAddress, OthersAreRefused) {
  for (const char* text :
       {"", ":", ":9400", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:+1",
        "127.0.0.1: 1", "127.0.0.1:1x", "127.0.0.1:000001", "example.org:80", "::1:80", "[]:80",
        "[::1]", "[::1:80", "256.0.0.1:80", "1.2.3:80", "tcp://127.0.0.1:80"}) {
    EXPECT_EQ(TcpAddress::Parse(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(TcpAddress, KnowsWhatOthersDoNotReach) {
  for (const char* text : {"127.0.0.1:1", "127.9.8.7:1", "[::1]:1"}) {
    EXPECT_TRUE(TcpAddress::Parse(text)->is_loopback()) << text;
  }
  for (const char* text : {"0.0.0.0:1", "192.168.0.1:1", "[::]:1", "[fe80::1]:1"}) {
    EXPECT_FALSE(TcpAddress::Parse(text)->is_loopback()) << text;
  }
}

TEST(TcpAddress, APortHasOneListener) {
  const absl::StatusOr<FileDescriptor> first = TcpAddress::Parse("127.0.0.1:0")->Listen();
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::StatusOr<TcpAddress> taken = TcpAddress::Of(first->get());
  ASSERT_TRUE(taken.ok());
  EXPECT_NE(taken->Text(), "127.0.0.1:0");
  EXPECT_TRUE(absl::IsAlreadyExists(taken->Listen().status()));
}

}  // namespace
}  // namespace tp
