// A table of texts with columns under titles, as in all outputs for people:
//
//   --------  ------------
//   Name        # of Calls
//   --------  ------------
//   aten::mm             1
//   --------  ------------
//
// Columns are followed by two blanks. Those that are flush left are as wide as their longest text +
// 4, at most their limit, and longer texts are cut with "..."; all others are 12 wide, or as their
// title + 2. Widths count Unicode code points; texts are valid UTF-8.
#ifndef ANALYZER_PRESENT_TEXT_TABLE_H_
#define ANALYZER_PRESENT_TEXT_TABLE_H_

#include <optional>
#include <string>
#include <vector>

namespace tp {

class TextTable {
 public:
  // What a text loses that is longer than its column's limit. Names are cut already when they are
  // as long as that.
  enum class Cut { kEndOfName, kEnd, kFront };

  void AddLeftColumn(std::string title, std::optional<int> width_limit, Cut cut = Cut::kEndOfName);
  void AddColumn(std::string title);
  // A cell per column.
  void AddRow(std::vector<std::string> cells);
  // A line above the table, under a rule of '='.
  void AddHeader(std::string line);

  // Ends with the rule below the last row.
  std::string Text() const;

 private:
  struct Column {
    std::string title;
    bool is_left;
    std::optional<int> limit;
    Cut cut;
    size_t longest = 0;
  };
  size_t Width(const Column& column) const;
  std::string CutText(const std::string& text, const Column& column) const;
  void AppendLine(const std::vector<std::string>& cells, std::string* text) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::string> headers_;
};

}  // namespace tp

#endif  // ANALYZER_PRESENT_TEXT_TABLE_H_
