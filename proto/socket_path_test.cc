#include "proto/socket_path.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace tp {
namespace {

std::string ListensAt() {
  char path[kSocketPathBytes];
  return DaemonSocketPath(path) ? path : "(too long)";
}

std::string ConnectsTo() {
  char path[kSocketPathBytes];
  return FindDaemonSocket(path) ? path : "(too long)";
}

TEST(SocketPath, IsWhatTheEnvironmentNames) {
  setenv("TP_SOCKET", "/nowhere/tpd.sock", 1);
  EXPECT_EQ(ListensAt(), "/nowhere/tpd.sock");
  // Whether there is one or not.
  EXPECT_EQ(ConnectsTo(), "/nowhere/tpd.sock");
  setenv("TP_SOCKET", ("/" + std::string(kSocketPathBytes, 'x')).c_str(), 1);
  EXPECT_EQ(ListensAt(), "(too long)");
  EXPECT_EQ(ConnectsTo(), "(too long)");
  unsetenv("TP_SOCKET");
}

// Root's own place is the machine's: in a child that is an ordinary user.
TEST(SocketPath, OfTheMachineIsConnectedToWhereTheUserHasNone) {
  char runtime[] = "/tmp/tp-runtime-XXXXXX";
  ASSERT_NE(mkdtemp(runtime), nullptr);
  ASSERT_EQ(chmod(runtime, 0755), 0);
  const std::string own = std::string(runtime) + "/tp/tpd.sock";
  const std::string machine = std::string(runtime) + "/machine.sock";
  ASSERT_EQ(mkdir((std::string(runtime) + "/tp").c_str(), 0755), 0);
  setenv("XDG_RUNTIME_DIR", runtime, 1);
  const auto expect = [&](const std::string& where) {
    EXPECT_EXIT(
        {
          if (geteuid() == 0 && seteuid(4242) != 0) _exit(2);
          char path[kSocketPathBytes];
          if (!FindDaemonSocket(path, machine.c_str())) _exit(3);
          _exit(path == where && ListensAt() == own ? 0 : 1);
        },
        testing::ExitedWithCode(0), "")
        << where;
  };
  expect(own);
  std::ofstream{machine};
  expect(machine);
  std::ofstream{own};
  expect(own);
  std::filesystem::remove_all(runtime);
}

}  // namespace
}  // namespace tp
