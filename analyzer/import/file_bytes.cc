#include "analyzer/import/file_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tp {
namespace {

constexpr unsigned kBufferBytes = 256 << 10;
constexpr size_t kMostAtOnce = 1 << 30;

}  // namespace

void FileBytes::Close::operator()(void* file) const { gzclose_r(static_cast<gzFile>(file)); }

absl::StatusOr<FileBytes> FileBytes::Open(const std::string& path) {
  // Not blocking: a pipe that nobody writes to must not hang.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    return absl::InvalidArgumentError(absl::StrCat("cannot open ", path, ": ", strerror(errno)));
  }
  struct stat about;
  if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) {
    close(fd);
    return absl::InvalidArgumentError(absl::StrCat(
        path, S_ISDIR(about.st_mode) ? " is a folder" : " is no file (a pipe, or a device)"));
  }
  const gzFile file = gzdopen(fd, "rb");
  if (file == nullptr) {
    close(fd);
    return absl::ResourceExhaustedError(absl::StrCat("no memory to read ", path));
  }
  gzbuffer(file, kBufferBytes);
  return FileBytes(file, about.st_size);
}

double FileBytes::PartRead() const {
  const auto read = static_cast<double>(gzoffset(static_cast<gzFile>(file_.get())));
  return bytes_ <= 0 ? 1 : std::clamp(read / static_cast<double>(bytes_), 0.0, 1.0);
}

size_t FileBytes::Read(char* bytes, size_t size) {
  const gzFile file = static_cast<gzFile>(file_.get());
  size_t filled = 0;
  while (filled < size && damage_.empty()) {
    const auto wanted = static_cast<unsigned>(std::min(size - filled, kMostAtOnce));
    const int got = gzread(file, bytes + filled, wanted);
    if (got > 0) filled += static_cast<size_t>(got);
    if (got == static_cast<int>(wanted)) continue;
    int error = Z_OK;
    const char* message = gzerror(file, &error);
    if (error == Z_BUF_ERROR) {
      damage_ = "the gzipped data end in the middle";
    } else if (error != Z_OK) {
      damage_ = absl::StrCat("the file cannot be read further: ", message);
    }
    break;
  }
  return filled;
}

}  // namespace tp
