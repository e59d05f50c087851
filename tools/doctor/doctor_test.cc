#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "tools/doctor/machine.h"
#include "tools/doctor/process.h"
#include "tools/doctor/program_file.h"

namespace tp {
namespace {

using Level = Finding::Level;

const Finding* Of(const Findings& findings, const std::string& subject) {
  for (const Finding& finding : findings) {
    if (finding.subject == subject) return &finding;
  }
  return nullptr;
}

// A process of this test's, until the end of the test.
class Child {
 public:
  explicit Child(bool ends_at_once = false) {
    pid_ = fork();
    if (pid_ != 0) return;
    if (ends_at_once) _exit(0);
    execl("/bin/sleep", "sleep", "1000", nullptr);
    _exit(1);
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

// Until it is the program, it is still this test.
ExaminedProcess ExamineSleep(pid_t pid) {
  for (;;) {
    absl::StatusOr<ExaminedProcess> process = ExamineProcess(pid, "/socket");
    if (!process.ok() || process->command == "sleep 1000") return *process;
    usleep(1000);
  }
}

TEST(ExamineProcess, OneWithoutTheCollectorAndWithoutCuda) {
  const Child child;
  const ExaminedProcess process = ExamineSleep(child.pid());
  EXPECT_FALSE(process.has_collector);
  EXPECT_FALSE(process.has_driver);
  const Finding* collector = Of(process.findings, "collector");
  ASSERT_NE(collector, nullptr);
  EXPECT_EQ(collector->level, Level::kProblem);
  EXPECT_NE(collector->remedy.find("tpctl run"), std::string::npos);
  const Finding* cuda = Of(process.findings, "CUDA");
  ASSERT_NE(cuda, nullptr);
  EXPECT_EQ(cuda->level, Level::kProblem);
}

TEST(ExamineProcess, ALibraryThatIsAskedForButNotThereIsTold) {
  setenv("LD_PRELOAD", "/nowhere/libtpcollect.so", 1);
  const Child child;
  unsetenv("LD_PRELOAD");
  const ExaminedProcess process = ExamineSleep(child.pid());
  const Finding* collector = Of(process.findings, "collector");
  ASSERT_NE(collector, nullptr);
  EXPECT_NE(collector->text.find("/nowhere/libtpcollect.so"), std::string::npos);
}

TEST(ExamineProcess, AZombieIsOne) {
  const Child child(/*ends_at_once=*/true);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child.pid()), &info, WEXITED | WNOWAIT), 0);
  const absl::StatusOr<ExaminedProcess> process = ExamineProcess(child.pid(), "/socket");
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_NE(Of(process->findings, "process")->text.find("zombie"), std::string::npos);
}

TEST(ExamineProcess, OneThatMayNotBeReadIsAnErrorThatSaysSo) {
  const Child child;
  ExamineSleep(child.pid());
  const pid_t examiner = fork();
  if (examiner == 0) {
    // Another user, without root's capabilities.
    if (geteuid() == 0 && setuid(65534) != 0) _exit(3);
    if (getuid() != 65534) _exit(2);
    const absl::Status status = ExamineProcess(child.pid(), "/socket").status();
    _exit(absl::IsPermissionDenied(status) ? 0 : 1);
  }
  int end = -1;
  ASSERT_EQ(waitpid(examiner, &end, 0), examiner);
  if (end != 0 && WEXITSTATUS(end) >= 2) GTEST_SKIP() << "cannot become another user";
  EXPECT_EQ(end, 0);
}

// Root without the capability.
TEST(ExamineProcess, RootMayBeRefusedToo) {
  if (geteuid() != 0) GTEST_SKIP() << "not root";
  const Child child;
  ExamineSleep(child.pid());
  ASSERT_EQ(kill(child.pid(), 0), 0);
  const pid_t examiner = fork();
  if (examiner == 0) {
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[2] = {};
    if (syscall(SYS_capset, &header, none) != 0) _exit(2);
    const absl::Status status = ExamineProcess(1, "/socket").status();
    if (status.ok()) _exit(2);  // It has no more capabilities than this.
    _exit(absl::IsPermissionDenied(status) ? 0 : 1);
  }
  int end = -1;
  ASSERT_EQ(waitpid(examiner, &end, 0), examiner);
  if (end != 0 && WEXITSTATUS(end) == 2) GTEST_SKIP() << "nothing is refused here";
  EXPECT_EQ(end, 0);
}

TEST(ExamineProcess, OneThatDoesNotRunIsAnError) {
  pid_t gone;
  {
    const Child child(/*ends_at_once=*/true);
    gone = child.pid();
  }
  EXPECT_TRUE(absl::IsNotFound(ExamineProcess(gone, "/socket").status()));
}

TEST(WhyNotPreloaded, TellsProgramsThatTakeNoLibraryOfOurs) {
  EXPECT_EQ(WhyNotPreloaded("/proc/self/exe"), "");
  EXPECT_EQ(WhyNotPreloaded("/no/such/file"), "");
  const std::string path = std::string(getenv("TEST_TMPDIR")) + "/program";
  std::ifstream self("/proc/self/exe", std::ios::binary);
  std::string elf(4096, '\0');
  self.read(elf.data(), static_cast<std::streamsize>(elf.size()));
  const auto with = [&](size_t place, char value) {
    std::string changed = elf;
    changed[place] = value;
    std::ofstream(path, std::ios::binary) << changed;
    return WhyNotPreloaded(path);
  };
  EXPECT_EQ(with(0, 'x'), "is no ELF program");
  EXPECT_EQ(with(4, 1), "is a 32-bit program");
  EXPECT_EQ(with(18, 8), "is a program for another processor");
  EXPECT_EQ(with(56, 0), "is linked statically") << "without segments";
  const size_t interpreter = elf.find("/ld-linux");
  ASSERT_NE(interpreter, elf.npos);
  elf.replace(interpreter, 9, "/ld-musl-");
  EXPECT_EQ(with(0, 0x7f), "uses musl, not glibc");
}

TEST(ExamineMachine, NamesWhatStandsInTheWay) {
  setenv("CUDA_INJECTION64_PATH", "/other/tool.so", 1);
  setenv("TP_COLLECT", "off", 1);
  setenv("TP_CUPTI", "/nowhere/libcupti.so", 1);
  setenv("TP_STACKS", "many", 1);
  const Findings findings = ExamineMachine("", "not found in /here");
  EXPECT_EQ(Of(findings, "CUPTI")->level, Level::kProblem);
  EXPECT_NE(Of(findings, "CUPTI")->text.find("/nowhere/libcupti.so"), std::string::npos);
  EXPECT_EQ(Of(findings, "collector")->text, "not found in /here");
  ASSERT_NE(Of(findings, "CUDA_INJECTION64_PATH"), nullptr);
  EXPECT_EQ(Of(findings, "CUDA_INJECTION64_PATH")->level, Level::kNote);
  EXPECT_EQ(Of(findings, "TP_COLLECT")->level, Level::kProblem);
  ASSERT_NE(Of(findings, "CUDA driver"), nullptr);
  ASSERT_NE(Of(findings, "settings"), nullptr);
  EXPECT_NE(Of(findings, "settings")->text.find("TP_STACKS is \"many\""), std::string::npos);
}

}  // namespace
}  // namespace tp
