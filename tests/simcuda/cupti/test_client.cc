#include "tests/simcuda/cupti/test_client.h"

#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

namespace test_client {
namespace {

struct State {
  std::mutex mutex;
  Settings settings;
  std::map<uint8_t*, std::shared_ptr<uint8_t[]>> lent;
  std::vector<ReturnedBuffer> returned;
  size_t lent_count = 0;
};

State& Current() {
  static State* const state = new State;
  return *state;
}

void Request(uint8_t** buffer, size_t* bytes, size_t* max_records) {
  State& state = Current();
  std::function<void()> hook;
  {
    std::lock_guard lock(state.mutex);
    *bytes = state.settings.buffer_bytes;
    *max_records = state.settings.max_records;
    if (!state.settings.refuse) {
      auto* data = static_cast<uint8_t*>(std::aligned_alloc(8, state.settings.buffer_bytes));
      // Whoever relies on fresh memory being 0 shall fail.
      std::memset(data, 0xA5, state.settings.buffer_bytes);
      state.lent[data] = std::shared_ptr<uint8_t[]>(data, [](uint8_t* memory) { free(memory); });
      ++state.lent_count;
      *buffer = data;
    }
    hook = state.settings.on_request;
  }
  if (hook) hook();
}

void Complete(CUcontext, uint32_t, uint8_t* buffer, size_t bytes, size_t valid_bytes) {
  State& state = Current();
  std::function<void()> hook;
  {
    std::lock_guard lock(state.mutex);
    // Throws, and so fails the test, for a buffer that was never lent.
    std::shared_ptr<uint8_t[]> data = state.lent.at(buffer);
    state.lent.erase(buffer);
    state.returned.push_back({std::move(data), bytes, valid_bytes, std::this_thread::get_id()});
    hook = state.settings.on_complete;
  }
  if (hook) hook();
}

}  // namespace

void Start(Settings settings) {
  State& state = Current();
  {
    std::lock_guard lock(state.mutex);
    state.settings = std::move(settings);
    state.lent.clear();
    state.returned.clear();
    state.lent_count = 0;
  }
  if (cuptiActivityRegisterCallbacks(Request, Complete) != CUPTI_SUCCESS) std::abort();
}

void Change(Settings settings) {
  State& state = Current();
  std::lock_guard lock(state.mutex);
  state.settings = std::move(settings);
}

size_t BuffersLent() {
  State& state = Current();
  std::lock_guard lock(state.mutex);
  return state.lent_count;
}

std::vector<ReturnedBuffer> Returned() {
  State& state = Current();
  std::lock_guard lock(state.mutex);
  return state.returned;
}

std::vector<const CUpti_Activity*> RecordsOfBuffer(const ReturnedBuffer& buffer) {
  std::vector<const CUpti_Activity*> records;
  CUpti_Activity* record = nullptr;
  CUptiResult result;
  while ((result = cuptiActivityGetNextRecord(buffer.data.get(), buffer.valid_bytes, &record)) ==
         CUPTI_SUCCESS) {
    records.push_back(record);
  }
  if (result != CUPTI_ERROR_MAX_LIMIT_REACHED) std::abort();
  return records;
}

std::vector<const CUpti_Activity*> Records() {
  std::vector<const CUpti_Activity*> records;
  for (const ReturnedBuffer& buffer : Returned()) {
    for (const CUpti_Activity* record : RecordsOfBuffer(buffer)) records.push_back(record);
  }
  return records;
}

void BecomeNvtxTool() {
  // Whatever name the loader found it under.
  void* const function = dlsym(RTLD_DEFAULT, "cuptiActivityEnable");
  Dl_info info;
  if (function == nullptr || dladdr(function, &info) == 0) std::abort();
  if (setenv("NVTX_INJECTION64_PATH", info.dli_fname, 1) != 0) std::abort();
}

size_t Dropped() {
  size_t dropped = 0;
  if (cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) != CUPTI_SUCCESS) std::abort();
  return dropped;
}

}  // namespace test_client
