// What the collector does on the program's own threads once they have begun: no memory is allocated
// or freed, no lock is taken, no system call is made.

#include <gtest/gtest.h>

#include <string>

#include "tests/end_to_end/sandbox.h"

namespace tp::test {
namespace {

using Json = nlohmann::json;

// Of a program with these variables.
void ExpectSteadyState(const Environment& variables) {
  Sandbox sandbox;
  sandbox.StartDaemon();
  Environment environment = sandbox.Traced();
  environment.insert(environment.end(), variables.begin(), variables.end());
  Program program = sandbox.Start({Sandbox::Built("tests/programs/steady_state")}, environment);
  const Result result = program.Wait();
  if (result.status == 77) GTEST_SKIP() << "this kernel cannot tell a program its system calls";
  ASSERT_EQ(result.status, 0);
  const Json counts = Json::parse(result.out);
  const Json &first = counts["first"], &steady = counts["steady"];
  // A thread's first range makes its ring: so it is known that such calls would be seen.
  EXPECT_GT(first["system_calls"], 0) << first;
  EXPECT_GT(first["locks"].get<long>() + first["allocations"].get<long>(), 0) << first;
  EXPECT_GT(steady["steps"], 1000) << steady;
  for (const std::string what : {"allocations", "locks", "system_calls"}) {
    EXPECT_EQ(steady[what], 0) << what << " of " << steady;
  }
  // It was captured meanwhile.
  const Json process = sandbox.ProcessOf(program.pid());
  EXPECT_GT(process["events"]["kernels"], 1000);
  EXPECT_EQ(process["losses"], Json::object());
}

TEST(SteadyState, HasNoAllocationNoLockAndNoSystemCallOfOursOnTheProgramsThreads) {
  ExpectSteadyState({});
}

TEST(SteadyState, HasNoneEitherWithTheStacksOfRanges) { ExpectSteadyState({{"TP_STACKS", "8"}}); }

}  // namespace
}  // namespace tp::test
