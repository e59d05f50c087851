// The numbers that one of several traces uses, and those that it gets so that no two of them use
// the same.
#ifndef ANALYZER_EXPORT_RENUMBERING_H_
#define ANALYZER_EXPORT_RENUMBERING_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/export/trace_members.h"

namespace tp {

class Renumbering {
 public:
  // First of all: sees what an event or a device's properties use. False if it has more processes
  // than any job has.
  bool See(const TraceMembers& event);
  bool SeeDevice(std::string_view number) { return SeeNumber(number); }

  // Then: fixes the numbers of all traces, of which earlier ones keep theirs.
  static void Settle(const std::vector<Renumbering*>& traces);

  // Now each has its new form, as JSON: a process or a device as it is written, quoted or not ...
  std::string Process(std::string_view written, std::string_view label) const;
  std::string Device(std::string_view written) const;
  // ... and an id; it stays where it is none, or too large to be counted on.
  std::string Id(const TraceMember& id) const;
  // An arrow's or a slice's own id, which may be any text.
  std::string EventId(const TraceMember& id, std::string_view label) const;

  // True for arguments that are ids, or the numbers of devices.
  static bool IsId(std::string_view argument);
  static bool IsDevice(std::string_view argument);

  // Processes, as they are written, that no metadata names.
  std::set<std::string> Unnamed() const;

 private:
  bool SeeNumber(std::string_view written);
  void SeeId(std::string_view written);

  // Of processes and devices alike: device work is drawn in a process with its device's number.
  std::set<int64_t> numbers_;
  absl::flat_hash_map<int64_t, int64_t> new_numbers_;
  std::set<std::string> processes_, named_;
  uint64_t largest_id_ = 0;
  uint64_t offset_ = 0;
};

}  // namespace tp

#endif  // ANALYZER_EXPORT_RENUMBERING_H_
