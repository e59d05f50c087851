// An array that grows without moving what it holds, in pieces, so that a million entries cost a
// million entries.
#ifndef ANALYZER_CORRELATE_SLOTS_H_
#define ANALYZER_CORRELATE_SLOTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tp {

template <typename Entry>
class Slots {
 public:
  Entry& operator[](uint32_t slot) { return pieces_[slot / kPiece][slot % kPiece]; }
  const Entry& operator[](uint32_t slot) const { return pieces_[slot / kPiece][slot % kPiece]; }

  // Makes sure that `slot` is there.
  void Reach(uint32_t slot) {
    while (slot / kPiece >= pieces_.size()) pieces_.push_back(std::make_unique<Entry[]>(kPiece));
  }
  size_t memory_bytes() const { return pieces_.size() * kPiece * sizeof(Entry); }

 private:
  static constexpr uint32_t kPiece = 256;
  std::vector<std::unique_ptr<Entry[]>> pieces_;
};

}  // namespace tp

#endif  // ANALYZER_CORRELATE_SLOTS_H_
