#include "tools/control/screen.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/present/command.h"
#include "analyzer/present/process_list.h"
#include "analyzer/present/table.h"
#include "tools/control/advice.h"
#include "tools/control/quantity.h"
#include "tools/control/terminal_text.h"

namespace tp {
namespace {

constexpr int kLowHeight = 16;  // Below it, all but the essential gives way to the rows.
constexpr int kGap = 2;
constexpr int kBarWidth = 26;  // "GPU 0 [||||      100.0%]" and a gap.

struct Tab {
  query::View view;
  const char* key;
  const char* rest;
};
constexpr Tab kTabs[] = {
    {query::OPERATIONS, "o", "perations"}, {query::KERNELS, "k", "ernels"},
    {query::COPIES, "c", "opies"},         {query::API, "a", "pi"},
    {query::STREAMS, "s", "treams"},       {query::PROCESSES, "p", "rocesses"}};

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

double SecondsBetween(const Snapshot& before, const Snapshot& now) {
  return static_cast<double>(now.table.now_ns() - before.table.now_ns()) / 1e9;
}

// Whether what is more in `now` has happened since `before`: a process that is in one of them
// alone, and was there all the time, would make it more or less than that.
bool AreAboutTheSame(const query::Table& before, const query::Table& now) {
  std::set<std::pair<int64_t, int64_t>> earlier;
  for (const query::Process& process : before.processes()) {
    earlier.emplace(process.pid(), process.connected_ns());
  }
  for (const query::Process& process : now.processes()) {
    const bool was_there = earlier.erase({process.pid(), process.connected_ns()}) > 0;
    if (!was_there && process.connected_ns() < before.now_ns()) return false;
  }
  return earlier.empty();
}

bool HasRates(const ScreenState& state) {
  return state.before && state.current && SecondsBetween(*state.before, *state.current) > 0 &&
         AreAboutTheSame(state.before->table, state.current->table);
}

bool IsFile(const ScreenState& state) {
  return state.current.has_value() && state.current->daemon.pid() == 0;
}

uint64_t EventsOf(const query::Table& table) {
  uint64_t events = 0;
  for (const query::Process& process : table.processes()) events += EventCount(process);
  return events;
}

Line TopLine(const ScreenState& state, int width) {
  Line left = {{" tpctl top", Tone::kBar}};
  std::string right;
  if (state.current) {
    left.push_back({"  " + EscapeForTerminal(state.current->source), Tone::kBar});
    const query::Daemon& daemon = state.current->daemon;
    if (daemon.pid() != 0)
      right = absl::StrFormat("tpd %s, pid %d, up %s ", EscapeForTerminal(daemon.version()),
                              daemon.pid(), UptimeText(daemon.uptime_ns()));
  }
  if (state.frozen) left.push_back({"  FROZEN", Tone::kBar});
  const int room = width - LineWidth(left) - DisplayWidth(right);
  if (room > 0) left.push_back({std::string(room, ' ') + right, Tone::kBar});
  return FillLine(left, width, Tone::kBar);
}

Tone ToneOf(query::ProcessState state) {
  switch (state) {
    case query::CAPTURING:
      return Tone::kGood;
    case query::DISABLED:
    case query::DORMANT:
    case query::WAITING:
      return Tone::kAttention;
    case query::GONE:
    case query::DETACHED:
      return Tone::kDim;
    default:
      return Tone::kPlain;
  }
}

Line ProcessesLine(const ScreenState& state) {
  const query::Table& table = state.current->table;
  Line line = {{"Processes ", Tone::kDim}};
  static constexpr query::ProcessState kOrder[] = {query::CAPTURING,
                                                   query::WAITING,
                                                   query::DORMANT,
                                                   query::DISABLED,
                                                   query::DETACHED,
                                                   query::GONE,
                                                   query::PROCESS_STATE_UNKNOWN};
  const char* between = " ";
  for (query::ProcessState wanted : kOrder) {
    const int64_t count =
        std::count_if(table.processes().begin(), table.processes().end(),
                      [&](const query::Process& process) { return process.state() == wanted; });
    if (count == 0) continue;
    line.push_back({absl::StrCat(between, count, " ", StateName(wanted)), ToneOf(wanted)});
    between = ", ";
  }
  if (table.processes().empty()) line.push_back({" none", Tone::kPlain});
  if (table.ended_left_out() > 0) {
    line.push_back({absl::StrFormat(state.live ? " (e adds %d gone)" : " (without %d gone)",
                                    table.ended_left_out()),
                    Tone::kDim});
  }
  const uint64_t events = EventsOf(table);
  line.push_back({"   Events ", Tone::kDim});
  line.push_back({absl::StrCat(" ", CountText(static_cast<double>(events))), Tone::kStrong});
  line.push_back({" in all", Tone::kDim});
  if (HasRates(state)) {
    const uint64_t before = EventsOf(state.before->table);
    const double gained = events >= before ? static_cast<double>(events - before) : 0;
    line.push_back(
        {absl::StrCat(", ", CountText(gained / SecondsBetween(*state.before, *state.current))),
         Tone::kStrong});
    line.push_back({" per second", Tone::kDim});
  }
  return line;
}

std::vector<Line> ProcessLines(const ScreenState& state, int most) {
  const query::Table& table = state.current->table;
  if (table.view() == query::PROCESSES) return {};
  std::vector<Line> lines;
  for (const query::Process& process : table.processes()) {
    if (static_cast<int>(lines.size()) == most) {
      // The last line that there is room for says how many are left.
      const int left = table.processes().size() - most + 1;
      if (left > 1) {
        lines.back() = {
            {absl::StrFormat("  and %d more: %s", left, state.live ? "press p" : "see `tpctl ps`"),
             Tone::kDim}};
      }
      break;
    }
    Line line = {{absl::StrFormat("%9d ", process.pid()), Tone::kStrong},
                 {PadRight(StateName(process.state()), 10), ToneOf(process.state())}};
    if (process.rank() >= 0 && table.processes().size() > 1) {
      line.push_back({absl::StrFormat("rank %d  ", process.rank()), Tone::kPlain});
    }
    line.push_back({EscapeForTerminal(ShortCommand(process.command())), Tone::kPlain});
    if (!process.reason().empty()) {
      line.push_back({"  " + EscapeForTerminal(process.reason()), Tone::kAttention});
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

struct BusyShare {
  double share = 0;
  bool since_refresh = false;
};

BusyShare ShareOf(const query::DeviceUse& use, const ScreenState& state) {
  if (HasRates(state)) {
    for (const query::DeviceUse& earlier : state.before->table.devices()) {
      if (earlier.device() != use.device() || earlier.busy_ns() > use.busy_ns()) continue;
      // Device records arrive in batches, some later than others: the work that came with this
      // refresh may span more time than has passed since the last one.
      const int64_t span = std::max(state.current->table.now_ns() - state.before->table.now_ns(),
                                    use.last_ns() - earlier.last_ns());
      const double share =
          static_cast<double>(use.busy_ns() - earlier.busy_ns()) / static_cast<double>(span);
      return {std::min(share, 1.0), true};
    }
  }
  const int64_t span = use.last_ns() - use.first_ns();
  return {
      span > 0 ? std::min(1.0, static_cast<double>(use.busy_ns()) / static_cast<double>(span)) : 0,
      false};
}

std::vector<Line> DeviceLines(const ScreenState& state, int width, int most) {
  const query::Table& table = state.current->table;
  std::vector<Line> lines;
  if (table.devices().empty()) return lines;
  const int per_line = std::max(1, (width - 2) / kBarWidth);
  bool since_refresh = false;
  int index = 0;
  for (const query::DeviceUse& use : table.devices()) {
    if (index % per_line == 0) {
      if (static_cast<int>(lines.size()) == most) break;
      lines.push_back({{"  ", Tone::kPlain}});
    }
    const BusyShare busy = ShareOf(use, state);
    since_refresh = since_refresh || busy.since_refresh;
    const std::string label = absl::StrFormat("GPU %-2d", use.device());
    const std::string number = absl::StrFormat("%.1f%%", busy.share * 100);
    constexpr int kInside = 16;
    const int filled = static_cast<int>(busy.share * kInside + 0.5);
    std::string inside = std::string(filled, '|') + std::string(kInside - filled, ' ');
    inside.replace(kInside - number.size(), number.size(), number);
    lines.back().push_back({label + "[", Tone::kPlain});
    lines.back().push_back({inside, Tone::kGood});
    lines.back().push_back({"]  ", Tone::kPlain});
    ++index;
  }
  std::string label =
      since_refresh ? "busy since the last refresh" : "busy from its first to its last work";
  if (const std::string& name = table.devices(0).name();
      table.devices().size() == 1 && !name.empty()) {
    std::string named = absl::StrCat(EscapeForTerminal(name), ", ", label);
    if (LineWidth(lines.back()) + DisplayWidth(named) <= width) label = std::move(named);
  }
  if (index < table.devices().size()) {
    lines.back().push_back(
        {absl::StrFormat("and %d more", table.devices().size() - index), Tone::kDim});
  } else if (LineWidth(lines.back()) + DisplayWidth(label) <= width) {
    lines.back().push_back({label, Tone::kDim});
  } else if (static_cast<int>(lines.size()) < most) {
    lines.push_back({{"  " + label, Tone::kDim}});
  }
  return lines;
}

// Losses in one line, notes below: as much as `most` lines hold.
std::vector<Line> NoticeLines(const ScreenState& state, int most) {
  const query::Table& table = state.current->table;
  std::vector<Line> lines;
  if (!state.trouble.empty()) {
    lines.push_back(
        {{" OLD NUMBERS, trying again: " + EscapeForTerminal(state.trouble), Tone::kAlarm}});
  }
  std::string lost;
  for (const query::Loss& loss : table.losses()) {
    absl::StrAppend(&lost, lost.empty() ? " LOST " : "; ", loss.count(), " ",
                    EscapeForTerminal(loss.kind()), " (", EscapeForTerminal(loss.cause()), ")");
  }
  if (!lost.empty()) lines.push_back({{lost, Tone::kAlarm}});
  for (int i = 0; i < table.notes_size(); ++i) {
    if (static_cast<int>(lines.size()) + 1 >= most && i + 1 < table.notes_size()) {
      lines.push_back(
          {{absl::StrFormat(" %d more notes: see `tpctl table`", table.notes_size() - i),
            Tone::kDim}});
      break;
    }
    lines.push_back({{" " + EscapeForTerminal(table.notes(i)), Tone::kDim}});
  }
  return lines;
}

Line TabsLine(const ScreenState& state) {
  Line line = {{" ", Tone::kPlain}};
  for (const Tab& tab : kTabs) {
    if (tab.view == state.request.view()) {
      line.push_back({absl::StrCat("[", tab.key, tab.rest, "]"), Tone::kChosen});
    } else {
      line.push_back({" ", Tone::kPlain});
      line.push_back({tab.key, Tone::kStrong});
      line.push_back({absl::StrCat(tab.rest, " "), Tone::kDim});
    }
    line.push_back({" ", Tone::kPlain});
  }
  return line;
}

std::string SortTitle(const ViewColumns& view, const std::string& key) {
  for (const Column& column : view.columns) {
    if (column.sort_key == key) return column.title;
  }
  return key;
}

// What goes without saying where no process has ended.
const char* WhoseTotals(const query::Table& table) {
  const auto& processes = table.processes();
  const auto ended = [](const query::Process& process) { return process.state() == query::GONE; };
  if (table.view() == query::PROCESSES) return "";
  if (table.ended_left_out() > 0) return " in running processes";
  if (std::none_of(processes.begin(), processes.end(), ended)) return "";
  return std::all_of(processes.begin(), processes.end(), ended) ? " in ended processes"
                                                                : " in running and ended processes";
}

// What the numbers below mean.
Line CaptionLine(const ScreenState& state, const ViewColumns& view, int width) {
  std::string text =
      state.live ? " " : absl::StrCat("View ", ViewName(state.arranged.view()), ". ");
  // First, since the end may have no room: that rows are missing.
  if (!state.filter.empty()) {
    absl::StrAppend(&text, "Only names with \"", EscapeForTerminal(state.filter), "\". ");
  }
  const bool has_rates =
      HasRates(state) && std::any_of(view.columns.begin(), view.columns.end(),
                                     [](const auto& c) { return c.sort_key == kRateKey; });
  absl::StrAppend(&text, IsFile(state) ? "Totals of the recording"
                                       : absl::StrCat("Totals since capturing began",
                                                      WhoseTotals(state.arranged)));
  if (has_rates) {
    absl::StrAppend(&text, absl::StrFormat(", rates (/s) over %.1f s",
                                           SecondsBetween(*state.before, *state.current)));
  }
  const std::string key = SortKeyInUse(state);
  if (!key.empty()) absl::StrAppend(&text, "; by ", SortTitle(view, key));
  return FitLine({{text + ".", Tone::kDim}}, width);
}

// Columns that fit, in their order, with their widths; the first takes what is left, as far as it
// needs it.
struct Placed {
  const Column* column;
  int width;
};

std::vector<Placed> PlaceColumns(const ScreenState& state, const ViewColumns& view, int first,
                                 int rows, int width) {
  const int count = static_cast<int>(view.columns.size());
  std::vector<int> widths(count);
  for (int c = 0; c < count; ++c) {
    const Column& column = view.columns[c];
    widths[c] = DisplayWidth(column.title);
    for (int i = first; i < first + rows; ++i) {
      widths[c] = std::max(widths[c], DisplayWidth(column.cell(state.shown[i])));
    }
    if (column.title == "Input Shapes" && state.max_shapes_width) {
      widths[c] = std::min(widths[c], *state.max_shapes_width);
    }
    if (column.title == "Source Location" && state.max_source_width) {
      widths[c] = std::min(widths[c], *state.max_source_width);
    }
    // Texts leave room for numbers.
    if (c > 0 && column.flush_left) widths[c] = std::min(widths[c], std::max(12, width / 3));
    // Numbers do not jump while they change.
    if (!column.flush_left) widths[c] = std::max(widths[c], 9);
  }
  std::vector<int> by_importance;
  for (int c = 1; c < count; ++c) by_importance.push_back(c);
  std::stable_sort(by_importance.begin(), by_importance.end(), [&](int a, int b) {
    return view.columns[a].importance < view.columns[b].importance;
  });
  int wanted_name = widths[0];
  if (state.max_name_width) wanted_name = std::min(wanted_name, *state.max_name_width);
  wanted_name = std::max(wanted_name, DisplayWidth(view.columns[0].title));
  // Numbers may not push the names out.
  const int least_name = std::min(wanted_name, std::clamp(width * 2 / 5, 12, 48));
  int left = width - least_name;
  std::set<int> chosen;
  for (int c : by_importance) {
    if (widths[c] + kGap > left) break;
    left -= widths[c] + kGap;
    chosen.insert(c);
  }
  left += least_name;
  std::vector<Placed> placed = {{&view.columns[0], std::min(wanted_name, std::max(left, 1))}};
  for (int c : chosen) placed.push_back({&view.columns[c], widths[c]});
  return placed;
}

std::string CellText(const Placed& placed, const std::string& text) {
  return placed.column->flush_left ? PadRight(text, placed.width) : PadLeft(text, placed.width);
}

// Long lines are continued on the next one: a path that is cut off is of no use.
std::vector<Line> EmptyLines(const ScreenState& state, int width) {
  if (!state.filter.empty() && RowCount(state.arranged) > 0) {
    return {{{absl::StrCat("No name has \"", EscapeForTerminal(state.filter), "\" in it."),
              Tone::kPlain}}};
  }
  std::vector<Line> lines;
  const std::vector<std::string> why =
      IsFile(state) ? std::vector<std::string>{WhyEmptyFile(state.arranged, state.current->source)}
                    : WhyEmpty(state.arranged, state.collector_path);
  for (const std::string& advice : why) {
    std::string_view text = advice;
    do {
      const std::string_view first = FittingPart(text, width);
      lines.push_back({{std::string(first), Tone::kPlain}});
      text.remove_prefix(first.size());
    } while (!text.empty());
  }
  return lines;
}

std::vector<Line> HelpLines() {
  static constexpr const char* kHelp[] = {
      "",
      " What is shown",
      "   o  operations    the program's named work, and the device time it asked for",
      "   k  kernels       what the device ran, by name",
      "   c  copies        bytes moved, by direction and kind of memory",
      "   a  api           calls into CUDA's runtime and driver",
      "   s  streams       how busy each stream was",
      "   p  processes     who is traced, in what state",
      "",
      " How",
      "   < >              sort by the column to the left, to the right",
      "   /                only names that hold the text typed; Esc shows all again",
      "   e                count the processes that ended too, and without them again",
      "   f or space       freeze the screen, and let it go on",
      "   arrows, PgUp, PgDn, Home, End   scroll",
      "",
      " Totals count from when capturing began; rates and the share that a device was",
      " busy count from the last refresh. \"ms/s\" is device time per second: above 1000",
      " where streams or devices run at the same time.",
      "",
      " q quits. Any other key goes back.",
  };
  std::vector<Line> lines;
  for (const char* text : kHelp) lines.push_back({{text, Tone::kPlain}});
  return lines;
}

Line KeysLine(const ScreenState& state, int width) {
  if (state.typing_filter) {
    return FillLine({{" Filter: " + EscapeForTerminal(state.filter) + "_", Tone::kBar},
                     {"   Enter keeps it, Esc shows all", Tone::kBar}},
                    width, Tone::kBar);
  }
  std::string position;
  const int rows = static_cast<int>(state.shown.size());
  if (rows > 0 && !state.help) {
    position = absl::StrFormat("%d-%d of %d ", state.first_row + 1,
                               std::min(state.first_row + state.page_rows, rows), rows);
  }
  Line line = {{" q", Tone::kStrong},  {" quit  ", Tone::kDim},
               {"< >", Tone::kStrong}, {" sort  ", Tone::kDim},
               {"/", Tone::kStrong},   {" filter  ", Tone::kDim},
               {"f", Tone::kStrong},   {state.frozen ? " go on  " : " freeze  ", Tone::kDim},
               {"h", Tone::kStrong},   {" help", Tone::kDim}};
  const int room = width - LineWidth(line) - DisplayWidth(position);
  if (room > 0) line.push_back({std::string(room, ' ') + position, Tone::kDim});
  return FitLine(line, width);
}

}  // namespace

void TakeSnapshot(Snapshot snapshot, ScreenState* state) {
  state->trouble.clear();
  if (state->frozen) return;
  // Those that ended come last.
  auto* processes = snapshot.table.mutable_processes();
  std::stable_sort(processes->pointer_begin(), processes->pointer_end(),
                   [](const query::Process* a, const query::Process* b) {
                     return (a->state() == query::GONE) < (b->state() == query::GONE);
                   });
  state->before = std::move(state->current);
  state->current = std::move(snapshot);
}

std::string SortKeyInUse(const ScreenState& state) {
  if (!state.sort_key.empty()) return state.sort_key;
  if (!state.current) return "";
  switch (state.current->table.view()) {
    case query::OPERATIONS:
      return state.current->table.self_device_time_total_ns() > 0 ? "self_device_time_total"
                                                                  : "self_cpu_time_total";
    case query::KERNELS:
    case query::COPIES:
    case query::API:
      return "total_us";
    case query::STREAMS:
      return "busy_us";
    default:
      return "";
  }
}

absl::Status Arrange(ScreenState* state) {
  if (!state->current) return absl::OkStatus();
  state->arranged = state->current->table;
  state->rates.clear();
  if (HasRates(*state)) state->rates = RatesBetween(state->before->table, state->arranged);
  const absl::Status sorted = SortScreenRows(SortKeyInUse(*state), state->rates, &state->arranged);
  state->shown.clear();
  const ViewColumns view = ColumnsOf(state->arranged, state->rates, {});
  const std::string wanted = Lower(state->filter);
  for (int i = 0; i < view.rows; ++i) {
    if (wanted.empty() || Lower(view.searched(i)).find(wanted) != std::string::npos) {
      state->shown.push_back(i);
    }
  }
  return sorted;
}

std::vector<Line> RenderScreen(ScreenState* state, int width, int height) {
  width = std::max(width, 1);
  std::vector<Line> lines;
  if (state->live || state->current) lines.push_back(TopLine(*state, width));
  const bool endless = height <= 0;
  const int keys_line = state->live && height != 1 ? 1 : 0;

  if (state->help) {
    for (Line& line : HelpLines()) lines.push_back(std::move(line));
  } else if (!state->current) {
    lines.push_back({});
    lines.push_back({{state->trouble.empty() ? " Waiting for the daemon's first answer ..."
                                             : " " + EscapeForTerminal(state->trouble),
                      state->trouble.empty() ? Tone::kDim : Tone::kAlarm}});
  } else {
    // The head has at most about half of the screen.
    const bool low = !endless && height < kLowHeight;
    const int few = endless ? 8 : std::clamp(height / 8, 1, 8);
    lines.push_back(ProcessesLine(*state));
    if (!low) {
      for (Line& line : ProcessLines(*state, few)) lines.push_back(std::move(line));
    }
    for (Line& line : DeviceLines(*state, width, few)) lines.push_back(std::move(line));
    // A notice takes the place of the blank line, so that the rows stay where they are when one
    // comes and goes.
    std::vector<Line> notices = NoticeLines(*state, low ? 1 : std::max(2, few));
    if (notices.empty() && state->live && !low) notices.push_back({});
    for (Line& line : notices) lines.push_back(std::move(line));
    if (state->live) lines.push_back(TabsLine(*state));
    if (!state->header.empty()) {
      lines.push_back({{EscapeForTerminal(state->header), Tone::kStrong}});
    }

    const ColumnOptions options{.with_rates = HasRates(*state),
                                .with_shapes = state->request.group_by_shape(),
                                .with_stack = state->request.group_by_stack() > 0,
                                .with_flops = state->with_flops,
                                .time_unit = state->time_unit};
    const ViewColumns view = ColumnsOf(state->arranged, state->rates, options);
    int rows = static_cast<int>(state->shown.size());
    if (rows == 0) {
      lines.push_back({});
      for (Line& line : EmptyLines(*state, width)) lines.push_back(std::move(line));
      state->page_rows = 1;
      state->first_row = 0;
    } else {
      if (!low) lines.push_back(CaptionLine(*state, view, width));
      const int all = rows;
      if (state->row_limit && *state->row_limit >= 0) rows = std::min(rows, *state->row_limit);
      const int room = endless ? rows
                               : std::max(1, height - static_cast<int>(lines.size()) - 1 -
                                                 keys_line - (state->live ? 0 : 1));
      state->page_rows = room;
      state->first_row = std::clamp(state->first_row, 0, std::max(0, rows - room));
      const int shown = std::min(room, rows - state->first_row);
      const std::vector<Placed> placed = PlaceColumns(*state, view, state->first_row, shown, width);
      const std::string sort_key = SortKeyInUse(*state);
      Line titles;
      for (const Placed& place : placed) {
        if (!titles.empty()) titles.push_back({std::string(kGap, ' '), Tone::kBar});
        const bool sorted = !sort_key.empty() && place.column->sort_key == sort_key;
        titles.push_back(
            {CellText(place, place.column->title), sorted ? Tone::kChosen : Tone::kBar});
      }
      lines.push_back(FillLine(titles, width, Tone::kBar));
      for (int i = state->first_row; i < state->first_row + shown; ++i) {
        Line line;
        for (const Placed& place : placed) {
          if (!line.empty()) line.push_back({std::string(kGap, ' '), Tone::kPlain});
          const bool sorted = !sort_key.empty() && place.column->sort_key == sort_key;
          line.push_back({CellText(place, place.column->cell(state->shown[i])),
                          sorted && !place.column->flush_left ? Tone::kStrong : Tone::kPlain});
        }
        lines.push_back(std::move(line));
      }
      if (!state->live && shown < all) {
        lines.push_back({{absl::StrFormat("and %d more: --row-limit N shows more of them, "
                                          "`tpctl table` all",
                                          all - shown),
                          Tone::kDim}});
      }
    }
  }
  if (!endless) {
    lines.resize(std::min<size_t>(lines.size(), std::max(0, height - keys_line)));
    if (state->live) {
      while (static_cast<int>(lines.size()) < height - keys_line) lines.push_back({});
    }
  }
  if (keys_line > 0) lines.push_back(KeysLine(*state, width));
  for (Line& line : lines) line = FitLine(line, width);
  return lines;
}

}  // namespace tp
