#include "proto/function_name.h"

namespace tp {

std::string_view RuntimeFunctionName(std::string_view name) {
  size_t version = name.rfind("_v");
  if (version != name.npos && name.find_first_not_of("0123456789", version + 2) == name.npos) {
    name = name.substr(0, version);
  }
  for (std::string_view suffix : {"_ptsz", "_ptds"}) {
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  }
  return name;
}

}  // namespace tp
