#include "analyzer/serve/listening_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace tp {
namespace {

constexpr int kBacklog = 128;
// A daemon that was killed ends once the system has taken its memory back.
constexpr absl::Duration kPatience = absl::Seconds(2);
constexpr absl::Duration kBetweenTries = absl::Milliseconds(10);

absl::StatusOr<sockaddr_un> Address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat("the socket's path is longer than ",
                                                   sizeof(address.sun_path) - 1, " bytes: ", path));
  }
  memcpy(address.sun_path, path.data(), path.size());
  return address;
}

std::string Folder(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Whoever may write to the folder can put another socket in our place.
absl::Status MakeFolder(const std::string& folder) {
  if (mkdir(folder.c_str(), 0700) == 0) return absl::OkStatus();
  if (errno != EEXIST) return absl::ErrnoToStatus(errno, absl::StrCat("cannot make ", folder));
  struct stat found;
  if (stat(folder.c_str(), &found) != 0) return absl::ErrnoToStatus(errno, folder);
  if (!S_ISDIR(found.st_mode)) return absl::FailedPreconditionError(folder + " is not a folder");
  if (found.st_uid != geteuid() && found.st_uid != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat(folder, " belongs to another user (uid ", found.st_uid, ")"));
  }
  return absl::OkStatus();
}

// Whether somebody listens at the path.
bool Listens(const sockaddr_un& address) {
  const FileDescriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ||
         errno == EAGAIN;
}

absl::Status RunsAlready(const std::string& path) {
  return absl::AlreadyExistsError("a daemon is running already at " + path);
}

// The lock, once a daemon that ends has let go of it.
absl::StatusOr<DaemonLock> TakeLock(const std::string& path, const sockaddr_un& address) {
  const absl::Time end = absl::Now() + kPatience;
  while (true) {
    absl::StatusOr<DaemonLock> lock = DaemonLock::Take(path);
    if (!absl::IsAlreadyExists(lock.status())) return lock;
    if (Listens(address)) return RunsAlready(path);
    if (absl::Now() >= end) break;
    absl::SleepFor(kBetweenTries);
  }
  const absl::StatusOr<pid_t> holder = LockHolder(path);
  if (!holder.ok()) return holder.status();
  return absl::FailedPreconditionError(
      absl::StrCat("the daemon at ", path, " (pid ", *holder,
                   ") hangs: it runs, but does not listen; end it with `kill -9 ", *holder, "`"));
}

// Makes way for a new socket, whose lock we hold. Waits `patience` for a daemon that has let go of
// its lock and is about to let go of its socket.
absl::Status RemoveStale(const std::string& path, const sockaddr_un& address,
                         absl::Duration patience) {
  struct stat found;
  if (lstat(path.c_str(), &found) != 0) {
    if (errno == ENOENT) return absl::OkStatus();
    return absl::ErrnoToStatus(errno, path);
  }
  if (!S_ISSOCK(found.st_mode)) {
    return absl::FailedPreconditionError(path + " exists and is not a socket: left as it is");
  }
  if (found.st_uid != geteuid()) {
    return absl::PermissionDeniedError(
        absl::StrCat(path, " belongs to another user (uid ", found.st_uid, ")"));
  }
  const absl::Time end = absl::Now() + patience;
  while (Listens(address)) {
    if (absl::Now() >= end) return RunsAlready(path);
    absl::SleepFor(kBetweenTries);
  }
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot remove the unused ", path));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ListeningSocket> ListeningSocket::Open(const std::string& path) {
  const absl::StatusOr<sockaddr_un> address = Address(path);
  if (!address.ok()) return address.status();
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash + 1 == path.size()) {
    return absl::InvalidArgumentError("not the path of a socket: " + path);
  }
  if (absl::Status made = MakeFolder(Folder(path)); !made.ok()) return made;

  ListeningSocket listening;
  listening.path_ = path;
  absl::StatusOr<DaemonLock> lock = TakeLock(path, *address);
  if (!lock.ok()) return lock.status();
  listening.lock_ = *std::move(lock);
  if (absl::Status removed = RemoveStale(path, *address, kPatience); !removed.ok()) return removed;
  if (absl::Status bound = listening.Bind(); !bound.ok()) return bound;
  return listening;
}

absl::StatusOr<ListeningSocket> ListeningSocket::Adopt(FileDescriptor socket) {
  sockaddr_un address{};
  socklen_t length = sizeof(address);
  int type = 0, listens = 0;
  socklen_t number = sizeof(int);
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
      address.sun_family != AF_UNIX || address.sun_path[0] != '/' ||
      getsockopt(socket.get(), SOL_SOCKET, SO_TYPE, &type, &number) != 0 || type != SOCK_STREAM ||
      getsockopt(socket.get(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &number) != 0 || listens == 0) {
    return absl::InvalidArgumentError(
        "what the service manager hands over is no Unix stream socket with a path that listens");
  }
  if (fcntl(socket.get(), F_SETFL, O_NONBLOCK) != 0 ||
      fcntl(socket.get(), F_SETFD, FD_CLOEXEC) != 0) {
    return absl::ErrnoToStatus(errno, "fcntl");
  }
  ListeningSocket listening;
  listening.path_ =
      std::string(address.sun_path, strnlen(address.sun_path, sizeof(address.sun_path)));
  // Whether a daemon listens there cannot be found out by connecting: it would be to ourselves.
  absl::StatusOr<DaemonLock> lock = DaemonLock::Take(listening.path_);
  if (absl::IsAlreadyExists(lock.status())) return RunsAlready(listening.path_);
  if (!lock.ok()) return lock.status();
  listening.lock_ = *std::move(lock);
  listening.socket_ = std::move(socket);
  listening.is_anothers_ = true;
  if (absl::Status noted = listening.NotePlace(); !noted.ok()) return noted;
  return listening;
}

absl::Status ListeningSocket::NotePlace() {
  struct stat file;
  if (lstat(path_.c_str(), &file) != 0) return absl::ErrnoToStatus(errno, path_);
  device_ = file.st_dev;
  inode_ = file.st_ino;
  return absl::OkStatus();
}

absl::Status ListeningSocket::Bind() {
  const absl::StatusOr<sockaddr_un> address = Address(path_);
  if (!address.ok()) return address.status();
  FileDescriptor made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.is_open()) return absl::ErrnoToStatus(errno, "socket");
  const mode_t mask = umask(0177);
  const int bound =
      bind(made.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address));
  const int bind_errno = errno;
  umask(mask);
  if (bound != 0) return absl::ErrnoToStatus(bind_errno, absl::StrCat("cannot bind ", path_));
  if (absl::Status noted = NotePlace(); !noted.ok()) return noted;
  if (listen(made.get(), kBacklog) != 0) return absl::ErrnoToStatus(errno, "listen");
  socket_ = std::move(made);
  is_anothers_ = false;
  return absl::OkStatus();
}

bool ListeningSocket::IsSocketInPlace() const {
  struct stat found;
  return lstat(path_.c_str(), &found) == 0 && found.st_dev == device_ && found.st_ino == inode_;
}

bool ListeningSocket::IsInPlace() const { return IsSocketInPlace() && lock_.IsInPlace(); }

absl::StatusOr<bool> ListeningSocket::Restore() {
  if (absl::Status made = MakeFolder(Folder(path_)); !made.ok()) return made;
  const absl::StatusOr<sockaddr_un> address = Address(path_);
  if (!address.ok()) return address.status();
  const bool socket_in_place = IsSocketInPlace();
  if (!lock_.IsInPlace()) {
    absl::StatusOr<DaemonLock> lock = DaemonLock::Take(path_);
    if (lock.ok()) {
      lock_ = *std::move(lock);
      // Before anybody can connect: who is served finds out by whom.
      if (absl::Status written = lock_.WritePid(getpid()); !written.ok()) return written;
    } else if (!absl::IsAlreadyExists(lock.status())) {
      return lock.status();
    } else if (socket_in_place) {
      // Somebody who is about to find that we listen.
      return false;
    } else {
      // Somebody who has come instead of us, or only looks who holds it.
      return Listens(*address) ? RunsAlready(path_) : absl::UnavailableError(path_ + " is taken");
    }
  }
  if (socket_in_place) return false;
  if (absl::Status removed = RemoveStale(path_, *address, absl::ZeroDuration()); !removed.ok()) {
    return removed;
  }
  if (absl::Status bound = Bind(); !bound.ok()) return bound;
  return true;
}

void ListeningSocket::Close() {
  socket_.Close();
  if (!is_anothers_ && IsSocketInPlace()) unlink(path_.c_str());
}

}  // namespace tp
