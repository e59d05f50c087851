#include "analyzer/capture/capture_writer.h"

#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/capture/capture_format.h"

namespace tp {
namespace {

// Larger blocks compress little better, and a crash takes more along.
constexpr size_t kBlockBytes = size_t{1} << 20;
constexpr int kCompressionLevel = 3;

absl::Status CannotWrite(const std::string& name, std::string_view why) {
  return absl::InternalError(
      absl::StrCat("cannot write ", name, ": ", absl::string_view(why.data(), why.size())));
}

}  // namespace

struct CaptureWriter::Compressor {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  std::string packed;

  Compressor() {
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, kCompressionLevel);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  }
  ~Compressor() { ZSTD_freeCCtx(context); }
};

absl::StatusOr<std::unique_ptr<CaptureWriter>> CaptureWriter::Create(const std::string& path) {
  const bool is_stdout = path == "-";
  const std::string name = is_stdout ? "standard output" : path;
  const int descriptor = is_stdout
                             ? STDOUT_FILENO
                             : open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) return CannotWrite(name, strerror(errno));
  std::unique_ptr<CaptureWriter> writer(new CaptureWriter(name, descriptor, !is_stdout));
  std::string header(kCaptureBeginning);
  header.push_back(static_cast<char>(kCaptureVersion & 0xFF));
  header.push_back(static_cast<char>(kCaptureVersion >> 8));
  if (absl::Status status = writer->Write(header); !status.ok()) return status;
  return writer;
}

CaptureWriter::CaptureWriter(std::string name, int descriptor, bool owns_descriptor)
    : name_(std::move(name)),
      descriptor_(descriptor),
      owns_descriptor_(owns_descriptor),
      compressor_(std::make_unique<Compressor>()) {}

CaptureWriter::~CaptureWriter() {
  if (owns_descriptor_) close(descriptor_);
}

absl::Status CaptureWriter::Append(std::string_view entries) {
  if (!status_.ok()) return status_;
  if (entries.size() > kMostBlockBytes) {
    return status_ = CannotWrite(name_, absl::StrCat("an entry of ", entries.size(), " bytes"));
  }
  if (waiting_.size() + entries.size() > kBlockBytes && !waiting_.empty()) {
    if (absl::Status status = Flush(); !status.ok()) return status;
  }
  waiting_.append(entries);
  bytes_taken_ += entries.size();
  return waiting_.size() >= kBlockBytes ? Flush() : absl::OkStatus();
}

absl::Status CaptureWriter::Flush() {
  if (!status_.ok() || waiting_.empty()) return status_;
  std::string& packed = compressor_->packed;
  packed.resize(ZSTD_compressBound(waiting_.size()));
  const size_t bytes = ZSTD_compress2(compressor_->context, packed.data(), packed.size(),
                                      waiting_.data(), waiting_.size());
  if (ZSTD_isError(bytes)) return status_ = CannotWrite(name_, ZSTD_getErrorName(bytes));
  waiting_.clear();
  return Write({packed.data(), bytes});
}

absl::Status CaptureWriter::Finish() {
  absl::Status status = Flush();
  // A disk that is full or gone may be told only here.
  if (owns_descriptor_ && close(descriptor_) != 0 && status.ok()) {
    status = CannotWrite(name_, strerror(errno));
  }
  owns_descriptor_ = false;
  return status_ = status;
}

absl::Status CaptureWriter::Write(std::string_view bytes) {
  const uint64_t whole_blocks = bytes_written_;
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      status_ = CannotWrite(name_, strerror(errno));
      // Half a block would be told as damage; of a pipe it cannot be taken back.
      if (owns_descriptor_ && ftruncate(descriptor_, static_cast<off_t>(whole_blocks)) == 0) {
        bytes_written_ = whole_blocks;
      }
      return status_;
    }
    bytes_written_ += static_cast<uint64_t>(written);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

}  // namespace tp
