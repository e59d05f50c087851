#include <algorithm>

#include "tools/control/screen.h"

namespace tp {
namespace {

void AppendUtf8(char32_t character, std::string* text) {
  if (character < 0x80) {
    text->push_back(static_cast<char>(character));
  } else if (character < 0x800) {
    text->push_back(static_cast<char>(0xc0 | character >> 6));
    text->push_back(static_cast<char>(0x80 | (character & 0x3f)));
  } else if (character < 0x10000) {
    text->push_back(static_cast<char>(0xe0 | character >> 12));
    text->push_back(static_cast<char>(0x80 | (character >> 6 & 0x3f)));
    text->push_back(static_cast<char>(0x80 | (character & 0x3f)));
  } else {
    text->push_back(static_cast<char>(0xf0 | character >> 18));
    text->push_back(static_cast<char>(0x80 | (character >> 12 & 0x3f)));
    text->push_back(static_cast<char>(0x80 | (character >> 6 & 0x3f)));
    text->push_back(static_cast<char>(0x80 | (character & 0x3f)));
  }
}

void EraseLastCharacter(std::string* text) {
  while (!text->empty() && (text->back() & 0xc0) == 0x80) text->pop_back();
  if (!text->empty()) text->pop_back();
}

KeyResult TypeFilter(Key key, char32_t character, ScreenState* state) {
  switch (key) {
    case Key::kEnter:
      state->typing_filter = false;
      return KeyResult::kRedraw;
    case Key::kEscape:
      state->typing_filter = false;
      state->filter.clear();
      break;
    case Key::kErase:
      EraseLastCharacter(&state->filter);
      break;
    case Key::kCharacter:
      if (character < 0x20 || character == 0x7f) return KeyResult::kNothing;
      AppendUtf8(character, &state->filter);
      break;
    default:
      return KeyResult::kNothing;
  }
  state->first_row = 0;
  return KeyResult::kRedraw;
}

KeyResult ShowView(query::View view, ScreenState* state) {
  if (state->request.view() == view) return KeyResult::kNothing;
  state->request.set_view(view);
  state->sort_key.clear();
  state->first_row = 0;
  state->frozen = false;
  return KeyResult::kAskAgain;
}

KeyResult MoveSortColumn(int step, ScreenState* state) {
  if (!state->current) return KeyResult::kNothing;
  ColumnOptions options{.with_rates = true, .with_flops = state->with_flops};
  std::vector<std::string> keys;
  for (const Column& column : ColumnsOf(state->arranged, state->rates, options).columns) {
    if (!column.sort_key.empty()) keys.push_back(column.sort_key);
  }
  const auto found = std::find(keys.begin(), keys.end(), SortKeyInUse(*state));
  const int count = static_cast<int>(keys.size());
  const int next = found == keys.end() ? 0 : static_cast<int>(found - keys.begin()) + step;
  state->sort_key = keys[std::clamp(next, 0, count - 1)];
  state->first_row = 0;
  return KeyResult::kRedraw;
}

KeyResult ScrollTo(int row, ScreenState* state) {
  const int last = std::max(0, static_cast<int>(state->shown.size()) - state->page_rows);
  state->first_row = std::clamp(row, 0, last);
  return KeyResult::kRedraw;
}

KeyResult HandleCharacter(char32_t character, ScreenState* state) {
  switch (character) {
    case 'q':
    case 'Q':
      return KeyResult::kQuit;
    case 'o':
      return ShowView(query::OPERATIONS, state);
    case 'k':
      return ShowView(query::KERNELS, state);
    case 'c':
      return ShowView(query::COPIES, state);
    case 'a':
      return ShowView(query::API, state);
    case 's':
      return ShowView(query::STREAMS, state);
    case 'p':
      return ShowView(query::PROCESSES, state);
    case '<':
    case ',':
      return MoveSortColumn(-1, state);
    case '>':
    case '.':
      return MoveSortColumn(1, state);
    case '/':
      state->typing_filter = true;
      return KeyResult::kRedraw;
    case 'f':
    case ' ':
      state->frozen = !state->frozen;
      return state->frozen ? KeyResult::kRedraw : KeyResult::kAskAgain;
    case 'e':
      state->request.set_running(!state->request.running());
      state->frozen = false;
      return KeyResult::kAskAgain;
    case 'h':
    case '?':
      state->help = true;
      return KeyResult::kRedraw;
    case 0x0c:  // Ctrl-L.
      return KeyResult::kRedraw;
    default:
      return KeyResult::kNothing;
  }
}

}  // namespace

KeyResult HandleKey(Key key, char32_t character, ScreenState* state) {
  if (state->typing_filter) return TypeFilter(key, character, state);
  if (state->help) {
    state->help = false;
    const bool quit = key == Key::kCharacter && (character == 'q' || character == 'Q');
    return quit ? KeyResult::kQuit : KeyResult::kRedraw;
  }
  switch (key) {
    case Key::kUp:
      return ScrollTo(state->first_row - 1, state);
    case Key::kDown:
      return ScrollTo(state->first_row + 1, state);
    case Key::kPageUp:
      return ScrollTo(state->first_row - state->page_rows, state);
    case Key::kPageDown:
      return ScrollTo(state->first_row + state->page_rows, state);
    case Key::kHome:
      return ScrollTo(0, state);
    case Key::kEnd:
      return ScrollTo(static_cast<int>(state->shown.size()), state);
    case Key::kEscape:
      if (state->filter.empty()) return KeyResult::kNothing;
      state->filter.clear();
      return ScrollTo(0, state);
    case Key::kCharacter:
      return HandleCharacter(character, state);
    default:
      return KeyResult::kNothing;
  }
}

}  // namespace tp
