// The screen of `tpctl top` without any terminal: what is to be shown (ScreenState), what a key
// does to it, and how it looks (RenderScreen, a pure function). The terminal and the daemon are
// elsewhere, so all of this can be tested as plain values.
//
// Two kinds of numbers are on it, each labelled: totals since capturing began, and rates since the
// last refresh. Totals are those of the processes that run; the key e, and the end of the last one,
// bring in those that ended. There are no rates across such a change.
#ifndef TOOLS_CONTROL_SCREEN_H_
#define TOOLS_CONTROL_SCREEN_H_

#include <optional>
#include <string>
#include <vector>

#include "analyzer/present/table.h"
#include "proto/query.pb.h"
#include "tools/control/screen_columns.h"
#include "tools/control/screen_lines.h"

namespace tp {

// What the daemon said at one moment, or what a file holds.
struct Snapshot {
  query::Table table;
  query::Daemon daemon;  // Its pid is 0 where there is none.
  std::string source;    // "14:03:22", the local time; or a file's name.
};

struct ScreenState {
  // What to ask the daemon for. A change of the view takes effect with the next snapshot.
  query::TableRequest request;

  std::string sort_key;  // Empty: the view's own choice.
  std::string filter;    // Rows whose name holds this, whatever its case.
  bool typing_filter = false;
  bool frozen = false;
  bool help = false;
  bool live = true;  // With keys, tabs and rates; false: one screenful as text.
  int first_row = 0;
  int page_rows = 1;  // Rows that the last rendering had room for.

  bool with_flops = false;
  TimeUnit time_unit = TimeUnit::kChosenBySize;
  std::optional<int> row_limit;
  std::optional<int> max_name_width;
  std::optional<int> max_shapes_width = 80;
  std::optional<int> max_source_width = 75;
  std::string header;

  std::optional<Snapshot> current;
  std::optional<Snapshot> before;  // The one before it.
  std::string trouble;             // Why there is nothing newer; empty: all is well.
  std::string collector_path;      // For the advice on how to begin.

  // Made of the above by Arrange.
  query::Table arranged;  // The current table, sorted.
  Rates rates;
  std::vector<int> shown;  // Rows of `arranged` that pass the filter.
};

// Takes over a new snapshot (unless frozen) and ends the trouble.
void TakeSnapshot(Snapshot snapshot, ScreenState* state);

// The key that the rows are sorted by: the one chosen, else that of the view (own device time
// first, where there is any).
std::string SortKeyInUse(const ScreenState& state);

// Sorts and filters anew. InvalidArgument, listing the keys, when the view has no such sort key.
absl::Status Arrange(ScreenState* state);

// The lines of the screen, at most `height` of them, each at most `width` columns wide; height <=
// 0: as many as there are rows. Sets page_rows and brings first_row back into range, nothing else.
std::vector<Line> RenderScreen(ScreenState* state, int width, int height);

// Keys beyond the characters.
enum class Key { kCharacter, kUp, kDown, kPageUp, kPageDown, kHome, kEnd, kEnter, kEscape, kErase };

enum class KeyResult { kNothing, kRedraw, kAskAgain, kQuit };

// `character` counts for kCharacter only.
KeyResult HandleKey(Key key, char32_t character, ScreenState* state);

}  // namespace tp

#endif  // TOOLS_CONTROL_SCREEN_H_
