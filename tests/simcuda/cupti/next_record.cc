// The way from record to record in a buffer.

#include <cupti.h>

#include "tests/simcuda/cupti/api_entry.h"
#include "tests/simcuda/cupti/record_layout.h"

namespace simcupti {

CUptiResult NextRecord(uint8_t* buffer, size_t valid_bytes, CUpti_Activity** record) {
  if (buffer == nullptr || record == nullptr) return Result(CUPTI_ERROR_INVALID_PARAMETER);
  const uint8_t* const end = buffer + valid_bytes;
  uint8_t* next = buffer;
  if (*record != nullptr) {
    const size_t previous_bytes = RecordBytes((*record)->kind);
    if (previous_bytes == 0) return CUPTI_ERROR_INVALID_KIND;
    next = reinterpret_cast<uint8_t*>(*record) + previous_bytes;
  }
  // The end of a buffer is no error to remember.
  if (next >= end) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  auto* candidate = reinterpret_cast<CUpti_Activity*>(next);
  const size_t bytes = RecordBytes(candidate->kind);
  if (bytes == 0) return CUPTI_ERROR_INVALID_KIND;
  if (next + bytes > end) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = candidate;
  return CUPTI_SUCCESS;
}

}  // namespace simcupti

CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_bytes,
                                       CUpti_Activity** record) {
  SIMCUPTI_ENTER();
  SIMCUPTI_OLDER_FAMILY();
  return simcupti::NextRecord(buffer, valid_bytes, record);
}
