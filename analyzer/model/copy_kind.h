// CUPTI's numbers for copies and fills as texts, and the names of records that CUPTI gives none.
#ifndef ANALYZER_MODEL_COPY_KIND_H_
#define ANALYZER_MODEL_COPY_KIND_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace tp {

// Numbers behind those of CUpti_ActivityMemcpyKind for what is no call's copy: unified memory that
// moved by itself. Nsight Systems' exports number it so.
inline constexpr uint32_t kCopyKindsOfCalls = 10;
inline constexpr uint32_t kUnifiedHtoD = 11;
inline constexpr uint32_t kUnifiedDtoH = 12;
inline constexpr uint32_t kUnifiedDtoD = 13;
inline constexpr uint32_t kCopyKinds = 14;

inline constexpr uint32_t kMemoryKinds = 8;  // Of CUpti_ActivityMemoryKind.

// "HtoD", ... of a DeviceActivity::copy_kind; "unknown" of any other number.
std::string_view CopyDirection(uint32_t copy_kind);

// "pageable", ... of a CUpti_ActivityMemoryKind; "" of 0 and of any other number.
std::string_view MemoryKind(uint32_t memory_kind);

// "Memcpy HtoD (Pinned -> Device)"; numbers that nobody knows are "Unknown".
std::string CopyName(uint32_t copy_kind, uint32_t source_memory, uint32_t destination_memory);

// "Memset (Device)".
std::string FillName(uint32_t memory);

}  // namespace tp

#endif  // ANALYZER_MODEL_COPY_KIND_H_
