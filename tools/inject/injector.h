// Brings the collector into a process that runs, or tells the one that is in it already that
// somebody attaches.
//
// The library is loaded by a thread of its own, which one of the process's threads is made to make
// (borrowed_thread.h): that thread is stopped for a moment, and no other is. The file comes through
// memory (memfd_create), so that it need not be visible where the process is.
#ifndef TOOLS_INJECT_INJECTOR_H_
#define TOOLS_INJECT_INJECTOR_H_

#include <sys/types.h>

#include <chrono>
#include <string>

#include "absl/status/statusor.h"
#include "proto/attach.h"

namespace tp {

struct Injection {
  // The other end of the collector's connection, which has been greeted on and not read from. The
  // caller's.
  int socket = -1;
  bool was_there = false;  // The library was in the process already.
  std::chrono::nanoseconds stopped{};
};

// `library`: the path of the collector's file, here. Of `arguments` the socket is filled in. After
// an error the process goes on as if nothing had been; the message is a sentence about it without a
// subject ("is being traced by ...: end ..."). At most some ten seconds.
absl::StatusOr<Injection> Inject(pid_t pid, const std::string& library, AttachArguments arguments);

}  // namespace tp

#endif  // TOOLS_INJECT_INJECTOR_H_
