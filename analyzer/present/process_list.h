// Traced processes in words, where there is no room for a table.
#ifndef ANALYZER_PRESENT_PROCESS_LIST_H_
#define ANALYZER_PRESENT_PROCESS_LIST_H_

#include <string>

#include "proto/query.pb.h"

namespace tp {

// "capturing", "gone", ...
const char* StateName(query::ProcessState state);

// "known: 4242 (python train.py, capturing, last seen 0 s ago), ... and 3 more", or that there are
// none: for a request that none of them matched.
std::string KnownProcesses(const query::Processes& known);

}  // namespace tp

#endif  // ANALYZER_PRESENT_PROCESS_LIST_H_
