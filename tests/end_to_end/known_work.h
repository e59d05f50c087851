// tests/programs/known_work, a program whose work is known to the last call: what it says that it
// has done must be what the daemon knows.
#ifndef TESTS_END_TO_END_KNOWN_WORK_H_
#define TESTS_END_TO_END_KNOWN_WORK_H_

#include <sys/types.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/end_to_end/sandbox.h"

namespace tp::test {

using Json = nlohmann::json;
using Counts = std::map<std::string, long>;

inline const std::string kKnownWork = "tests/programs/known_work";

inline Counts CountsOf(const Json& object) { return object.get<Counts>(); }

// Counts of a table's rows by `name`, of those for which `keep` holds.
template <typename Keep>
Counts CountRows(const Json& table, const char* name, Keep&& keep) {
  Counts counts;
  for (const Json& row : table["rows"]) {
    if (keep(row)) counts[row[name]] += row["count"].get<long>();
  }
  return counts;
}

// Everything has arrived, is counted exactly, and belongs to the right operation. `done`: the
// program's own account, from its stdout.
void ExpectExact(Sandbox& sandbox, pid_t pid, const Json& done);

}  // namespace tp::test

#endif  // TESTS_END_TO_END_KNOWN_WORK_H_
