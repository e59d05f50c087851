// Makes what a program tells through collector/tpcollect.h operations of the calling thread
// (operation/thread_operations.h).
#ifndef COLLECTOR_OPERATION_HEADER_LISTENER_H_
#define COLLECTOR_OPERATION_HEADER_LISTENER_H_

#ifndef TPCOLLECT_IN_LIBRARY
#define TPCOLLECT_IN_LIBRARY
#endif
#include "collector/tpcollect.h"

namespace tp::collect {

// The functions that the header's call. After ThreadOperationsList::Configure.
const tpcollect_functions* HeaderFunctions();

}  // namespace tp::collect

#endif  // COLLECTOR_OPERATION_HEADER_LISTENER_H_
