#include "analyzer/present/process_list.h"

#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/present/command.h"

namespace tp {
namespace {

constexpr size_t kMostNamed = 10;

}  // namespace

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
