// The hash of ids that come in runs, as those of spans and launches do: 16 neighbours stand side by
// side in a table. So whoever asks for one id after the other finds them in memory that is at hand,
// where a table that scatters them would wait for memory each time.
#ifndef ANALYZER_CORRELATE_HASH_OF_ID_H_
#define ANALYZER_CORRELATE_HASH_OF_ID_H_

#include <cstddef>
#include <cstdint>

#include "absl/hash/hash.h"

namespace tp {

struct HashOfId {
  size_t operator()(uint64_t id) const {
    constexpr uint64_t kRun = 16;
    // absl's tables take the place from all but the lowest 7 bits, and tell the entries around it
    // apart by those: neighbours are to differ in both.
    const size_t in_run = id % kRun;
    return absl::Hash<uint64_t>()(id / kRun) ^ (in_run << 7 | in_run);
  }
};

}  // namespace tp

#endif  // ANALYZER_CORRELATE_HASH_OF_ID_H_
