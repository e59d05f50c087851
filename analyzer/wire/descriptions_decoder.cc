#include "analyzer/wire/descriptions_decoder.h"

#include <cstddef>
#include <string>

namespace tp {
namespace {

// Collectors keep fewer, and shorter names.
constexpr size_t kMostThings = 8192;
constexpr size_t kLongestName = 256;

std::string Cut(const std::string& text) { return text.substr(0, kLongestName); }

// The place of a thing, or nullptr if there is no more room.
template <typename Things>
typename Things::mapped_type* Place(const typename Things::key_type& key, Things* things) {
  const auto found = things->find(key);
  if (found != things->end()) return &found->second;
  return things->size() < kMostThings ? &(*things)[key] : nullptr;
}

void Decode(const wire::DeviceDescription& from, DeviceDescription* device) {
  *device = {.name = Cut(from.name()),
             .given_name = Cut(from.given_name()),
             .uuid = Cut(from.uuid()),
             .compute_major = from.compute_major(),
             .compute_minor = from.compute_minor(),
             .memory_bytes = from.memory_bytes(),
             .memory_kilobytes_per_second = from.memory_kilobytes_per_second(),
             .multiprocessors = from.multiprocessors(),
             .core_clock_khz = from.core_clock_khz(),
             .l2_cache_bytes = from.l2_cache_bytes(),
             .threads_per_warp = from.threads_per_warp(),
             .threads_per_block = from.threads_per_block(),
             .threads_per_multiprocessor = from.threads_per_multiprocessor(),
             .registers_per_block = from.registers_per_block(),
             .registers_per_multiprocessor = from.registers_per_multiprocessor(),
             .shared_bytes_per_block = from.shared_bytes_per_block(),
             .shared_bytes_per_multiprocessor = from.shared_bytes_per_multiprocessor()};
}

void Decode(const wire::ContextDescription& from, ContextDescription* context) {
  *context = {.given_name = Cut(from.given_name()),
              .device = int64_t{from.device_plus_one()} - 1,
              .null_stream = int64_t{from.null_stream_plus_one()} - 1};
}

void Decode(const wire::StreamDescription& from, StreamDescription* stream) {
  const bool is_known = from.flag() <= static_cast<uint32_t>(StreamKind::kNull);
  *stream = {.given_name = Cut(from.given_name()),
             .kind = is_known ? static_cast<StreamKind>(from.flag()) : StreamKind::kUnknown,
             .priority = from.priority()};
}

void Decode(const wire::ThreadDescription& from, ThreadDescription* thread) {
  *thread = {.given_name = Cut(from.given_name()), .name = Cut(from.name())};
}

}  // namespace

uint64_t DecodeDescriptions(const wire::Descriptions& message, Descriptions* descriptions) {
  uint64_t left_out = 0;
  const auto decode_all = [&](const auto& from, auto key_of, auto* things) {
    for (const auto& description : from) {
      auto* place = Place(key_of(description), things);
      if (place == nullptr) {
        ++left_out;
      } else {
        Decode(description, place);
      }
    }
  };
  decode_all(
      message.devices(), [](const auto& device) { return int64_t{device.device()}; },
      &descriptions->devices);
  decode_all(
      message.contexts(), [](const auto& context) { return int64_t{context.context()}; },
      &descriptions->contexts);
  decode_all(
      message.streams(),
      [](const auto& stream) {
        return std::pair<int64_t, int64_t>(stream.context(), stream.stream());
      },
      &descriptions->streams);
  decode_all(
      message.threads(), [](const auto& thread) { return int64_t{thread.thread_id()}; },
      &descriptions->threads);
  return left_out;
}

void EncodeDescriptions(const Descriptions& descriptions, wire::Descriptions* message) {
  for (const auto& [number, from] : descriptions.devices) {
    wire::DeviceDescription* device = message->add_devices();
    device->set_device(static_cast<uint32_t>(number));
    device->set_given_name(from.given_name);
    device->set_name(from.name);
    device->set_uuid(from.uuid);
    device->set_compute_major(from.compute_major);
    device->set_compute_minor(from.compute_minor);
    device->set_memory_bytes(from.memory_bytes);
    device->set_memory_kilobytes_per_second(from.memory_kilobytes_per_second);
    device->set_multiprocessors(from.multiprocessors);
    device->set_core_clock_khz(from.core_clock_khz);
    device->set_l2_cache_bytes(from.l2_cache_bytes);
    device->set_threads_per_warp(from.threads_per_warp);
    device->set_threads_per_block(from.threads_per_block);
    device->set_threads_per_multiprocessor(from.threads_per_multiprocessor);
    device->set_registers_per_block(from.registers_per_block);
    device->set_registers_per_multiprocessor(from.registers_per_multiprocessor);
    device->set_shared_bytes_per_block(from.shared_bytes_per_block);
    device->set_shared_bytes_per_multiprocessor(from.shared_bytes_per_multiprocessor);
  }
  for (const auto& [number, from] : descriptions.contexts) {
    wire::ContextDescription* context = message->add_contexts();
    context->set_context(static_cast<uint32_t>(number));
    context->set_given_name(from.given_name);
    context->set_device_plus_one(static_cast<uint32_t>(from.device + 1));
    context->set_null_stream_plus_one(static_cast<uint32_t>(from.null_stream + 1));
  }
  for (const auto& [key, from] : descriptions.streams) {
    wire::StreamDescription* stream = message->add_streams();
    stream->set_context(static_cast<uint32_t>(key.first));
    stream->set_stream(static_cast<uint32_t>(key.second));
    stream->set_given_name(from.given_name);
    stream->set_flag(static_cast<uint32_t>(from.kind));
    stream->set_priority(from.priority);
  }
  for (const auto& [number, from] : descriptions.threads) {
    wire::ThreadDescription* thread = message->add_threads();
    thread->set_thread_id(static_cast<uint32_t>(number));
    thread->set_given_name(from.given_name);
    thread->set_name(from.name);
  }
}

}  // namespace tp
