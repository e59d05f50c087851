#include "analyzer/serve/listening_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tp {
namespace {

constexpr int kBacklog = 128;

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

absl::StatusOr<FileDescriptor> Lock(const std::string& socket_path) {
  const std::string path = socket_path + ".lock";
  FileDescriptor lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.is_open()) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return absl::ErrnoToStatus(errno, absl::StrCat("cannot lock ", path));
    return absl::AlreadyExistsError("a daemon is running already at " + socket_path);
  }
  return lock;
}

// Makes way for a new socket.
absl::Status RemoveStale(const std::string& path, const sockaddr_un& address) {
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
  FileDescriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.is_open()) return absl::ErrnoToStatus(errno, "socket");
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ||
      errno != ECONNREFUSED) {
    return absl::AlreadyExistsError("a daemon is running already at " + path);
  }
  if (unlink(path.c_str()) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot remove the unused ", path));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ListeningSocket> ListeningSocket::Open(const std::string& path) {
  absl::StatusOr<sockaddr_un> address = Address(path);
  if (!address.ok()) return address.status();
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash + 1 == path.size()) {
    return absl::InvalidArgumentError("not the path of a socket: " + path);
  }
  if (absl::Status made = MakeFolder(slash == 0 ? "/" : path.substr(0, slash)); !made.ok()) {
    return made;
  }

  ListeningSocket listening;
  listening.path_ = path;
  absl::StatusOr<FileDescriptor> lock = Lock(path);
  if (!lock.ok()) return lock.status();
  listening.lock_ = *std::move(lock);
  if (absl::Status removed = RemoveStale(path, *address); !removed.ok()) return removed;

  listening.socket_ =
      FileDescriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listening.socket_.is_open()) return absl::ErrnoToStatus(errno, "socket");
  const mode_t mask = umask(0177);
  const int bound =
      bind(listening.fd(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address));
  const int bind_errno = errno;
  umask(mask);
  if (bound != 0) return absl::ErrnoToStatus(bind_errno, absl::StrCat("cannot bind ", path));
  struct stat made;
  if (lstat(path.c_str(), &made) != 0) return absl::ErrnoToStatus(errno, path);
  listening.device_ = made.st_dev;
  listening.inode_ = made.st_ino;
  if (listen(listening.fd(), kBacklog) != 0) return absl::ErrnoToStatus(errno, "listen");
  return listening;
}

void ListeningSocket::Close() {
  socket_.Close();
  struct stat found;
  if (lstat(path_.c_str(), &found) == 0 && found.st_dev == device_ && found.st_ino == inode_) {
    unlink(path_.c_str());
  }
}

}  // namespace tp
