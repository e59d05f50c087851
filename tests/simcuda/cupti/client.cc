#include "tests/simcuda/cupti/client.h"

namespace simcupti {

int AddClient() {
  std::atomic<uint32_t>& in_use = client_internal::in_use;
  for (int client = 1; client < kMostClients; ++client) {
    const uint32_t bit = uint32_t{1} << client;
    if ((in_use.fetch_or(bit) & bit) == 0) return client;
  }
  return -1;
}

void RemoveClient(int client) { client_internal::in_use.fetch_and(~(uint32_t{1} << client)); }

}  // namespace simcupti
