// `tpctl completion bash|zsh|fish`: the commands and options of the command line itself, so that
// they cannot differ from it.
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tools/control/command.h"
#include "tools/control/exit_status.h"

namespace tp {
namespace {

struct Choices {
  std::string path;  // "daemon start".
  std::vector<std::string> commands;
  std::vector<std::string> options;
  std::vector<std::pair<std::string, std::vector<std::string>>>
      values;  // Of options with fixed ones.
};

// The type of an option with fixed values is the list of them; "N|none" and the like begin with a
// capital.
std::vector<std::string> FixedValues(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (type.find('|') == std::string::npos || type[0] < 'a') return {};
  return absl::StrSplit(type, '|');
}

void Collect(const CLI::App& app, const std::string& path, std::vector<Choices>* all) {
  Choices choices;
  choices.path = path;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    choices.commands.push_back(command->get_name());
  }
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      choices.options.push_back("--" + name);
      std::vector<std::string> values = FixedValues(*option);
      if (!values.empty()) choices.values.emplace_back("--" + name, std::move(values));
    }
  }
  all->push_back(std::move(choices));
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    Collect(*command, absl::StrCat(path, path.empty() ? "" : " ", command->get_name()), all);
  }
}

// zsh understands bash's completion functions.
std::string BashScript(const std::vector<Choices>& all) {
  std::string script =
      "_tpctl() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]} path= i choices=\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    case \"${path:+$path }${COMP_WORDS[i]}\" in\n";
  for (const Choices& choices : all) {
    if (choices.path.empty()) continue;
    absl::StrAppend(&script, "      '", choices.path, "') path='", choices.path, "' ;;\n");
  }
  absl::StrAppend(&script,
                  "    esac\n"
                  "  done\n"
                  "  case \"$path $last\" in\n");
  for (const Choices& choices : all) {
    for (const auto& [option, values] : choices.values) {
      absl::StrAppend(&script, "    '", choices.path, " ", option, "') choices='",
                      absl::StrJoin(values, " "), "' ;;\n");
    }
  }
  absl::StrAppend(&script, "    *) case \"$path\" in\n");
  for (const Choices& choices : all) {
    absl::StrAppend(&script, "      '", choices.path, "') choices='",
                    absl::StrJoin(choices.commands, " "), choices.commands.empty() ? "" : " ",
                    absl::StrJoin(choices.options, " "), "' ;;\n");
  }
  absl::StrAppend(
      &script,
      "    esac ;;\n"
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$choices\" -- \"$word\"))\n"
      "  [[ $path == run && -z $COMPREPLY ]] && COMPREPLY=($(compgen -c -f -- \"$word\"))\n"
      "}\n"
      "complete -F _tpctl tpctl\n");
  return script;
}

std::string FishScript(const std::vector<Choices>& all) {
  std::string script = "complete -c tpctl -f\n";
  for (const Choices& choices : all) {
    std::vector<std::string> path = absl::StrSplit(choices.path, ' ', absl::SkipEmpty());
    std::string condition = "__fish_use_subcommand";
    if (!path.empty()) {
      condition = absl::StrCat("__fish_seen_subcommand_from ",
                               absl::StrJoin(path, "; and __fish_seen_subcommand_from "));
      if (!choices.commands.empty()) {
        absl::StrAppend(&condition, "; and not __fish_seen_subcommand_from ",
                        absl::StrJoin(choices.commands, " "));
      }
    }
    for (const std::string& command : choices.commands) {
      absl::StrAppend(&script, "complete -c tpctl -n '", condition, "' -a ", command, "\n");
    }
    for (const std::string& option : choices.options) {
      absl::StrAppend(&script, "complete -c tpctl -n '", condition, "' -l ", option.substr(2));
      for (const auto& [name, values] : choices.values) {
        if (name == option) absl::StrAppend(&script, " -x -a '", absl::StrJoin(values, " "), "'");
      }
      absl::StrAppend(&script, "\n");
    }
  }
  return script;
}

}  // namespace

void AddCompletionCommand(CLI::App* app, Action* action) {
  CLI::App* command =
      AddCommand(app, "completion", "Print a script that completes tpctl's words",
                 "  source <(tpctl completion bash)\n"
                 "  tpctl completion fish > ~/.config/fish/completions/tpctl.fish\n");
  command->require_subcommand(1);
  const auto add = [&](const char* shell, const char* example, auto script) {
    AddCommand(command, shell, absl::StrCat("The script for ", shell), example)->callback([=] {
      *action = [=](std::ostream& out, std::ostream&) {
        std::vector<Choices> all;
        Collect(*app, "", &all);
        out << script(all);
        return kDone;
      };
    });
  };
  add("bash", "  source <(tpctl completion bash)\n", BashScript);
  add("zsh", "  source <(tpctl completion zsh)\n", [](const std::vector<Choices>& all) {
    return "autoload -U +X bashcompinit && bashcompinit\n" + BashScript(all);
  });
  add("fish", "  tpctl completion fish > ~/.config/fish/completions/tpctl.fish\n", FishScript);
}

}  // namespace tp
