#include "collector/environment.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

namespace tp::collect {
namespace {

TEST(Environment, SetsBothVariablesAndKeepsAllOthers) {
  unsetenv(kCudaInjection);
  unsetenv(kNvtxInjection);
  setenv("TP_TEST_VARIABLE", "kept", 1);
  SetInjectionVariables("/opt/libtpcollect.so");
  EXPECT_STREQ(getenv(kCudaInjection), "/opt/libtpcollect.so");
  EXPECT_STREQ(getenv(kNvtxInjection), "/opt/libtpcollect.so");
  EXPECT_STREQ(getenv("TP_TEST_VARIABLE"), "kept");
  EXPECT_EQ(OtherInjection(kCudaInjection, "/opt/libtpcollect.so"), nullptr);
  // The program's own changes go on working.
  setenv("TP_TEST_ANOTHER", "set later", 1);
  EXPECT_STREQ(getenv("TP_TEST_ANOTHER"), "set later");
  EXPECT_STREQ(getenv(kCudaInjection), "/opt/libtpcollect.so");
}

TEST(Environment, AVariableThatTheUserSetIsKept) {
  setenv(kCudaInjection, "/other/tool.so", 1);
  unsetenv(kNvtxInjection);
  SetInjectionVariables("/opt/libtpcollect.so");
  EXPECT_STREQ(getenv(kCudaInjection), "/other/tool.so");
  EXPECT_STREQ(OtherInjection(kCudaInjection, "/opt/libtpcollect.so"), "/other/tool.so");
  EXPECT_STREQ(getenv(kNvtxInjection), "/opt/libtpcollect.so");
}

TEST(Environment, AnEmptyEnvironmentWorks) {
  char** before = environ;
  char* none[] = {nullptr};
  environ = none;
  SetInjectionVariables("/opt/libtpcollect.so");
  std::string value = getenv(kNvtxInjection);
  environ = nullptr;
  SetInjectionVariables("/opt/libtpcollect.so");
  std::string again = getenv(kCudaInjection);
  environ = before;
  EXPECT_EQ(value, "/opt/libtpcollect.so");
  EXPECT_EQ(again, "/opt/libtpcollect.so");
}

}  // namespace
}  // namespace tp::collect
