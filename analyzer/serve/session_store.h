// All traced processes that the daemon knows: those that are connected, those whose collector is
// away, and the last few that ended.
#ifndef ANALYZER_SERVE_SESSION_STORE_H_
#define ANALYZER_SERVE_SESSION_STORE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "analyzer/serve/session.h"

namespace tp {

// From one number of bytes for everything: what each session may keep, and what all together may.
//
// A process may take an eighth, so that eight busy ones fit: seven twentieths of it for spans, six
// for launches, one for device work whose launch is still to come, a tenth each for groups, names,
// and the intervals of up to 32 streams. When the sum is over the limit, ended processes are let
// go, oldest first; running ones are not, and the daemon says so in its log.
struct StoreLimits {
  static constexpr size_t kDefaultMegabytes = 1024;
  static constexpr size_t kMinMegabytes = 64;

  static StoreLimits FromMegabytes(size_t megabytes);

  size_t memory_bytes = 0;
  size_t ended = 32;          // Processes that ended.
  size_t disconnected = 128;  // Running ones without a connection.
  SessionLimits session;
};

class SessionStore {
 public:
  explicit SessionStore(const StoreLimits& limits)
      : limits_(limits), symbolizer_({.bytes = limits.memory_bytes / 8}) {}

  // The session that this hello begins or continues. A running session that it replaces in its
  // process is marked so.
  Session* Greet(const Credentials& peer, const wire::Hello& hello, int64_t now_ns);

  // Lets go what is beyond the limits. Sessions that are connected always stay. To be called now
  // and then, and when connections end.
  void Trim();
  // Told of each before it is let go.
  void OnLetGo(std::function<void(const Session& session)> on_let_go) {
    on_let_go_ = std::move(on_let_go);
  }

  // In the order in which they came.
  const std::vector<std::unique_ptr<Session>>& sessions() const { return sessions_; }
  size_t memory_bytes() const;
  size_t memory_limit_bytes() const { return limits_.memory_bytes; }
  // Events ever received, of the sessions that were let go too.
  uint64_t events() const;
  bool over_limit() const { return over_limit_; }
  uint64_t let_go() const { return let_go_; }

 private:
  void LetGoOldest(size_t kept, bool ended);
  bool LetGo(const Session* session);

  StoreLimits limits_;
  Symbolizer symbolizer_;  // Processes mostly share their libraries.
  std::vector<std::unique_ptr<Session>> sessions_;
  uint64_t events_let_go_ = 0;
  uint64_t let_go_ = 0;
  std::function<void(const Session& session)> on_let_go_;
  bool over_limit_ = false;
};

}  // namespace tp

#endif  // ANALYZER_SERVE_SESSION_STORE_H_
