#include "collector/operation/nvtx_payloads.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "collector/operation/thread_operations.h"

namespace tp::collect {
namespace {

// Of values whose program gives them no name.
constexpr std::string_view kUnnamed = "payload";

struct Number {
  EntryType type;
  size_t bytes;
};

// False: it is no number that fits into 64 bits.
bool FindNumber(uint64_t type, Number* number) {
  using enum EntryType;
  switch (type) {
    case nvtx::kUnsignedChar:
    case nvtx::kUint8:
    case nvtx::kByte:
      *number = {kUnsigned, 1};
      return true;
    case nvtx::kInt8:
      *number = {kSigned, 1};
      return true;
    case nvtx::kShort:
    case nvtx::kInt16:
      *number = {kSigned, 2};
      return true;
    case nvtx::kUnsignedShort:
    case nvtx::kUint16:
      *number = {kUnsigned, 2};
      return true;
    case nvtx::kInt:
    case nvtx::kInt32:
      *number = {kSigned, 4};
      return true;
    case nvtx::kUnsignedInt:
    case nvtx::kUint32:
      *number = {kUnsigned, 4};
      return true;
    case nvtx::kLong:
    case nvtx::kLongLong:
    case nvtx::kInt64:
      *number = {kSigned, 8};
      return true;
    case nvtx::kUnsignedLong:
    case nvtx::kUnsignedLongLong:
    case nvtx::kUint64:
    case nvtx::kSize:
    case nvtx::kAddress:
      *number = {kUnsigned, 8};
      return true;
    case nvtx::kFloat:
    case nvtx::kFloat32:
      *number = {kReal, 4};
      return true;
    case nvtx::kDouble:
    case nvtx::kFloat64:
      *number = {kReal, 8};
      return true;
    default:
      return false;
  }
}

bool IsText(uint64_t type) {
  return type == nvtx::kChar || type == nvtx::kChar8 || type == nvtx::kCString ||
         type == nvtx::kCStringUtf8;
}

// Where an entry ends is not always known; then neither is where the next begins, unless it says.
struct Place {
  bool is_known = true;
  uint64_t end = 0;
};

// Reads what an entry is and takes; false if it can't be read. `*bytes` of 0: not known.
bool ReadEntry(const nvtx::SchemaEntry& entry, PayloadEntry* read, uint64_t* bytes,
               uint64_t* alignment) {
  const uint64_t array = entry.flags & nvtx::kEntryArray;
  const bool is_string = entry.type == nvtx::kCString || entry.type == nvtx::kCStringUtf8;
  // A string's length makes it an array, with the flag or without.
  const bool is_fixed = array == nvtx::kEntryFixedArray ||
                        (array == 0 && is_string && entry.array_or_union_detail > 0);
  *bytes = 0;
  *alignment = 1;
  if ((entry.flags & nvtx::kEntryIsPointer) != 0 || (is_string && array == 0 && !is_fixed)) {
    *bytes = *alignment = sizeof(void*);
    return false;
  }
  if (array != 0 && !is_fixed) return false;
  const uint64_t count = is_fixed ? entry.array_or_union_detail : 1;
  const bool is_readable = (entry.flags & (nvtx::kEntryIsOffset | nvtx::kEntryIsHidden)) == 0;
  Number number;
  if (IsText(entry.type)) {
    read->type = EntryType::kText;
    read->bytes = *bytes = count;
    return is_readable;
  }
  if (FindNumber(entry.type, &number)) {
    if (count > kMostDetailsBytes) return false;
    read->type = number.type;
    read->bytes = *alignment = number.bytes;
    *bytes = count * number.bytes;
    return is_readable && !is_fixed;
  }
  if (entry.type < nvtx::kFirstSchema || is_fixed) return false;
  read->type = EntryType::kLayout;
  read->layout = entry.type;
  return is_readable;
}

}  // namespace

uint64_t RegisterSchema(const Domain* domain, const nvtx::SchemaAttributes* attributes) {
  constexpr uint64_t kNeeded = nvtx::kSchemaHasEntries | nvtx::kSchemaHasEntryCount;
  if (attributes == nullptr || (attributes->field_mask & kNeeded) != kNeeded ||
      attributes->entries == nullptr) {
    return 0;
  }
  const auto has = [&](uint64_t field) { return (attributes->field_mask & field) != 0; };
  const uint64_t type = has(nvtx::kSchemaHasType) ? attributes->type : nvtx::kStaticSchema;
  if (type != nvtx::kStaticSchema && type != nvtx::kDynamicSchema) return 0;
  PayloadLayout layout;
  if (type == nvtx::kStaticSchema && has(nvtx::kSchemaHasStaticBytes)) {
    layout.bytes = attributes->static_bytes;
  }
  const uint64_t packed = has(nvtx::kSchemaHasAlignment) ? attributes->pack_alignment : 0;
  const size_t count = std::min(attributes->entry_count, kMostEntries);
  CountNvtxRegistrationsLeftOut(attributes->entry_count - count);
  Place place;
  for (size_t i = 0; i < count; ++i) {
    const nvtx::SchemaEntry& entry = attributes->entries[i];
    PayloadEntry read;
    uint64_t bytes, alignment;
    const bool is_readable = ReadEntry(entry, &read, &bytes, &alignment);
    if (packed != 0) alignment = std::min(alignment, packed);
    const bool says_place = entry.offset != 0 || i == 0;
    if (says_place) {
      read.offset = entry.offset;
    } else {
      read.offset = (place.end + alignment - 1) / alignment * alignment;
      // An enumeration's alignment is not known here.
      if (!place.is_known || (bytes == 0 && place.end % 8 != 0)) {
        place.is_known = false;
        continue;
      }
    }
    place = {bytes != 0, read.offset + bytes};
    if (!is_readable) continue;
    if (entry.name != nullptr) {
      read.name = CutText(entry.name).substr(0, kLongestEntryText);
    } else if (has(nvtx::kSchemaHasName) && attributes->name != nullptr) {
      read.name = CutText(attributes->name).substr(0, kLongestEntryText);
    } else {
      read.name = kUnnamed;
    }
    read.is_message =
        read.type == EntryType::kText && (entry.flags & nvtx::kEntryRole) == nvtx::kEntryIsMessage;
    layout.entries.push_back(std::move(read));
  }
  return RegisterLayout(domain, has(nvtx::kSchemaHasNumber) ? attributes->schema : 0,
                        std::move(layout));
}

uint64_t RegisterEnumeration(const Domain* domain, const nvtx::EnumAttributes* attributes) {
  constexpr uint64_t kNeeded =
      nvtx::kEnumHasEntries | nvtx::kEnumHasEntryCount | nvtx::kEnumHasBytes;
  if (attributes == nullptr || (attributes->field_mask & kNeeded) != kNeeded ||
      attributes->entries == nullptr) {
    return 0;
  }
  const size_t bytes = attributes->bytes;
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) return 0;
  PayloadLayout layout;
  layout.bytes = bytes;
  const size_t count = std::min(attributes->entry_count, kMostEnumerators);
  CountNvtxRegistrationsLeftOut(attributes->entry_count - count);
  for (size_t i = 0; i < count; ++i) {
    const nvtx::Enumerator& entry = attributes->entries[i];
    if (entry.name == nullptr) continue;
    layout.enumerators.emplace_back(entry.value, CutText(entry.name).substr(0, kLongestEntryText));
  }
  if (layout.enumerators.empty()) return 0;
  const bool has_number = (attributes->field_mask & nvtx::kEnumHasNumber) != 0;
  return RegisterLayout(domain, has_number ? attributes->schema : 0, std::move(layout));
}

uint32_t PutPayloads(const nvtx::PayloadData* payloads, size_t count, DetailsWriter* writer) {
  if (payloads == nullptr) return 0;
  uint32_t put = 0;
  for (size_t i = 0; i < count && put < kMostPayloads; ++i) {
    const nvtx::PayloadData& data = payloads[i];
    if (data.payload == nullptr) continue;
    size_t bytes = data.bytes;
    if (bytes == SIZE_MAX && (data.schema == nvtx::kCString || data.schema == nvtx::kCStringUtf8)) {
      bytes = strnlen(static_cast<const char*>(data.payload), kLongestEntryText);
    }
    const size_t before = writer->size();
    if (bytes <= kMostDetailsBytes &&
        writer->Put(PayloadHeader{data.schema, static_cast<uint32_t>(bytes)}) &&
        writer->PutBytes(data.payload, bytes)) {
      ++put;
    } else {
      writer->ShrinkTo(before);
      ThreadOperationsList::CountLostDetails();
    }
  }
  return put;
}

std::string_view MessageOf(const nvtx::PayloadData* payloads, size_t count) {
  if (payloads == nullptr) return {};
  for (size_t i = 0; i < std::min<size_t>(count, kMostPayloads); ++i) {
    const nvtx::PayloadData& data = payloads[i];
    if (data.schema != nvtx::kCString && data.schema != nvtx::kCStringUtf8) continue;
    if (data.payload == nullptr) continue;
    const auto* text = static_cast<const char*>(data.payload);
    return {text, strnlen(text, std::min(data.bytes, kLongestText))};
  }
  return {};
}

bool ReadAnyPayload(const Domain* domain, uint64_t schema, std::string_view payload,
                    std::vector<PayloadValue>* values) {
  if (schema >= nvtx::kFirstSchema) return ReadPayload(domain, schema, payload, values);
  PayloadValue value{.name = kUnnamed, .type = EntryType::kText};
  if (IsText(schema)) {
    value.text = payload.substr(0, std::min(payload.find('\0'), kLongestEntryText));
  } else if (Number number; FindNumber(schema, &number) && number.bytes == payload.size()) {
    value.type = number.type;
    value.bits = NumberOf(number.type, payload);
  } else {
    return false;
  }
  values->push_back(value);
  return true;
}

}  // namespace tp::collect
