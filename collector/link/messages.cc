#include "collector/link/messages.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <protozero/pbf_writer.hpp>
#include <string_view>

#include "proto/version.h"

namespace tp::collect {
namespace {

constexpr size_t kLongestCommand = 4096;

std::string ReadFile(const char* path, size_t most_bytes) {
  std::string content(most_bytes, '\0');
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  size_t length = 0;
  while (length < most_bytes) {
    ssize_t got = read(fd, content.data() + length, most_bytes - length);
    if (got <= 0) break;
    length += got;
  }
  close(fd);
  content.resize(length);
  return content;
}

std::string Command() {
  std::string command = ReadFile("/proc/self/cmdline", kLongestCommand);
  while (!command.empty() && command.back() == '\0') command.pop_back();
  std::replace(command.begin(), command.end(), '\0', ' ');
  return command;
}

std::string Executable() {
  char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  return length > 0 ? std::string(path, length) : std::string();
}

// Field 22 of /proc/self/stat. The command in field 2 may hold blanks and parentheses.
uint64_t StartTimeTicks() {
  std::string stat = ReadFile("/proc/self/stat", 4096);
  size_t position = stat.rfind(')');
  if (position == stat.npos) return 0;
  for (int field = 2; field < 22; ++field) {
    position = stat.find(' ', position + 1);
    if (position == stat.npos) return 0;
  }
  uint64_t ticks = 0;
  std::from_chars(stat.data() + position + 1, stat.data() + stat.size(), ticks);
  return ticks;
}

int32_t Rank() {
  for (const char* variable : {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    const char* text = getenv(variable);
    if (text == nullptr) continue;
    std::string_view view(text);
    int32_t rank = -1;
    auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), rank);
    if (error == std::errc() && end == view.data() + view.size() && rank >= 0) return rank;
  }
  return -1;
}

void AddClock(protozero::pbf_writer& writer, uint32_t field, const ClockReading& clock) {
  if (clock.bracket_ns == UINT32_MAX) return;
  protozero::pbf_writer message(writer, field);
  message.add_int64(1, clock.host_ns);
  message.add_int64(2, clock.cupti_ns);
  message.add_int64(3, clock.realtime_ns);
  message.add_uint32(4, clock.bracket_ns);
}

void AddCounts(protozero::pbf_writer& writer, uint32_t field, const EventCounts& counts) {
  for (size_t kind = 0; kind < kEventKinds; ++kind) {
    uint64_t count = counts[static_cast<EventKind>(kind)];
    if (count == 0) continue;
    protozero::pbf_writer message(writer, field);
    message.add_enum(1, static_cast<int32_t>(kind));
    message.add_uint64(2, count);
  }
}

}  // namespace

std::string EncodeHello(const HelloFields& fields) {
  std::string content;
  protozero::pbf_writer writer(content);
  writer.add_uint32(1, kWireProtocolVersion);
  writer.add_int64(2, getpid());
  writer.add_uint64(3, StartTimeTicks());
  writer.add_bytes(4, Command());
  writer.add_bytes(5, Executable());
  writer.add_int32(6, Rank());
  writer.add_uint32(7, fields.cupti_version);
  writer.add_uint32(8, fields.driver_version);
  writer.add_bytes(9, fields.cupti_path);
  AddClock(writer, 10, fields.clock);
  AddCounts(writer, 11, fields.acknowledged);
  writer.add_uint64(12, fields.oldest_sequence);
  writer.add_int64(13, fields.capture_start_ns);
  writer.add_string(14, kVersion);
  writer.add_bool(15, fields.attached);
  return content;
}

std::string EncodeStatus(const StatusFields& fields) {
  std::string content;
  protozero::pbf_writer writer(content);
  writer.add_enum(1, static_cast<int32_t>(fields.state));
  writer.add_bytes(2, fields.reason);
  for (const Loss& loss : fields.losses) {
    if (loss.count == 0) continue;
    protozero::pbf_writer message(writer, 3);
    message.add_enum(1, static_cast<int32_t>(loss.kind));
    message.add_enum(2, static_cast<int32_t>(loss.cause));
    message.add_uint64(3, loss.count);
  }
  AddCounts(writer, 4, fields.produced);
  AddClock(writer, 5, fields.clock);
  writer.add_uint64(6, fields.collector_cpu_ns);
  writer.add_uint64(7, fields.memory_bytes);
  for (const std::string& note : fields.notes) writer.add_bytes(8, note);
  for (const std::string& activity : fields.activities) writer.add_string(9, activity);
  writer.add_uint64(10, fields.capture_token);
  writer.add_int64(12, fields.recording_start_ns);
  return content;
}

}  // namespace tp::collect
