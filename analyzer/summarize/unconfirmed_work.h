// Device records that no call confirms yet: the call that launched them has not come, or the calls
// that came began after them, which cannot be. A call that comes late confirms those that started
// after it. Of calls with one correlation the earliest counts (a runtime call and the driver call
// inside it), so a record that is confirmed stays so, whatever comes later.
//
// Holds at most `limit` records; the owner takes the oldest out beyond that. Not thread-safe.
#ifndef ANALYZER_SUMMARIZE_UNCONFIRMED_WORK_H_
#define ANALYZER_SUMMARIZE_UNCONFIRMED_WORK_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "analyzer/correlate/hash_of_id.h"
#include "analyzer/model/recording.h"

namespace tp {

class UnconfirmedWork {
 public:
  struct Record {
    DeviceActivity activity;
    bool impossible = false;  // It started before its call.
  };

  explicit UnconfirmedWork(size_t limit) : limit_(limit) {}

  // If there is no room, gives back the oldest record, which may be the new one.
  std::optional<Record> Add(const Record& record);

  // Calls visit(Record&) for each record of a correlation, latest first; those for which it returns
  // true are taken out.
  template <typename Visit>
  void VisitLaunch(uint64_t correlation, Visit visit) {
    if (newest_.empty()) return;
    const auto newest = newest_.find(correlation);
    if (newest == newest_.end()) return;
    uint64_t* link = &newest->second;
    while (*link >= first_) {
      Entry& entry = At(*link);
      if (visit(entry.record)) {
        entry.is_here = false;
        --size_;
        *link = entry.previous;
      } else {
        link = &entry.previous;
      }
    }
    if (newest->second < first_) newest_.erase(newest);
    DropGaps();
  }

  // Calls visit(const Record&) for each record, oldest first.
  template <typename Visit>
  void VisitAll(Visit visit) const {
    for (const Entry& entry : entries_) {
      if (entry.is_here) visit(entry.record);
    }
  }

  bool empty() const { return size_ == 0; }
  size_t memory_bytes() const;

 private:
  // Records are numbered as they come, from 1.
  struct Entry {
    Record record;
    uint64_t previous = 0;  // Number of the one before it with the same correlation.
    bool is_here = true;
  };
  Entry& At(uint64_t number) { return entries_[number - first_]; }
  void DropGaps();

  size_t limit_;
  size_t size_ = 0;
  uint64_t first_ = 1;  // The number of entries_.front(); smaller ones have left.
  std::deque<Entry> entries_;
  absl::flat_hash_map<uint64_t, uint64_t, HashOfId> newest_;  // Number by correlation.
};

}  // namespace tp

#endif  // ANALYZER_SUMMARIZE_UNCONFIRMED_WORK_H_
