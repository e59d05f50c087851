// Traced processes in words, where there is no room for a table.
#ifndef ANALYZER_PRESENT_PROCESS_LIST_H_
#define ANALYZER_PRESENT_PROCESS_LIST_H_

#include <cstdint>
#include <string>

#include "proto/query.pb.h"

namespace tp {

// "capturing", "gone", ...
const char* StateName(query::ProcessState state);
// The same for people: "capturing, attached" for one to which we came while it ran.
std::string StateText(const query::Process& process);

// The CUDA release that a CUPTI of this cuptiGetVersion belongs to, "13.0"; the number itself if it
// is none of the known ones; "-" for 0.
std::string CuptiVersionText(uint32_t version);

// The names of the devices that a process uses, "2 x NVIDIA H200, Tesla T4"; empty if none is
// known.
std::string DeviceNames(const query::Process& process);

// "known: 4242 (python train.py, capturing, last seen 0 s ago), ... and 3 more", or that there are
// none: for a request that none of them matched.
std::string KnownProcesses(const query::Processes& known);

}  // namespace tp

#endif  // ANALYZER_PRESENT_PROCESS_LIST_H_
