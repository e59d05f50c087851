// What a thread's seccomp filters would do about the system calls that we need: one that is deadly
// is not to be found out by making it.
#ifndef TOOLS_INJECT_SYSTEM_CALL_FILTERS_H_
#define TOOLS_INJECT_SYSTEM_CALL_FILTERS_H_

#include <linux/filter.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tp {

using FilterProgram = std::vector<sock_filter>;

// Of a thread that is stopped by us. None: they cannot be read, which takes CAP_SYS_ADMIN.
std::optional<std::vector<FilterProgram>> ReadFilters(pid_t thread);

// SECCOMP_RET_... that the filters have for a call with these arguments. A filter that makes no
// sense kills.
uint32_t ActionOf(const std::vector<FilterProgram>& filters, long number,
                  std::span<const uint64_t> arguments);

// The name of a call that the collector, or bringing it in, has to make and that would end the
// thread; nullptr: there is none.
const char* DeadlyCall(const std::vector<FilterProgram>& filters);

}  // namespace tp

#endif  // TOOLS_INJECT_SYSTEM_CALL_FILTERS_H_
