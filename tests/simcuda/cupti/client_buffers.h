// A client's buffers: asked for when a record needs one, given back when they are done with.
//
// A buffer belongs to the client, who lends it between the two callbacks of
// cuptiActivityRegisterCallbacks. Full buffers go back on a thread of this library's own, started
// when the first one is full; a flush gives them back on the thread that flushes.
//
// Threads: all functions may be called from any thread. No lock is held while a callback of the
// client runs.
#ifndef TESTS_SIMCUDA_CUPTI_CLIENT_BUFFERS_H_
#define TESTS_SIMCUDA_CUPTI_CLIENT_BUFFERS_H_

#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "collector/cupti/per_subscriber_api.h"

namespace simcupti {

struct ClientBuffer {
  uint8_t* data;
  size_t bytes;
  size_t max_records;  // 0: as many as fit.
  size_t used_bytes = 0;
  size_t records = 0;
  size_t incomplete = 0;  // Records whose work is still running.

  bool HasRoom(size_t record_bytes) const {
    return bytes - used_bytes >= record_bytes && (max_records == 0 || records < max_records);
  }
};

// Of either family; the other's are nullptr.
struct BufferCallbacks {
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  tp::collect::RequestBufferForSubscriber request_for_subscriber = nullptr;
  tp::collect::CompleteBufferForSubscriber complete_for_subscriber = nullptr;

  bool registered() const { return request != nullptr || request_for_subscriber != nullptr; }
};
void RegisterBufferCallbacks(const BufferCallbacks& callbacks);
bool BufferCallbacksRegistered();

// Asks the client, on this thread, for a buffer with room for a record of that size. nullptr if it
// gives none that will do.
std::unique_ptr<ClientBuffer> RequestClientBuffer(size_t record_bytes);

// Leaves a finished buffer to the library's thread.
void ReturnLater(std::unique_ptr<ClientBuffer> buffer);

// Gives back, on this thread, all that was left to the library's thread and then these, and waits
// until the client has been given all that was finished before the call. Buffers that are late by
// SIMCUPTI_FAULTS stay behind unless `forced`.
void ReturnNow(std::vector<std::unique_ptr<ClientBuffer>> buffers, bool forced);

// How often the library's thread looks for work that has completed, in milliseconds; 0: never.
void SetFlushPeriod(uint32_t period_ms);

// Whether the client must hand over zeroed buffers itself
// (CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER).
void SetClientZeroesBuffers(bool zeroed);
bool ClientZeroesBuffers();

// Ends the library's thread and forgets what waits to be given back, and the callbacks.
void StopReturning();

}  // namespace simcupti

#endif  // TESTS_SIMCUDA_CUPTI_CLIENT_BUFFERS_H_
