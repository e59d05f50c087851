#include "tests/simcuda/cupti/posed_version.h"

#include <cupti.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/simcuda/cupti/entry_point.h"

namespace simcupti {
namespace {

// Several versions have the same number.
constexpr KnownVersion kVersions[] = {
    {"11.0", {11, 0}, 13},     {"11.1", {11, 1}, 14},     {"11.2", {11, 2}, 15},
    {"11.5", {11, 5}, 16},     {"11.6", {11, 6}, 16},     {"11.7", {11, 7}, 17},
    {"11.8", {11, 8}, 18},     {"12.0", {12, 0}, 18},     {"12.1", {12, 1}, 18},
    {"12.2", {12, 2}, 20},     {"12.3", {12, 3}, 21},     {"12.4", {12, 4}, 22},
    {"12.5", {12, 5}, 23},     {"12.6", {12, 6}, 24},     {"12.8", {12, 8}, 26},
    {"12.9", {12, 9}, 28},     {"13.0", {13, 0}, 130001}, {"13.1", {13, 1}, 130101},
    {"13.2", {13, 2}, 130202}, {"13.3", {13, 3}, 130301}, {"13.4", {13, 4}, 130401},
    {"13.5", {13, 5}, 130500},
};
constexpr const char* kVariable = "SIMCUPTI_VERSION";

// nullptr for one that is not known. `toolkit` may be nullptr: the headers' own.
constexpr const KnownVersion* Find(const char* toolkit) {
  for (const KnownVersion& known : kVersions) {
    if (toolkit != nullptr ? known.toolkit == toolkit : known.api_version == CUPTI_API_VERSION) {
      return &known;
    }
  }
  return nullptr;
}
static_assert(std::ranges::count(kVersions, CUPTI_API_VERSION, &KnownVersion::api_version) == 1,
              "the headers' version is to be added above");
constexpr KnownVersion kHeaders = *Find(nullptr);

const KnownVersion& Choose() {
  const char* const toolkit = std::getenv(kVariable);
  const KnownVersion* const known = Find(toolkit);
  if (known == nullptr) {
    std::fprintf(stderr, "%s: version \"%s\" is not known here\n", kVariable, toolkit);
    std::abort();
  }
  return *known;
}

}  // namespace

std::span<const KnownVersion> KnownVersions() { return kVersions; }

const KnownVersion& PosedVersion() {
  static const KnownVersion& version = Choose();
  return version;
}

// Called by the loader, before the environment may have been set up, and before a sanitizer's
// library has: keeps nothing and uses nothing but getenv.
SIMCUPTI_NOT_SANITIZED bool EntryPointIsThere(int major, int minor) {
  const char* text = std::getenv(kVariable);
  if (text == nullptr) text = kHeaders.toolkit.data();
  int posed[2] = {0, 0};
  int part = 0;
  for (; *text != '\0' && part < 2; ++text) {
    if (*text == '.') {
      ++part;
    } else {
      posed[part] = posed[part] * 10 + (*text - '0');
    }
  }
  return posed[0] > major || (posed[0] == major && posed[1] >= minor);
}

}  // namespace simcupti
