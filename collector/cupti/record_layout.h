// Reads records that any CUPTI since 11.0 may have written: only fields that this one writes, and
// never beyond the record.
//
//   ActivityRecord record(activity, bytes, exact, api.version);
//   const auto* kernel = record.As<CUpti_ActivityKernel5>();  // nullptr: too short to be one.
//   uint32_t cluster = record.Get(kKernelClusterX);           // 0 where CUPTI writes none.
//
// Records of a kind have only ever grown at their end, and padding in them has become fields. So
// they all begin as the oldest struct of their kind, the one to read with As; and what came later
// is named below, to be read with Get. cuptiGetVersion alone cannot tell whether a field is there:
// 11.5 and 11.6 say the same, and so do 11.8, 12.0 and 12.1. The record's size alone cannot
// either, because of the padding. A field is read where both agree.
#ifndef COLLECTOR_CUPTI_RECORD_LAYOUT_H_
#define COLLECTOR_CUPTI_RECORD_LAYOUT_H_

#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tp::collect {

// What cuptiGetVersion says; of several versions that say the same, the first. 11.0 says 13.
inline constexpr uint32_t kCupti11_8 = 18;
inline constexpr uint32_t kCupti13_3 = 130300;

// A field that the oldest struct of its kind does not have.
template <typename Type>
struct LaterField {
  size_t offset;   // In the record, in every version that writes it.
  uint32_t since;  // The first of those.
};

// KERNEL and CONCURRENT_KERNEL, which begin as CUpti_ActivityKernel5.
inline constexpr LaterField<uint32_t> kKernelClusterX = {176, kCupti11_8};
inline constexpr LaterField<uint32_t> kKernelClusterY = {180, kCupti11_8};
inline constexpr LaterField<uint32_t> kKernelClusterZ = {184, kCupti11_8};

// A record in a buffer. Lives no longer than the buffer.
class ActivityRecord {
 public:
  // `bytes` of the buffer are left at it. `exact`: they are the record's own size, as the loaded
  // CUPTI steps over it; else later fields are taken for absent.
  ActivityRecord(const CUpti_Activity* start, size_t bytes, bool exact, uint32_t version)
      : start_(start), bytes_(bytes), version_(exact ? version : 0) {}

  CUpti_ActivityKind kind() const { return start_->kind; }

  template <typename Oldest>
  const Oldest* As() const {
    return sizeof(Oldest) <= bytes_ ? reinterpret_cast<const Oldest*>(start_) : nullptr;
  }

  template <typename Type>
  Type Get(const LaterField<Type>& field) const {
    Type value{};
    if (version_ >= field.since && field.offset + sizeof(Type) <= bytes_) {
      memcpy(&value, reinterpret_cast<const uint8_t*>(start_) + field.offset, sizeof(Type));
    }
    return value;
  }

 private:
  const CUpti_Activity* start_;
  size_t bytes_;
  uint32_t version_;
};

}  // namespace tp::collect

#endif  // COLLECTOR_CUPTI_RECORD_LAYOUT_H_
