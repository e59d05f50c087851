#include "collector/link/descriptions.h"

#include <protozero/pbf_writer.hpp>

namespace tp::collect {
namespace {

// Of an entry beside its texts: its nodes in both maps.
constexpr size_t kEntryBytes = 256;
constexpr size_t kMessageBytes = 64 << 10;

std::string_view Cut(std::string_view text) {
  if (text.size() <= kLongestDescribedName) return text;
  size_t length = kLongestDescribedName;
  while (length > 0 && (text[length] & 0xc0) == 0x80) --length;
  return text.substr(0, length);
}

// Zeros are left out, as proto3 has it.
void AddNumber(protozero::pbf_writer& writer, uint32_t field, uint64_t number) {
  if (number != 0) writer.add_uint64(field, number);
}
void AddText(protozero::pbf_writer& writer, uint32_t field, std::string_view text) {
  if (!text.empty()) writer.add_bytes(field, text.data(), text.size());
}

}  // namespace

void Descriptions::SetDevice(const Device& device) {
  std::string properties;
  protozero::pbf_writer writer(properties);
  AddText(writer, 3, Cut(device.name));
  AddText(writer, 4, device.uuid);
  AddNumber(writer, 5, device.compute_major);
  AddNumber(writer, 6, device.compute_minor);
  AddNumber(writer, 7, device.memory_bytes);
  AddNumber(writer, 8, device.memory_kilobytes_per_second);
  AddNumber(writer, 9, device.multiprocessors);
  AddNumber(writer, 10, device.core_clock_khz);
  AddNumber(writer, 11, device.l2_cache_bytes);
  AddNumber(writer, 12, device.threads_per_warp);
  AddNumber(writer, 13, device.threads_per_block);
  AddNumber(writer, 14, device.threads_per_multiprocessor);
  AddNumber(writer, 15, device.registers_per_block);
  AddNumber(writer, 16, device.registers_per_multiprocessor);
  AddNumber(writer, 17, device.shared_bytes_per_block);
  AddNumber(writer, 18, device.shared_bytes_per_multiprocessor);
  Set({Kind::kDevice, device.id, 0}, &Entry::properties, properties);
  has_devices_ = true;
}

void Descriptions::SetContext(const Context& context) {
  std::string properties;
  protozero::pbf_writer writer(properties);
  AddNumber(writer, 3, uint64_t{context.device} + 1);
  AddNumber(writer, 4, context.api_kind);
  AddNumber(writer, 5, uint64_t{context.null_stream} + 1);
  Set({Kind::kContext, context.id, 0}, &Entry::properties, properties);
}

void Descriptions::SetStream(const Stream& stream) {
  std::string properties;
  protozero::pbf_writer writer(properties);
  AddNumber(writer, 4, stream.flag);
  if (stream.priority != 0) writer.add_sint32(5, stream.priority);
  Set({Kind::kStream, stream.context, stream.id}, &Entry::properties, properties);
}

void Descriptions::SetThreadName(uint32_t thread_id, std::string_view name) {
  std::string properties;
  protozero::pbf_writer writer(properties);
  AddText(writer, 3, Cut(name));
  Set({Kind::kThread, thread_id, 0}, &Entry::properties, properties);
}

void Descriptions::GiveDeviceName(uint32_t device, std::string_view name) {
  Set({Kind::kDevice, device, 0}, &Entry::given_name, Cut(name));
}
void Descriptions::GiveContextName(uint32_t context, std::string_view name) {
  Set({Kind::kContext, context, 0}, &Entry::given_name, Cut(name));
}
void Descriptions::GiveStreamName(uint32_t context, uint32_t stream, std::string_view name) {
  Set({Kind::kStream, context, stream}, &Entry::given_name, Cut(name));
}
void Descriptions::GiveThreadName(uint32_t thread_id, std::string_view name) {
  Set({Kind::kThread, thread_id, 0}, &Entry::given_name, Cut(name));
}

void Descriptions::Set(const Key& key, std::string Entry::*member, std::string_view text) {
  const auto found = entries_.find(key);
  const std::string_view before =
      found == entries_.end() ? std::string_view() : found->second.*member;
  if (found != entries_.end() && before == text) return;
  const size_t more = text.size() + (found == entries_.end() ? kEntryBytes : 0);
  if (bytes_ + more > limit_bytes_ + before.size()) {
    ++left_out_;
    return;
  }
  bytes_ = bytes_ + more - before.size();
  Entry& entry = entries_[key];
  entry.*member = text;
  changes_.erase(entry.revision);
  entry.revision = ++revision_;
  changes_.emplace(entry.revision, key);
}

std::string Descriptions::EncodeAfter(uint64_t revision, uint64_t* until) const {
  std::string message;
  protozero::pbf_writer writer(message);
  *until = revision;
  for (auto change = changes_.upper_bound(revision);
       change != changes_.end() && message.size() < kMessageBytes; ++change) {
    const auto& [kind, first, second] = change->second;
    const Entry& entry = entries_.at(change->second);
    std::string description;
    protozero::pbf_writer fields(description);
    fields.add_uint32(1, kind == Kind::kStream ? second : first);
    AddText(fields, 2, entry.given_name);
    if (kind == Kind::kStream) fields.add_uint32(3, first);
    description += entry.properties;
    writer.add_message(static_cast<uint32_t>(kind), description);
    *until = change->first;
  }
  return message;
}

}  // namespace tp::collect
