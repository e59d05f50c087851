#include "tools/control/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "proto/version.h"
#include "tools/control/command.h"
#include "tools/control/exit_status.h"
#include "tools/control/suggestion.h"
#include "tools/control/terminal_text.h"

namespace tp {
namespace {

// `tpctl run` hands on all from "--", or from the first word that is no option; nothing of that is
// ours to understand.
std::vector<std::string> SplitOffTraced(std::vector<std::string>* arguments) {
  std::vector<std::string> traced;
  if (arguments->empty() || arguments->front() != "run") return traced;
  auto first = arguments->begin() + 1;
  while (first != arguments->end() && *first != "--" && !first->empty() && first->front() == '-') {
    const bool takes_next = *first == "-o" || *first == "--output";
    if (++first != arguments->end() && takes_next) ++first;
  }
  if (first == arguments->end()) return traced;
  traced.assign(*first == "--" ? first + 1 : first, arguments->end());
  arguments->erase(first, arguments->end());
  return traced;
}

// The chosen commands, from tpctl itself to the innermost.
std::vector<const CLI::App*> ChosenCommands(const CLI::App& app) {
  std::vector<const CLI::App*> chosen = {&app};
  while (!chosen.back()->get_subcommands().empty()) {
    chosen.push_back(chosen.back()->get_subcommands().front());
  }
  return chosen;
}

std::string FullName(const std::vector<const CLI::App*>& commands) {
  return absl::StrJoin(commands, " ", [](std::string* out, const CLI::App* command) {
    *out += command->get_name();
  });
}

// The names of the options of the chosen commands.
std::vector<std::string> OptionNames(const std::vector<const CLI::App*>& chosen) {
  std::vector<std::string> names;
  for (const CLI::App* command : chosen) {
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

// What is wrong about the first option that is none; empty if all are.
std::string OptionComplaint(const std::vector<const CLI::App*>& chosen,
                            const std::vector<std::string>& arguments) {
  const std::vector<std::string> names = OptionNames(chosen);
  for (const std::string& argument : arguments) {
    const std::string option = argument.substr(0, argument.find('='));
    if (option.rfind("--", 0) == 0 &&
        std::find(names.begin(), names.end(), option) == names.end()) {
      return absl::StrCat("'", option, "' is no option", DidYouMean(option, names));
    }
  }
  return "";
}

// What is wrong, in words that name the right ones where a command is missing or misspelt.
std::string Complaint(const CLI::ParseError& error, const std::vector<const CLI::App*>& chosen,
                      const std::vector<std::string>& arguments) {
  const auto commands = chosen.back()->get_subcommands([](const CLI::App*) { return true; });
  std::string what;
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    what = OptionComplaint(chosen, arguments);
  }
  if (what.empty()) what = error.what();
  if (commands.empty()) return what;
  std::vector<std::string> words;
  for (const CLI::App* command : commands) words.push_back(command->get_name());
  const std::string names = absl::StrJoin(words, ", ");
  // Each command chosen has taken one word.
  const size_t taken = chosen.size() - 1;
  if (arguments.size() <= taken) return absl::StrCat("a command is missing, one of ", names);
  const std::string& word = arguments[taken];
  if (!word.empty() && word[0] == '-') return what;
  return absl::StrCat("'", word, "' is no command; there are ", names, DidYouMean(word, words));
}

int Execute(std::vector<std::string> arguments, std::ostream& out, std::ostream& errors);

}  // namespace

CLI::App* AddCommand(CLI::App* app, const std::string& name, const std::string& description,
                     const std::string& examples) {
  CLI::App* command = app->add_subcommand(name, description);
  command->set_help_flag("-h,--help", "This text");
  if (!examples.empty()) {
    command->footer(absl::StrCat("Examples:\n", absl::StripSuffix(examples, "\n")));
  }
  return command;
}

CLI::Option* AddFileOption(CLI::App* app, const std::string& names, std::string* file,
                           const std::string& description) {
  return app->add_option(names, *file, description)
      ->check(CLI::Validator(
          [](const std::string& name) {
            return name.empty() ? std::string("a file's name is missing") : std::string();
          },
          ""))
      ->type_name("FILE");
}

int RunCommandLine(std::vector<std::string> arguments, std::ostream& out, std::ostream& errors) {
  const int status = Execute(std::move(arguments), out, errors);
  // A full disk may be told only now.
  out.flush();
  if (!out.fail()) return status;
  errors << "tpctl: cannot write to standard output: is the disk full?\n";
  return status == kDone ? kWorkFailed : status;
}

namespace {

int Execute(std::vector<std::string> arguments, std::ostream& out, std::ostream& errors) {
  CLI::App app("Shows where a CUDA program's device time goes, and which operation asked for it.",
               "tpctl");
  app.set_help_flag("-h,--help", "This text");
  app.set_version_flag("--version", absl::StrCat("tpctl ", kVersion), "The version");
  app.require_subcommand(1);
  app.get_formatter()->column_width(30);
  app.footer(
      "Examples:\n"
      "  tpctl run -- ./train --epochs 1     trace a program from its start, unchanged\n"
      "  tpctl top                           watch what the device does, live\n"
      "  tpctl table --sort-by self_cuda_time_total --row-limit 10\n"
      "\n"
      "`tpctl COMMAND --help` tells more. TP_SOCKET names the daemon's socket if it is not in its\n"
      "usual place. Exit status: 0 done, 1 failed, 2 bad arguments or a bad input file, 3 no "
      "daemon.");
  Action action;
  const std::vector<std::string> traced = SplitOffTraced(&arguments);
  AddRunCommand(&app, &traced, &action);
  AddTopCommand(&app, &action);
  AddTableCommand(&app, &action);
  AddRecordCommand(&app, &action);
  AddExportCommand(&app, &action);
  AddMergeCommand(&app, &action);
  AddProcessesCommand(&app, &action);
  AddAttachCommands(&app, &action);
  AddCaptureCommands(&app, &action);
  AddDoctorCommand(&app, &action);
  AddDaemonCommand(&app, &action);
  AddCompletionCommand(&app, &action);

  try {
    app.parse(std::vector<std::string>(arguments.rbegin(),
                                       arguments.rend()));  // Last one first, as CLI11 takes them.
  } catch (const CLI::CallForHelp&) {
    std::vector<const CLI::App*> chosen = ChosenCommands(app);
    const CLI::App* command = chosen.back();
    chosen.pop_back();
    out << command->help(FullName(chosen));
    return kDone;
  } catch (const CLI::CallForVersion&) {
    out << "tpctl " << kVersion << "\n";
    return kDone;
  } catch (const CLI::ParseError& error) {
    const std::vector<const CLI::App*> chosen = ChosenCommands(app);
    errors << "tpctl: " << EscapeForTerminal(Complaint(error, chosen, arguments)) << " (see `"
           << FullName(chosen) << " --help`)\n";
    return kBadInput;
  }
  return action(out, errors);
}

}  // namespace
}  // namespace tp
