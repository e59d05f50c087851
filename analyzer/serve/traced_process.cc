#include "analyzer/serve/traced_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "analyzer/serve/file_descriptor.h"

namespace tp {

std::optional<TracedProcess> FindProcess(pid_t pid) {
  if (pid <= 0) return std::nullopt;
  const FileDescriptor file(
      open(absl::StrCat("/proc/", pid, "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return std::nullopt;
  char text[1024];
  const ssize_t bytes = read(file.get(), text, sizeof(text));
  if (bytes <= 0) return std::nullopt;
  // The second field is the program's name in parentheses, which may hold blanks and parentheses
  // itself.
  const std::string_view whole(text, static_cast<size_t>(bytes));
  const size_t name_end = whole.rfind(") ");
  if (name_end == std::string_view::npos) return std::nullopt;
  const std::string_view rest = whole.substr(name_end + 2);
  const std::vector<absl::string_view> fields =
      absl::StrSplit(absl::string_view(rest.data(), rest.size()), ' ');
  // `rest` begins with field 3.
  constexpr size_t kState = 3 - 3, kStartTime = 22 - 3, kStackStart = 28 - 3;
  TracedProcess process;
  if (fields.size() <= kStackStart || fields[kState] == "Z" || fields[kState] == "X" ||
      !absl::SimpleAtoi(fields[kStartTime], &process.start_ticks) ||
      !absl::SimpleAtoi(fields[kStackStart], &process.stack_start)) {
    return std::nullopt;
  }
  return process;
}

}  // namespace tp
