// Ranges as NCCL makes them (2.18 and later): push/pop ranges of the domain "NCCL" with a
// registered name and one payload of a registered schema, which tells the size of the message; for
// communicators, a payload that comes with the range's end. Each has a kernel.
//
//   nccl_ranges       exit status 77: this toolkit's NVTX has no payload extension

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

#if __has_include(<nvtx3/nvToolsExtPayload.h>)
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

__global__ void reduce() {}
__global__ void broadcast() {}

namespace {

constexpr uint64_t kAllReduce = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 5;
constexpr uint64_t kBroadcast = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 6;
constexpr uint64_t kCommInit = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 0;
constexpr uint64_t kReductionOperation = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 24;
constexpr uint64_t kCommunicator = 0xf123456789abcdef;

struct AllReduce {
  uint64_t communicator;
  size_t bytes;
  int reduction;
};
const nvtxPayloadSchemaEntry_t kAllReduceEntries[] = {
    {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "NCCL communicator ID", nullptr, 0, 0, nullptr, nullptr},
    {0, NVTX_PAYLOAD_ENTRY_TYPE_SIZE, "Message size [bytes]", nullptr, 0,
     offsetof(AllReduce, bytes), nullptr, nullptr},
    {0, kReductionOperation, "Reduction operation", nullptr, 0, offsetof(AllReduce, reduction),
     nullptr, nullptr},
};

struct Broadcast {
  uint64_t communicator;
  size_t bytes;
  int root;
};
const nvtxPayloadSchemaEntry_t kBroadcastEntries[] = {
    {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "NCCL communicator ID", nullptr, 0, 0, nullptr, nullptr},
    {0, NVTX_PAYLOAD_ENTRY_TYPE_SIZE, "Message size [bytes]", nullptr, 0,
     offsetof(Broadcast, bytes), nullptr, nullptr},
    {0, NVTX_PAYLOAD_ENTRY_TYPE_INT, "Root", nullptr, 0, offsetof(Broadcast, root), nullptr,
     nullptr},
};

struct CommInit {
  uint64_t communicator;
  int ranks, rank, device;
};
const nvtxPayloadSchemaEntry_t kCommInitEntries[] = {
    {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "NCCL communicator ID", nullptr, 0, 0, nullptr, nullptr},
    {0, NVTX_PAYLOAD_ENTRY_TYPE_INT, "No. of ranks", nullptr, 0, offsetof(CommInit, ranks), nullptr,
     nullptr},
    {0, NVTX_PAYLOAD_ENTRY_TYPE_INT, "Rank", nullptr, 0, offsetof(CommInit, rank), nullptr,
     nullptr},
    {0, NVTX_PAYLOAD_ENTRY_TYPE_INT, "CUDA device", nullptr, 0, offsetof(CommInit, device), nullptr,
     nullptr},
};

nvtxDomainHandle_t g_domain;

template <size_t kCount>
void Register(const nvtxPayloadSchemaEntry_t (&entries)[kCount], uint64_t schema, size_t bytes) {
  nvtxPayloadSchemaAttr_t attributes = {};
  attributes.fieldMask =
      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE |
      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
  attributes.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  attributes.entries = entries;
  attributes.numEntries = kCount;
  attributes.payloadStaticSize = bytes;
  attributes.schemaId = schema;
  nvtxPayloadSchemaRegister(g_domain, &attributes);
}

void RegisterReductions() {
  const nvtxPayloadEnum_t reductions[] = {
      {"Sum", 0, 0}, {"Product", 1, 0}, {"Max", 2, 0}, {"Min", 3, 0}, {"Avg", 4, 0}};
  nvtxPayloadEnumAttr_t attributes = {};
  attributes.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES |
                         NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                         NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE | NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID;
  attributes.entries = reductions;
  attributes.numEntries = 5;
  attributes.sizeOfEnum = sizeof(int);
  attributes.schemaId = kReductionOperation;
  nvtxPayloadEnumRegister(g_domain, &attributes);
}

nvtxEventAttributes_t Named(nvtxStringHandle_t name) {
  nvtxEventAttributes_t attributes = {};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = name;
  return attributes;
}

template <typename Payload>
void Push(nvtxStringHandle_t name, uint64_t schema, const Payload& payload) {
  const nvtxPayloadData_t data = {schema, sizeof(payload), &payload};
  nvtxEventAttributes_t attributes = Named(name);
  attributes.payloadType = NVTX_PAYLOAD_TYPE_EXT;
  attributes.reserved0 = 1;
  attributes.payload.ullValue = reinterpret_cast<uintptr_t>(&data);
  nvtxDomainRangePushEx(g_domain, &attributes);
}

}  // namespace

int main() {
  g_domain = nvtxDomainCreateA("NCCL");
  RegisterReductions();
  Register(kAllReduceEntries, kAllReduce, sizeof(AllReduce));
  Register(kBroadcastEntries, kBroadcast, sizeof(Broadcast));
  Register(kCommInitEntries, kCommInit, sizeof(CommInit));

  const nvtxEventAttributes_t init = Named(nvtxDomainRegisterStringA(g_domain, "ncclCommInitRank"));
  nvtxDomainRangePushEx(g_domain, &init);
  const CommInit communicator = {kCommunicator, 2, 1, 0};
  const nvtxPayloadData_t told = {kCommInit, sizeof(communicator), &communicator};
  nvtxRangePopPayload(g_domain, &told, 1);

  const nvtxStringHandle_t all_reduce = nvtxDomainRegisterStringA(g_domain, "ncclAllReduce");
  for (size_t mib : {1, 4}) {
    Push(all_reduce, kAllReduce, AllReduce{kCommunicator, mib << 20, mib == 1 ? 0 : 4});
    reduce<<<1, 32>>>();
    nvtxDomainRangePop(g_domain);
  }
  Push(nvtxDomainRegisterStringA(g_domain, "ncclBroadcast"), kBroadcast,
       Broadcast{kCommunicator, 512, 1});
  broadcast<<<1, 32>>>();
  nvtxDomainRangePop(g_domain);
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}

#else
int main() { return 77; }
#endif
