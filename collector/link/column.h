// One column of a batch while it is being filled: varints, packed as protobuf packs a repeated
// field.
#ifndef COLLECTOR_LINK_COLUMN_H_
#define COLLECTOR_LINK_COLUMN_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string_view>

namespace tp::collect {

// Bytes that only grow, and whose memory is kept from batch to batch unless it is large: there are
// many columns.
class PackedVarints {
 public:
  PackedVarints() = default;
  PackedVarints(const PackedVarints&) = delete;
  PackedVarints& operator=(const PackedVarints&) = delete;
  ~PackedVarints() { free(begin_); }

  void Append(uint64_t value) {
    if (static_cast<size_t>(limit_ - end_) < kLongestVarint) Grow();
    while (value >= 0x80) {
      *end_++ = static_cast<uint8_t>(value | 0x80);
      value >>= 7;
    }
    *end_++ = static_cast<uint8_t>(value);
  }
  void Clear() {
    if (limit_ - begin_ > kMostKept) {
      free(begin_);
      begin_ = limit_ = nullptr;
    }
    end_ = begin_;
  }
  size_t size() const { return end_ - begin_; }
  std::string_view bytes() const { return {reinterpret_cast<const char*>(begin_), size()}; }

 private:
  static constexpr size_t kLongestVarint = 10;
  static constexpr ptrdiff_t kMostKept = 128 << 10;

  void Grow() {
    size_t used = size(), capacity = 2 * (limit_ - begin_) + 256;
    auto* bytes = static_cast<uint8_t*>(realloc(begin_, capacity));
    if (bytes == nullptr) throw std::bad_alloc();
    begin_ = bytes;
    end_ = bytes + used;
    limit_ = bytes + capacity;
  }

  uint8_t* begin_ = nullptr;
  uint8_t* end_ = nullptr;
  uint8_t* limit_ = nullptr;
};

inline uint64_t ZigZag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}

// A column whose rows are often all the same (device, context, thread): then it is sent as the one
// value, and a column of zeros not at all.
class ValueColumn {
 public:
  // What most rows need is inlined.
  [[gnu::always_inline]] void Append(uint64_t value) {
    if (varied_) {
      packed_.Append(value);
    } else if (value != first_) {
      AppendFirstOther(value);
    }
    ++rows_;
  }
  // For columns that hold something in few batches: rows from the last one on to `rows` are zero.
  void PadTo(size_t rows) {
    if (rows_ == 0 && !varied_) {
      rows_ = rows;  // The first value is zero.
      return;
    }
    while (rows_ < rows) Append(0);
  }
  void Clear() {
    rows_ = 0;
    first_ = 0;
    varied_ = false;
    packed_.Clear();
  }
  size_t rows() const { return rows_; }
  size_t size() const { return packed_.size(); }
  // The packed field's content: empty if all rows are zero. Call once, before Clear.
  std::string_view Finish() {
    if (!varied_ && rows_ != 0 && first_ != 0) packed_.Append(first_);
    return packed_.bytes();
  }

 private:
  // Rows are all the same so far.
  void AppendFirstOther(uint64_t value) {
    if (rows_ == 0) {
      first_ = value;
      return;
    }
    varied_ = true;
    for (size_t i = 0; i < rows_; ++i) packed_.Append(first_);
    packed_.Append(value);
  }

  PackedVarints packed_;
  uint64_t first_ = 0;  // Zero without a row.
  size_t rows_ = 0;
  bool varied_ = false;
};

// A column of differences to the row before. Differences wrap around like unsigned numbers, so that
// any value can travel.
class DeltaColumn {
 public:
  void Append(uint64_t value) {
    packed_.Append(ZigZag(static_cast<int64_t>(value - previous_)));
    previous_ = value;
    ++rows_;
  }
  void Clear() {
    packed_.Clear();
    previous_ = 0;
    rows_ = 0;
  }
  size_t rows() const { return rows_; }
  size_t size() const { return packed_.size(); }
  std::string_view bytes() const { return packed_.bytes(); }

 private:
  PackedVarints packed_;
  uint64_t previous_ = 0;
  size_t rows_ = 0;
};

}  // namespace tp::collect

#endif  // COLLECTOR_LINK_COLUMN_H_
