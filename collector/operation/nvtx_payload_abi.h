// What NVTX's payload extension hands over, by the layout that its documentation gives
// (nvToolsExtPayload.h of NVTX 3.1 and later). Toolkits before CUDA 12.9 don't have that header,
// and libraries like NCCL bring an older one of their own: what is here is the same in all of them.
// A test holds it against the toolkit's, where it has one.
#ifndef COLLECTOR_OPERATION_NVTX_PAYLOAD_ABI_H_
#define COLLECTOR_OPERATION_NVTX_PAYLOAD_ABI_H_

#include <cstddef>
#include <cstdint>

namespace tp::collect::nvtx {

// Of nvtxEventAttributes_t.payloadType: payload.ullValue points to `reserved0` times PayloadData.
inline constexpr auto kPayloadTypeExtension = static_cast<int32_t>(0xDFBD0009);

// ModuleInfo.module_id, and the upper byte of compatibility numbers.
inline constexpr uint16_t kPayloadModule = 2;
inline constexpr uint16_t kCompatible = 0x01;

// Slots of the module's functions.
enum PayloadFunction : size_t {
  kSchemaRegister = 0,
  kEnumRegister = 1,
  kRangePushPayload = 3,
  kRangePopPayload = 4,
  kRangeStartPayload = 5,
  kRangeEndPayload = 6,
};

struct ModuleSegment {
  size_t id;
  size_t slot_count;
  intptr_t* slots;
};

struct ModuleInfo {
  uint16_t nvtx_version;
  uint16_t struct_size;
  uint16_t module_id;
  uint16_t compatibility;
  size_t segment_count;
  ModuleSegment* segments;
  intptr_t (*get_export_function)(uint32_t id);
  const void* extension_info;
};

struct PayloadData {
  uint64_t schema;
  size_t bytes;  // SIZE_MAX: to be found out.
  const void* payload;
};

struct SchemaEntry {
  uint64_t flags;
  uint64_t type;
  const char* name;
  const char* description;
  uint64_t array_or_union_detail;
  uint64_t offset;
  const void* semantics;
  const void* reserved;
};

struct SchemaAttributes {
  uint64_t field_mask;
  const char* name;
  uint64_t type;
  uint64_t flags;
  const SchemaEntry* entries;
  size_t entry_count;
  size_t static_bytes;
  size_t pack_alignment;
  uint64_t schema;
  void* extension;
};

struct Enumerator {
  const char* name;
  uint64_t value;
  int8_t is_flag;
};

struct EnumAttributes {
  uint64_t field_mask;
  const char* name;
  const Enumerator* entries;
  size_t entry_count;
  size_t bytes;
  uint64_t schema;
  void* extension;
};

// SchemaAttributes.field_mask.
inline constexpr uint64_t kSchemaHasName = 1 << 1, kSchemaHasType = 1 << 2,
                          kSchemaHasEntries = 1 << 4, kSchemaHasEntryCount = 1 << 5,
                          kSchemaHasStaticBytes = 1 << 6, kSchemaHasAlignment = 1 << 7,
                          kSchemaHasNumber = 1 << 8;
// EnumAttributes.field_mask.
inline constexpr uint64_t kEnumHasEntries = 1 << 2, kEnumHasEntryCount = 1 << 3,
                          kEnumHasBytes = 1 << 4, kEnumHasNumber = 1 << 5;

// SchemaAttributes.type.
inline constexpr uint64_t kStaticSchema = 1, kDynamicSchema = 2;

// SchemaEntry.flags.
inline constexpr uint64_t kEntryIsPointer = 1 << 1, kEntryIsOffset = 3 << 2, kEntryArray = 7 << 4,
                          kEntryFixedArray = 1 << 4, kEntryIsHidden = 1 << 9, kEntryRole = 3 << 10,
                          kEntryIsMessage = 1 << 10;

// SchemaEntry.type and PayloadData.schema: those that are read.
enum PredefinedType : uint64_t {
  kChar = 1,
  kUnsignedChar = 2,
  kShort = 3,
  kUnsignedShort = 4,
  kInt = 5,
  kUnsignedInt = 6,
  kLong = 7,
  kUnsignedLong = 8,
  kLongLong = 9,
  kUnsignedLongLong = 10,
  kInt8 = 11,
  kUint8 = 12,
  kInt16 = 13,
  kUint16 = 14,
  kInt32 = 15,
  kUint32 = 16,
  kInt64 = 17,
  kUint64 = 18,
  kFloat = 19,
  kDouble = 20,
  kSize = 22,
  kAddress = 23,
  kChar8 = 25,
  kByte = 32,
  kFloat32 = 43,
  kFloat64 = 44,
  kCString = 75,
  kCStringUtf8 = 76,
};
inline constexpr uint64_t kFirstSchema = 1 << 24;  // Smaller ones are predefined types.

}  // namespace tp::collect::nvtx

#endif  // COLLECTOR_OPERATION_NVTX_PAYLOAD_ABI_H_
