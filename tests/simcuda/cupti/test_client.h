// A client of CUPTI for tests: lends buffers, keeps what comes back, and looks into it.
#ifndef TESTS_SIMCUDA_CUPTI_TEST_CLIENT_H_
#define TESTS_SIMCUDA_CUPTI_TEST_CLIENT_H_

#include <cupti.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace test_client {

struct ReturnedBuffer {
  std::shared_ptr<uint8_t[]> data;
  size_t bytes;
  size_t valid_bytes;
  std::thread::id returned_on;
};

struct Settings {
  size_t buffer_bytes = 64 * 1024;
  size_t max_records = 0;
  bool refuse = false;                         // Lend no buffer.
  std::function<void()> on_request = nullptr;  // Called in the callbacks.
  std::function<void()> on_complete = nullptr;
};

// Registers the callbacks and starts with nothing lent or returned.
void Start(Settings settings = {});
// Replaces the settings alone.
void Change(Settings settings);

size_t BuffersLent();  // All that were ever lent.
std::vector<ReturnedBuffer> Returned();

// All records of the returned buffers, in the order of return, walked with
// cuptiActivityGetNextRecord. They live as long as the returned buffers do, that is until Start().
std::vector<const CUpti_Activity*> Records();
std::vector<const CUpti_Activity*> RecordsOfBuffer(const ReturnedBuffer& buffer);

template <class Record>
std::vector<Record> RecordsOf(CUpti_ActivityKind kind) {
  std::vector<Record> records;
  for (const CUpti_Activity* activity : Records()) {
    if (activity->kind == kind) {
      std::memcpy(&records.emplace_back(), activity, sizeof(Record));
    }
  }
  return records;
}

inline std::vector<CUpti_ActivityAPI> RuntimeCalls() {
  return RecordsOf<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_RUNTIME);
}
inline std::vector<CUpti_ActivityKernel10> Kernels() {
  return RecordsOf<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
}

// Has NVTX take the simulated CUPTI for its tool. Call it before this program's first NVTX call.
void BecomeNvtxTool();

// The records dropped since the last question.
size_t Dropped();

}  // namespace test_client

#endif  // TESTS_SIMCUDA_CUPTI_TEST_CLIENT_H_
