#include "analyzer/export/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tp {
namespace {

constexpr size_t kBufferBytes = 256 << 10;
constexpr int kGzipWindow = 15 + 16;  // The largest, with gzip's header.
constexpr int kUsualMemory = 8;
constexpr int kMostTemporaries = 100;

absl::Status CannotWrite(const std::string& name, int error) {
  return absl::InternalError(absl::StrCat("cannot write ", name, ": ", strerror(error)));
}

// Where links lead that end at a file which is not there yet.
std::string EndOfLinks(std::string path) {
  constexpr int kMostLinks = 40;
  char target[PATH_MAX];
  for (int i = 0; i < kMostLinks; ++i) {
    const ssize_t length = readlink(path.c_str(), target, sizeof(target));
    if (length <= 0 || length == sizeof(target)) break;
    const std::string folder = target[0] == '/' ? "" : path.substr(0, path.rfind('/') + 1);
    path = folder + std::string(target, static_cast<size_t>(length));
  }
  return path;
}

}  // namespace

struct OutputFile::Compressor {
  z_stream stream{};
  std::string packed = std::string(kBufferBytes, '\0');

  ~Compressor() { deflateEnd(&stream); }
};

absl::StatusOr<std::unique_ptr<OutputFile>> OutputFile::Create(const std::string& path,
                                                               std::function<bool()> cancelled) {
  std::unique_ptr<OutputFile> file(new OutputFile(path == "-" ? "standard output" : path));
  file->cancelled_ = std::move(cancelled);
  if (absl::Status status = file->Open(path); !status.ok()) return status;
  return file;
}

absl::Status OutputFile::Check(const std::string& path) {
  if (path == "-") return absl::OkStatus();
  struct stat existing;
  const bool exists = stat(path.c_str(), &existing) == 0;
  if (exists && S_ISDIR(existing.st_mode)) return CannotWrite(path, EISDIR);
  if (exists && access(path.c_str(), W_OK) != 0) return CannotWrite(path, errno);
  if (exists) return absl::OkStatus();
  const std::string end = EndOfLinks(path);
  const size_t slash = end.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : end.substr(0, slash + 1);
  if (access(folder.c_str(), W_OK | X_OK) != 0) return CannotWrite(path, errno);
  return absl::OkStatus();
}

OutputFile::OutputFile(std::string name) : name_(std::move(name)) { buffer_.reserve(kBufferBytes); }

absl::Status OutputFile::Open(const std::string& path) {
  if (path == "-") {
    descriptor_ = STDOUT_FILENO;
    return absl::OkStatus();
  }
  if (absl::Status status = Check(path); !status.ok()) return status;
  struct stat existing;
  const bool exists = stat(path.c_str(), &existing) == 0;
  if (exists && !S_ISREG(existing.st_mode)) {
    descriptor_ = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) return CannotWrite(name_, errno);
    owns_descriptor_ = true;
  } else {
    path_ = exists ? path : EndOfLinks(path);
    if (char real[PATH_MAX]; exists && realpath(path.c_str(), real) != nullptr) path_ = real;
    for (int i = 0; descriptor_ < 0; ++i) {
      temporary_ = absl::StrCat(path_, ".partial-", getpid(), "-", i);
      descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (descriptor_ >= 0 || (errno == EEXIST && i < kMostTemporaries)) continue;
      temporary_.clear();
      return CannotWrite(name_, errno);
    }
    owns_descriptor_ = true;
    if (exists && fchmod(descriptor_, existing.st_mode & 07777) != 0) {
      return CannotWrite(name_, errno);
    }
  }
  if (absl::EndsWith(path, ".gz")) {
    compressor_ = std::make_unique<Compressor>();
    if (deflateInit2(&compressor_->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow,
                     kUsualMemory, Z_DEFAULT_STRATEGY) != Z_OK) {
      return CannotWrite(name_, ENOMEM);
    }
  }
  return absl::OkStatus();
}

OutputFile::~OutputFile() {
  if (owns_descriptor_) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void OutputFile::Fail(int error) { status_ = CannotWrite(name_, error); }

void OutputFile::Append(std::string_view text) {
  if (buffer_.size() + text.size() > kBufferBytes) Flush(/*last=*/false);
  if (text.size() <= kBufferBytes) {
    buffer_ += text;
    return;
  }
  for (; !text.empty() && ok(); text.remove_prefix(std::min(text.size(), kBufferBytes))) {
    buffer_ = text.substr(0, kBufferBytes);
    Flush(/*last=*/false);
  }
}

bool OutputFile::ok() {
  if (status_.ok() && cancelled_ && cancelled_()) {
    status_ = absl::CancelledError(absl::StrCat("cancelled; ", name_, " is not written"));
  }
  return status_.ok();
}

void OutputFile::Flush(bool last) {
  if (!ok()) {
    buffer_.clear();
    return;
  }
  if (compressor_ == nullptr) {
    WriteAll(buffer_);
    buffer_.clear();
    return;
  }
  z_stream& stream = compressor_->stream;
  stream.next_in = reinterpret_cast<Bytef*>(buffer_.data());
  stream.avail_in = static_cast<uInt>(buffer_.size());
  do {
    stream.next_out = reinterpret_cast<Bytef*>(compressor_->packed.data());
    stream.avail_out = static_cast<uInt>(compressor_->packed.size());
    deflate(&stream, last ? Z_FINISH : Z_NO_FLUSH);
    WriteAll({compressor_->packed.data(), compressor_->packed.size() - stream.avail_out});
  } while (ok() && stream.avail_out == 0);
  buffer_.clear();
}

void OutputFile::WriteAll(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) {
      if (!ok()) return;
      continue;
    }
    if (written < 0) return Fail(errno);
    bytes.remove_prefix(written);
  }
}

absl::Status OutputFile::Finish() {
  Flush(/*last=*/true);
  // A disk that is full or gone may be told only here.
  if (owns_descriptor_ && close(descriptor_) != 0 && ok()) Fail(errno);
  owns_descriptor_ = false;
  if (!ok() || temporary_.empty()) return status_;
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    Fail(errno);
    return status_;
  }
  temporary_.clear();
  return status_;
}

}  // namespace tp
