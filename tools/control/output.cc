#include "tools/control/output.h"

#include <unistd.h>

#include <iostream>

#include "absl/strings/str_format.h"
#include "tools/control/screen_columns.h"
#include "tools/control/terminal_text.h"

namespace tp {

absl::StatusOr<std::string> TableText(const query::Table& table, const TextOptions& options,
                                      Format format, bool to_terminal) {
  query::Table escaped;
  const query::Table* shown = &table;
  TextOptions shown_options = options;
  if (format == Format::kTable || to_terminal) {
    escaped = table;
    EscapeForTerminal(&escaped);
    shown_options.header = EscapeForTerminal(options.header);
    shown = &escaped;
  }
  switch (format) {
    case Format::kJson:
      return FormatJson(*shown, shown_options);
    case Format::kCsv:
      return FormatCsv(*shown, shown_options);
    default:
      return FormatTable(*shown, shown_options);
  }
}

std::vector<std::string> Notices(const query::Table& table) {
  std::vector<std::string> notices;
  for (const query::Loss& loss : table.losses()) {
    notices.push_back(EscapeForTerminal(
        absl::StrFormat("lost: %d %s (%s)", loss.count(), loss.kind(), loss.cause())));
  }
  for (const std::string& note : table.notes()) notices.push_back(EscapeForTerminal(note));
  return notices;
}

absl::Status PrintTable(const query::Table& table, const TextOptions& options, Format format,
                        std::ostream& out, std::ostream& errors) {
  const bool to_terminal = &out == &std::cout && isatty(STDOUT_FILENO) == 1;
  absl::StatusOr<std::string> text = TableText(table, options, format, to_terminal);
  if (!text.ok()) return text.status();
  // A frame around nothing says nothing.
  if (format == Format::kTable && RowCount(table) == 0) text->clear();
  out << *text;
  if (!text->empty() && text->back() != '\n') out << '\n';
  out.flush();
  if (format != Format::kJson) {
    for (const std::string& notice : Notices(table)) errors << notice << "\n";
  }
  return absl::OkStatus();
}

}  // namespace tp
