// Beside every CUPTI: built once, the collector counts exactly whichever version it meets, and uses
// one of its two families of functions, never both. The version is one that the simulated CUPTI
// poses as; an error that it is told to give proves that a function is not called.

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "tests/end_to_end/known_work.h"
#include "tests/end_to_end/sandbox.h"

namespace tp::test {
namespace {

// Functions of each family that collecting cannot do without.
const std::string kOlderFails =
    "error=cuptiSubscribe:8,error=cuptiActivityEnable:8,error=cuptiActivityRegisterCallbacks:8,"
    "error=cuptiActivityPushExternalCorrelationId:8,error=cuptiGetTimestamp:8,"
    "error=cuptiActivityGetNextRecord:8,error=cuptiActivityGetNumDroppedRecords:8,"
    "error=cuptiSetThreadIdType:8,error=cuptiActivityGetAttribute:8";
const std::string kNewerFails =
    "error=cuptiSubscribe_v2:8,error=cuptiActivityEnable_v2:8,"
    "error=cuptiActivityRegisterCallbacks_v2:8";

class Versions : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (getenv("TP_TEST_CUDA_LIBRARIES") != nullptr) {
      GTEST_SKIP() << "only the simulated CUPTI poses as others";
    }
    sandbox_.StartDaemon();
  }

  Environment Posing(const std::string& version, const std::string& faults = "") {
    Environment environment = sandbox_.Traced();
    environment.emplace_back("SIMCUPTI_VERSION", version);
    environment.emplace_back("SIMCUPTI_FAULTS", faults);
    return environment;
  }
  void ExpectAllExact(const Environment& environment, const Arguments& options = {}) {
    Arguments command = {Sandbox::Built(kKnownWork), "--threads", "4", "--iterations", "30"};
    command.insert(command.end(), options.begin(), options.end());
    Program program = sandbox_.Start(command, environment);
    pid_t pid = program.pid();
    Result result = program.Wait();
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.err, "");
    ExpectExact(sandbox_, pid, Json::parse(result.out));
  }

  Sandbox sandbox_;
};

TEST_P(Versions, EverythingIsCountedExactly) { ExpectAllExact(Posing(GetParam())); }

INSTANTIATE_TEST_SUITE_P(All, Versions,
                         testing::Values("11.0", "11.8", "12.0", "12.9", "13.0", "13.2", "13.3",
                                         "13.5"),
                         [](const auto& info) {
                           std::string name = info.param;
                           name.replace(name.find('.'), 1, "_");
                           return name;
                         });

using Families = Versions;

TEST_F(Families, TheOlderIsNotTouchedWhereTheNewerIsWhole) {
  ExpectAllExact(Posing("13.3", kOlderFails));
}

TEST_F(Families, TheNewerIsNotTouchedWhereItIsNotWhole) {
  ExpectAllExact(Posing("13.2", kNewerFails));
}

TEST_F(Families, TheOlderIsUsedWhereTheDriverIsTooOldForTheNewer) {
  ExpectAllExact(Posing("13.3", "old_driver"));
}

TEST_F(Families, TheUserMayChooseTheOlder) {
  Environment environment = Posing("13.5", kNewerFails);
  environment.emplace_back("TP_CUPTI_API", "v1");
  ExpectAllExact(environment);
}

class Sharing : public Versions {
 protected:
  Program Start(const std::string& version, Arguments words) {
    words.insert(words.begin(), Sandbox::Built("tests/programs/two_profilers"));
    return sandbox_.Start(words, Posing(version));
  }
  std::string File(const std::string& name) const { return sandbox_.folder() + "/" + name; }
  Json Done(Program& program) {
    Result result = program.Wait();
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.err, "");
    return Json::parse(result.out.substr(result.out.rfind('{')));
  }
  long Kernels(const Program& program) {
    Json table = sandbox_.Table({"--view", "kernels", "--pid", std::to_string(program.pid())});
    long count = 0;
    for (const Json& row : table["rows"]) count += row["count"].get<long>();
    return count;
  }
};

TEST_F(Sharing, AnotherSubscriberAndWeBothGetEverything) {
  Program program = Start("13.3", {"work", "100", "share", "work", "200", "part", "work", "100"});
  Json done = Done(program);
  EXPECT_EQ(done["subscribed"], 0);
  EXPECT_EQ(done["kernels_seen"], 200);
  EXPECT_EQ(done["kernels_taken"], 200);
  EXPECT_EQ(Kernels(program), 400);
  EXPECT_TRUE(sandbox_.ProcessOf(program.pid())["losses"].empty());
}

TEST_F(Sharing, OneThatWasThereBeforeIsJoined) {
  // CUDA, and so we, begin with the first work.
  Program program = Start("13.5", {"share", "work", "200", "part"});
  Json done = Done(program);
  EXPECT_EQ(done["kernels_seen"], 200);
  EXPECT_EQ(Kernels(program), 200);
}

TEST_F(Sharing, BesideAProfilerThatOnlyKnowsTheOlderFamilyWeUseThatToo) {
  Program program = Start("13.3", {"load", Sandbox::Built("tests/programs/libkineto.so"), "work",
                                   "10", "take", "work", "100", "leave"});
  Json done = Done(program);
  EXPECT_EQ(done["kernels_seen"], 100);
}

TEST_F(Sharing, WhoHoldsCuptiIsNamedWhereItTells) {
  for (const char* version : {"13.0", "13.2", "13.4"}) {
    std::string file = File(version);
    Program program = Start(version, {"subscribe", "hold", file});
    ASSERT_TRUE(program.WaitForOut("holding"));
    ASSERT_TRUE(sandbox_.WaitForState(program.pid(), "waiting"));
    EXPECT_EQ(sandbox_.ProcessOf(program.pid())["reason"],
              "another profiler holds CUPTI in this process (CUPTI for the other one): capturing "
              "begins when it lets go");
    std::ofstream(file) << "go on\n";
    Done(program);
  }
}

}  // namespace
}  // namespace tp::test
