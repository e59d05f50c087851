// The daemon's Unix socket in the file system: made so that only its user can reach it, and that
// two daemons never share or steal it.
//
// The folder is made with mode 0700, the socket with 0600. Beside it the lock of daemon_lock.h is
// held for the daemon's life. A socket that nobody listens on is taken over. What is refused, with
// a status that says why: a path where a daemon listens (AlreadyExists), one that is not a socket,
// and one in the hands of another user.
#ifndef ANALYZER_SERVE_LISTENING_SOCKET_H_
#define ANALYZER_SERVE_LISTENING_SOCKET_H_

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"
#include "analyzer/serve/daemon_lock.h"
#include "analyzer/serve/file_descriptor.h"

namespace tp {

class ListeningSocket {
 public:
  // `path` must be absolute, for the socket to be found again at the end. The socket does not
  // block. Waits up to two seconds for a daemon that is about to end.
  static absl::StatusOr<ListeningSocket> Open(const std::string& path);
  // Takes over one that another program listens on already, and keeps for the daemon's next life: a
  // service manager's. Its place in the file system says the path. AlreadyExists when a daemon
  // holds the lock there.
  static absl::StatusOr<ListeningSocket> Adopt(FileDescriptor socket);
  ListeningSocket(ListeningSocket&&) noexcept = default;
  ListeningSocket& operator=(ListeningSocket&&) noexcept = default;

  int fd() const { return socket_.get(); }
  const std::string& path() const { return path_; }
  const DaemonLock& lock() const { return lock_; }
  // Adopted: whoever made it still listens when we do not.
  bool is_anothers() const { return is_anothers_; }

  // False once the socket or the lock was removed or replaced, as cleaners of /tmp do: nobody finds
  // the daemon any more, or another could start beside it.
  bool IsInPlace() const;
  // Puts in place again what is not; does not wait. True if the socket is another one now, fd()
  // too; AlreadyExists when another daemon has come there.
  absl::StatusOr<bool> Restore();

  // Stops listening and removes the socket from the file system, if it is still this one and ours.
  // The lock stays held.
  void Close();

 private:
  ListeningSocket() = default;
  bool IsSocketInPlace() const;
  absl::Status Bind();
  absl::Status NotePlace();

  std::string path_;
  DaemonLock lock_;
  FileDescriptor socket_;
  bool is_anothers_ = false;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace tp

#endif  // ANALYZER_SERVE_LISTENING_SOCKET_H_
