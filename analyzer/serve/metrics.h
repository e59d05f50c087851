// What Prometheus is told of the daemon and of the processes that it knows (docs/fleet.md).
//
// Counters never go back while their process is shown: each remembers what it told last. Of several
// sessions of one process (it executed another program, or was attached to again) the latest is
// shown. Processes that ended stay as long as the store keeps them. Not thread-safe.
#ifndef ANALYZER_SERVE_METRICS_H_
#define ANALYZER_SERVE_METRICS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "analyzer/serve/session_store.h"
#include "analyzer/serve/shown_operations.h"
#include "proto/query.pb.h"

namespace tp {

class Metrics {
 public:
  static constexpr const char* kContentType = "text/plain; version=0.0.4; charset=utf-8";
  // Of one process. Further devices are left out: busy times cannot be added up. Further kinds and
  // causes of losses are "(other)".
  static constexpr size_t kMostDevices = 64;
  static constexpr size_t kMostLosses = 64;
  // Once the page has this many bytes, no further process is begun; how many is told. Running ones
  // come first.
  static constexpr size_t kMostBytes = size_t{4} << 20;

  explicit Metrics(size_t most_bytes = kMostBytes) : most_bytes_(most_bytes) {}

  // The page as of now. What is open ends at `now_ns`.
  std::string Page(const SessionStore& store, const query::Daemon& daemon, int64_t now_ns);

 private:
  // What was told of a session.
  struct Told {
    ShownOperations operations;
    std::map<std::string, uint64_t> counters;  // By name and the label that is not the process's.
    std::map<std::pair<std::string, std::string>, uint64_t> losses;  // By kind and cause.
  };
  // Pid, and when it came: no two have both in common.
  using Key = std::pair<pid_t, int64_t>;
  class Writer;

  size_t most_bytes_;
  std::map<Key, Told> told_;
};

}  // namespace tp

#endif  // ANALYZER_SERVE_METRICS_H_
