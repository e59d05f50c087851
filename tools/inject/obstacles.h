// What stands in the way of attaching to a process, by what the system tells of it, without
// touching it: for `tpctl attach`, which refuses, and for `tpctl doctor`, which tells beforehand.
#ifndef TOOLS_INJECT_OBSTACLES_H_
#define TOOLS_INJECT_OBSTACLES_H_

#include <sys/types.h>

#include <optional>
#include <string>

namespace tp {

struct Obstacle {
  bool is_permission = false;
  std::string what;    // "is being debugged by 17 (gdb)"
  std::string remedy;  // One line; empty: there is none.
};

// The first that there is. No such process is one as well.
std::optional<Obstacle> ObstacleToAttach(pid_t pid);

// "4242 (python train.py)"; control characters are as they are.
std::string NameOfProcess(pid_t pid);

// Whether the driver of CUDA is mapped in the process.
bool HasCudaDriver(pid_t pid);

// Why ptrace refuses, as far as one can see from here.
Obstacle WhyNotPermitted(pid_t pid);

}  // namespace tp

#endif  // TOOLS_INJECT_OBSTACLES_H_
