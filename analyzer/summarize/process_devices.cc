#include <set>

#include "absl/strings/str_cat.h"
#include "analyzer/present/utf8.h"
#include "analyzer/summarize/state.h"
#include "analyzer/summarize/summary.h"

namespace tp {

void Summary::AddDevices(query::Process* process) const {
  const Descriptions& known = state_->descriptions;
  std::set<int64_t> devices;
  for (const auto& [context, description] : known.contexts) {
    if (description.device != kUnknownNumber) devices.insert(description.device);
  }
  for (const auto& [device, busy] : state_->device.devices) {
    if (!busy.empty()) devices.insert(device);
  }
  for (const int64_t number : devices) {
    query::Device* device = process->add_devices();
    device->set_device(static_cast<uint32_t>(number));
    for (const auto& [context, description] : known.contexts) {
      if (description.device == number) device->set_contexts(device->contexts() + 1);
    }
    const auto found = known.devices.find(number);
    if (found == known.devices.end()) continue;
    const DeviceDescription& from = found->second;
    device->set_name(ValidUtf8(from.name));
    device->set_given_name(ValidUtf8(from.given_name));
    device->set_uuid(Descriptions::UuidText(from.uuid));
    if (from.compute_major != 0) {
      device->set_compute_capability(absl::StrCat(from.compute_major, ".", from.compute_minor));
    }
    device->set_memory_bytes(from.memory_bytes);
    device->set_memory_kilobytes_per_second(from.memory_kilobytes_per_second);
    device->set_multiprocessors(from.multiprocessors);
    device->set_core_clock_khz(from.core_clock_khz);
    device->set_l2_cache_bytes(from.l2_cache_bytes);
  }
}

}  // namespace tp
