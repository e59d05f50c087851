#include "analyzer/present/text_table.h"

#include <algorithm>

#include "analyzer/present/utf8.h"

namespace tp {
namespace {

constexpr size_t kNumberWidth = 12;
constexpr std::string_view kBetween = "  ";
constexpr std::string_view kEllipsis = "...";

}  // namespace

void TextTable::AddLeftColumn(std::string title, std::optional<int> width_limit, Cut cut) {
  columns_.push_back({std::move(title), true, width_limit, cut});
}

void TextTable::AddColumn(std::string title) {
  columns_.push_back({std::move(title), false, std::nullopt, Cut::kEnd});
}

void TextTable::AddRow(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (size_t i = 0; i < cells.size(); ++i) {
    columns_[i].longest = std::max(columns_[i].longest, CodePoints(cells[i]));
  }
  rows_.push_back(std::move(cells));
}

void TextTable::AddHeader(std::string line) { headers_.push_back(std::move(line)); }

size_t TextTable::Width(const Column& column) const {
  size_t least = column.title.size() + 2;
  if (!column.is_left) return std::max(kNumberWidth, least);
  size_t width = column.longest + 4;
  if (column.limit) width = std::min<size_t>(width, std::max(0, *column.limit));
  return std::max(width, least);
}

std::string TextTable::CutText(const std::string& text, const Column& column) const {
  if (!column.limit || *column.limit < 0) return text;
  size_t limit = *column.limit;
  if (CodePoints(text) < limit + (column.cut != Cut::kEndOfName)) return text;
  size_t kept = limit - std::min(limit, kEllipsis.size());
  if (column.cut == Cut::kFront) return std::string(kEllipsis) += LastCodePoints(text, kept);
  return std::string(FirstCodePoints(text, kept)) += kEllipsis;
}

void TextTable::AppendLine(const std::vector<std::string>& cells, std::string* text) const {
  for (size_t i = 0; i < columns_.size(); ++i) {
    std::string cell = CutText(cells[i], columns_[i]);
    size_t width = Width(columns_[i]), length = CodePoints(cell);
    std::string padding(width - std::min(width, length), ' ');
    *text += columns_[i].is_left ? cell + padding : padding + cell;
    *text += kBetween;
  }
  *text += '\n';
}

std::string TextTable::Text() const {
  std::string rule;
  for (const Column& column : columns_) {
    rule += std::string(Width(column), '-');
    rule += kBetween;
  }
  std::string text;
  for (const std::string& header : headers_) {
    text += std::string(rule.size(), '=') + "\n" + header + "\n";
  }
  rule += '\n';
  text += rule;
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  AppendLine(titles, &text);
  text += rule;
  for (const auto& row : rows_) AppendLine(row, &text);
  text += rule;
  return text;
}

}  // namespace tp
