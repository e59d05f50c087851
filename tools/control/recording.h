// A recording under way: takes what the daemon tells, and writes it into a capture file.
//
//   absl::StatusOr<std::unique_ptr<Recording>> recording = Recording::Begin(path, request);
//   while (...) (*recording)->Take(100ms);
//   (*recording)->End();
//
// Whatever comes of it, what was taken is in the file, and the file says how it ended. One thread
// at a time.
#ifndef TOOLS_CONTROL_RECORDING_H_
#define TOOLS_CONTROL_RECORDING_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analyzer/capture/capture_writer.h"
#include "proto/query.pb.h"
#include "tools/control/query_client.h"

namespace tp {

class Recording {
 public:
  // Unavailable if there is no daemon; nothing is written then. On return the recording has begun.
  static absl::StatusOr<std::unique_ptr<Recording>> Begin(const std::string& path,
                                                          const query::RecordRequest& request);

  // Takes what comes for `wait`.
  absl::Status Take(std::chrono::milliseconds wait);
  // Asks the daemon for what is still to come, takes it, and completes the file.
  absl::Status End();

  // Nothing more will come: the processes that were asked for have ended.
  bool is_over() const { return is_over_ || totals_.all_ended(); }
  std::chrono::steady_clock::duration Elapsed() const;
  // "recorded 12,345 events of 2 processes in 10.0 s to FILE: 1.20 MB, 9.8 bytes per event; ..."
  std::string Summary() const;
  // The same as it goes on: "12s, 12.3k events of 2 processes, 1.20 MB".
  std::string ProgressText() const;

 private:
  Recording(std::string path, QueryClient client, std::unique_ptr<CaptureWriter> file);
  absl::Status Write(const query::Recorded& recorded);
  // Completes the file with why it ended early.
  absl::Status EndEarly(const absl::Status& why);
  std::string LossText() const;

  std::string path_;
  QueryClient client_;
  std::unique_ptr<CaptureWriter> file_;
  std::chrono::steady_clock::time_point begun_, flushed_;
  std::chrono::steady_clock::duration lasted_{};
  query::Recorded totals_;  // Without its entries.
  bool is_over_ = false;
};

// Takes what comes on a thread of its own.
class RecordingThread {
 public:
  explicit RecordingThread(Recording* recording);
  ~RecordingThread() { [[maybe_unused]] const absl::Status ended = End(); }
  RecordingThread(const RecordingThread&) = delete;
  RecordingThread& operator=(const RecordingThread&) = delete;

  // Ends the recording.
  absl::Status End();

 private:
  Recording* recording_;
  std::atomic<bool> stops_ = false;
  absl::Status status_;  // The thread's until it has ended.
  std::thread thread_;
};

}  // namespace tp

#endif  // TOOLS_CONTROL_RECORDING_H_
