// How many bytes a record of each kind takes in a buffer.
//
// Records are built as the newest structs that the headers know. Since layouts only ever grew at
// their end, an older library's record is the first bytes of the newest one, and a newer library's
// has more behind it: posing as another CUPTI takes another table.
#ifndef TESTS_SIMCUDA_CUPTI_RECORD_LAYOUT_H_
#define TESTS_SIMCUDA_CUPTI_RECORD_LAYOUT_H_

#include <cupti.h>

#include <array>
#include <cstddef>

#include "tests/simcuda/cupti/posed_version.h"

namespace simcupti {

// Kinds of all known versions: more than the headers may have.
inline constexpr size_t kKinds = 60;

// By CUpti_ActivityKind. 0: this version writes no such record.
using RecordLayout = std::array<size_t, kKinds>;

RecordLayout LayoutOf(Version version);

// The layout in use.
const RecordLayout& CurrentLayout();

// 0 for a kind that has no records, also for numbers that are no kind.
inline size_t RecordBytes(CUpti_ActivityKind kind) {
  const size_t index = static_cast<size_t>(kind);
  return index < kKinds ? CurrentLayout()[index] : 0;
}

// What cuptiActivityGetNextRecord does.
CUptiResult NextRecord(uint8_t* buffer, size_t valid_bytes, CUpti_Activity** record);

}  // namespace simcupti

#endif  // TESTS_SIMCUDA_CUPTI_RECORD_LAYOUT_H_
