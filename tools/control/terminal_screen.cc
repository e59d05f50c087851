#include "tools/control/terminal_screen.h"

#define NCURSES_WIDECHAR 1
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <string>

#include "tools/control/live_source.h"
#include "tools/control/terminal_text.h"

namespace tp {
namespace {

// The write end of the pipe that wakes the loop; a signal handler can reach nothing else.
volatile sig_atomic_t signal_pipe = -1;

void OnSignal(int signal) {
  const int saved = errno;
  const char byte = static_cast<char>(signal);
  [[maybe_unused]] const ssize_t n = write(signal_pipe, &byte, 1);
  errno = saved;
}

constexpr int kEndingSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() {
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) ends[0] = ends[1] = -1;
  }
  ~Pipe() {
    if (ends[0] >= 0) close(ends[0]);
    if (ends[1] >= 0) close(ends[1]);
  }
};

class Terminal {
 public:
  Terminal() : screen_(newterm(nullptr, stdout, stdin)) {
    if (screen_ == nullptr) return;
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    set_escdelay(25);
    curs_set(0);
    const char* no_color = getenv("NO_COLOR");
    coloured_ = has_colors() && (no_color == nullptr || no_color[0] == '\0');
    if (coloured_) {
      start_color();
      use_default_colors();
      init_pair(1, COLOR_GREEN, -1);
      init_pair(2, COLOR_YELLOW, -1);
      init_pair(3, COLOR_RED, -1);
      init_pair(4, COLOR_BLACK, COLOR_CYAN);
      init_pair(5, COLOR_BLACK, COLOR_GREEN);
      init_pair(6, COLOR_CYAN, -1);
    }
    unicode_ = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  }
  ~Terminal() {
    if (screen_ == nullptr) return;
    endwin();
    delscreen(screen_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  bool ok() const { return screen_ != nullptr; }

  void Draw(const std::vector<Line>& lines) {
    erase();
    for (size_t y = 0; y < lines.size() && static_cast<int>(y) < LINES; ++y) {
      move(static_cast<int>(y), 0);
      for (const Segment& segment : lines[y]) {
        attrset(Attributes(segment.tone));
        addstr(unicode_ ? segment.text.c_str() : ToAscii(segment.text).c_str());
      }
    }
    attrset(A_NORMAL);
    refresh();
  }

 private:
  attr_t Attributes(Tone tone) const {
    switch (tone) {
      case Tone::kDim:
        return A_DIM;
      case Tone::kStrong:
        return A_BOLD;
      case Tone::kBar:
        return coloured_ ? COLOR_PAIR(4) : A_REVERSE;
      case Tone::kChosen:
        return coloured_ ? COLOR_PAIR(5) | A_BOLD : A_REVERSE | A_BOLD;
      case Tone::kGood:
        return coloured_ ? COLOR_PAIR(1) : A_NORMAL;
      case Tone::kAttention:
        return coloured_ ? COLOR_PAIR(2) : A_BOLD;
      case Tone::kAlarm:
        return coloured_ ? COLOR_PAIR(3) | A_BOLD : A_BOLD | A_REVERSE;
      default:
        return A_NORMAL;
    }
  }

  SCREEN* screen_;
  bool coloured_ = false;
  bool unicode_ = false;
};

KeyResult HandleTyped(bool is_key, wint_t typed, ScreenState* state) {
  if (is_key) {
    switch (typed) {
      case KEY_UP:
        return HandleKey(Key::kUp, 0, state);
      case KEY_DOWN:
        return HandleKey(Key::kDown, 0, state);
      case KEY_PPAGE:
        return HandleKey(Key::kPageUp, 0, state);
      case KEY_NPAGE:
        return HandleKey(Key::kPageDown, 0, state);
      case KEY_HOME:
        return HandleKey(Key::kHome, 0, state);
      case KEY_END:
        return HandleKey(Key::kEnd, 0, state);
      case KEY_ENTER:
        return HandleKey(Key::kEnter, 0, state);
      case KEY_BACKSPACE:
        return HandleKey(Key::kErase, 0, state);
      case KEY_LEFT:
        return state->typing_filter ? KeyResult::kNothing : HandleKey(Key::kCharacter, '<', state);
      case KEY_RIGHT:
        return state->typing_filter ? KeyResult::kNothing : HandleKey(Key::kCharacter, '>', state);
      case KEY_RESIZE:
        return KeyResult::kRedraw;
      default:
        return KeyResult::kNothing;
    }
  }
  switch (typed) {
    case '\r':
    case '\n':
      return HandleKey(Key::kEnter, 0, state);
    case 0x1b:
      return HandleKey(Key::kEscape, 0, state);
    case 0x7f:
    case 0x08:
      return HandleKey(Key::kErase, 0, state);
    case 0x0c:
      clearok(curscr, TRUE);
      return KeyResult::kRedraw;
    default:
      return HandleKey(Key::kCharacter, typed, state);
  }
}

// Shows the screen until it is to end; 0 or the signal.
int Loop(Terminal* terminal, LiveSource* source, int notifications, int signals,
         ScreenState* state) {
  while (true) {
    terminal->Draw(RenderScreen(state, COLS, LINES));
    pollfd polled[] = {{STDIN_FILENO, POLLIN, 0}, {notifications, POLLIN, 0}, {signals, POLLIN, 0}};
    // A resize interrupts this and is then found among the keys.
    poll(polled, 3, -1);
    char bytes[64];
    if (read(signals, bytes, 1) == 1) return bytes[0];
    while (read(notifications, bytes, sizeof(bytes)) > 0) {
    }
    if (auto update = source->Take()) {
      if (update->ok()) {
        TakeSnapshot(std::move(**update), state);
      } else {
        state->trouble = std::string(update->status().message());
      }
    }
    wint_t typed;
    for (int got = get_wch(&typed); got != ERR; got = get_wch(&typed)) {
      switch (HandleTyped(got == KEY_CODE_YES, typed, state)) {
        case KeyResult::kQuit:
          return 0;
        case KeyResult::kAskAgain:
          source->Ask(state->request);
          break;
        default:
          break;
      }
    }
    if ((polled[0].revents & (POLLHUP | POLLERR)) != 0) return SIGHUP;
    // A key that the new view does not know: its own order then.
    if (!Arrange(state).ok()) {
      state->sort_key.clear();
      Arrange(state).IgnoreError();
    }
  }
}

}  // namespace

absl::Status CheckTerminal() {
  const char* term = getenv("TERM");
  if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1) {
    return absl::FailedPreconditionError(
        "the live screen needs a terminal: use `tpctl top --once` for one screenful of text");
  }
  if (term == nullptr || term[0] == '\0' || strcmp(term, "dumb") == 0) {
    return absl::FailedPreconditionError(
        "the terminal (TERM is dumb or not set) cannot show the live screen: set TERM, or use "
        "`tpctl top --once` for one screenful of text");
  }
  return absl::OkStatus();
}

absl::StatusOr<int> ShowScreen(ScreenState state, std::chrono::milliseconds interval) {
  setlocale(LC_ALL, "");
  Pipe notifications, signals;
  if (notifications.ends[0] < 0 || signals.ends[0] < 0) {
    return absl::InternalError("cannot make a pipe: too many files are open");
  }
  Terminal terminal;
  if (!terminal.ok()) {
    return absl::FailedPreconditionError(
        "the terminal that TERM names is not known here: set TERM (for instance to xterm), or use "
        "`tpctl top --once` for one screenful of text");
  }
  signal_pipe = signals.ends[1];
  struct sigaction action = {}, before[std::size(kEndingSignals)];
  action.sa_handler = OnSignal;
  for (size_t i = 0; i < std::size(kEndingSignals); ++i) {
    sigaction(kEndingSignals[i], &action, &before[i]);
  }
  LiveSource source(state.request, interval, notifications.ends[1]);
  const int ended = Loop(&terminal, &source, notifications.ends[0], signals.ends[0], &state);
  for (size_t i = 0; i < std::size(kEndingSignals); ++i) {
    sigaction(kEndingSignals[i], &before[i], nullptr);
  }
  return ended;
}

}  // namespace tp
