// `tpctl export`: a trace file as a trace for viewers and other tools, or as stacks for flame
// graphs; of traced processes the latter.
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/export/chrome_trace.h"
#include "analyzer/export/folded_stacks.h"
#include "analyzer/export/output_file.h"
#include "analyzer/import/import.h"
#include "analyzer/summarize/whole_summary.h"
#include "tools/control/command.h"
#include "tools/control/exit_status.h"
#include "tools/control/file_output.h"
#include "tools/control/query_client.h"
#include "tools/control/terminal_text.h"

namespace tp {
namespace {

constexpr uint32_t kAllFrames = 1024;

enum class ExportFormat { kChrome, kChromeTorch, kStacks };

struct ExportArguments {
  std::string input, output, metric;
  int64_t pid = 0;
  ExportFormat format = ExportFormat::kChrome;
};

absl::Status Check(const ExportArguments& arguments) {
  if (arguments.pid != 0 && !arguments.input.empty()) {
    return absl::InvalidArgumentError("give either --pid (a traced process) or --input (a file)");
  }
  if (!arguments.metric.empty() && arguments.format != ExportFormat::kStacks) {
    return absl::InvalidArgumentError("--metric is for --format stacks: traces hold all of them");
  }
  if (arguments.format == ExportFormat::kStacks) return absl::OkStatus();
  if (arguments.pid != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "process ", arguments.pid,
        " has nothing to export: the daemon keeps sums, not single events (`tpctl table --pid ",
        arguments.pid, "` shows them); export a trace file with --input FILE"));
  }
  if (arguments.input.empty()) {
    return absl::InvalidArgumentError("export needs a trace file: --input FILE");
  }
  return absl::OkStatus();
}

const std::string& MetricOf(const ExportArguments& arguments) {
  return arguments.metric.empty() ? StackMetrics().front() : arguments.metric;
}

absl::Status WriteStacks(const absl::StatusOr<std::vector<FoldedStack>>& stacks,
                         const ExportArguments& arguments, std::string_view hint,
                         std::ostream& errors) {
  if (!stacks.ok()) return stacks.status();
  if (stacks->empty()) {
    errors << "no span has both a stack and " << MetricOf(arguments) << ": the file is empty"
           << hint << "\n";
  }
  return WriteFile(arguments.output, errors, [&](OutputFile* out, const Progress&) {
    WriteFoldedStacks(*stacks, out);
    return absl::OkStatus();
  });
}

// Of traced processes, whose sums by stack the daemon has.
absl::Status ExportLiveStacks(const ExportArguments& arguments, std::ostream& errors) {
  absl::StatusOr<QueryClient> client = QueryClient::Connect();
  if (!client.ok()) return client.status();
  query::TableRequest request;
  request.set_view(query::OPERATIONS);
  request.set_pid(arguments.pid);
  request.set_group_by_stack(kAllFrames);
  request.set_flush(true);
  const absl::StatusOr<query::Table> table = client->AskTable(request);
  if (!table.ok()) return table.status();
  return WriteStacks(FoldStacks(*table, MetricOf(arguments)), arguments,
                     " (TP_STACKS=16 in a process's environment gives its ranges stacks)", errors);
}

absl::Status Export(const ExportArguments& arguments, std::ostream& errors) {
  if (absl::Status status = Check(arguments); !status.ok()) return status;
  if (absl::Status status = OutputFile::Check(arguments.output); !status.ok()) return status;
  if (arguments.input.empty()) return ExportLiveStacks(arguments, errors);
  const absl::StatusOr<WholeRecording> recording = ImportFile(arguments.input);
  if (!recording.ok()) return recording.status();
  Summary summary = Summarize(*recording);
  for (const std::string& note : recording->notes) errors << EscapeForTerminal(note) << "\n";

  if (arguments.format != ExportFormat::kStacks) {
    return WriteFile(arguments.output, errors, [&](OutputFile* out, const Progress& progress) {
      ChromeTraceOptions options;
      options.torch_compat = arguments.format == ExportFormat::kChromeTorch;
      options.trace_name = arguments.output == "-" ? "" : arguments.output;
      options.progress = progress;
      WriteChromeTrace(*recording, std::move(summary), options, out);
      return absl::OkStatus();
    });
  }
  return WriteStacks(FoldStacks(*recording, summary, MetricOf(arguments)), arguments, "", errors);
}

}  // namespace

void AddExportCommand(CLI::App* app, Action* action) {
  const auto arguments = std::make_shared<ExportArguments>();
  CLI::App* command = AddCommand(
      app, "export", "Write a trace file for viewers and other tools, or stacks for flame graphs",
      "  tpctl export --input report.sqlite --format chrome -o trace.json.gz     for Perfetto\n"
      "  tpctl export --input trace.json.gz --format chrome-torch -o rank0.json  for PyTorch's "
      "tools\n"
      "  tpctl export --input trace.json.gz --format stacks --metric self_cuda_time -o - |\n"
      "    flamegraph.pl > cuda.svg\n"
      "  tpctl export --pid 4242 --format stacks -o stacks.txt                   of a process with "
      "TP_STACKS\n");
  AddFileOption(command, "--input", &arguments->input, "The trace file to read");
  command
      ->add_option(
          "--pid", arguments->pid,
          "A traced process (default without --input: all), for stacks: it has no events to export "
          "yet")
      ->check(CLI::Validator(CLI::PositiveNumber).description(""))
      ->type_name("PID");
  command
      ->add_option_function<std::string>(
          "--format",
          [arguments](const std::string& text) {
            if (text == "chrome") {
              arguments->format = ExportFormat::kChrome;
            } else if (text == "chrome-torch") {
              arguments->format = ExportFormat::kChromeTorch;
            } else if (text == "stacks") {
              arguments->format = ExportFormat::kStacks;
            } else {
              throw CLI::ValidationError(
                  "--format", absl::StrCat("'", text, "' is none of chrome, chrome-torch, stacks"));
            }
          },
          "chrome: a trace for viewers; chrome-torch: one that PyTorch's tools read too;\n"
          "stacks: folded stacks")
      ->required()
      ->type_name("chrome|chrome-torch|stacks");
  command
      ->add_option("--metric", arguments->metric,
                   absl::StrCat("What stacks are measured in (default: ", StackMetrics().front(),
                                "); `cuda` and `device` mean the same"))
      ->type_name(absl::StrJoin(StackMetrics(), "|"));
  AddFileOption(command, "-o,--output", &arguments->output,
                "The file to write, compressed if its name ends with .gz; -: standard output")
      ->required();
  command->callback([=] {
    *action = [arguments](std::ostream& out, std::ostream& errors) {
      out.flush();
      const absl::Status status = Export(*arguments, errors);
      return status.ok() ? kDone : Fail(status, errors);
    };
  });
}

}  // namespace tp
