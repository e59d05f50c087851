// The lock of the daemon at a socket's path: the file PATH.lock, which it holds locked as long as
// it lives, with its pid in it. Who holds it is the daemon there, whatever became of the socket;
// the system lets go of it at the daemon's end, however that comes. The file itself stays.
#ifndef ANALYZER_SERVE_DAEMON_LOCK_H_
#define ANALYZER_SERVE_DAEMON_LOCK_H_

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"
#include "analyzer/serve/file_descriptor.h"

namespace tp {

class DaemonLock {
 public:
  // Does not wait: AlreadyExists when somebody holds it.
  static absl::StatusOr<DaemonLock> Take(const std::string& socket_path);
  DaemonLock() = default;

  // Children of a fork hold it too: to be called by the one that stays.
  absl::Status WritePid(pid_t pid) const;
  // False once its file was removed or replaced: another daemon could take a lock of its own.
  bool IsInPlace() const;

 private:
  std::string path_;
  FileDescriptor file_;
};

// The daemon that holds the lock at `socket_path`: a process that is seen to have the file open.
// NotFound if nobody holds it, FailedPrecondition if it is not known who does.
absl::StatusOr<pid_t> LockHolder(const std::string& socket_path);

}  // namespace tp

#endif  // ANALYZER_SERVE_DAEMON_LOCK_H_
