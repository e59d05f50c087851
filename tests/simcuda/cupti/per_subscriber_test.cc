// Posing as CUPTI 13.3 and later: several subscribers side by side, each with what it asked for,
// and the families of functions that do not mix.

#include "collector/cupti/per_subscriber_api.h"

#include <cupti.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "tests/simcuda/cupti/fake_driver.h"
#include "tests/simcuda/cupti/test_client.h"

namespace {

using simcuda::ApiDomain;
using tp::collect::PerSubscriberFunctions;
using tp::collect::SubscriberParams;

constexpr uint32_t kMalloc = CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020;
constexpr auto kRuntime = CUPTI_ACTIVITY_KIND_RUNTIME;
constexpr auto kKernels = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
constexpr auto kExternal = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
constexpr auto kCustom = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2;

#define NEWER(name) \
  reinterpret_cast<PerSubscriberFunctions::name*>(dlsym(RTLD_DEFAULT, "cupti" #name "_v2"))

// In a process of its own: the variables are read once.
void Posing(const char* version, const char* faults, const std::function<void()>& check) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("SIMCUPTI_VERSION", version, 1);
    setenv("SIMCUPTI_FAULTS", faults, 1);
    fake_driver::AddContext(1, 0);
    check();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// A subscriber with buffers of its own.
template <int kNumber>
class Tool {
 public:
  CUptiResult Subscribe(bool allow_several = true) {
    SubscriberParams params = {.struct_bytes = sizeof(SubscriberParams),
                               .name = kNumber == 1 ? "first" : "second",
                               .holder = holder_,
                               .holder_bytes = sizeof holder_,
                               .allow_several = allow_several,
                               .padding = {}};
    return NEWER(Subscribe)(&handle, nullptr, nullptr, &params);
  }
  void Register() {
    const auto request = [](uint8_t** buffer, size_t* bytes, size_t* most_records, void*) {
      *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, 4096));
      *bytes = 4096;
      *most_records = 0;
    };
    const auto complete = [](uint8_t* buffer, size_t, size_t valid_bytes, void*) {
      CUpti_Activity* record = nullptr;
      while (NEWER(ActivityGetNextRecord)(handle, buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
        kinds.push_back(record->kind);
        if (record->kind == kExternal) {
          ids.push_back(reinterpret_cast<CUpti_ActivityExternalCorrelation*>(record)->externalId);
        }
      }
      free(buffer);
    };
    ASSERT_EQ(NEWER(ActivityRegisterCallbacks)(handle, request, complete), CUPTI_SUCCESS);
  }
  CUptiResult Enable(CUpti_ActivityKind kind) {
    return NEWER(ActivityEnable)(handle, kind, nullptr);
  }
  std::string holder() const { return holder_; }

  static inline CUpti_SubscriberHandle handle = nullptr;
  static inline std::vector<int> kinds;
  static inline std::vector<uint64_t> ids;

 private:
  char holder_[64] = "";
};

void Start(Tool<1>& first, Tool<2>& second) {
  ASSERT_EQ(first.Subscribe(), CUPTI_SUCCESS);
  ASSERT_EQ(second.Subscribe(), CUPTI_SUCCESS);
  first.Register();
  second.Register();
}

TEST(PerSubscriber, EachGetsWhatItEnabledAndItsOwnIds) {
  Posing("13.3", "", [] {
    Tool<1> first;
    Tool<2> second;
    Start(first, second);
    EXPECT_EQ(first.Enable(kRuntime), CUPTI_SUCCESS);
    EXPECT_EQ(first.Enable(kExternal), CUPTI_SUCCESS);
    EXPECT_EQ(second.Enable(kRuntime), CUPTI_SUCCESS);
    EXPECT_EQ(second.Enable(kExternal), CUPTI_SUCCESS);
    EXPECT_EQ(second.Enable(kKernels), CUPTI_SUCCESS);
    EXPECT_EQ(NEWER(ActivityPushExternalCorrelationId)(first.handle, kCustom, 11), CUPTI_SUCCESS);
    EXPECT_EQ(NEWER(ActivityPushExternalCorrelationId)(second.handle, kCustom, 22), CUPTI_SUCCESS);
    fake_driver::Call(ApiDomain::kRuntime, kMalloc);
    fake_driver::Complete(fake_driver::Kernel(1));
    EXPECT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    EXPECT_EQ(first.kinds, (std::vector<int>{kExternal, kRuntime}));
    EXPECT_EQ(second.kinds, (std::vector<int>{kExternal, kRuntime, kKernels}));
    EXPECT_EQ(first.ids, std::vector<uint64_t>{11});
    EXPECT_EQ(second.ids, std::vector<uint64_t>{22});
    EXPECT_EQ(second.holder(), "CUPTI for first");
  });
}

TEST(PerSubscriber, OneThatLeavesDoesNotDisturbTheOther) {
  Posing("13.5", "", [] {
    Tool<1> first;
    Tool<2> second;
    Start(first, second);
    EXPECT_EQ(first.Enable(kRuntime), CUPTI_SUCCESS);
    EXPECT_EQ(second.Enable(kRuntime), CUPTI_SUCCESS);
    EXPECT_EQ(cuptiFinalize(), CUPTI_SUCCESS) << "and does nothing, as there are two";
    const CUpti_SubscriberHandle left = first.handle;
    EXPECT_EQ(cuptiUnsubscribe(left), CUPTI_SUCCESS);
    EXPECT_EQ(NEWER(ActivityEnable)(left, kKernels, nullptr), CUPTI_ERROR_INVALID_PARAMETER);
    fake_driver::Call(ApiDomain::kRuntime, kMalloc);
    EXPECT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    EXPECT_TRUE(first.kinds.empty());
    EXPECT_EQ(second.kinds, std::vector<int>{kRuntime});
    // And comes again, with nothing of before.
    EXPECT_EQ(first.Subscribe(), CUPTI_SUCCESS);
    first.Register();
    fake_driver::Call(ApiDomain::kRuntime, kMalloc);
    EXPECT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    EXPECT_TRUE(first.kinds.empty());
  });
}

TEST(PerSubscriber, TheOlderFamilyIsRefusedBesideTheNewer) {
  Posing("13.3", "", [] {
    Tool<1> first;
    EXPECT_EQ(first.Subscribe(), CUPTI_SUCCESS);
    CUpti_SubscriberHandle older = nullptr;
    uint64_t time = 0;
    EXPECT_EQ(cuptiSubscribe(&older, nullptr, nullptr),
              CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    EXPECT_EQ(cuptiActivityEnable(kRuntime), CUPTI_ERROR_NOT_COMPATIBLE);
    EXPECT_EQ(cuptiGetTimestamp(&time), CUPTI_ERROR_NOT_COMPATIBLE);
    EXPECT_EQ(cuptiActivityPushExternalCorrelationId(kCustom, 1), CUPTI_ERROR_NOT_COMPATIBLE);
    EXPECT_EQ(NEWER(GetTimestamp)(first.handle, &time), CUPTI_SUCCESS);
    EXPECT_EQ(cuptiUnsubscribe(first.handle), CUPTI_SUCCESS);
    EXPECT_EQ(cuptiGetTimestamp(&time), CUPTI_SUCCESS);
  });
}

TEST(PerSubscriber, TheNewerFamilyIsRefusedBesideTheOlder) {
  Posing("13.3", "", [] {
    test_client::Start();
    EXPECT_EQ(cuptiActivityEnable(kRuntime), CUPTI_SUCCESS) << "without a subscriber";
    Tool<1> first;
    EXPECT_EQ(first.Subscribe(), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    EXPECT_EQ(cuptiActivityDisable(kRuntime), CUPTI_SUCCESS);
    EXPECT_EQ(first.Subscribe(), CUPTI_SUCCESS);
  });
}

TEST(PerSubscriber, WhoDoesNotAllowAnotherIsAlone) {
  Posing("13.3", "", [] {
    Tool<1> first;
    Tool<2> second;
    EXPECT_EQ(first.Subscribe(/*allow_several=*/false), CUPTI_SUCCESS);
    EXPECT_EQ(second.Subscribe(), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    EXPECT_EQ(second.holder(), "CUPTI for first");
  });
}

TEST(PerSubscriber, AnOldDriverLetsNobodyAllowAnother) {
  Posing("13.3", "old_driver", [] {
    Tool<1> first;
    EXPECT_EQ(first.Subscribe(), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    EXPECT_EQ(first.holder(), "");
    CUpti_SubscriberHandle older = nullptr;
    EXPECT_EQ(cuptiSubscribe(&older, nullptr, nullptr), CUPTI_SUCCESS);
  });
}

TEST(PerSubscriber, Before13_3ThereIsOneWhateverItAllows) {
  Posing("13.2", "", [] {
    Tool<1> first;
    Tool<2> second;
    EXPECT_EQ(first.Subscribe(), CUPTI_SUCCESS);
    EXPECT_EQ(second.Subscribe(), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    uint64_t time = 0;
    EXPECT_EQ(cuptiGetTimestamp(&time), CUPTI_SUCCESS);
    EXPECT_EQ(NEWER(GetTimestamp), nullptr);
  });
}

}  // namespace
