// Whether programs that are started here can be captured: driver, CUPTI, the collector's own
// library, variables that stand in its way.
//
// Opens the CUDA driver and CUPTI in the calling process, as a traced program would, and takes
// CUDA_INJECTION64_PATH from its environment before that. One thread at a time.
#ifndef TOOLS_DOCTOR_MACHINE_H_
#define TOOLS_DOCTOR_MACHINE_H_

#include "tools/doctor/finding.h"

namespace tp {

// `collector`: the library to preload; empty if it was not found, for the reason given.
Findings ExamineMachine(const std::string& collector, const std::string& why_no_collector);

}  // namespace tp

#endif  // TOOLS_DOCTOR_MACHINE_H_
