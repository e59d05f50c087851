#include "tools/control/advice.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/present/table.h"
#include "analyzer/present/units.h"
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

std::vector<std::string> WhyEmpty(const query::Table& table, const std::string& collector_path) {
  if (table.processes().empty()) return HowToBegin(collector_path);
  if (table.view() == query::OPERATIONS && table.device_time_total_ns() > 0) {
    return {
        "No named operations: the program opens no NVTX ranges.",
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
  return {absl::StrCat("Nothing recorded in the view `", ViewName(table.view()), "` yet.")};
}

std::string WhyEmptyFile(const query::Table& table, const std::string& path) {
  std::string text = absl::StrCat(EscapeForTerminal(path), " has nothing for the view `",
                                  ViewName(table.view()), "`");
  if (table.view() == query::OPERATIONS && table.device_time_total_ns() > 0) {
    absl::StrAppend(&text, ": its device work is in the view `kernels`");
  }
  return text;
}

}  // namespace tp
