#include "analyzer/export/renumbering.h"

#include <algorithm>
#include <charconv>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/export/json_text.h"
#include "analyzer/import/decimal.h"

namespace tp {
namespace {

constexpr size_t kMostProcesses = 1 << 16;
// Larger ones stand for "none", or are addresses; so large, no two traces have the same by chance.
constexpr uint64_t kLargestId = uint64_t{1} << 48;
constexpr int64_t kLargestNumber = INT64_C(1) << 31;

std::string_view Bare(std::string_view written) { return TraceMember{{}, written}.bare(); }

bool IsText(std::string_view written) { return TraceMember{{}, written}.is_text(); }

std::optional<int64_t> Number(std::string_view written) {
  const std::string_view text = Bare(written);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return {};
  if (number < 0 || number >= kLargestNumber) return {};
  return number;
}

std::optional<uint64_t> CountedId(std::string_view written) {
  const std::optional<uint64_t> id = WholeNumber(Bare(written));
  if (!id.has_value() || *id == 0 || *id >= kLargestId) return {};
  return id;
}

bool IsSpelled(std::string_view text, std::string_view in_any_case) {
  return absl::EqualsIgnoreCase(absl::string_view(text.data(), text.size()),
                                absl::string_view(in_any_case.data(), in_any_case.size()));
}

// "cuda:0": the device's number behind the colon.
std::string_view NumberOfDevice(std::string_view written) {
  const std::string_view text = Bare(written);
  const size_t colon = text.rfind(':');
  return colon == std::string_view::npos ? text : text.substr(colon + 1);
}

}  // namespace

bool Renumbering::IsId(std::string_view argument) {
  for (const char* id : {"correlation", "external id", "python id", "python parent id",
                         "python module id", "wait_on_cuda_event_record_corr_id"}) {
    if (IsSpelled(argument, id)) return true;
  }
  return false;
}

bool Renumbering::IsDevice(std::string_view argument) {
  return IsSpelled(argument, "device") || IsSpelled(argument, "device id");
}

bool Renumbering::SeeNumber(std::string_view written) {
  if (const std::optional<int64_t> number = Number(written)) numbers_.insert(*number);
  return numbers_.size() <= kMostProcesses;
}

void Renumbering::SeeId(std::string_view written) {
  largest_id_ = std::max(largest_id_, CountedId(written).value_or(0));
}

bool Renumbering::See(const TraceMembers& event) {
  const std::string_view process = event.Value("pid");
  if (!process.empty()) {
    if (Bare(event.Value("name")) == "process_name") named_.insert(std::string(process));
    processes_.insert(std::string(process));
    if (!SeeNumber(process) || processes_.size() > kMostProcesses) return false;
  }
  SeeId(event.Value("id"));
  for (const TraceMember& argument : event.arguments) {
    if (IsId(argument.key)) SeeId(argument.value);
    if (IsDevice(argument.key) && !SeeNumber(NumberOfDevice(argument.value))) return false;
  }
  return true;
}

void Renumbering::Settle(const std::vector<Renumbering*>& traces) {
  std::set<int64_t> all;
  for (const Renumbering* trace : traces) {
    all.insert(trace->numbers_.begin(), trace->numbers_.end());
  }
  std::set<int64_t> taken;
  int64_t free = 0;
  uint64_t offset = 0;
  for (Renumbering* trace : traces) {
    trace->offset_ = offset;
    offset += trace->largest_id_;
    for (const int64_t number : trace->numbers_) {
      if (taken.insert(number).second) {
        trace->new_numbers_[number] = number;
        continue;
      }
      while (all.count(free) > 0) ++free;
      trace->new_numbers_[number] = free++;
    }
  }
}

std::string Renumbering::Device(std::string_view written) const {
  const std::string_view text = NumberOfDevice(written);
  const std::optional<int64_t> number = Number(text);
  if (!number.has_value()) return std::string(written);
  const auto found = new_numbers_.find(*number);
  if (found == new_numbers_.end()) return std::string(written);
  const std::string_view before = Bare(written).substr(0, Bare(written).size() - text.size());
  return IsText(written) ? absl::StrCat("\"", std::string(before), found->second, "\"")
                         : absl::StrCat(found->second);
}

std::string Renumbering::Process(std::string_view written, std::string_view label) const {
  if (const std::optional<int64_t> number = Number(written)) {
    const auto found = new_numbers_.find(*number);
    if (found != new_numbers_.end()) return absl::StrCat(found->second);
  }
  // A word; it stays escaped as it is.
  const std::string_view word = Bare(written);
  return absl::StrCat("\"", std::string(word), word.empty() ? "" : " ", "(", std::string(label),
                      ")\"");
}

std::string Renumbering::Id(const TraceMember& id) const {
  const std::optional<uint64_t> number = CountedId(id.value);
  return number.has_value() ? absl::StrCat(*number + offset_) : std::string(id.value);
}

std::string Renumbering::EventId(const TraceMember& id, std::string_view label) const {
  if (id.is_text() && !CountedId(id.value).has_value()) {
    return absl::StrCat("\"", std::string(label), ": ", std::string(id.bare()), "\"");
  }
  return Id(id);
}

std::set<std::string> Renumbering::Unnamed() const {
  std::set<std::string> unnamed;
  std::set_difference(processes_.begin(), processes_.end(), named_.begin(), named_.end(),
                      std::inserter(unnamed, unnamed.end()));
  return unnamed;
}

}  // namespace tp
