#include "proto/operation_name.h"

#include <charconv>

namespace tp {
namespace {

constexpr std::string_view kSequence = ", seq = ";
constexpr std::string_view kOperationId = ", op_id = ";
constexpr std::string_view kSizes = ", sizes = ";
constexpr std::string_view kInputIds = ", input_op_ids = ";

bool Take(std::string_view prefix, std::string_view* rest) {
  if (!rest->starts_with(prefix)) return false;
  rest->remove_prefix(prefix.size());
  return true;
}

bool TakeNumber(std::string_view* rest, int64_t* number) {
  auto [end, error] = std::from_chars(rest->data(), rest->data() + rest->size(), *number);
  if (error != std::errc()) return false;
  rest->remove_prefix(end - rest->data());
  return true;
}

// A list in brackets, which may hold lists, of numbers, commas, blanks (and parentheses, as pairs
// are written).
bool TakeList(std::string_view* rest, std::string_view* list) {
  int depth = 0;
  for (size_t i = 0; i < rest->size(); ++i) {
    char c = (*rest)[i];
    if (c == '[' || c == '(') {
      ++depth;
    } else if (c == ']' || c == ')') {
      --depth;
    } else if (!(c == ',' || c == ' ' || c == '-' || (c >= '0' && c <= '9'))) {
      return false;
    }
    if (depth == 0) {
      *list = rest->substr(0, i + 1);
      rest->remove_prefix(i + 1);
      return i > 0;
    }
  }
  return false;
}

// The parts after the name, to the text's end.
bool ReadParts(std::string_view rest, OperationName* operation) {
  int64_t number;
  std::string_view list;
  if (rest.empty()) return false;
  if (Take(kSequence, &rest)) {
    if (!TakeNumber(&rest, &number)) return false;
    // PyTorch writes -1 for an operation that has none.
    if (number >= 0) operation->sequence_number_plus_one = number + 1;
  }
  if (Take(kOperationId, &rest) && !TakeNumber(&rest, &number)) return false;
  if (Take(kSizes, &rest) && !TakeList(&rest, &operation->shapes)) return false;
  if (Take(kInputIds, &rest) && !TakeList(&rest, &list)) return false;
  return rest.empty();
}

}  // namespace

OperationName ReadOperationName(std::string_view text) {
  for (size_t comma = text.find(", "); comma != text.npos; comma = text.find(", ", comma + 1)) {
    if (comma == 0) continue;
    OperationName operation{text.substr(0, comma), {}, 0, 'o'};
    if (ReadParts(text.substr(comma), &operation)) return operation;
  }
  return {text, {}, 0, 'u'};
}

}  // namespace tp
