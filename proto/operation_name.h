// Reads what an NVTX range's text says: a plain name, or the form that PyTorch's emit_nvtx writes.
// Shared by collector and imports: plain C++, allocates nothing.
#ifndef PROTO_OPERATION_NAME_H_
#define PROTO_OPERATION_NAME_H_

#include <cstdint>
#include <string_view>

namespace tp {

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

}  // namespace tp

#endif  // PROTO_OPERATION_NAME_H_
