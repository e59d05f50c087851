#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "analyzer/present/rows.h"
#include "analyzer/present/table.h"

namespace tp {
namespace {

bool NeedsQuotes(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < ' ' || byte == 0x7f || byte == ',' || byte == '"';
}

std::string CellText(const nlohmann::ordered_json& value, const std::string& field) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (field != "stack") return value.dump();
  return absl::StrJoin(value.get<std::vector<std::string>>(), "\n");
}

}  // namespace

std::string CsvLine(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) {
    if (&cell != &cells.front()) line += ',';
    if (std::any_of(cell.begin(), cell.end(), NeedsQuotes)) {
      absl::StrAppend(&line, "\"", absl::StrReplaceAll(cell, {{"\"", "\"\""}}), "\"");
    } else {
      line += cell;
    }
  }
  return line + "\r\n";
}

absl::StatusOr<std::string> FormatCsv(const query::Table& table, const TextOptions& options) {
  absl::StatusOr<query::Table> shown = ShownRows(table, options);
  if (!shown.ok()) return shown.status();
  std::string text = CsvLine(FieldNames(table.view()));
  for (const nlohmann::ordered_json& row : RowFields(*shown)) {
    std::vector<std::string> cells;
    for (const auto& field : row.items()) {
      cells.push_back(CellText(field.value(), field.key()));
    }
    text += CsvLine(cells);
  }
  return text;
}

}  // namespace tp
