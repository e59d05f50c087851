// What every function of the API does first and last.
#ifndef TESTS_SIMCUDA_CUPTI_API_ENTRY_H_
#define TESTS_SIMCUDA_CUPTI_API_ENTRY_H_

#include <cupti_result.h>

#include "tests/simcuda/cupti/client.h"

namespace simcupti {

// Keeps `result` for this thread's cuptiGetLastError, if it is an error, and returns it.
CUptiResult Result(CUptiResult result);

// For functions that work without a driver: the error that SIMCUPTI_FAULTS asks for, else success.
CUptiResult Enter(const char* function);

// For all others: besides, attaches to the driver; CUPTI_ERROR_UNKNOWN where there is none, as the
// real library says it.
CUptiResult EnterWithDriver(const char* function);

}  // namespace simcupti

// In a function of the API: goes on if it may, else returns the error.
#define SIMCUPTI_ENTER_WITH(enter)                                                       \
  if (const CUptiResult entered = simcupti::enter(__func__); entered != CUPTI_SUCCESS) { \
    return entered;                                                                      \
  }                                                                                      \
  static_assert(true)
#define SIMCUPTI_ENTER() SIMCUPTI_ENTER_WITH(Enter)
// In a function of the older family, of those that act for whoever calls: the error if the newer
// one is in use.
#define SIMCUPTI_OLDER_FAMILY()                          \
  if (simcupti::NewerFamilyInUse()) {                    \
    return simcupti::Result(CUPTI_ERROR_NOT_COMPATIBLE); \
  }                                                      \
  static_assert(true)
#define SIMCUPTI_ENTER_WITH_DRIVER() SIMCUPTI_ENTER_WITH(EnterWithDriver)

#endif  // TESTS_SIMCUDA_CUPTI_API_ENTRY_H_
