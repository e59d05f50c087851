#include "collector/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <sstream>
#include <string>

namespace tp::collect {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

std::string Content(const std::string& path) {
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  return content.str();
}

class LogTest : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/tp-log-XXXXXX";
    folder_ = mkdtemp(folder);
    unsetenv("TP_LOG");
    unsetenv("TP_LOG_FILE");
  }
  void TearDown() override { ASSERT_EQ(system(("rm -r " + folder_).c_str()), 0); }
  std::string File(const std::string& name) const { return folder_ + "/" + name; }

  // In a process of its own, as the library is prepared once in each. Its exit status.
  static int Apart(const std::function<void()>& work) {
    const pid_t child = fork();
    if (child == 0) {
      work();
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }
  static void UseAsStderr(const std::string& path) {
    dup2(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND, 0600), STDERR_FILENO);
  }

  std::string folder_;
};

TEST_F(LogTest, IsSilentUnlessAskedFor) {
  EXPECT_EQ(Apart([&] {
              UseAsStderr(File("stderr"));
              PrepareLog();
              if (IsLogged(LogLevel::kError)) _exit(1);
              Log(LogLevel::kError, "nobody asked");
            }),
            0);
  EXPECT_EQ(Content(File("stderr")), "");
}

TEST_F(LogTest, WritesALineOfEachLevelThatIsAskedFor) {
  Apart([&] {
    UseAsStderr(File("stderr"));
    setenv("TP_LOG", "warn", 1);
    PrepareLog();
    Log(LogLevel::kInfo, "left out");
    Log(LogLevel::kWarning, "two\nlines\x1b[0m");
    Log(LogLevel::kError, "wrong");
  });
  EXPECT_THAT(Content(File("stderr")),
              MatchesRegex("20[0-9-]+ [0-9:.]+Z tpcollect.[0-9]+. warn: two lines .0m\n"
                           "20[0-9-]+ [0-9:.]+Z tpcollect.[0-9]+. error: wrong\n"));
}

TEST_F(LogTest, GoesToTheFileThatIsNamedAndNotToStderr) {
  Apart([&] {
    UseAsStderr(File("stderr"));
    setenv("TP_LOG_FILE", File("log").c_str(), 1);
    PrepareLog();
    Log(LogLevel::kDebug, "too detailed");
    Log(LogLevel::kInfo, "first");
    Log(LogLevel::kInfo, "second");
  });
  EXPECT_THAT(Content(File("log")), HasSubstr("first\n"));
  EXPECT_THAT(Content(File("log")), HasSubstr("second\n"));
  EXPECT_THAT(Content(File("log")), testing::Not(HasSubstr("too detailed")));
  EXPECT_EQ(Content(File("stderr")), "");
}

TEST_F(LogTest, DoesNotWriteIntoAFileThatHasStderrsNumberLater) {
  Apart([&] {
    UseAsStderr(File("stderr"));
    setenv("TP_LOG", "debug", 1);
    PrepareLog();
    close(STDERR_FILENO);
    Log(LogLevel::kError, "nowhere");
    UseAsStderr(File("data"));
    Log(LogLevel::kError, "nowhere");
  });
  EXPECT_EQ(Content(File("stderr")) + Content(File("data")), "");
}

TEST_F(LogTest, WaitsForNoPipeAndSurvivesOneThatNobodyReads) {
  EXPECT_EQ(Apart([&] {
              int pipe_ends[2];
              if (pipe(pipe_ends) != 0) _exit(1);
              dup2(pipe_ends[1], STDERR_FILENO);
              setenv("TP_LOG", "debug", 1);
              PrepareLog();
              for (int i = 0; i < 1000; ++i) Log(LogLevel::kInfo, std::string(1000, 'x'));
              close(pipe_ends[0]);
              Log(LogLevel::kInfo, "to nobody");
            }),
            0);
}

TEST_F(LogTest, CutsALineThatIsTooLong) {
  Apart([&] {
    setenv("TP_LOG_FILE", File("log").c_str(), 1);
    PrepareLog();
    Log(LogLevel::kInfo, std::string(100'000, 'x'));
  });
  EXPECT_EQ(Content(File("log")).size(), 4096u);
  EXPECT_EQ(Content(File("log")).back(), '\n');
}

TEST_F(LogTest, LeavesErrnoAlone) {
  EXPECT_EQ(Apart([&] {
              setenv("TP_LOG_FILE", "/nowhere/log", 1);
              PrepareLog();
              errno = 17;
              Log(LogLevel::kInfo, "lost");
              if (errno != 17) _exit(1);
            }),
            0);
}

}  // namespace
}  // namespace tp::collect
