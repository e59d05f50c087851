// Whether the process has come under a seccomp filter since: one that ends the process at a call
// which it forbids would do so at ours.
#ifndef COLLECTOR_LINK_SYSTEM_CALL_FILTER_H_
#define COLLECTOR_LINK_SYSTEM_CALL_FILTER_H_

namespace tp::collect {

// How many seccomp filters hold for the calling thread; before Linux 5.9, which does not count
// them, 1 if there is any. -1 if the system does not say.
int SystemCallFilters();

}  // namespace tp::collect

#endif  // COLLECTOR_LINK_SYSTEM_CALL_FILTER_H_
