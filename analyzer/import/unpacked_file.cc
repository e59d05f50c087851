#include "analyzer/import/unpacked_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analyzer/import/file_bytes.h"

namespace tp {
namespace {

constexpr size_t kBlockBytes = 1 << 20;

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

FileDescriptor NamelessFile(const std::string& folder) {
  std::string path = absl::StrCat(folder, "/tp-unpacked-XXXXXX");
  FileDescriptor file(mkostemp(path.data(), O_CLOEXEC));
  if (file.is_open()) unlink(path.c_str());
  return file;
}

}  // namespace

absl::StatusOr<UnpackedFile> OpenUnpacked(const std::string& path, size_t beginning_bytes,
                                          bool (*begins_right)(std::string_view),
                                          std::string_view what) {
  absl::StatusOr<FileBytes> packed = FileBytes::Open(path);
  if (!packed.ok()) return packed.status();
  std::vector<char> block(kBlockBytes);
  size_t size = packed->Read(block.data(), beginning_bytes);
  if (!begins_right({block.data(), size})) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is no ", absl::string_view(what.data(), what.size())));
  }

  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string beginning(beginning_bytes, '\0');
  const ssize_t got = pread(file.get(), beginning.data(), beginning.size(), 0);
  if (got >= 0 && begins_right({beginning.data(), static_cast<size_t>(got)})) {
    return UnpackedFile{std::move(file), ""};
  }

  const char* folder = getenv("TMPDIR");
  if (folder == nullptr || folder[0] == '\0') folder = "/tmp";
  file = NamelessFile(folder);
  bool done = file.is_open();
  while (done && size > 0) {
    done = WriteAll(file.get(), {block.data(), size});
    if (done) size = packed->Read(block.data(), block.size());
  }
  if (!done) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot unpack ", path, " into ", folder,
                                                   " (TMPDIR names another folder)"));
  }
  return UnpackedFile{std::move(file), packed->damage()};
}

}  // namespace tp
