// What a CUDA runtime function is called in tables, whoever recorded the call.
#ifndef PROTO_FUNCTION_NAME_H_
#define PROTO_FUNCTION_NAME_H_

#include <string_view>

namespace tp {

// "cudaMemcpyAsync_ptsz_v7000", as CUPTI knows it, as the program calls it: "cudaMemcpyAsync". Only
// for functions of the runtime: a driver function's "_v2" is part of its name. The view points into
// `name`.
std::string_view RuntimeFunctionName(std::string_view name);

}  // namespace tp

#endif  // PROTO_FUNCTION_NAME_H_
