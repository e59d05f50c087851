// How long a parser takes records to be.
#ifndef TESTS_SIMCUDA_CUPTI_STRIDE_H_
#define TESTS_SIMCUDA_CUPTI_STRIDE_H_

#include <cupti.h>

#include <array>
#include <cstddef>
#include <cstdint>

// 0 if it knows no such kind.
inline size_t Stride(decltype(cuptiActivityGetNextRecord)* next_record, int kind) {
  for (size_t offset = 8; offset < 512; offset += 8) {
    alignas(8) std::array<uint32_t, 256> buffer;
    buffer.fill(0xFFFF);  // No kind.
    buffer[0] = static_cast<uint32_t>(kind);
    buffer[offset / 4] = CUPTI_ACTIVITY_KIND_RUNTIME;
    auto* data = reinterpret_cast<uint8_t*>(buffer.data());
    CUpti_Activity* record = nullptr;
    if (next_record(data, sizeof buffer, &record) != CUPTI_SUCCESS) return 0;
    if (next_record(data, sizeof buffer, &record) == CUPTI_SUCCESS) return offset;
  }
  return 0;
}

#endif  // TESTS_SIMCUDA_CUPTI_STRIDE_H_
