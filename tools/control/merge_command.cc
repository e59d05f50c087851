// `tpctl merge`: the traces and captures of several ranks as one trace.
#include <stdlib.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/export/chrome_trace.h"
#include "analyzer/export/merge.h"
#include "analyzer/import/import.h"
#include "analyzer/summarize/whole_summary.h"
#include "tools/control/command.h"
#include "tools/control/exit_status.h"
#include "tools/control/file_output.h"
#include "tools/control/terminal_text.h"

namespace tp {
namespace {

struct MergeArguments {
  std::vector<std::string> inputs;
  std::string output;
};

// A folder for files of its own, which go with it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    const char* folder = getenv("TMPDIR");
    path_ = absl::StrCat(folder == nullptr || folder[0] == '\0' ? "/tmp" : folder, "/tpctl-XXXXXX");
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Captures become traces in `folder`, everything else stays as it is. Stops when `is_over`.
absl::StatusOr<std::vector<std::string>> AsTraces(const std::vector<std::string>& paths,
                                                  const std::function<bool()>& is_over,
                                                  const TemporaryFolder& folder,
                                                  std::vector<std::string>* notes) {
  std::vector<std::string> traces;
  for (const std::string& path : paths) {
    const absl::StatusOr<FileKind> kind = KindOf(path);
    if (!kind.ok()) return kind.status();
    if (*kind != FileKind::kCapture) {
      traces.push_back(path);
      continue;
    }
    const absl::StatusOr<WholeRecording> recording = ImportFile(path, {.cancelled = is_over});
    if (!recording.ok()) return recording.status();
    for (const std::string& note : recording->notes)
      notes->push_back(absl::StrCat(path, ": ", note));
    const std::string place = absl::StrCat(folder.path(), "/", traces.size(), ".json.gz");
    absl::StatusOr<std::unique_ptr<OutputFile>> trace = OutputFile::Create(place, is_over);
    if (!trace.ok()) return trace.status();
    ChromeTraceOptions options;
    options.torch_compat = true;
    WriteChromeTrace(*recording, Summarize(*recording), options, trace->get());
    if (absl::Status written = (*trace)->Finish(); !written.ok()) return written;
    traces.push_back(place);
  }
  return traces;
}

int Merge(const MergeArguments& arguments, std::ostream& errors) {
  for (const std::string& input : arguments.inputs) {
    if (input.empty()) return Fail(absl::InvalidArgumentError("a file's name is missing"), errors);
  }
  std::vector<std::string> notes, notes_of_captures;
  const absl::Status status =
      WriteFile(arguments.output, errors, [&](OutputFile* out, const Progress& progress) {
        const TemporaryFolder folder;
        const absl::StatusOr<std::vector<std::string>> traces = AsTraces(
            arguments.inputs, [out] { return !out->ok(); }, folder, &notes_of_captures);
        if (!traces.ok()) return traces.status();
        absl::StatusOr<std::vector<std::string>> merged =
            MergeTraces(*traces, progress, out, arguments.inputs);
        if (merged.ok()) notes = *std::move(merged);
        return merged.status();
      });
  if (!status.ok()) return Fail(status, errors);
  notes.insert(notes.begin(), notes_of_captures.begin(), notes_of_captures.end());
  for (const std::string& note : notes) errors << EscapeForTerminal(note) << "\n";
  return kDone;
}

}  // namespace

void AddMergeCommand(CLI::App* app, Action* action) {
  const auto arguments = std::make_shared<MergeArguments>();
  CLI::App* command = AddCommand(
      app, "merge", "Put the traces or captures of a job's ranks into one trace",
      "  tpctl merge rank0.json.gz rank1.json.gz -o job.json.gz\n"
      "  tpctl merge rank*.tpcap -o job.json.gz\n"
      "\n"
      "A trace's rank is the one that it tells, else its place in the order given. Nsight\n"
      "Systems' exports become traces by `tpctl export --format chrome-torch`.\n");
  command
      ->add_option("FILE", arguments->inputs, "The traces (.json, .json.gz) and captures (.tpcap)")
      ->required()
      ->type_name("");
  AddFileOption(command, "-o,--output", &arguments->output,
                "The file to write, compressed if its name ends with .gz; -: standard output")
      ->required();
  command->callback([=] {
    *action = [arguments](std::ostream& out, std::ostream& errors) {
      out.flush();
      return Merge(*arguments, errors);
    };
  });
}

}  // namespace tp
