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

namespace {

// The fields of /proc/PID/stat from the third on, by their numbers less three; none if there is no
// such process.
constexpr size_t kState = 3 - 3, kParent = 4 - 3, kStartTime = 22 - 3, kStackStart = 28 - 3;
constexpr int kMostGenerations = 100;

std::vector<std::string> StatFields(pid_t pid) {
  if (pid <= 0) return {};
  const FileDescriptor file(
      open(absl::StrCat("/proc/", pid, "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return {};
  char text[1024];
  const ssize_t bytes = read(file.get(), text, sizeof(text));
  if (bytes <= 0) return {};
  // The second field is the program's name in parentheses, which may hold blanks and parentheses
  // itself.
  const std::string_view whole(text, static_cast<size_t>(bytes));
  const size_t name_end = whole.rfind(") ");
  if (name_end == std::string_view::npos) return {};
  const std::string_view rest = whole.substr(name_end + 2);
  std::vector<std::string> fields =
      absl::StrSplit(absl::string_view(rest.data(), rest.size()), ' ');
  if (fields.size() <= kStackStart) return {};
  return fields;
}

}  // namespace

std::optional<TracedProcess> FindProcess(pid_t pid) {
  const std::vector<std::string> fields = StatFields(pid);
  TracedProcess process;
  if (fields.empty() || fields[kState] == "Z" || fields[kState] == "X" ||
      !absl::SimpleAtoi(fields[kStartTime], &process.start_ticks) ||
      !absl::SimpleAtoi(fields[kStackStart], &process.stack_start)) {
    return std::nullopt;
  }
  return process;
}

bool DescendsFrom(pid_t process, pid_t ancestor) {
  for (int generation = 0; process > 0 && generation < kMostGenerations; ++generation) {
    if (process == ancestor) return true;
    const std::vector<std::string> fields = StatFields(process);
    if (fields.empty() || !absl::SimpleAtoi(fields[kParent], &process)) return false;
  }
  return false;
}

}  // namespace tp
