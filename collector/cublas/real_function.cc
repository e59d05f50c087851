#include "collector/cublas/real_function.h"

#include <dlfcn.h>

namespace tp::collect {

void* RealFunction::Find() {
  // The handle is kept: the library must not go while we hold its address.
  void* library = dlopen(library_, RTLD_LAZY | RTLD_NOLOAD);
  // What the loader would have taken without us.
  void* function = dlvsym(RTLD_NEXT, name_, library_);
  // A module that was loaded apart from the others (RTLD_LOCAL: Python's extensions) brought it.
  if (function == nullptr && library != nullptr) function = dlvsym(library, name_, library_);
  function_.store(function, std::memory_order_release);
  return function;
}

}  // namespace tp::collect
