#include "analyzer/model/descriptions.h"

#include <string_view>
#include <tuple>

namespace tp {
namespace {

constexpr size_t kNodeBytes = 64;
constexpr size_t kUuidBytes = 16;

template <typename Things>
size_t BytesOf(const Things& things) {
  return things.size() * (sizeof(typename Things::value_type) + kNodeBytes);
}

}  // namespace

std::string Descriptions::StreamName(int64_t context, int64_t stream) const {
  const auto found = streams.find({context, stream});
  if (found != streams.end()) {
    if (!found->second.given_name.empty()) return found->second.given_name;
    if (found->second.kind == StreamKind::kNull) return "default";
  }
  const auto around = contexts.find(context);
  return around != contexts.end() && around->second.null_stream == stream ? "default" : "";
}

std::string Descriptions::DeviceName(int64_t device) const {
  const auto found = devices.find(device);
  if (found == devices.end()) return {};
  const auto& [name, given_name] = std::tie(found->second.name, found->second.given_name);
  if (given_name.empty()) return name;
  return name.empty() ? given_name : given_name + ", " + name;
}

std::string Descriptions::UuidText(const std::string& uuid) {
  if (uuid.size() != kUuidBytes) return {};
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "GPU-";
  for (size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    const auto byte = static_cast<unsigned char>(uuid[i]);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

size_t Descriptions::memory_bytes() const {
  return BytesOf(devices) + BytesOf(contexts) + BytesOf(streams) + BytesOf(threads);
}

}  // namespace tp
