#include "tools/control/advice.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/present/units.h"
#include "tools/control/quantity.h"
#include "tools/control/screen_columns.h"
#include "tools/control/terminal_text.h"

namespace tp {

std::vector<std::string> HowToBegin(const std::string& collector_path) {
  const std::string library =
      collector_path.empty() ? "/path/to/libtpcollect.so" : EscapeForTerminal(collector_path);
  return {
      "No traced process yet. To see what a CUDA program does, unchanged:",
      "",
      "    tpctl run -- ./app",
      "",
      "or, where something else starts it:",
      "",
      absl::StrCat("    LD_PRELOAD=", library, " ./app"),
  };
}

std::vector<std::string> WhyEmpty(const query::Table& table, const query::TableRequest& request,
                                  const std::string& collector_path) {
  if (table.processes().empty()) {
    if (request.pid() == 0) return HowToBegin(collector_path);
    return {
        absl::StrCat("No process ", request.pid(), " is traced. `tpctl ps` lists those that are.")};
  }
  if (table.view() == query::OPERATIONS && table.device_time_total_ns() > 0) {
    return {
        "No named operations: the program opens no NVTX ranges and does not use tpcollect.h.",
        absl::StrFormat("Its device work, %s in all, is in the view `kernels`.",
                        DurationText(static_cast<double>(table.device_time_total_ns()) / 1000,
                                     TimeUnit::kChosenBySize)),
    };
  }
  for (const query::Process& process : table.processes()) {
    if (process.reason().empty()) continue;
    return {absl::StrFormat("Nothing is captured in process %d (%s): %s", process.pid(),
                            EscapeForTerminal(process.command()),
                            EscapeForTerminal(process.reason()))};
  }
  return {absl::StrCat("Nothing recorded in the view `", NameOfView(table.view()), "` yet.")};
}

std::string UnknownProcess(int64_t pid, const query::Processes& processes, int64_t now_ns) {
  std::string line = absl::StrCat("no process ", pid, " is traced");
  if (processes.processes().empty()) {
    return line + ", nor any other: start one with `tpctl run -- COMMAND`";
  }
  constexpr int kMost = 5;
  int listed = 0;
  absl::StrAppend(&line, "; known are ");
  for (const query::Process& process : processes.processes()) {
    if (listed == kMost) {
      absl::StrAppend(&line, " and ", processes.processes_size() - kMost, " more (see `tpctl ps`)");
      break;
    }
    absl::StrAppend(&line, listed > 0 ? ", " : "", process.pid(), " (", process.command(), ", ",
                    StateName(process.state()), ", seen ",
                    UptimeText(now_ns - process.last_seen_ns()), " ago)");
    ++listed;
  }
  return line;
}

}  // namespace tp
