// `tpctl merge`: the traces of several ranks as one.
#include <memory>
#include <string>
#include <vector>

#include "analyzer/export/merge.h"
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

int Merge(const MergeArguments& arguments, std::ostream& errors) {
  for (const std::string& input : arguments.inputs) {
    if (input.empty()) return Fail(absl::InvalidArgumentError("a file's name is missing"), errors);
  }
  std::vector<std::string> notes;
  const absl::Status status =
      WriteFile(arguments.output, errors, [&](OutputFile* out, const Progress& progress) {
        absl::StatusOr<std::vector<std::string>> merged =
            MergeTraces(arguments.inputs, progress, out);
        if (merged.ok()) notes = *std::move(merged);
        return merged.status();
      });
  if (!status.ok()) return Fail(status, errors);
  for (const std::string& note : notes) errors << EscapeForTerminal(note) << "\n";
  return kDone;
}

}  // namespace

void AddMergeCommand(CLI::App* app, Action* action) {
  const auto arguments = std::make_shared<MergeArguments>();
  CLI::App* command = AddCommand(
      app, "merge", "Put the traces of a job's ranks into one",
      "  tpctl merge rank0.json.gz rank1.json.gz -o job.json.gz\n"
      "  tpctl merge traces/*.json.gz -o job.json.gz\n"
      "\n"
      "A trace's rank is the one that it tells, else its place in the order given. Files\n"
      "that are no traces in JSON become some by `tpctl export --format chrome-torch`.\n");
  command->add_option("FILE", arguments->inputs, "The traces, .json or .json.gz")
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
