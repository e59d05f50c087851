// How capture files lie on the disk (docs/capture_format.md): a header, and blocks. All of it is
// Zstandard's: the header is a skippable frame, each block a frame with its length and a check of
// its own, so that `zstd -d` unpacks a capture to its entries.
#ifndef ANALYZER_CAPTURE_CAPTURE_FORMAT_H_
#define ANALYZER_CAPTURE_CAPTURE_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tp {

inline constexpr uint32_t kCaptureVersion = 1;
inline constexpr size_t kCaptureHeaderBytes = 16;
// Of the header: what tells a capture from other files.
inline constexpr std::string_view kCaptureBeginning("\x5C\x2A\x4D\x18\x08\0\0\0tpcap\n", 14);
// Of a block, unpacked: entries are whole in it.
inline constexpr size_t kMostBlockBytes = size_t{8} << 20;

inline bool BeginsLikeCapture(std::string_view bytes) {
  return bytes.substr(0, kCaptureBeginning.size()) == kCaptureBeginning;
}

}  // namespace tp

#endif  // ANALYZER_CAPTURE_CAPTURE_FORMAT_H_
