#include "tools/control/screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_join.h"
#include "tools/control/fake_daemon.h"
#include "tools/control/terminal_text.h"

namespace tp {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

Snapshot SnapshotOf(query::View view, int refresh) {
  query::Request table, daemon;
  table.mutable_table()->set_view(view);
  daemon.mutable_daemon();
  return {SampleResponse(table, refresh).table(), SampleResponse(daemon, refresh).daemon(),
          "14:03:22"};
}

ScreenState StateWith(query::View view, int refreshes, bool live = true) {
  ScreenState state;
  state.live = live;
  state.request.set_view(view);
  for (int i = 0; i < refreshes; ++i) TakeSnapshot(SnapshotOf(view, i), &state);
  EXPECT_TRUE(Arrange(&state).ok());
  return state;
}

std::string TextOf(const std::vector<Line>& lines) {
  return absl::StrJoin(lines, "\n",
                       [](std::string* out, const Line& line) { *out += LineText(line); });
}

std::string Rendered(ScreenState state, int width = 80, int height = 24) {
  return TextOf(RenderScreen(&state, width, height));
}

// The line that holds `text`.
std::string LineWith(const std::string& screen, const std::string& text) {
  const size_t at = screen.find(text);
  if (at == std::string::npos) return "";
  const size_t begin = screen.rfind('\n', at) + 1;
  return screen.substr(begin, screen.find('\n', at) - begin);
}

// The tone of the first segment that begins with `text`.
Tone ToneOfText(const std::vector<Line>& lines, const std::string& text) {
  for (const Line& line : lines) {
    for (const Segment& segment : line) {
      if (segment.text.starts_with(text)) return segment.tone;
    }
  }
  ADD_FAILURE() << "not on the screen: " << text;
  return Tone::kPlain;
}

TEST(Screen, FitsEverySize) {
  for (query::View view : {query::OPERATIONS, query::KERNELS, query::COPIES, query::API,
                           query::STREAMS, query::PROCESSES}) {
    for (int width : {1, 2, 10, 39, 40, 79, 80, 120, 200, 500}) {
      for (int height : {1, 2, 3, 5, 9, 15, 16, 24, 50, 200}) {
        ScreenState state = StateWith(view, 2);
        const std::vector<Line> lines = RenderScreen(&state, width, height);
        EXPECT_EQ(static_cast<int>(lines.size()), height) << width << "x" << height;
        for (const Line& line : lines) EXPECT_LE(LineWidth(line), width);
      }
    }
  }
}

TEST(Screen, ShowsDaemonProcessesDeviceLossesAndRows) {
  const std::string screen = Rendered(StateWith(query::OPERATIONS, 2));
  EXPECT_THAT(LineWith(screen, "tpctl top"),
              AllOf(HasSubstr("14:03:22"), HasSubstr("tpd 0.1.0, pid 77, up 3m 12s")));
  EXPECT_THAT(screen, HasSubstr("1 capturing, 1 dormant"));
  EXPECT_THAT(LineWith(screen, "4242"), HasSubstr("python train.py"));
  EXPECT_THAT(LineWith(screen, "4300"), HasSubstr("it has made no CUDA call yet"));
  EXPECT_THAT(screen, HasSubstr("LOST 120 kernels (dropped by CUPTI)"));
  EXPECT_THAT(LineWith(screen, "aten::mm"), HasSubstr("1.500s"));
}

TEST(Screen, ColoursWhatMatters) {
  ScreenState state = StateWith(query::OPERATIONS, 2);
  const std::vector<Line> lines = RenderScreen(&state, 80, 24);
  EXPECT_EQ(ToneOfText(lines, " LOST 120"), Tone::kAlarm);
  EXPECT_EQ(ToneOfText(lines, "  it has made no CUDA call"), Tone::kAttention);
  EXPECT_EQ(ToneOfText(lines, "[operations]"), Tone::kChosen);
  EXPECT_EQ(ToneOfText(lines, "Self CUDA"), Tone::kChosen);
}

TEST(Screen, RatesAreSinceTheLastRefreshAndSaidToBe) {
  const std::string screen = Rendered(StateWith(query::OPERATIONS, 3));
  EXPECT_THAT(LineWith(screen, "GPU 0"),
              AllOf(HasSubstr("53.2%"), HasSubstr("busy since the last refresh")));
  EXPECT_THAT(LineWith(screen, "aten::mm"), HasSubstr(" 400.0 "));
  EXPECT_THAT(screen, HasSubstr("12.3k per second"));
  EXPECT_THAT(screen, HasSubstr("Totals since capturing began, rates (/s) over 1.0 s"));
}

TEST(Screen, WithoutAnEarlierAnswerThereAreNoRates) {
  const std::string screen = Rendered(StateWith(query::OPERATIONS, 1));
  EXPECT_THAT(screen, Not(HasSubstr("/s")));
  EXPECT_THAT(LineWith(screen, "GPU 0"),
              AllOf(HasSubstr("37.2%"), HasSubstr("busy from its first to its last work")));
}

TEST(Screen, WorkThatArrivesLateNeverMakesADeviceMoreThanWhollyBusy) {
  ScreenState state = StateWith(query::OPERATIONS, 1);
  Snapshot next = SnapshotOf(query::OPERATIONS, 1);
  query::DeviceUse* use = next.table.mutable_devices(0);
  // Five seconds of work in one second of refresh.
  use->set_busy_ns(use->busy_ns() + 4'468'000'000);
  use->set_last_ns(state.current->table.devices(0).last_ns() + 5'000'000'000);
  TakeSnapshot(next, &state);
  ASSERT_TRUE(Arrange(&state).ok());
  EXPECT_THAT(LineWith(Rendered(state), "GPU 0"), HasSubstr("100.0%"));
}

TEST(Screen, ARestartedDaemonShowsNoNegativeRates) {
  ScreenState state = StateWith(query::OPERATIONS, 1);
  Snapshot next = SnapshotOf(query::OPERATIONS, 1);
  next.table.mutable_processes(0)->mutable_events(0)->set_count(5);
  next.table.mutable_devices(0)->set_busy_ns(7);
  next.table.mutable_operations(0)->set_self_device_time_total_ns(2'000'000);
  TakeSnapshot(next, &state);
  ASSERT_TRUE(Arrange(&state).ok());
  EXPECT_THAT(Rendered(state), Not(ContainsRegex("[^0-9]-[0-9]")));
}

TEST(Screen, OwnDeviceTimeComesFirstUnlessTheProgramHasNone) {
  ScreenState state = StateWith(query::OPERATIONS, 1);
  EXPECT_EQ(SortKeyInUse(state), "self_device_time_total");
  state.current->table.set_self_device_time_total_ns(0);
  EXPECT_EQ(SortKeyInUse(state), "self_cpu_time_total");
}

TEST(Screen, SortsByRate) {
  ScreenState state = StateWith(query::KERNELS, 1);
  Snapshot next = SnapshotOf(query::KERNELS, 1);
  query::WorkRow* copy = next.table.mutable_kernels(2);
  copy->set_total_ns(copy->total_ns() + 900'000'000);
  TakeSnapshot(next, &state);
  state.sort_key = kRateKey;
  ASSERT_TRUE(Arrange(&state).ok());
  EXPECT_EQ(state.arranged.kernels(0).kind(), "m");
}

TEST(Screen, AnUnknownSortKeyIsAnError) {
  ScreenState state = StateWith(query::OPERATIONS, 1);
  state.sort_key = "bogus";
  EXPECT_TRUE(absl::IsInvalidArgument(Arrange(&state)));
}

TEST(Screen, NoTracedProcessExplainsHowToBegin) {
  ScreenState state;
  state.collector_path = "/opt/tp/lib/libtpcollect.so";
  Snapshot nothing = SnapshotOf(query::OPERATIONS, 0);
  nothing.table = query::Table();
  TakeSnapshot(nothing, &state);
  ASSERT_TRUE(Arrange(&state).ok());
  EXPECT_THAT(Rendered(state), AllOf(HasSubstr("tpctl run -- ./app"),
                                     HasSubstr("LD_PRELOAD=/opt/tp/lib/libtpcollect.so ./app")));
}

TEST(Screen, AProgramWithoutNamedOperationsIsSentToItsKernels) {
  ScreenState state = StateWith(query::OPERATIONS, 1);
  state.current->table.clear_operations();
  ASSERT_TRUE(Arrange(&state).ok());
  EXPECT_THAT(Rendered(state), AllOf(HasSubstr("NVTX"), HasSubstr("kernels")));
}

TEST(Screen, TroubleIsShownBesideTheLastNumbers) {
  ScreenState state = StateWith(query::OPERATIONS, 2);
  state.trouble = "no daemon at /run/tp/tpd.sock";
  const std::string screen = Rendered(state);
  EXPECT_THAT(screen, AllOf(HasSubstr("no daemon at"), HasSubstr("aten::mm")));
  TakeSnapshot(SnapshotOf(query::OPERATIONS, 3), &state);
  EXPECT_EQ(state.trouble, "");
}

TEST(Screen, NamesCannotReachTheTerminal) {
  ScreenState state = StateWith(query::OPERATIONS, 2);
  state.current->table.mutable_operations(0)->set_name("\x1b[2Jevil\nname");
  state.current->table.mutable_processes(0)->set_command("\x1b]0;x\x07");
  state.current->table.mutable_losses(0)->set_cause("\x1b[1m");
  state.current->table.add_notes("\x1b[1m");
  state.current->daemon.set_version("\x1b[1m");
  state.header = "\x1b[1m";
  ASSERT_TRUE(Arrange(&state).ok());
  for (const Line& line : RenderScreen(&state, 200, 50)) {
    EXPECT_EQ(LineText(line), EscapeForTerminal(LineText(line)));
  }
}

TEST(Screen, WideNamesKeepTheColumnsAligned) {
  ScreenState state = StateWith(query::OPERATIONS, 1);
  state.current->table.mutable_operations(0)->set_name("行列の積");
  ASSERT_TRUE(Arrange(&state).ok());
  const std::string screen = Rendered(state);
  const std::string wide = LineWith(screen, "行列の積"), narrow = LineWith(screen, "aten::add_");
  EXPECT_EQ(DisplayWidth(wide.substr(0, wide.find("1.100s") + 6)),
            DisplayWidth(narrow.substr(0, narrow.find("310.000ms") + 9)));
}

TEST(Screen, ANoticeThatComesAndGoesDoesNotMoveTheRows) {
  ScreenState state = StateWith(query::OPERATIONS, 1);
  state.current->table.clear_losses();
  const auto line_of_first_row = [&] {
    const std::string screen = Rendered(state);
    return std::count(screen.begin(), screen.begin() + screen.find("aten::mm"), '\n');
  };
  const auto without = line_of_first_row();
  state.current->table.add_notes("device work without an operation: 53 records");
  EXPECT_EQ(line_of_first_row(), without);
}

TEST(Screen, ProcessesThatEndedComeLast) {
  ScreenState state;
  Snapshot snapshot = SnapshotOf(query::OPERATIONS, 0);
  snapshot.table.mutable_processes(0)->set_state(query::GONE);
  TakeSnapshot(snapshot, &state);
  ASSERT_TRUE(Arrange(&state).ok());
  const std::string screen = Rendered(state);
  EXPECT_LT(screen.find("4300"), screen.find("4242"));
}

TEST(Screen, SaysWhoseTotalsThereAreWhereSomeEnded) {
  ScreenState state = StateWith(query::OPERATIONS, 1);
  EXPECT_THAT(Rendered(state), HasSubstr("Totals since capturing began; by"));
  state.current->table.mutable_processes(0)->set_state(query::GONE);
  ASSERT_TRUE(Arrange(&state).ok());
  EXPECT_THAT(Rendered(state), HasSubstr("began in running and ended processes; by"));
  state.current->table.mutable_processes(1)->set_state(query::GONE);
  ASSERT_TRUE(Arrange(&state).ok());
  EXPECT_THAT(Rendered(state), HasSubstr("began in ended processes; by"));
  state = StateWith(query::OPERATIONS, 1);
  state.current->table.set_ended_left_out(3);
  ASSERT_TRUE(Arrange(&state).ok());
  EXPECT_THAT(Rendered(state), AllOf(HasSubstr("began in running processes; by"),
                                     HasSubstr("1 dormant (e adds 3 gone)")));
}

TEST(Screen, AProcessThatLeavesOrComesBackMakesNoRates) {
  ScreenState state = StateWith(query::OPERATIONS, 2);
  ASSERT_THAT(Rendered(state), HasSubstr("/s"));
  Snapshot next = SnapshotOf(query::OPERATIONS, 2);
  next.table.mutable_processes()->RemoveLast();
  TakeSnapshot(next, &state);
  ASSERT_TRUE(Arrange(&state).ok());
  EXPECT_THAT(Rendered(state), Not(HasSubstr("/s")));
  TakeSnapshot(SnapshotOf(query::OPERATIONS, 3), &state);
  ASSERT_TRUE(Arrange(&state).ok());
  EXPECT_THAT(Rendered(state), Not(HasSubstr("/s"))) << "it was there all the time";
  next = SnapshotOf(query::OPERATIONS, 4);
  query::Process* fresh = next.table.add_processes();
  fresh->set_pid(4400);
  fresh->set_connected_ns(next.table.now_ns() - 1);
  TakeSnapshot(next, &state);
  ASSERT_TRUE(Arrange(&state).ok());
  EXPECT_THAT(Rendered(state), HasSubstr("/s")) << "all that it did is new";
}

TEST(Screen, ManyProcessesLeaveRoomForRows) {
  ScreenState state = StateWith(query::OPERATIONS, 1);
  for (int i = 0; i < 100; ++i) state.current->table.add_processes()->set_pid(5000 + i);
  ASSERT_TRUE(Arrange(&state).ok());
  EXPECT_THAT(Rendered(state), AllOf(HasSubstr("and 100 more: press p"), HasSubstr("aten::mm")));
}

TEST(Screen, OneScreenfulAsTextHasNoKeysAndSaysWhatIsMissing) {
  ScreenState state = StateWith(query::OPERATIONS, 1, /*live=*/false);
  state.row_limit = 2;
  const std::string screen = Rendered(state, 120, 0);
  EXPECT_THAT(screen,
              AllOf(HasSubstr("View operations."), HasSubstr("aten::mm"), HasSubstr("and 2 more"),
                    Not(HasSubstr("quit")), Not(HasSubstr("train step"))));
}

TEST(Screen, GroupingAddsItsColumn) {
  ScreenState state = StateWith(query::OPERATIONS, 1, /*live=*/false);
  query::OperationRow* row = state.current->table.mutable_operations(0);
  row->set_has_input_shapes(true);
  row->add_input_shapes()->add_dimensions(64);
  row->mutable_input_shapes(0)->add_dimensions(128);
  row->add_input_shapes();
  row->add_stack("train.py(12): step");
  row->set_flops(2'000'000);
  ASSERT_TRUE(Arrange(&state).ok());
  EXPECT_THAT(Rendered(state, 200, 0), Not(HasSubstr("[[64")));
  state.request.set_group_by_shape(true);
  state.request.set_group_by_stack(1);
  state.with_flops = true;
  EXPECT_THAT(Rendered(state, 200, 0),
              AllOf(HasSubstr("[[64, 128], []]"), HasSubstr("train.py(12): step"),
                    HasSubstr("2.00M"), HasSubstr("--")));
}

class ScreenKeys : public ::testing::Test {
 protected:
  KeyResult Press(char32_t character) { return HandleKey(Key::kCharacter, character, &state_); }
  void Type(const std::string& text) {
    for (char c : text) Press(c);
    ASSERT_TRUE(Arrange(&state_).ok());
  }
  ScreenState state_ = StateWith(query::OPERATIONS, 2);
};

TEST_F(ScreenKeys, QQuits) {
  EXPECT_EQ(Press('q'), KeyResult::kQuit);
  Press('h');
  EXPECT_EQ(Press('q'), KeyResult::kQuit);
}

TEST_F(ScreenKeys, LettersChooseTheView) {
  const std::pair<char, query::View> views[] = {{'k', query::KERNELS},   {'c', query::COPIES},
                                                {'a', query::API},       {'s', query::STREAMS},
                                                {'p', query::PROCESSES}, {'o', query::OPERATIONS}};
  for (const auto& [key, view] : views) {
    EXPECT_EQ(Press(key), KeyResult::kAskAgain);
    EXPECT_EQ(state_.request.view(), view);
  }
  EXPECT_EQ(Press('o'), KeyResult::kNothing);
}

TEST_F(ScreenKeys, EBringsInTheProcessesThatEndedAndLeavesThemOut) {
  state_.request.set_running(true);
  EXPECT_EQ(Press('e'), KeyResult::kAskAgain);
  EXPECT_FALSE(state_.request.running());
  EXPECT_EQ(Press('e'), KeyResult::kAskAgain);
  EXPECT_TRUE(state_.request.running());
}

TEST_F(ScreenKeys, AngleBracketsMoveTheSortColumn) {
  Press('>');
  EXPECT_EQ(state_.sort_key, "device_time_total");
  Press('<');
  Press('<');
  EXPECT_EQ(state_.sort_key, kRateKey);
  for (int i = 0; i < 20; ++i) Press('<');
  EXPECT_EQ(state_.sort_key, "name");
  for (int i = 0; i < 20; ++i) Press('>');
  EXPECT_EQ(state_.sort_key, "count");
}

TEST_F(ScreenKeys, TheFilterHoldsWhatIsTypedWhateverItsCase) {
  Press('/');
  Type("ADDq");
  EXPECT_TRUE(state_.shown.empty());
  HandleKey(Key::kErase, 0, &state_);
  HandleKey(Key::kEnter, 0, &state_);
  ASSERT_TRUE(Arrange(&state_).ok());
  EXPECT_EQ(state_.filter, "ADD");
  EXPECT_EQ(state_.shown.size(), 1u);
  EXPECT_THAT(Rendered(state_), AllOf(HasSubstr("aten::add_"), Not(HasSubstr("aten::mm"))));
  HandleKey(Key::kEscape, 0, &state_);
  EXPECT_EQ(state_.filter, "");
}

TEST_F(ScreenKeys, TheFilterErasesWholeCharacters) {
  Press('/');
  Press(U'é');
  Press(U'日');
  Press(U'😀');
  EXPECT_EQ(state_.filter, "é日😀");
  HandleKey(Key::kErase, 0, &state_);
  HandleKey(Key::kErase, 0, &state_);
  EXPECT_EQ(state_.filter, "é");
}

TEST_F(ScreenKeys, AFrozenScreenTakesNoNewNumbers) {
  Press('f');
  TakeSnapshot(SnapshotOf(query::OPERATIONS, 9), &state_);
  ASSERT_TRUE(Arrange(&state_).ok());
  EXPECT_THAT(Rendered(state_), AllOf(HasSubstr("FROZEN"), HasSubstr("1.500s")));
  EXPECT_EQ(Press(' '), KeyResult::kAskAgain);
  TakeSnapshot(SnapshotOf(query::OPERATIONS, 9), &state_);
  ASSERT_TRUE(Arrange(&state_).ok());
  EXPECT_THAT(Rendered(state_), Not(HasSubstr("FROZEN")));
}

TEST_F(ScreenKeys, ScrollingStaysWithinTheRows) {
  for (int i = 0; i < 100; ++i) {
    state_.current->table.add_operations()->set_name("row " + std::to_string(i));
  }
  ASSERT_TRUE(Arrange(&state_).ok());
  RenderScreen(&state_, 80, 24);
  HandleKey(Key::kUp, 0, &state_);
  EXPECT_EQ(state_.first_row, 0);
  HandleKey(Key::kPageDown, 0, &state_);
  EXPECT_EQ(state_.first_row, state_.page_rows);
  HandleKey(Key::kEnd, 0, &state_);
  EXPECT_EQ(state_.first_row, 104 - state_.page_rows);
  HandleKey(Key::kDown, 0, &state_);
  EXPECT_EQ(state_.first_row, 104 - state_.page_rows);
  EXPECT_THAT(Rendered(state_), HasSubstr("row 99"));
  // A larger window shows more, not blanks.
  RenderScreen(&state_, 80, 200);
  EXPECT_EQ(state_.first_row, 0);
}

TEST_F(ScreenKeys, HelpNamesEveryKeyAndAnyOtherKeyLeavesIt) {
  Press('?');
  const std::string screen = Rendered(state_);
  for (const char* text : {"operations", "kernels", "copies", "api", "streams", "processes", "< >",
                           "/", "ended too", "freeze", "PgUp", "quits"}) {
    EXPECT_THAT(screen, HasSubstr(text));
  }
  EXPECT_EQ(Press('k'), KeyResult::kRedraw);
  EXPECT_FALSE(state_.help);
  EXPECT_EQ(state_.request.view(), query::OPERATIONS);
}

}  // namespace
}  // namespace tp
