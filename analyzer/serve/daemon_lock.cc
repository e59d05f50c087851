#include "analyzer/serve/daemon_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tp {
namespace {

bool IsSameFile(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

bool IsFileAt(int fd, const std::string& path) {
  struct stat held, found;
  return fstat(fd, &held) == 0 && lstat(path.c_str(), &found) == 0 && IsSameFile(held, found);
}

bool HasOpen(pid_t pid, const struct stat& file) {
  std::error_code failed;
  std::filesystem::directory_iterator descriptor(absl::StrCat("/proc/", pid, "/fd"), failed);
  for (; !failed && descriptor != std::filesystem::directory_iterator();
       descriptor.increment(failed)) {
    struct stat open_file;
    if (stat(descriptor->path().c_str(), &open_file) == 0 && IsSameFile(open_file, file)) {
      return true;
    }
  }
  return false;
}

}  // namespace

absl::StatusOr<DaemonLock> DaemonLock::Take(const std::string& socket_path) {
  DaemonLock lock;
  lock.path_ = socket_path + ".lock";
  while (true) {
    lock.file_ =
        FileDescriptor(open(lock.path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock.file_.is_open()) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", lock.path_));
    }
    if (flock(lock.file_.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return absl::AlreadyExistsError(lock.path_ + " is locked");
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot lock ", lock.path_));
    }
    // Removed in between: the lock of a file that nobody else finds is none.
    if (lock.IsInPlace()) break;
  }
  // The pid of the one before.
  if (ftruncate(lock.file_.get(), 0) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", lock.path_));
  }
  return lock;
}

absl::Status DaemonLock::WritePid(pid_t pid) const {
  const std::string text = absl::StrCat(pid, "\n");
  if (ftruncate(file_.get(), 0) != 0 ||
      pwrite(file_.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path_));
  }
  return absl::OkStatus();
}

bool DaemonLock::IsInPlace() const { return IsFileAt(file_.get(), path_); }

absl::StatusOr<pid_t> LockHolder(const std::string& socket_path) {
  const std::string path = socket_path + ".lock";
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.is_open() || flock(file.get(), LOCK_SH | LOCK_NB) == 0) {
    return absl::NotFoundError(absl::StrCat("no daemon holds ", path));
  }
  char text[32] = {};
  struct stat held;
  // What another user wrote there must not make us end a process.
  if (pread(file.get(), text, sizeof(text) - 1, 0) > 0 && fstat(file.get(), &held) == 0 &&
      held.st_uid == geteuid()) {
    // A number of another pid namespace, or of a process that ended, must hit nobody.
    const auto pid = static_cast<pid_t>(atol(text));
    if (pid > 1 && pid != getpid() && HasOpen(pid, held)) return pid;
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "somebody holds ", path, ", who cannot be seen from here: `lsof ", path, "` tells more"));
}

}  // namespace tp
