// `tpctl top`: the live screen, or with --once one screenful of it as text.
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iostream>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tools/control/command.h"
#include "tools/control/exit_status.h"
#include "tools/control/file_source.h"
#include "tools/control/installed_files.h"
#include "tools/control/live_source.h"
#include "tools/control/output.h"
#include "tools/control/query_client.h"
#include "tools/control/screen.h"
#include "tools/control/table_arguments.h"
#include "tools/control/terminal_screen.h"

namespace tp {
namespace {

struct TopArguments {
  TableArguments table;
  bool once = false;
  std::chrono::milliseconds interval{1000};
};

struct Size {
  int width;
  int height;
};

int Environment(const char* name, int otherwise) {
  const char* text = getenv(name);
  int value = 0;
  return text != nullptr && absl::SimpleAtoi(text, &value) && value > 0 && value <= 10000
             ? value
             : otherwise;
}

// Of the terminal on stdout, or where there is none, of a page.
Size ScreenSize(const std::ostream& out) {
  winsize size = {};
  if (&out == &std::cout && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return {size.ws_col, size.ws_row};
  }
  return {Environment("COLUMNS", 120), Environment("LINES", 50)};
}

ScreenState StateOf(const TopArguments& arguments) {
  const TextOptions& text = arguments.table.text;
  ScreenState state;
  state.request = arguments.table.request;
  state.live = !arguments.once;
  state.sort_key = text.sort_by;
  state.with_flops = text.with_flops;
  state.time_unit = text.time_unit;
  state.header = text.header;
  if (arguments.table.row_limit_given) {
    state.row_limit = static_cast<int>(std::clamp<int64_t>(text.row_limit, -1, 1 << 30));
  }
  if (arguments.table.name_width_given) state.max_name_width = text.max_name_width;
  state.max_shapes_width = text.max_shapes_width;
  state.max_source_width = text.max_source_width;
  state.collector_path = FindCollector().value_or("");
  return state;
}

int PrintOnce(ScreenState* state, std::ostream& out) {
  const Size size = ScreenSize(out);
  const bool all = state->row_limit.has_value();
  for (const Line& line : RenderScreen(state, size.width, all ? 0 : size.height)) {
    out << LineText(line) << "\n";
  }
  return kDone;
}

absl::StatusOr<Snapshot> FirstSnapshot(const std::string& file,
                                       const query::TableRequest& request) {
  if (!file.empty()) {
    absl::StatusOr<query::Table> table = ReadTable(file, request);
    if (!table.ok()) return table.status();
    return Snapshot{std::move(*table), {}, file};
  }
  absl::StatusOr<QueryClient> client = QueryClient::Connect();
  if (!client.ok()) return client.status();
  return FetchSnapshot(&*client, request);
}

int Top(const TopArguments& arguments, std::ostream& out, std::ostream& errors) {
  if (!arguments.once) {
    if (!arguments.table.input.empty()) {
      return Fail(absl::InvalidArgumentError(
                      "a file does not change: give --once too, or use `tpctl table --input`"),
                  errors);
    }
    if (arguments.table.format != Format::kTable) {
      return Fail(absl::InvalidArgumentError(
                      "--format is for a screenful of text: give --once too, or use `tpctl table`"),
                  errors);
    }
    const absl::Status terminal = CheckTerminal();
    if (!terminal.ok()) return Fail(terminal, errors);
  }
  ScreenState state = StateOf(arguments);
  // A screen shows the present: without it, up to the last second would still be with CUPTI.
  state.request.set_flush(true);
  // The other formats are those of `tpctl table`, and so is what is in them.
  state.request.set_running(arguments.table.format == Format::kTable);
  absl::StatusOr<Snapshot> snapshot = FirstSnapshot(arguments.table.input, state.request);
  if (!snapshot.ok()) return Fail(snapshot.status(), errors);
  if (arguments.once && arguments.table.format != Format::kTable) {
    const absl::Status printed =
        PrintTable(snapshot->table, arguments.table.text, arguments.table.format, out, errors);
    return printed.ok() ? kDone : Fail(printed, errors);
  }
  TakeSnapshot(std::move(*snapshot), &state);
  const absl::Status arranged = Arrange(&state);
  if (!arranged.ok()) return Fail(arranged, errors);
  if (arguments.once) return PrintOnce(&state, out);

  const absl::StatusOr<int> ended = ShowScreen(std::move(state), arguments.interval);
  if (!ended.ok()) return Fail(ended.status(), errors);
  // Ctrl-C is a way to quit.
  return *ended == 0 || *ended == SIGINT ? kDone : kKilledBySignal + *ended;
}

}  // namespace

void AddTopCommand(CLI::App* app, Action* action) {
  const auto arguments = std::make_shared<TopArguments>();
  CLI::App* command =
      AddCommand(app, "top", "Watch what the device does, and for which operation, live",
                 "  tpctl top                                    h shows the keys\n"
                 "  tpctl top --view kernels --interval 0.5\n"
                 "  tpctl top --once --row-limit 20 > screen.txt\n");
  command->add_flag("--once", arguments->once,
                    "One screenful as text, no terminal needed (COLUMNS and LINES set its size)");
  command
      ->add_option_function<std::string>(
          "--interval",
          [arguments](const std::string& text) {
            double seconds = 0;
            if (!absl::SimpleAtod(text, &seconds) || !(seconds >= 0.1 && seconds <= 3600)) {
              throw CLI::ValidationError(
                  "--interval",
                  absl::StrCat("'", text, "' is no number of seconds from 0.1 to 3600"));
            }
            arguments->interval = std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
          },
          "Seconds between two refreshes (default: 1)")
      ->type_name("SECONDS");
  AddTableOptions(command, /*with_spans=*/false, &arguments->table);
  command->callback([=] {
    *action = [arguments](std::ostream& out, std::ostream& errors) {
      return Top(*arguments, out, errors);
    };
  });
}

}  // namespace tp
