#include "tests/simcuda/cupti/api_entry.h"

#include <cupti.h>

#include <utility>

#include "tests/simcuda/cupti/driver_link.h"
#include "tests/simcuda/cupti/faults.h"
#include "tests/simcuda/cupti/posed_version.h"

namespace simcupti {
namespace {

thread_local CUptiResult last_error = CUPTI_SUCCESS;

}  // namespace

CUptiResult Result(CUptiResult result) {
  // Like the real library, which remembers nothing before it has found a driver.
  if (result != CUPTI_SUCCESS && FindDriver() != nullptr) last_error = result;
  return result;
}

CUptiResult Enter(const char* function) { return Result(ActiveFaults().ErrorOf(function)); }

CUptiResult EnterWithDriver(const char* function) {
  if (const CUptiResult fault = Enter(function); fault != CUPTI_SUCCESS) return fault;
  return AttachToDriver() != nullptr ? CUPTI_SUCCESS : CUPTI_ERROR_UNKNOWN;
}

}  // namespace simcupti

CUptiResult cuptiGetLastError() { return std::exchange(simcupti::last_error, CUPTI_SUCCESS); }

CUptiResult cuptiGetVersion(uint32_t* version) {
  SIMCUPTI_ENTER();
  if (version == nullptr) return simcupti::Result(CUPTI_ERROR_INVALID_PARAMETER);
  *version = simcupti::PosedVersion().api_version;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t* timestamp) {
  SIMCUPTI_ENTER();
  SIMCUPTI_OLDER_FAMILY();
  if (timestamp == nullptr) return simcupti::Result(CUPTI_ERROR_INVALID_PARAMETER);
  *timestamp = simcupti::NowNs();
  return CUPTI_SUCCESS;
}
