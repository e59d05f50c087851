// Reads the records of a filled activity buffer and hands them to the encoder.
#ifndef COLLECTOR_CUPTI_ACTIVITY_READER_H_
#define COLLECTOR_CUPTI_ACTIVITY_READER_H_

#include <cupti.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collector/cupti/activity_buffers.h"
#include "collector/cupti/cupti_client.h"
#include "collector/cupti/record_layout.h"
#include "collector/events.h"
#include "collector/link/batch_encoder.h"
#include "collector/link/descriptions.h"
#include "collector/link/string_table.h"
#include "collector/operation/reopened_ranges.h"
#include "collector/operation/uncorrelated_threads.h"

namespace tp::collect {

// Works with the record layouts of any CUPTI since 11: records are stepped over with the loaded
// library's own function, and read as record_layout.h says. Not thread-safe: the collector
// thread's own.
class ActivityReader {
 public:
  // All outlive the reader.
  ActivityReader(const CuptiClient* cupti, StringTable* strings, BatchEncoder* encoder,
                 Descriptions* descriptions, const UncorrelatedThreads* uncorrelated,
                 const ReopenedRanges* reopened);

  // Whether records of chatty calls are left out (see chatty_calls.h). Where CUPTI can leave them
  // out itself, none come.
  void set_leaves_out_chatty_calls(bool leaves_out) { leaves_out_chatty_calls_ = leaves_out; }

  // `batch_full` is called now and then, so that the batch can be sent off when it has grown
  // enough.
  void Read(const FilledBuffer& buffer, void (*batch_full)(void*), void* user);

  // `seen` is called with the thread of a call whenever it is not that of the call before.
  void set_thread_seen(std::function<void(uint32_t)> seen) { thread_seen_ = std::move(seen); }

  // Calls of this thread (as CUPTI calls it) are ours, and are left out.
  void set_own_thread(uint32_t thread_id) { own_thread_ = thread_id; }

  // Records of kinds that we did not ask for or shorter than any of their kind, and buffers that
  // ended in the middle of a record.
  uint64_t unreadable() const { return unreadable_; }

 private:
  struct KernelName {
    const char* text = nullptr;
    StringId id = 0;
  };

  // False if the record cannot be read.
  bool ReadRecord(const ActivityRecord& record);
  bool ReadKernel(const ActivityRecord& record);
  bool ReadCopy(const ActivityRecord& record);
  bool ReadPeerCopy(const ActivityRecord& record);
  bool ReadFill(const ActivityRecord& record);
  bool ReadGraph(const ActivityRecord& record);
  bool ReadSynchronization(const ActivityRecord& record);
  bool ReadMemory(const ActivityRecord& record);
  bool ReadMemoryPool(const ActivityRecord& record);
  bool ReadOverhead(const ActivityRecord& record);
  bool ReadCompilation(const ActivityRecord& record);
  bool ReadCall(const ActivityRecord& record, EventKind kind, CUpti_CallbackDomain domain);
  bool ReadCorrelation(const ActivityRecord& record);
  bool ReadDevice(const ActivityRecord& record);
  bool ReadContext(const ActivityRecord& record);
  bool ReadStream(const ActivityRecord& record);
  bool ReadName(const ActivityRecord& record);
  void AddLaunchOperation(uint32_t correlation_id, uint64_t range_id);
  StringId KernelNameId(const char* name);
  StringId CallName(CUpti_CallbackDomain domain, uint32_t cbid);

  const CuptiClient* cupti_;
  StringTable* strings_;
  BatchEncoder* encoder_;
  Descriptions* descriptions_;
  const UncorrelatedThreads* uncorrelated_;
  const ReopenedRanges* reopened_;
  std::vector<KernelName> kernel_names_;  // By the pointer's hash; checked against the text.
  std::vector<StringId> call_names_[2];   // Runtime, driver: by callback id; 0: not looked up yet.
  uint32_t last_correlation_ = 0;
  uint64_t last_operation_ = 0;
  bool leaves_out_chatty_calls_ = false;
  uint64_t unreadable_ = 0;
  uint32_t last_thread_ = 0;
  std::function<void(uint32_t)> thread_seen_;
  std::optional<uint32_t> own_thread_;
};

}  // namespace tp::collect

#endif  // COLLECTOR_CUPTI_ACTIVITY_READER_H_
