// Reads what a range's text says: a plain name, or the form that PyTorch's emit_nvtx writes.
#ifndef COLLECTOR_OPERATION_OPERATION_NAME_H_
#define COLLECTOR_OPERATION_OPERATION_NAME_H_

#include <cstdint>
#include <string_view>

namespace tp::collect {

struct OperationName {
  std::string_view name;    // Of the operation, or the whole text.
  std::string_view shapes;  // "[[2, 3], []]"; empty if the text has none.
  int64_t sequence_number_plus_one = 0;
  char kind = 'u';  // 'o' for the emit_nvtx form.
};

// "NAME, seq = N, op_id = M, sizes = [[2, 3], []], input_op_ids = [...]", each part after the name
// optional, in this order, at least one there: an operation. Anything else is the name of a user's
// range, whole. The views point into `text`.
OperationName ReadOperationName(std::string_view text);

}  // namespace tp::collect

#endif  // COLLECTOR_OPERATION_OPERATION_NAME_H_
