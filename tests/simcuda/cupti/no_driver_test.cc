// Without a driver in the process, the simulated library answers every question as the real one
// does.

#include <cupti.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "tests/simcuda/cupti/real_library.h"

namespace {

void* Simulated() {
  static void* const handle = dlopen(SIMULATED_CUPTI, RTLD_NOW | RTLD_LOCAL);
  return handle;
}

// Results by question, asked of one library.
std::map<std::string, int> Answers(void* library) {
  std::map<std::string, int> answers;
#define ASK(label, function, ...) \
  answers[label] = reinterpret_cast<decltype(&function)>(dlsym(library, #function))(__VA_ARGS__)
  uint32_t number = 0;
  uint64_t time = 0;
  size_t size = sizeof(size_t);
  size_t value = 0;
  CUpti_SubscriberHandle subscriber = nullptr;
  CUpti_DomainTable domains = nullptr;
  CUpti_ActivityThreadIdType type = CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT;
  const auto request = [](uint8_t**, size_t*, size_t*) {};
  const auto complete = [](CUcontext, uint32_t, uint8_t*, size_t, size_t) {};
  constexpr auto kKernel = CUPTI_ACTIVITY_KIND_KERNEL;
  constexpr auto kCustom = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
  ASK("version", cuptiGetVersion, &number);
  ASK("version again", cuptiGetVersion, &number);
  answers["the version itself"] = static_cast<int>(number);
  ASK("version to nowhere", cuptiGetVersion, nullptr);
  ASK("last error", cuptiGetLastError);
  ASK("timestamp", cuptiGetTimestamp, &time);
  ASK("timestamp to nowhere", cuptiGetTimestamp, nullptr);
  ASK("domains", cuptiSupportedDomains, &size, &domains);
  ASK("dropped", cuptiActivityGetNumDroppedRecords, nullptr, 0, &value);
  ASK("dropped to nowhere", cuptiActivityGetNumDroppedRecords, nullptr, 0, nullptr);
  ASK("subscribe", cuptiSubscribe, &subscriber, nullptr, nullptr);
  ASK("subscribe v2", cuptiSubscribe_v2, &subscriber, nullptr, nullptr, nullptr);
  ASK("last error after subscribe", cuptiGetLastError);
  ASK("unsubscribe nobody", cuptiUnsubscribe, nullptr);
  ASK("enable for nobody", cuptiEnableDomain, 1, nullptr, CUPTI_CB_DOMAIN_RUNTIME_API);
  ASK("state for nobody", cuptiGetCallbackState, &number, nullptr, CUPTI_CB_DOMAIN_RUNTIME_API, 1);
  ASK("register", cuptiActivityRegisterCallbacks, request, complete);
  ASK("register nothing", cuptiActivityRegisterCallbacks, nullptr, nullptr);
  ASK("enable", cuptiActivityEnable, kKernel);
  ASK("enable what is no kind", cuptiActivityEnable, static_cast<CUpti_ActivityKind>(300));
  ASK("disable", cuptiActivityDisable, kKernel);
  ASK("enable and dump", cuptiActivityEnableAndDump, CUPTI_ACTIVITY_KIND_DEVICE);
  ASK("attribute", cuptiActivityGetAttribute, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size,
      &value);
  ASK("flush", cuptiActivityFlushAll, 0);
  ASK("forced flush", cuptiActivityFlushAll, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  ASK("flush period", cuptiActivityFlushPeriod, 0);
  ASK("push", cuptiActivityPushExternalCorrelationId, kCustom, 1);
  ASK("pop", cuptiActivityPopExternalCorrelationId, kCustom, nullptr);
  ASK("set thread ids", cuptiSetThreadIdType, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  ASK("get thread ids", cuptiGetThreadIdType, &type);
  ASK("latency", cuptiActivityEnableLatencyTimestamps, 1);
  ASK("no timestamp callback", cuptiActivityRegisterTimestampCallback, nullptr);
  ASK("runtime function", cuptiActivityEnableRuntimeApi, 3, 1);
  ASK("driver function", cuptiActivityEnableDriverApi, 3, 1);
  ASK("device id", cuptiGetDeviceId, nullptr, &number);
  ASK("context id", cuptiGetContextId, nullptr, &number);
  ASK("stream id", cuptiGetStreamIdEx, nullptr, nullptr, 0, &number);
  ASK("graph id", cuptiGetGraphId, nullptr, &number);
  ASK("finalize", cuptiFinalize);
#undef ASK
  return answers;
}

TEST(NoDriver, CudaIsNotHereAndThisShowsInEnableAndSubscribe) {
  ASSERT_NE(Simulated(), nullptr) << dlerror();
  std::map<std::string, int> answers = Answers(Simulated());
  EXPECT_EQ(answers.at("version"), CUPTI_SUCCESS);
  EXPECT_EQ(answers.at("register"), CUPTI_SUCCESS);
  EXPECT_EQ(answers.at("timestamp"), CUPTI_SUCCESS);
  EXPECT_EQ(answers.at("subscribe"), CUPTI_ERROR_UNKNOWN);
  EXPECT_EQ(answers.at("enable"), CUPTI_ERROR_UNKNOWN);
  EXPECT_EQ(answers.at("flush"), CUPTI_ERROR_UNKNOWN);
  EXPECT_EQ(answers.at("push"), CUPTI_ERROR_UNKNOWN);
}

TEST(NoDriver, TheRealLibraryAnswersTheSame) {
  ASSERT_NE(Simulated(), nullptr) << dlerror();
  if (real_library::Open() == nullptr) {
    GTEST_SKIP() << real_library::WhyNot();
  }
  if (void* driver = dlopen("libcuda.so.1", RTLD_NOW)) {
    dlclose(driver);
    GTEST_SKIP() << "this machine has a driver";
  }
  EXPECT_EQ(Answers(Simulated()), Answers(real_library::Open()));
}

}  // namespace
