// Where records are written: one client buffer after the other.
//
// The lanes of a client: every thread that calls the API has one, so that its records wait for
// nobody; work
// on devices goes to lanes that its context chooses. The records of a lane lie in its buffers in
// the order in which they were written, and a record is written when what it tells of has ended.
// Work that the driver reports as running takes its place at once and is filled in when it ends.
//
// Threads: all functions may be called from any thread. No lock is held while a callback of the
// client runs.
#ifndef TESTS_SIMCUDA_CUPTI_LANE_H_
#define TESTS_SIMCUDA_CUPTI_LANE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "tests/simcuda/cupti/client_buffers.h"
#include "tests/simcuda/cupti/record_layout.h"

namespace simcupti {

// Whom a dropped record is counted for. Context id 0: the process alone.
struct RecordOrigin {
  uint32_t context_id = 0;
  uint32_t stream_id = 0;
};

// Tells pieces of device work apart that run at the same time.
struct WorkKey {
  uint32_t kind, context_id, stream_id, correlation_id;
  uint64_t graph_node_id;
  auto operator<=>(const WorkKey&) const = default;
};

class Lane {
 public:
  // `record` is one of CUPTI's structs; as much of it is written as the layout in use has, and
  // zeroes where that has more.
  template <class Record>
  void Write(const Record& record, RecordOrigin origin = {}) {
    WriteBytes(Bytes(record), origin, nullptr);
  }

  // The same for work that still runs.
  template <class Record>
  void WriteRunning(const WorkKey& key, const Record& record, RecordOrigin origin) {
    WriteBytes(Bytes(record), origin, &key);
  }

  // Fills in what was written as running. False if nothing was. If a forced flush has given it away
  // unfinished, it does not come again.
  template <class Record>
  bool Finish(const WorkKey& key, const Record& record) {
    return FinishBytes(key, Bytes(record));
  }

  // Moves out the buffers that a flush gives back: without `forced`, those that have no running
  // work in them.
  void TakeBuffers(bool forced, std::vector<std::unique_ptr<ClientBuffer>>* buffers);

  // Forgets everything, the client's buffers too.
  void Discard();

  bool Empty();

 private:
  struct Place {
    ClientBuffer* buffer;
    size_t offset;
  };

  struct PosedRecord {
    const void* struct_;
    size_t struct_bytes;  // What is copied of it.
    size_t bytes;

    void CopyTo(uint8_t* target) const {
      std::memcpy(target, struct_, struct_bytes);
      std::memset(target + struct_bytes, 0, bytes - struct_bytes);
    }
  };
  template <class Record>
  static PosedRecord Bytes(const Record& record) {
    const size_t bytes = RecordBytes(record.kind);
    return {&record, std::min(bytes, sizeof record), bytes};
  }

  void WriteBytes(const PosedRecord& record, RecordOrigin origin, const WorkKey* running);
  bool FinishBytes(const WorkKey& key, const PosedRecord& record);
  // Holding the lock: the current buffer is full.
  void RetireCurrent();

  std::mutex mutex_;
  std::unique_ptr<ClientBuffer> current_;
  std::vector<std::unique_ptr<ClientBuffer>> withheld_;  // Full, but with work that still runs.
  std::vector<std::unique_ptr<ClientBuffer>> spare_;     // Empty: several threads asked at once.
  uint64_t generation_ = 0;                              // Grows when everything is forgotten.
  std::multimap<WorkKey, Place> running_;
  std::multimap<WorkKey, char> given_away_running_;
};

// The lane of the calling thread; one that all threads share if the client has asked for that.
Lane& HostLane();
void SetLanePerThread(bool per_thread);
bool LanePerThread();

// The lane for work of a context.
Lane& DeviceLane(uint32_t context_id);

// Gives back all buffers that are ready (or all, forced); on the calling thread, see ReturnNow().
void FlushLanes(bool forced);

// Empties all lanes without giving anything back.
void DiscardLanes();

}  // namespace simcupti

#endif  // TESTS_SIMCUDA_CUPTI_LANE_H_
