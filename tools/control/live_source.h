// Snapshots from the daemon at an interval, fetched by a thread of its own so that the screen
// answers keys while a daemon is slow or away.
#ifndef TOOLS_CONTROL_LIVE_SOURCE_H_
#define TOOLS_CONTROL_LIVE_SOURCE_H_

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "proto/query.pb.h"
#include "tools/control/query_client.h"
#include "tools/control/screen.h"

namespace tp {

// One snapshot over an open connection.
absl::StatusOr<Snapshot> FetchSnapshot(QueryClient* client, const query::TableRequest& request);

class LiveSource {
 public:
  // Writes a byte to `notified` (a pipe that outlives this) whenever there is something to Take.
  // Connects anew after every failure.
  LiveSource(query::TableRequest request, std::chrono::milliseconds interval, int notified);
  // Gives up a question under way.
  ~LiveSource();
  LiveSource(const LiveSource&) = delete;
  LiveSource& operator=(const LiveSource&) = delete;

  // Asks for this from now on, and once at once.
  void Ask(const query::TableRequest& request);

  // The latest snapshot or failure since the last call; nullopt if there is none.
  std::optional<absl::StatusOr<Snapshot>> Take();

 private:
  void Loop();
  absl::StatusOr<Snapshot> FetchOnce(const query::TableRequest& request);

  const std::chrono::milliseconds interval_;
  const int notified_;
  std::mutex mutex_;
  std::condition_variable wake_;
  query::TableRequest request_;  // Guarded by mutex_, as is all below.
  std::optional<absl::StatusOr<Snapshot>> latest_;
  std::optional<QueryClient>
      client_;  // Made and ended by the thread alone, under the lock; used by it without.
  bool asked_ = true;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tp

#endif  // TOOLS_CONTROL_LIVE_SOURCE_H_
