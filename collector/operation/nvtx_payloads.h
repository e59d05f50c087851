// Payloads of NVTX's payload extension: from what the program registers to layouts
// (operation/nvtx_registry.h), and from what it hands over with an event to details
// (operation/operation_details.h) and values.
//
// Pointers inside payloads are not followed: the collector thread reads a copy, later.
#ifndef COLLECTOR_OPERATION_NVTX_PAYLOADS_H_
#define COLLECTOR_OPERATION_NVTX_PAYLOADS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "collector/operation/nvtx_payload_abi.h"
#include "collector/operation/nvtx_registry.h"
#include "collector/operation/operation_details.h"

namespace tp::collect {

// The number to name it by; 0: it can't be read, or there is no room.
uint64_t RegisterSchema(const Domain* domain, const nvtx::SchemaAttributes* attributes);
uint64_t RegisterEnumeration(const Domain* domain, const nvtx::EnumAttributes* attributes);

// Application's thread. Copies payloads behind an NvtxHeader; those without room are counted as
// lost details. Returns how many there are now.
uint32_t PutPayloads(const nvtx::PayloadData* payloads, size_t count, DetailsWriter* writer);

// The text that names an event which has payloads alone; empty if there is none.
std::string_view MessageOf(const nvtx::PayloadData* payloads, size_t count);

// A payload of a registered layout or a predefined type. False if nothing is known of it. Views are
// good as long as the payload.
bool ReadAnyPayload(const Domain* domain, uint64_t schema, std::string_view payload,
                    std::vector<PayloadValue>* values);

}  // namespace tp::collect

#endif  // COLLECTOR_OPERATION_NVTX_PAYLOADS_H_
