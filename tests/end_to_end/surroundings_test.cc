// Hard surroundings: no descriptors, no sockets, no place to write, no stderr, more rights than the
// user has, a shell that hands the preload on to a hundred children. The program does not notice.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/end_to_end/sandbox.h"

namespace tp::test {
namespace {

using Json = nlohmann::json;

class Surroundings : public testing::Test {
 protected:
  static std::string Built(const std::string& program) {
    return Sandbox::Built("tests/programs/" + program);
  }
  Environment Traced(const Environment& more) const {
    Environment environment = sandbox_.Traced();
    environment.insert(environment.end(), more.begin(), more.end());
    return environment;
  }
  std::string Content(const std::string& path) const {
    std::ostringstream content;
    content << std::ifstream(path).rdbuf();
    return content.str();
  }
  // The program does all that it does without us, and says nothing else.
  void ExpectUntouched(const Arguments& command, const Environment& more = {}) {
    Result without = sandbox_.Run(command, sandbox_.Untraced());
    Result with = sandbox_.Run(command, Traced(more));
    EXPECT_EQ(without.status, 0) << without.err;
    EXPECT_EQ(with.status, 0);
    EXPECT_EQ(with.out, without.out);
    EXPECT_EQ(with.err, without.err);
  }
  long Kernels(pid_t pid) {
    std::map<std::string, Json> rows =
        RowsByName(sandbox_.Table({"--view", "kernels", "--pid", std::to_string(pid)}));
    return rows.count("step(int*)") == 0 ? 0 : rows["step(int*)"]["count"].get<long>();
  }

  Sandbox sandbox_;
};

TEST_F(Surroundings, AShellsHundredChildrenAreNotTraced) {
  sandbox_.StartDaemon();
  ExpectUntouched({"/bin/bash", "-c",
                   "for i in $(seq 100); do /bin/echo $i; done; seq 100 | xargs -n 10 echo"});
  EXPECT_TRUE(sandbox_.Processes()["rows"].empty());
}

TEST_F(Surroundings, WithoutADescriptorLeftTheConnectionComesLater) {
  std::string release = sandbox_.folder() + "/release";
  Program program = sandbox_.Start({"/bin/bash", "-c", "ulimit -n 64; exec \"$@\"", "bash",
                                    Built("surroundings"), "many_files", release},
                                   sandbox_.Traced());
  ASSERT_TRUE(program.WaitForOut("holding"));
  sandbox_.StartDaemon();
  sleep(1);  // For more than one try.
  EXPECT_TRUE(sandbox_.Processes()["rows"].empty());
  std::ofstream(release) << "go on\n";
  Result result = program.Wait();
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out, "holding\nkernels 40\n");
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(Kernels(program.pid()), 40);
}

TEST_F(Surroundings, WithSocketsForbiddenNothingIsSent) {
  sandbox_.StartDaemon();
  ExpectUntouched({Built("surroundings"), "no_sockets"});
  EXPECT_TRUE(sandbox_.Processes()["rows"].empty());
}

TEST_F(Surroundings, WithSocketsForbiddenOnPainOfDeathNoneIsTried) {
  std::string release = sandbox_.folder() + "/release";
  Program program =
      sandbox_.Start({Built("surroundings"), "no_sockets_later", release}, sandbox_.Traced());
  ASSERT_TRUE(program.WaitForOut("holding"));
  sandbox_.StartDaemon();
  sleep(1);  // Twice as long as it takes to try again.
  EXPECT_TRUE(program.running());
  std::ofstream(release) << "go on\n";
  Result result = program.Wait();
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out, "holding\nkernels 40\n");
}

TEST_F(Surroundings, AFullOrReadOnlyTmpDoesNoHarm) {
  if (sandbox_.Run({"/usr/bin/unshare", "--mount", "/bin/true"}, sandbox_.Untraced()).status != 0) {
    GTEST_SKIP() << "no mount namespace can be made here";
  }
  Environment log = {{"TP_LOG", "debug"}, {"TP_LOG_FILE", "/tmp/collector.log"}};
  for (const std::string mount : {"mount -t tmpfs -o ro none /tmp",
                                  "mount -t tmpfs -o size=4k none /tmp && "
                                  "head -c 4096 /dev/zero > /tmp/all"}) {
    SCOPED_TRACE(mount);
    ExpectUntouched({"/usr/bin/unshare", "--mount", "/bin/sh", "-c", mount + " && exec \"$@\"",
                     "sh", Built("surroundings"), "no_sockets"},
                    log);
  }
}

TEST_F(Surroundings, ALogThatCannotBeWrittenIsLeftOut) {
  // The connection is refused for its length: that is logged.
  Environment log = {{"TP_LOG", "debug"},
                     {"TP_LOG_FILE", "/dev/full"},
                     {"TP_SOCKET", "/" + std::string(200, 'x')}};
  ExpectUntouched({Built("surroundings"), "no_sockets"}, log);
}

TEST_F(Surroundings, WithoutStderrTheLogDoesNotGoIntoTheProgramsFile) {
  std::string file = sandbox_.folder() + "/file";
  Environment log = {{"TP_LOG", "debug"},
                     {"TP_CUPTI", "/nowhere/libcupti.so"},
                     {"TP_SOCKET", "/" + std::string(200, 'x')}};
  Result result = sandbox_.Run({"/bin/bash", "-c", "exec 2>&-; exec \"$@\"", "bash",
                                Built("surroundings"), "open_file", file},
                               Traced(log));
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out, "descriptor 2\nkernels 20\n");
  EXPECT_EQ(Content(file), "mine");
}

TEST_F(Surroundings, AStderrThatNobodyReadsEndsNothing) {
  Environment log = {{"TP_LOG", "debug"},
                     {"TP_CUPTI", "/nowhere/libcupti.so"},
                     {"TP_SOCKET", "/" + std::string(200, 'x')}};
  Result result = sandbox_.Run({"/bin/bash", "-c", "exec 2> >(true); wait $!; exec \"$@\"", "bash",
                                Built("surroundings"), "no_sockets"},
                               Traced(log));
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out, "kernels 20\n");
}

TEST_F(Surroundings, AProgramWithMoreRightsThanItsUserIsLeftAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a program setuid root";
  sandbox_.StartDaemon();
  std::string program = sandbox_.folder() + "/calls_injection";
  std::string library = Sandbox::Built("collector/libtpcollect.so");
  std::filesystem::copy_file(Built("calls_injection"), program);
  Result usual = sandbox_.Run({program, library}, sandbox_.Untraced());
  EXPECT_EQ(usual.out, "1, threads 2\n");
  ASSERT_EQ(chmod(sandbox_.folder().c_str(), 0755), 0);
  ASSERT_EQ(chmod(program.c_str(), 04755), 0);
  Result privileged =
      sandbox_.Run({"/usr/bin/setpriv", "--reuid", "65534", "--clear-groups", program, library},
                   sandbox_.Untraced());
  EXPECT_EQ(privileged.status, 0) << privileged.err;
  EXPECT_EQ(privileged.out, "1, threads 1\n");
}

}  // namespace
}  // namespace tp::test
