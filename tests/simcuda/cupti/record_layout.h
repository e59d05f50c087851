// How many bytes a record of each kind takes in a buffer.
//
// Records are built as the newest structs that the headers know. Since layouts only ever grew at
// their end, an older library's record is the first bytes of the newest one: posing as an older
// CUPTI takes another table.
#ifndef TESTS_SIMCUDA_CUPTI_RECORD_LAYOUT_H_
#define TESTS_SIMCUDA_CUPTI_RECORD_LAYOUT_H_

#include <cupti.h>

#include <array>
#include <cstddef>
#include <string_view>

namespace simcupti {

struct RecordLayout {
  uint32_t api_version;  // As cuptiGetVersion gives it.
  // By CUpti_ActivityKind. 0: this version writes no such record.
  std::array<size_t, CUPTI_ACTIVITY_KIND_COUNT> bytes;
};

// By the toolkit's version, "12.4"; nullptr for one that is not known.
const RecordLayout* LayoutOfToolkit(std::string_view version);

// The layout in use.
const RecordLayout& CurrentLayout();

// 0 for a kind that has no records, also for numbers that are no kind.
inline size_t RecordBytes(CUpti_ActivityKind kind) {
  const size_t index = static_cast<size_t>(kind);
  return index < CUPTI_ACTIVITY_KIND_COUNT ? CurrentLayout().bytes[index] : 0;
}

}  // namespace simcupti

#endif  // TESTS_SIMCUDA_CUPTI_RECORD_LAYOUT_H_
