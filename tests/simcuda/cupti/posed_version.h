// The version of CUPTI that the library poses as: that of the toolkit which SIMCUPTI_VERSION names
// ("11.8"), else that of the headers.
//
// The variable is read once. A version that is not known stops the process with a message: a test
// of a version that is silently another would prove nothing.
#ifndef TESTS_SIMCUDA_CUPTI_POSED_VERSION_H_
#define TESTS_SIMCUDA_CUPTI_POSED_VERSION_H_

#include <compare>
#include <cstdint>
#include <span>
#include <string_view>

namespace simcupti {

// Of a toolkit: 11.8 is {11, 8}.
struct Version {
  int major, minor;
  auto operator<=>(const Version&) const = default;
};

struct KnownVersion {
  std::string_view toolkit;
  Version version;
  uint32_t api_version;  // As cuptiGetVersion gives it.
};

// Oldest first.
std::span<const KnownVersion> KnownVersions();

const KnownVersion& PosedVersion();
inline bool PosesSince(Version version) { return PosedVersion().version >= version; }

}  // namespace simcupti

#endif  // TESTS_SIMCUDA_CUPTI_POSED_VERSION_H_
