// Text that a traced program chose (names, commands, reasons), made fit for a terminal: nothing in
// it can move the cursor, change colours or reorder the line, and its width in columns is known.
// Everything is UTF-8 and independent of the locale.
#ifndef TOOLS_CONTROL_TERMINAL_TEXT_H_
#define TOOLS_CONTROL_TERMINAL_TEXT_H_

#include <string>
#include <string_view>

#include "proto/query.pb.h"

namespace tp {

// Control characters, bytes that are no UTF-8 and characters that reorder text become visible: \n,
// \x1b, \u202e.
std::string EscapeForTerminal(std::string_view text);

// Columns that a terminal gives to (escaped) text: 2 for East Asian wide characters and emoji, 0
// for combining marks.
int DisplayWidth(std::string_view text);

// The text if it fits into `width` columns, else its beginning with "..." at the end.
std::string CutToWidth(std::string_view text, int width);

// The longest beginning that fits into `width` columns, at least one character.
std::string_view FittingPart(std::string_view text, int width);

// Exactly `width` columns: cut, or filled up with blanks behind it (before it).
std::string PadRight(std::string_view text, int width);
std::string PadLeft(std::string_view text, int width);

// Every character outside ASCII as "?" per column, for terminals whose locale has no UTF-8.
std::string ToAscii(std::string_view text);

// Escapes every text in the message.
void EscapeForTerminal(query::Table* table);

}  // namespace tp

#endif  // TOOLS_CONTROL_TERMINAL_TEXT_H_
