#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "analyzer/present/rows.h"
#include "analyzer/present/table.h"

namespace tp {
namespace {

constexpr const char* kLineEnd = "\r\n";

std::string Quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

std::string CellText(const nlohmann::ordered_json& value, const std::string& field) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (field != "stack") return value.dump();
  return absl::StrJoin(value.get<std::vector<std::string>>(), "\n");
}

}  // namespace

absl::StatusOr<std::string> FormatCsv(const query::Table& table, const TextOptions& options) {
  absl::StatusOr<query::Table> shown = ShownRows(table, options);
  if (!shown.ok()) return shown.status();
  std::string text = absl::StrCat(absl::StrJoin(FieldNames(table.view()), ","), kLineEnd);
  for (const nlohmann::ordered_json& row : RowFields(*shown)) {
    std::vector<std::string> cells;
    for (const auto& field : row.items()) {
      cells.push_back(Quoted(CellText(field.value(), field.key())));
    }
    absl::StrAppend(&text, absl::StrJoin(cells, ","), kLineEnd);
  }
  return text;
}

}  // namespace tp
