// The clients of the library, each with settings, buffers and counts of its own.
//
// Client 0 is whoever calls the functions that know no subscriber, the older family. Each
// subscriber of the newer one, since 13.3, is a client by itself.
//
//   const ActingFor client(subscriber->client);  // This thread acts for it now.
//   State& state = OfClient<State>();            // Its own.
//
// Threads: all functions may be called from any thread.
#ifndef TESTS_SIMCUDA_CUPTI_CLIENT_H_
#define TESTS_SIMCUDA_CUPTI_CLIENT_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <utility>

namespace simcupti {

inline constexpr int kMostClients = 8;

namespace client_internal {
inline thread_local int acting_for = 0;
inline std::atomic<uint32_t> in_use{1};  // Bits by client.
}  // namespace client_internal

// For whom this thread acts: client 0, outside all scopes of ActingFor.
inline int CurrentClient() { return client_internal::acting_for; }

class ActingFor {
 public:
  explicit ActingFor(int client) : before_(std::exchange(client_internal::acting_for, client)) {}
  ~ActingFor() { client_internal::acting_for = before_; }
  ActingFor(const ActingFor&) = delete;
  ActingFor& operator=(const ActingFor&) = delete;

 private:
  int before_;
};

// Never destroyed: threads of the program may still be in here while the process ends.
template <class State>
State& OfClient() {
  static auto* const all = new std::array<State, kMostClients>();
  return (*all)[static_cast<size_t>(CurrentClient())];
}

// -1 if there are too many. It begins as the last one to use its place left it.
int AddClient();
void RemoveClient(int client);

// Whether a subscriber of the newer family is there.
inline bool NewerFamilyInUse() {
  return (client_internal::in_use.load(std::memory_order_acquire) & ~1u) != 0;
}

// Acts for each client in turn.
template <class Act>
void ForEachClient(Act&& act) {
  uint32_t in_use = client_internal::in_use.load(std::memory_order_acquire);
  for (int client = 0; in_use != 0; ++client, in_use >>= 1) {
    if ((in_use & 1) == 0) continue;
    const ActingFor scope(client);
    act();
  }
}

}  // namespace simcupti

#endif  // TESTS_SIMCUDA_CUPTI_CLIENT_H_
