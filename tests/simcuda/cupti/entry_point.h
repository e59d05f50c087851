// Entry points that not every version of CUPTI has: dlsym finds them only where the library poses
// as a version that has them.
//
//   namespace simcupti::entry {
//   CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId id, uint8_t enable) { ... }
//   }
//   SIMCUPTI_ENTRY_POINT_SINCE(cuptiActivityEnableRuntimeApi, 12, 5);
//
// A program that is linked with the library gets them too; it is the loader that asks the
// environment then, before the program's own code runs.
#ifndef TESTS_SIMCUDA_CUPTI_ENTRY_POINT_H_
#define TESTS_SIMCUDA_CUPTI_ENTRY_POINT_H_

#define SIMCUPTI_NOT_SANITIZED __attribute__((no_sanitize("address", "thread", "undefined")))

namespace simcupti {

// Whether the version posed as is that of this toolkit or a later one.
bool EntryPointIsThere(int major, int minor);

}  // namespace simcupti

// Belongs at the end of a file, outside all namespaces. The headers need not declare `name`.
#define SIMCUPTI_ENTRY_POINT_SINCE(name, major, minor)                                   \
  extern "C" SIMCUPTI_NOT_SANITIZED __attribute__((used)) auto simcupti_resolve_##name() \
      ->decltype(&simcupti::entry::name) {                                               \
    return simcupti::EntryPointIsThere(major, minor) ? &simcupti::entry::name : nullptr; \
  }                                                                                      \
  extern "C" decltype(simcupti::entry::name) simcupti_entry_##name __asm__(#name)        \
      __attribute__((ifunc("simcupti_resolve_" #name)))

#endif  // TESTS_SIMCUDA_CUPTI_ENTRY_POINT_H_
