// NVTX in all its forms, a kernel in most of them: default and named domains, registered strings,
// wide and non-ASCII text, ranges that end on another thread, ranges with payload, category and
// color, marks. Prints the names that it has used.

#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>

#include <thread>

__global__ void work() {}

namespace {

void Launch(const char* where) {
  work<<<1, 32>>>();
  printf("%s\n", where);
}

nvtxEventAttributes_t Message(const char* text) {
  nvtxEventAttributes_t attributes = {};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = text;
  return attributes;
}

}  // namespace

int main() {
  nvtxNameOsThreadA(0, "main thread");
  nvtxNameCategoryA(3, "third category");

  nvtxRangePushA("push");
  Launch("push");
  nvtxRangePop();

  nvtxRangePushW(L"weit \u00e4\u20ac");
  Launch("weit ä€");
  nvtxRangePop();

  nvtxRangePushA("größe 寸法");
  Launch("größe 寸法");
  nvtxRangePop();

  nvtxEventAttributes_t attributes = Message("push_ex");
  attributes.category = 3;
  attributes.colorType = NVTX_COLOR_ARGB;
  attributes.color = 0xff00ff00;
  attributes.payloadType = NVTX_PAYLOAD_TYPE_INT64;
  attributes.payload.llValue = -42;
  nvtxRangePushEx(&attributes);
  Launch("push_ex");
  nvtxRangePop();

  nvtxRangeId_t across = nvtxRangeStartA("across threads");
  std::thread([across] {
    Launch("across threads");
    nvtxRangeEnd(across);
  }).join();

  nvtxRangeId_t wide = nvtxRangeStartW(L"wide start");
  Launch("wide start");
  nvtxRangeEnd(wide);

  nvtxDomainHandle_t domain = nvtxDomainCreateA("named.domain");
  nvtxStringHandle_t registered = nvtxDomainRegisterStringA(domain, "registered");
  nvtxEventAttributes_t with_handle = Message(nullptr);
  with_handle.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  with_handle.message.registered = registered;
  nvtxDomainRangePushEx(domain, &with_handle);
  Launch("registered");
  nvtxDomainRangePop(domain);

  nvtxEventAttributes_t in_domain = Message("domain start");
  nvtxRangeId_t started = nvtxDomainRangeStartEx(domain, &in_domain);
  Launch("domain start");
  nvtxDomainRangeEnd(domain, started);

  nvtxDomainMarkEx(domain, &in_domain);
  nvtxMarkA("mark");
  nvtxDomainDestroy(domain);
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
