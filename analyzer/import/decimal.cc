#include "analyzer/import/decimal.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tp {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Takes eight digits at once: in each step neighbours become one number of twice as many digits.
// False if they are not all digits.
bool ReadEightDigits(const char* text, uint64_t* value) {
  if constexpr (std::endian::native != std::endian::little) return false;
  uint64_t digits;
  std::memcpy(&digits, text, sizeof(digits));
  constexpr uint64_t kHighHalves = 0xF0F0F0F0F0F0F0F0, kZeros = 0x3030303030303030;
  constexpr uint64_t kAboveNine = 0x0606060606060606;  // Carries ':' and what follows on.
  if ((digits & kHighHalves) != kZeros || ((digits + kAboveNine) & kHighHalves) != kZeros) {
    return false;
  }
  digits -= kZeros;
  digits = digits * 10 + (digits >> 8);
  digits = ((digits & 0x000000FF000000FF) * (100 + (uint64_t{1'000'000} << 32)) +
            ((digits >> 16) & 0x000000FF000000FF) * (1 + (uint64_t{10'000} << 32))) >>
           32;
  *value = *value * 100'000'000 + static_cast<uint32_t>(digits);
  return true;
}

// What nearly all numbers are: few digits, no more of them behind the point than `scale`, and no
// exponent. Nothing if it is another one.
std::optional<uint64_t> ReadPlain(std::string_view text, int scale) {
  constexpr size_t kDigitsThatFit = 19;
  const size_t most = std::min(text.size(), kDigitsThatFit - static_cast<size_t>(scale));
  uint64_t value = 0;
  size_t at = 0;
  while (most - at >= 8 && ReadEightDigits(text.data() + at, &value)) at += 8;
  for (; at < most && IsDigit(text[at]); ++at) {
    value = value * 10 + static_cast<uint64_t>(text[at] - '0');
  }
  if (at == 0) return std::nullopt;
  if (at < text.size()) {
    const size_t digits = text.size() - at - 1;
    if (text[at] != '.' || digits == 0 || digits > static_cast<size_t>(scale)) return std::nullopt;
    scale -= static_cast<int>(digits);
    for (++at; at < text.size(); ++at) {
      if (!IsDigit(text[at])) return std::nullopt;
      value = value * 10 + static_cast<uint64_t>(text[at] - '0');
    }
  }
  for (; scale > 0; --scale) value *= 10;
  return value;
}

struct Magnitude {
  uint64_t value = 0;
  bool negative = false;
  bool exact = true;  // Nothing was rounded.
};

std::optional<Magnitude> Read(std::string_view text, int scale) {
  Magnitude number;
  size_t at = 0;
  if (at < text.size() && text[at] == '-') {
    number.negative = true;
    ++at;
  }
  const size_t whole = at;
  while (at < text.size() && IsDigit(text[at])) ++at;
  const size_t whole_end = at;
  size_t fraction = at, fraction_end = at;
  if (at < text.size() && text[at] == '.') {
    fraction = ++at;
    while (at < text.size() && IsDigit(text[at])) ++at;
    fraction_end = at;
    if (fraction == fraction_end) return std::nullopt;
  }
  if (whole == whole_end) return std::nullopt;
  // The place of the point: how many of all digits stand before it.
  int64_t point = static_cast<int64_t>(whole_end - whole) + scale;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    bool negative = false;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) negative = text[at++] == '-';
    if (at == text.size()) return std::nullopt;
    int64_t exponent = 0;
    for (; at < text.size() && IsDigit(text[at]); ++at) {
      exponent = std::min<int64_t>(exponent * 10 + (text[at] - '0'), 1'000'000'000);
    }
    point += negative ? -exponent : exponent;
  }
  if (at != text.size()) return std::nullopt;

  const int64_t whole_digits = static_cast<int64_t>(whole_end - whole);
  const int64_t digits = whole_digits + static_cast<int64_t>(fraction_end - fraction);
  const auto digit = [&](int64_t i) {
    const size_t place = i < whole_digits ? whole + static_cast<size_t>(i)
                                          : fraction + static_cast<size_t>(i - whole_digits);
    return static_cast<uint64_t>(text[place] - '0');
  };
  for (int64_t i = 0; i < std::max(point, digits); ++i) {
    const uint64_t next = i < digits ? digit(i) : 0;
    if (i < point) {
      if (i >= digits && number.value == 0) break;  // Zero stays zero.
      if (number.value > (UINT64_MAX - next) / 10) return std::nullopt;
      number.value = number.value * 10 + next;
    } else {
      number.exact = number.exact && next == 0;
      if (i == point && next >= 5) {
        if (number.value == UINT64_MAX) return std::nullopt;
        ++number.value;
      }
    }
  }
  return number;
}

}  // namespace

std::optional<int64_t> DecimalTimes(std::string_view text, int scale) {
  Magnitude number;
  if (const std::optional<uint64_t> plain = ReadPlain(text, scale)) {
    number.value = *plain;
  } else if (const std::optional<Magnitude> read = Read(text, scale)) {
    number = *read;
  } else {
    return std::nullopt;
  }
  if (number.value > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
  const auto value = static_cast<int64_t>(number.value);
  return number.negative ? -value : value;
}

std::optional<uint64_t> WholeNumber(std::string_view text) {
  if (const auto plain = ReadPlain(text, 0)) return plain;
  const std::optional<Magnitude> number = Read(text, 0);
  if (!number.has_value() || !number->exact) return std::nullopt;
  if (number->negative && number->value != 0) return std::nullopt;
  return number->value;
}

}  // namespace tp
