// Reads the records of a filled activity buffer and hands them to the encoder.
#ifndef COLLECTOR_CUPTI_ACTIVITY_READER_H_
#define COLLECTOR_CUPTI_ACTIVITY_READER_H_

#include <cupti.h>

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "collector/cupti/activity_buffers.h"
#include "collector/cupti/cupti_api.h"
#include "collector/events.h"
#include "collector/link/batch_encoder.h"
#include "collector/link/string_table.h"
#include "collector/operation/uncorrelated_threads.h"

namespace tp::collect {

// The kind under which we give CUPTI the operations' ids; PyTorch uses CUSTOM0 and CUSTOM1.
inline constexpr CUpti_ExternalCorrelationKind kOperationCorrelation =
    CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2;

// Works with the record layouts of any CUPTI since 11: records are stepped over with the loaded
// library's own function, and only fields that are at one place in all of them are read (facts
// about layouts: docs/adding_an_activity.md). Not thread-safe: the collector thread's own.
class ActivityReader {
 public:
  // All outlive the reader.
  ActivityReader(const CuptiApi* api, StringTable* strings, BatchEncoder* encoder,
                 const UncorrelatedThreads* uncorrelated);

  // `batch_full` is called now and then, so that the batch can be sent off when it has grown
  // enough.
  void Read(const FilledBuffer& buffer, void (*batch_full)(void*), void* user);

  // Calls of this thread (as CUPTI calls it) are ours, and are left out.
  void set_own_thread(uint32_t thread_id) { own_thread_ = thread_id; }

  // Records of kinds that we did not ask for, and buffers that ended in the middle of a record.
  uint64_t unreadable() const { return unreadable_; }

 private:
  struct KernelName {
    const char* text = nullptr;
    StringId id = 0;
  };

  void ReadRecord(const CUpti_Activity* record);
  void ReadKernel(const CUpti_Activity* record);
  void ReadCopy(const CUpti_Activity* record);
  void ReadPeerCopy(const CUpti_Activity* record);
  void ReadFill(const CUpti_Activity* record);
  void ReadCall(const CUpti_Activity* record, EventKind kind, CUpti_CallbackDomain domain);
  void ReadCorrelation(const CUpti_Activity* record);
  void AddLaunchOperation(uint32_t correlation_id, uint64_t operation_id);
  StringId KernelNameId(const char* name);
  StringId CallName(CUpti_CallbackDomain domain, uint32_t cbid);

  const CuptiApi* api_;
  StringTable* strings_;
  BatchEncoder* encoder_;
  const UncorrelatedThreads* uncorrelated_;
  std::vector<KernelName> kernel_names_;  // By the pointer's hash; checked against the text.
  std::vector<StringId> call_names_[2];   // Runtime, driver: by callback id; 0: not looked up yet.
  uint32_t last_correlation_ = 0;
  uint64_t last_operation_ = 0;
  uint64_t unreadable_ = 0;
  std::optional<uint32_t> own_thread_;
};

}  // namespace tp::collect

#endif  // COLLECTOR_CUPTI_ACTIVITY_READER_H_
