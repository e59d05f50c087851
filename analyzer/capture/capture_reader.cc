#include "analyzer/capture/capture_reader.h"

#include <zstd.h>

#include <array>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analyzer/capture/capture_format.h"
#include "google/protobuf/io/coded_stream.h"

namespace tp {
namespace {

constexpr size_t kReadBytes = size_t{256} << 10;
// Of a frame (RFC 8878): the longest header, and where it says whether there is a check.
constexpr size_t kFrameHeaderBytes = 18;
constexpr size_t kDescriptor = 4;
constexpr int kHasChecksum = 4;
constexpr std::string_view kCutOff = "cut off in the middle of a block";
constexpr std::string_view kDamaged = "damaged";

// How many bytes a block unpacks to; none if no writer of ours can have written that.
std::optional<size_t> BlockBytes(std::string_view header) {
  if (header.size() <= kDescriptor || (header[kDescriptor] & kHasChecksum) == 0) {
    return std::nullopt;
  }
  uint32_t magic = 0;
  std::memcpy(&magic, header.data(), sizeof(magic));
  if (magic != ZSTD_MAGICNUMBER) return std::nullopt;
  // What is unknown, and what is wrong, are the largest numbers.
  const unsigned long long bytes = ZSTD_getFrameContentSize(header.data(), header.size());
  if (bytes > kMostBlockBytes) return std::nullopt;
  return static_cast<size_t>(bytes);
}

}  // namespace

struct CaptureReader::Decompressor {
  ZSTD_DCtx* context = ZSTD_createDCtx();
  ~Decompressor() { ZSTD_freeDCtx(context); }
};

CaptureReader::CaptureReader(FileBytes bytes)
    : bytes_(std::move(bytes)), decompressor_(std::make_unique<Decompressor>()) {}

CaptureReader::~CaptureReader() = default;

absl::StatusOr<std::unique_ptr<CaptureReader>> CaptureReader::Open(const std::string& path) {
  absl::StatusOr<FileBytes> bytes = FileBytes::Open(path);
  if (!bytes.ok()) return bytes.status();
  std::array<char, kCaptureHeaderBytes> header;
  const size_t size = bytes->Read(header.data(), header.size());
  if (!BeginsLikeCapture({header.data(), size})) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is no capture"));
  }
  if (size < header.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is a capture that is cut off in its first bytes: nothing is in it"));
  }
  const unsigned version = static_cast<unsigned char>(header[14]) |
                           static_cast<unsigned>(static_cast<unsigned char>(header[15])) << 8;
  if (version == 0 || version > kCaptureVersion) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is a capture of version ", version,
                                                   ": this tpctl reads up to version ",
                                                   kCaptureVersion, ", a newer one is needed"));
  }
  return std::unique_ptr<CaptureReader>(new CaptureReader(*std::move(bytes)));
}

size_t CaptureReader::Ensure(size_t bytes) {
  if (packed_.size() - packed_begin_ < bytes) {
    packed_.erase(0, packed_begin_);
    packed_begin_ = 0;
    const size_t held = packed_.size();
    packed_.resize(kReadBytes);
    packed_.resize(held + bytes_.Read(packed_.data() + held, packed_.size() - held));
  }
  return packed_.size() - packed_begin_;
}

bool CaptureReader::EndHere(std::string_view what) {
  uint64_t left_out = in_block_;
  while (const size_t bytes = Ensure(1)) {
    left_out += bytes;
    packed_begin_ = packed_.size();
  }
  damage_ = absl::StrCat("the capture is ", absl::string_view(what.data(), what.size()), ": ",
                         left_out, " bytes, from byte ", place_, " on, were left out");
  block_.clear();
  block_begin_ = 0;
  return false;
}

bool CaptureReader::NextBlock() {
  if (!damage_.empty()) return false;
  place_ += std::exchange(in_block_, 0);
  block_.clear();
  block_begin_ = 0;
  const size_t held = Ensure(kFrameHeaderBytes);
  if (held == 0) {
    damage_ = bytes_.damage();
    return false;
  }
  const std::optional<size_t> bytes = BlockBytes({packed_.data() + packed_begin_, held});
  if (!bytes.has_value()) {
    return EndHere(held < kFrameHeaderBytes ? kCutOff : kDamaged);
  }
  block_.resize(*bytes);
  ZSTD_DCtx* context = decompressor_->context;
  ZSTD_DCtx_reset(context, ZSTD_reset_session_only);
  ZSTD_outBuffer out = {block_.data(), block_.size(), 0};
  size_t left = 0;
  do {
    if (Ensure(1) == 0) return EndHere(kCutOff);
    ZSTD_inBuffer in = {packed_.data(), packed_.size(), packed_begin_};
    const size_t unpacked = out.pos;
    left = ZSTD_decompressStream(context, &out, &in);
    const size_t taken = in.pos - packed_begin_;
    packed_begin_ = in.pos;
    in_block_ += taken;
    const bool goes_on = taken > 0 || out.pos > unpacked;
    if (ZSTD_isError(left) || !goes_on) return EndHere(kDamaged);
  } while (left != 0);
  return out.pos == block_.size() || EndHere(kDamaged);
}

bool CaptureReader::Next(capture::Entry* entry) {
  while (block_begin_ == block_.size()) {
    if (!NextBlock()) return false;
  }
  google::protobuf::io::CodedInputStream in(
      reinterpret_cast<const uint8_t*>(block_.data()) + block_begin_,
      static_cast<int>(block_.size() - block_begin_));
  uint32_t length = 0;
  if (!in.ReadVarint32(&length) ||
      length > block_.size() - block_begin_ - static_cast<size_t>(in.CurrentPosition()) ||
      !entry->ParseFromArray(block_.data() + block_begin_ + in.CurrentPosition(),
                             static_cast<int>(length))) {
    return EndHere(kDamaged);
  }
  block_begin_ += static_cast<size_t>(in.CurrentPosition()) + length;
  return true;
}

}  // namespace tp
