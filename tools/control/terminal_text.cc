#include "tools/control/terminal_text.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "absl/strings/str_format.h"

namespace tp {
namespace {

struct CodePoint {
  uint32_t value = 0;
  size_t bytes = 1;
  bool valid = false;
};

CodePoint First(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {lead, 1, false};
  uint32_t value = lead & (0x7f >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {lead, 1, false};
    value = value << 6 | (byte(i) & 0x3f);
  }
  const uint32_t smallest = bytes == 2 ? 0x80 : bytes == 3 ? 0x800 : 0x10000;
  if (value < smallest || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) {
    return {lead, 1, false};
  }
  return {value, bytes, true};
}

struct Range {
  uint32_t first, last;
};

template <size_t N>
bool In(const Range (&ranges)[N], uint32_t value) {
  const Range* range = std::upper_bound(std::begin(ranges), std::end(ranges), value,
                                        [](uint32_t v, const Range& r) { return v < r.first; });
  return range != std::begin(ranges) && value <= std::prev(range)->last;
}

// C1 controls, and the marks that change the direction or the lines of text.
constexpr Range kUnsafe[] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0x61c, 0x61c},  {0x200e, 0x200f},
                             {0x2028, 0x202e}, {0x2066, 0x2069}, {0xfff9, 0xfffb}};

// Combining marks and other characters that take no column.
constexpr Range kZeroWidth[] = {
    {0x300, 0x36f},    {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},   {0x64b, 0x65f},
    {0x6d6, 0x6dc},    {0x900, 0x902},   {0x93c, 0x93c},   {0xe31, 0xe31},   {0xe34, 0xe3a},
    {0x1ab0, 0x1aff},  {0x1dc0, 0x1dff}, {0x200b, 0x200d}, {0x2060, 0x2064}, {0x20d0, 0x20ff},
    {0x302a, 0x302d},  {0x3099, 0x309a}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff},
    {0xe0100, 0xe01ef}};

// East Asian Wide and Fullwidth, and emoji.
constexpr Range kWide[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x23e9, 0x23ec},   {0x2614, 0x2615},
    {0x267f, 0x267f},   {0x2693, 0x2693},   {0x26a1, 0x26a1},   {0x26bd, 0x26be},
    {0x2705, 0x2705},   {0x2728, 0x2728},   {0x274c, 0x274c},   {0x2753, 0x2755},
    {0x2795, 0x2797},   {0x2b1b, 0x2b1c},   {0x2b50, 0x2b50},   {0x2e80, 0x303e},
    {0x3041, 0x33ff},   {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xa000, 0xa4cf},
    {0xa960, 0xa97c},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
    {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf},
    {0x1f18e, 0x1f18e}, {0x1f191, 0x1f19a}, {0x1f200, 0x1f320}, {0x1f32d, 0x1f335},
    {0x1f337, 0x1f37c}, {0x1f37e, 0x1f393}, {0x1f3a0, 0x1f3ca}, {0x1f3cf, 0x1f3d3},
    {0x1f3e0, 0x1f3f0}, {0x1f3f4, 0x1f3f4}, {0x1f3f8, 0x1f43e}, {0x1f440, 0x1f440},
    {0x1f442, 0x1f4fc}, {0x1f4ff, 0x1f53d}, {0x1f54b, 0x1f567}, {0x1f5fb, 0x1f64f},
    {0x1f680, 0x1f6c5}, {0x1f7e0, 0x1f7eb}, {0x1f90c, 0x1f9ff}, {0x1fa70, 0x1faff},
    {0x20000, 0x3fffd}};

int Width(const CodePoint& point) {
  if (!point.valid) return 1;
  if (point.value < 0x300) return 1;
  if (In(kZeroWidth, point.value)) return 0;
  return In(kWide, point.value) ? 2 : 1;
}

// Bytes of the longest beginning of `text` that fits.
size_t FittingBytes(std::string_view text, int width) {
  size_t bytes = 0;
  while (bytes < text.size()) {
    const CodePoint point = First(text.substr(bytes));
    if (Width(point) > width) break;
    width -= Width(point);
    bytes += point.bytes;
  }
  return bytes;
}

std::string Blanks(int count) { return std::string(std::max(count, 0), ' '); }

void Escape(std::string* text) { *text = EscapeForTerminal(std::string_view(*text)); }

template <typename Strings>
void EscapeAll(Strings* texts) {
  for (std::string& text : *texts) Escape(&text);
}

}  // namespace

std::string EscapeForTerminal(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = First(text);
    if (!point.valid) {
      escaped += absl::StrFormat("\\x%02x", point.value);
    } else if (point.value == '\n') {
      escaped += "\\n";
    } else if (point.value == '\t') {
      escaped += "\\t";
    } else if (point.value == '\r') {
      escaped += "\\r";
    } else if (In(kUnsafe, point.value)) {
      escaped += absl::StrFormat(point.value < 0x80 ? "\\x%02x" : "\\u%04x", point.value);
    } else {
      escaped += text.substr(0, point.bytes);
    }
    text.remove_prefix(point.bytes);
  }
  return escaped;
}

int DisplayWidth(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const CodePoint point = First(text);
    width += Width(point);
    text.remove_prefix(point.bytes);
  }
  return width;
}

std::string CutToWidth(std::string_view text, int width) {
  if (width <= 0) return "";
  // Every character takes at least one byte, but not at least one column: only the first test is
  // cheap.
  if (text.size() <= static_cast<size_t>(width) || FittingBytes(text, width) == text.size()) {
    return std::string(text);
  }
  const std::string_view dots = std::string_view("...").substr(0, width);
  return std::string(text.substr(0, FittingBytes(text, width - static_cast<int>(dots.size())))) +
         std::string(dots);
}

std::string_view FittingPart(std::string_view text, int width) {
  if (text.empty()) return text;
  return text.substr(0, std::max(FittingBytes(text, width), First(text).bytes));
}

std::string PadRight(std::string_view text, int width) {
  std::string cut = CutToWidth(text, width);
  return cut + Blanks(width - DisplayWidth(cut));
}

std::string PadLeft(std::string_view text, int width) {
  std::string cut = CutToWidth(text, width);
  return Blanks(width - DisplayWidth(cut)) + cut;
}

std::string ToAscii(std::string_view text) {
  std::string ascii;
  while (!text.empty()) {
    const CodePoint point = First(text);
    if (point.valid && point.value < 0x80) {
      ascii += static_cast<char>(point.value);
    } else {
      ascii.append(Width(point), '?');
    }
    text.remove_prefix(point.bytes);
  }
  return ascii;
}

void EscapeForTerminal(query::Table* table) {
  for (query::OperationRow& row : *table->mutable_operations()) {
    Escape(row.mutable_name());
    EscapeAll(row.mutable_stack());
  }
  for (query::WorkRow& row : *table->mutable_kernels()) Escape(row.mutable_name());
  for (query::CopyRow& row : *table->mutable_copies()) {
    Escape(row.mutable_direction());
    Escape(row.mutable_source_memory());
    Escape(row.mutable_destination_memory());
  }
  for (query::CallRow& row : *table->mutable_calls()) {
    Escape(row.mutable_name());
    Escape(row.mutable_domain());
  }
  for (query::Process& process : *table->mutable_processes()) {
    Escape(process.mutable_command());
    Escape(process.mutable_reason());
    EscapeAll(process.mutable_notes());
    for (query::Loss& loss : *process.mutable_losses()) {
      Escape(loss.mutable_kind());
      Escape(loss.mutable_cause());
    }
    for (query::KindCount& events : *process.mutable_events()) Escape(events.mutable_kind());
  }
  for (query::Loss& loss : *table->mutable_losses()) {
    Escape(loss.mutable_kind());
    Escape(loss.mutable_cause());
  }
  EscapeAll(table->mutable_notes());
  Escape(table->mutable_device_kind());
}

}  // namespace tp
