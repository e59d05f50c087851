// How tpctl's commands are made known to its command line. Each AddXCommand adds a subcommand with
// its options and help, and when that one is chosen sets `action` to what is to be done; it runs
// after the whole command line proved right, and returns the exit status.
#ifndef TOOLS_CONTROL_COMMAND_H_
#define TOOLS_CONTROL_COMMAND_H_

#include <CLI/CLI.hpp>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace tp {

using Action = std::function<int(std::ostream& out, std::ostream& errors)>;

// `tpctl NAME` with `--help` and an example at its end.
CLI::App* AddCommand(CLI::App* app, const std::string& name, const std::string& description,
                     const std::string& examples);

// An option whose value is a file's name: an empty one is a mistake, not no file.
CLI::Option* AddFileOption(CLI::App* app, const std::string& names, std::string* file,
                           const std::string& description);

// `tpctl attach` and `tpctl detach`.
void AddAttachCommands(CLI::App* app, Action* action);
// `tpctl start` and `tpctl stop`.
void AddCaptureCommands(CLI::App* app, Action* action);
void AddCompletionCommand(CLI::App* app, Action* action);
void AddDaemonCommand(CLI::App* app, Action* action);
void AddDoctorCommand(CLI::App* app, Action* action);
void AddExportCommand(CLI::App* app, Action* action);
void AddMergeCommand(CLI::App* app, Action* action);
void AddProcessesCommand(CLI::App* app, Action* action);
void AddRecordCommand(CLI::App* app, Action* action);
// `traced`: the command to run, which is split off before the rest is parsed.
void AddRunCommand(CLI::App* app, const std::vector<std::string>* traced, Action* action);
void AddTableCommand(CLI::App* app, Action* action);
void AddTopCommand(CLI::App* app, Action* action);

}  // namespace tp

#endif  // TOOLS_CONTROL_COMMAND_H_
