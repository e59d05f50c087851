#include "analyzer/present/process_list.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analyzer/present/command.h"

namespace tp {
namespace {

constexpr size_t kMostNamed = 10;

}  // namespace

std::string StateText(const query::Process& process) {
  const bool is_there =
      process.state() != query::GONE && process.state() != query::DETACHED && process.attached();
  return absl::StrCat(StateName(process.state()), is_there ? ", attached" : "");
}

const char* StateName(query::ProcessState state) {
  switch (state) {
    case query::DORMANT:
      return "dormant";
    case query::CAPTURING:
      return "capturing";
    case query::DISABLED:
      return "disabled";
    case query::WAITING:
      return "waiting";
    case query::DETACHED:
      return "detached";
    case query::GONE:
      return "gone";
    default:
      return "unknown";
  }
}

std::string CuptiVersionText(uint32_t version) {
  if (version == 0) return "-";
  // Since 13.0 the number says it; before, releases were counted.
  if (version >= 130000) return absl::StrFormat("%d.%d", version / 10000, version % 10000 / 100);
  constexpr uint32_t kFirst = 13;
  static constexpr const char* kReleases[] = {"11.0", "11.1", "11.2", "11.5", "11.6", "11.8",
                                              "12.0", "12.2", "12.3", "12.4", "12.5", "12.6",
                                              "",     "12.8", "12.9", "12.9"};
  if (version >= kFirst && version - kFirst < std::size(kReleases) &&
      kReleases[version - kFirst][0] != '\0') {
    return kReleases[version - kFirst];
  }
  return absl::StrCat(version);
}

std::string DeviceNames(const query::Process& process) {
  std::vector<std::pair<std::string, int>> names;
  for (const query::Device& device : process.devices()) {
    const std::string& name = device.name().empty() ? device.given_name() : device.name();
    if (name.empty()) continue;
    const auto known = std::find_if(names.begin(), names.end(),
                                    [&](const auto& entry) { return entry.first == name; });
    known == names.end() ? void(names.emplace_back(name, 1)) : void(++known->second);
  }
  return absl::StrJoin(names, ", ", [](std::string* out, const auto& entry) {
    if (entry.second > 1) absl::StrAppend(out, entry.second, " x ");
    absl::StrAppend(out, entry.first);
  });
}

std::string KnownProcesses(const query::Processes& known) {
  if (known.processes().empty()) return "no process of yours has connected yet";
  std::vector<std::string> names;
  for (const query::Process& process : known.processes()) {
    if (names.size() == kMostNamed) break;
    names.push_back(absl::StrCat(process.pid(), " (", ShortCommand(process.command()).substr(0, 40),
                                 ", ", StateName(process.state()), ", last seen ",
                                 (known.now_ns() - process.last_seen_ns()) / 1'000'000'000,
                                 " s ago)"));
  }
  std::string text = "known: " + absl::StrJoin(names, ", ");
  if (const size_t more = static_cast<size_t>(known.processes_size()) - names.size(); more > 0) {
    absl::StrAppend(&text, " and ", more, " more");
  }
  return text;
}

}  // namespace tp
