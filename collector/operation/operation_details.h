// What a range carries beside its name, as the application's thread leaves it in its ring: bytes
// that it only copies, and that the collector thread reads (operation/operation_reader.h).
//
//   DetailsWriter writer;
//   writer.Put(AttributesHeader{...});
//   RangeText text{.text = name, .details = writer.bytes(), .form = DetailsForm::kAttributes};
#ifndef COLLECTOR_OPERATION_OPERATION_DETAILS_H_
#define COLLECTOR_OPERATION_OPERATION_DETAILS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace tp::collect {

// Details that take more are left out, whole inputs or payloads at a time.
inline constexpr size_t kMostDetailsBytes = 2048;

// DetailsForm::kAttributes, from collector/tpcollect.h. `inputs` times an InputHeader, the sizes as
// int64_t and the type's name follow.
struct AttributesHeader {
  int64_t flops;
  int64_t output_bytes;
  uint32_t inputs;
  bool has_inputs;  // False: none were told, or there was no room for all of them.
  char kind;
};
struct InputHeader {
  uint8_t rank;
  uint8_t dtype_bytes;
};
inline constexpr uint32_t kMostRank = 32;
inline constexpr size_t kLongestDtype = 64;

// DetailsForm::kNvtx. `payloads` times a PayloadHeader and its bytes follow.
struct NvtxHeader {
  uint32_t category;     // 0: none.
  int32_t payload_type;  // nvtxPayloadType_t; 0: none.
  uint64_t payload;
  uint32_t payloads;  // Of the payload extension.
};
struct PayloadHeader {
  uint64_t schema;
  uint32_t bytes;
};
inline constexpr uint32_t kMostPayloads = 8;

// Writes at most kMostDetailsBytes, one part after the other.
class DetailsWriter {
 public:
  // False, and nothing is written, if there is no room for all of it.
  bool PutBytes(const void* bytes, size_t size) {
    if (size > sizeof(bytes_) - size_) return false;
    if (size == 0) return true;  // Of nothing there may be no address.
    memcpy(bytes_ + size_, bytes, size);
    size_ += size;
    return true;
  }
  template <typename Part>
  bool Put(const Part& part) {
    static_assert(std::is_trivially_copyable_v<Part>);
    return PutBytes(&part, sizeof(part));
  }
  // What was written first, once all is known.
  template <typename Part>
  void PutFirst(const Part& part) {
    memcpy(bytes_, &part, sizeof(part));
  }
  size_t size() const { return size_; }
  // Takes back what was written since.
  void ShrinkTo(size_t size) { size_ = size; }
  std::string_view bytes() const { return {bytes_, size_}; }

 private:
  size_t size_ = 0;
  char bytes_[kMostDetailsBytes];
};

// Reads them in the same order.
class DetailsReader {
 public:
  explicit DetailsReader(std::string_view bytes) : rest_(bytes) {}
  // False if there are not that many.
  template <typename Part>
  bool Take(Part* part) {
    std::string_view bytes;
    if (!TakeBytes(sizeof(*part), &bytes)) return false;
    memcpy(part, bytes.data(), sizeof(*part));
    return true;
  }
  bool TakeBytes(size_t size, std::string_view* bytes) {
    if (size > rest_.size()) return false;
    *bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }

 private:
  std::string_view rest_;
};

}  // namespace tp::collect

#endif  // COLLECTOR_OPERATION_OPERATION_DETAILS_H_
