#include "analyzer/summarize/unconfirmed_work.h"

namespace tp {

std::optional<UnconfirmedWork::Record> UnconfirmedWork::Add(const Record& record) {
  if (limit_ == 0) return record;
  std::optional<Record> oldest;
  // Entries that were taken out of the middle count as well: they still take room.
  if (entries_.size() >= limit_) {
    oldest = entries_.front().record;
    entries_.front().is_here = false;
    --size_;
    const auto newest = newest_.find(oldest->activity.correlation);
    if (newest != newest_.end() && newest->second == first_) newest_.erase(newest);
    DropGaps();
  }
  uint64_t& newest = newest_[record.activity.correlation];
  entries_.push_back({record, newest});
  newest = first_ + entries_.size() - 1;
  ++size_;
  return oldest;
}

void UnconfirmedWork::DropGaps() {
  while (!entries_.empty() && !entries_.front().is_here) {
    entries_.pop_front();
    ++first_;
  }
}

size_t UnconfirmedWork::memory_bytes() const {
  return entries_.size() * sizeof(Entry) +
         newest_.capacity() * (sizeof(std::pair<const uint64_t, uint64_t>) + 1);
}

}  // namespace tp
