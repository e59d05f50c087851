#include "collector/operation/nvtx_payloads.h"

#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>

#include <cstring>
#include <string>
#include <vector>

#if __has_include(<nvtx3/nvToolsExtPayload.h>)
#define HAS_TOOLKIT_HEADER
#include <nvtx3/nvToolsExtPayload.h>
#endif

#include "collector/operation/thread_operations.h"

namespace tp::collect {
namespace {

#ifdef HAS_TOOLKIT_HEADER
static_assert(NVTX_PAYLOAD_TYPE_EXT == nvtx::kPayloadTypeExtension);
static_assert(NVTX_EXT_PAYLOAD_MODULEID == nvtx::kPayloadModule);
static_assert(NVTX_EXT_PAYLOAD_COMPATID >> 8 == nvtx::kCompatible);
static_assert(sizeof(nvtxPayloadData_t) == sizeof(nvtx::PayloadData));
static_assert(sizeof(nvtxPayloadSchemaEntry_t) == sizeof(nvtx::SchemaEntry));
static_assert(offsetof(nvtxPayloadSchemaEntry_t, offset) == offsetof(nvtx::SchemaEntry, offset));
static_assert(sizeof(nvtxPayloadSchemaAttr_t) == sizeof(nvtx::SchemaAttributes));
static_assert(offsetof(nvtxPayloadSchemaAttr_t, schemaId) ==
              offsetof(nvtx::SchemaAttributes, schema));
static_assert(sizeof(nvtxPayloadEnum_t) == sizeof(nvtx::Enumerator));
static_assert(sizeof(nvtxPayloadEnumAttr_t) == sizeof(nvtx::EnumAttributes));
static_assert(sizeof(nvtxExtModuleInfo_t) == sizeof(nvtx::ModuleInfo));
static_assert(sizeof(nvtxExtModuleSegment_t) == sizeof(nvtx::ModuleSegment));
static_assert(NVTX3EXT_CBID_nvtxRangeEndPayload == nvtx::kRangeEndPayload);
static_assert(NVTX_PAYLOAD_ENTRY_TYPE_SIZE == nvtx::kSize);
static_assert(NVTX_PAYLOAD_ENTRY_TYPE_FLOAT64 == nvtx::kFloat64);
static_assert(NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8 == nvtx::kCStringUtf8);
static_assert(NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID == nvtx::kSchemaHasNumber);
static_assert(NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID == nvtx::kEnumHasNumber);
#endif

constexpr uint64_t kFirst = nvtx::kFirstSchema;

nvtx::SchemaAttributes Schema(const std::vector<nvtx::SchemaEntry>& entries, uint64_t number,
                              size_t bytes = 0) {
  return {.field_mask = nvtx::kSchemaHasType | nvtx::kSchemaHasEntries |
                        nvtx::kSchemaHasEntryCount | nvtx::kSchemaHasStaticBytes |
                        (number != 0 ? nvtx::kSchemaHasNumber : 0),
          .name = nullptr,
          .type = nvtx::kStaticSchema,
          .flags = 0,
          .entries = entries.data(),
          .entry_count = entries.size(),
          .static_bytes = bytes,
          .pack_alignment = 0,
          .schema = number,
          .extension = nullptr};
}

nvtx::SchemaEntry Entry(uint64_t type, const char* name, uint64_t offset = 0, uint64_t flags = 0,
                        uint64_t detail = 0) {
  return {flags, type, name, nullptr, detail, offset, nullptr, nullptr};
}

template <typename Payload>
std::string_view Bytes(const Payload& payload) {
  return {reinterpret_cast<const char*>(&payload), sizeof(payload)};
}

std::string Read(const Domain* domain, uint64_t schema, std::string_view payload) {
  std::vector<PayloadValue> values;
  if (!ReadAnyPayload(domain, schema, payload, &values)) return "not known";
  std::string text;
  for (const PayloadValue& value : values) {
    text += std::string(value.name) + "=";
    if (value.type == EntryType::kText) {
      text += value.text;
    } else if (value.type == EntryType::kReal) {
      double number;
      memcpy(&number, &value.bits, sizeof(number));
      text += std::to_string(number);
    } else if (value.type == EntryType::kSigned) {
      text += std::to_string(static_cast<int64_t>(value.bits));
    } else {
      text += std::to_string(value.bits);
    }
    text += value.is_message ? "!;" : ";";
  }
  return text;
}

TEST(NvtxPayloads, AStructWithAnEnumerationIsReadByItsSchema) {
  const Domain* domain = RegisterDomain("struct");
  struct Payload {
    uint64_t communicator;
    size_t bytes;
    int reduction;
  };
  // The enumeration may come after the schema that names it.
  ASSERT_EQ(
      RegisterSchema(domain,
                     [&] {
                       static const std::vector<nvtx::SchemaEntry> entries = {
                           Entry(nvtx::kUint64, "communicator"),
                           Entry(nvtx::kSize, "Message size [bytes]", offsetof(Payload, bytes)),
                           Entry(kFirst + 24, "Reduction operation", offsetof(Payload, reduction))};
                       static const nvtx::SchemaAttributes schema =
                           Schema(entries, kFirst + 5, sizeof(Payload));
                       return &schema;
                     }()),
      kFirst + 5);
  const Payload payload = {0xabc, 4096, 2};
  EXPECT_EQ(Read(domain, kFirst + 5, Bytes(payload)),
            "communicator=2748;Message size [bytes]=4096;");
  const nvtx::Enumerator enumerators[] = {{"Sum", 0, 0}, {"Max", 2, 0}};
  const nvtx::EnumAttributes enumeration = {
      nvtx::kEnumHasEntries | nvtx::kEnumHasEntryCount | nvtx::kEnumHasBytes | nvtx::kEnumHasNumber,
      nullptr,
      enumerators,
      2,
      sizeof(int),
      kFirst + 24,
      nullptr};
  EXPECT_EQ(RegisterEnumeration(domain, &enumeration), kFirst + 24);
  EXPECT_EQ(Read(domain, kFirst + 5, Bytes(payload)),
            "communicator=2748;Message size [bytes]=4096;Reduction operation=Max;");
  const Payload unnamed = {1, 2, 77};
  EXPECT_EQ(Read(domain, kFirst + 5, Bytes(unnamed)),
            "communicator=1;Message size [bytes]=2;Reduction operation=77;");
  EXPECT_EQ(Read(RegisterDomain("another"), kFirst + 5, Bytes(payload)), "not known")
      << "numbers are a domain's own";
}

TEST(NvtxPayloads, OffsetsFollowFromAlignmentWhereTheyAreNotTold) {
  struct Payload {
    int8_t small;
    double real;
    uint16_t unsigned_short;
    char text[5];
    float narrow;
  };
  const std::vector<nvtx::SchemaEntry> entries = {
      Entry(nvtx::kInt8, "small"),   Entry(nvtx::kDouble, "real"),
      Entry(nvtx::kUint16, "short"), Entry(nvtx::kChar, "text", 0, nvtx::kEntryFixedArray, 5),
      Entry(nvtx::kFloat, "narrow"),
  };
  const nvtx::SchemaAttributes schema = Schema(entries, 0, sizeof(Payload));
  const uint64_t number = RegisterSchema(nullptr, &schema);
  EXPECT_GE(number, uint64_t{1} << 32) << "a number of ours";
  const Payload payload = {-3, 0.5, 65535, {'a', 'b', 'c', '\0', 'x'}, -1.5f};
  EXPECT_EQ(Read(nullptr, number, Bytes(payload)),
            "small=-3;real=0.500000;short=65535;text=abc;narrow=-1.500000;");
}

TEST(NvtxPayloads, WhatCannotBeReadIsLeftOutAndTheRestIsRight) {
  struct Payload {
    const char* pointer;
    int after;
    int hidden;
    int last;
  };
  const std::vector<nvtx::SchemaEntry> entries = {
      Entry(nvtx::kCString, "pointer"),
      Entry(nvtx::kInt, "after"),
      Entry(nvtx::kInt, "hidden", 0, nvtx::kEntryIsHidden),
      Entry(nvtx::kInt, "last"),
      Entry(9999, "of an unknown type"),
      Entry(nvtx::kInt, "nobody knows where"),
  };
  const nvtx::SchemaAttributes schema = Schema(entries, kFirst + 1, sizeof(Payload));
  ASSERT_NE(RegisterSchema(nullptr, &schema), 0u);
  const Payload payload = {"text", 1, 2, 3};
  EXPECT_EQ(Read(nullptr, kFirst + 1, Bytes(payload)), "after=1;last=3;");
}

TEST(NvtxPayloads, APayloadOfAnotherSizeIsNotRead) {
  const std::vector<nvtx::SchemaEntry> entries = {Entry(nvtx::kSize, "bytes")};
  const nvtx::SchemaAttributes sized = Schema(entries, kFirst + 2, 8);
  ASSERT_NE(RegisterSchema(nullptr, &sized), 0u);
  const uint64_t two[] = {7, 8};
  EXPECT_EQ(Read(nullptr, kFirst + 2, Bytes(two)), "not known");
  const nvtx::SchemaAttributes not_sized = Schema(entries, kFirst + 3);
  ASSERT_NE(RegisterSchema(nullptr, &not_sized), 0u);
  EXPECT_EQ(Read(nullptr, kFirst + 3, Bytes(two)), "bytes=7;");
  EXPECT_EQ(Read(nullptr, kFirst + 3, "1234567"), "") << "the value is not there whole";
}

TEST(NvtxPayloads, TwoSchemasOfOneNumberSayNothing) {
  const std::vector<nvtx::SchemaEntry> one = {Entry(nvtx::kSize, "bytes")};
  const std::vector<nvtx::SchemaEntry> other = {Entry(nvtx::kSize, "communicator")};
  const nvtx::SchemaAttributes first = Schema(one, kFirst + 4), second = Schema(other, kFirst + 4);
  const uint64_t payload = 7;
  RegisterSchema(nullptr, &first);
  RegisterSchema(nullptr, &first);
  EXPECT_EQ(Read(nullptr, kFirst + 4, Bytes(payload)), "bytes=7;");
  RegisterSchema(nullptr, &second);
  EXPECT_EQ(Read(nullptr, kFirst + 4, Bytes(payload)), "not known");
}

TEST(NvtxPayloads, PredefinedTypesNeedNoSchema) {
  const int32_t number = -9;
  EXPECT_EQ(Read(nullptr, nvtx::kInt32, Bytes(number)), "payload=-9;");
  EXPECT_EQ(Read(nullptr, nvtx::kCString, "hello"), "payload=hello;");
  EXPECT_EQ(Read(nullptr, nvtx::kInt64, Bytes(number)), "not known");
  EXPECT_EQ(Read(nullptr, 1023, "raw"), "not known");
}

TEST(NvtxPayloads, WhatFindsNoRoomIsCounted) {
  const std::string large(1500, 'x');
  const nvtx::PayloadData payloads[] = {{kFirst, large.size(), large.data()},
                                        {kFirst, large.size(), large.data()},
                                        {kFirst, 3, "abc"},
                                        {kFirst, SIZE_MAX, "nobody knows how long"}};
  const uint64_t lost = ThreadOperationsList::lost_details();
  DetailsWriter writer;
  EXPECT_EQ(PutPayloads(payloads, 4, &writer), 2u);
  EXPECT_EQ(ThreadOperationsList::lost_details(), lost + 2);
  EXPECT_EQ(writer.size(), 2 * sizeof(PayloadHeader) + large.size() + 3);
}

TEST(NvtxRegistry, CategoriesAreADomainsOwnAndTheLatestNameCounts) {
  const Domain* domain = RegisterDomain("categories");
  NameCategory(domain, 3, "first");
  NameCategory(domain, 3, "second");
  NameCategory(nullptr, 3, "of the default domain");
  std::string name;
  ASSERT_TRUE(CategoryName(domain, 3, &name));
  EXPECT_EQ(name, "second");
  ASSERT_TRUE(CategoryName(nullptr, 3, &name));
  EXPECT_EQ(name, "of the default domain");
  EXPECT_FALSE(CategoryName(domain, 4, &name));
}

TEST(NvtxRegistry, EntriesBeyondTheirLimitAreLeftOutAndCounted) {
  const Domain* domain = RegisterDomain("long");
  const uint64_t before = NvtxRegistrationsLeftOut();
  const std::vector<nvtx::SchemaEntry> entries(kMostEntries + 3, Entry(nvtx::kInt, "value"));
  const nvtx::SchemaAttributes schema = Schema(entries, kFirst + 1);
  EXPECT_EQ(RegisterSchema(domain, &schema), kFirst + 1);
  EXPECT_EQ(NvtxRegistrationsLeftOut(), before + 3);
  const std::vector<nvtx::Enumerator> enumerators(kMostEnumerators + 4, {"Sum", 0, 0});
  const nvtx::EnumAttributes enumeration = {
      nvtx::kEnumHasEntries | nvtx::kEnumHasEntryCount | nvtx::kEnumHasBytes | nvtx::kEnumHasNumber,
      nullptr,
      enumerators.data(),
      enumerators.size(),
      sizeof(int),
      kFirst + 2,
      nullptr};
  EXPECT_EQ(RegisterEnumeration(domain, &enumeration), kFirst + 2);
  EXPECT_EQ(NvtxRegistrationsLeftOut(), before + 7);
}

TEST(NvtxRegistry, IsBoundedAndCountsWhatIsBeyond) {
  const Domain* domain = RegisterDomain("many");
  const uint64_t before = NvtxRegistrationsLeftOut();
  for (uint32_t i = 1; i <= kMostCategories + 10; ++i) NameCategory(domain, i, "name");
  EXPECT_GE(NvtxRegistrationsLeftOut(), before + 10);
  const std::vector<nvtx::SchemaEntry> entries = {Entry(nvtx::kInt, "value")};
  uint64_t last = 1;
  for (size_t i = 0; i < kMostLayouts + 10; ++i) {
    const nvtx::SchemaAttributes schema = Schema(entries, kFirst + i);
    last = RegisterSchema(domain, &schema);
  }
  EXPECT_EQ(last, 0u);
  EXPECT_LT(NvtxRegistryBytes(), size_t{2} << 20);
}

}  // namespace
}  // namespace tp::collect
