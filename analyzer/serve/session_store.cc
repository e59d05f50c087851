#include "analyzer/serve/session_store.h"

#include <algorithm>
#include <numeric>

namespace tp {
namespace {

// What one entry takes, with the overhead of the tables around it.
constexpr size_t kBytesPerSpan = 192;
constexpr size_t kBytesPerLaunch = 80;
constexpr size_t kBytesPerUnconfirmed = 160;
constexpr size_t kBytesPerGroup = 512;
constexpr size_t kBytesPerInterval = 32;
constexpr size_t kUsualStreams = 32;

uint64_t Sum(const EventCounts& counts) {
  // What ties launches to operations is no event of the user's.
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0}) -
         counts[wire::LAUNCH_OPERATION];
}

}  // namespace

StoreLimits StoreLimits::FromMegabytes(size_t megabytes) {
  StoreLimits limits;
  limits.memory_bytes = std::max(megabytes, kMinMegabytes) << 20;
  const size_t session_bytes = limits.memory_bytes / 8;
  limits.session.summary.spans = session_bytes * 7 / 20 / kBytesPerSpan;
  limits.session.summary.correlations = session_bytes * 6 / 20 / kBytesPerLaunch;
  limits.session.summary.unconfirmed =
      std::min<size_t>(SummaryLimits().unconfirmed, session_bytes / 20 / kBytesPerUnconfirmed);
  limits.session.summary.groups =
      std::min<size_t>(SummaryLimits().groups, session_bytes / 10 / kBytesPerGroup);
  limits.session.summary.intervals = std::min<size_t>(
      SummaryLimits().intervals, session_bytes / 10 / kUsualStreams / kBytesPerInterval);
  limits.session.names.bytes = std::min<size_t>(NameLimits().bytes, session_bytes / 10);
  return limits;
}

Session* SessionStore::Greet(const Credentials& peer, const wire::Hello& hello, int64_t now_ns) {
  for (auto session = sessions_.rbegin(); session != sessions_.rend(); ++session) {
    if (!(*session)->IsProcess(peer, hello)) continue;
    if ((*session)->IsContinuedBy(peer, hello)) return session->get();
    (*session)->Replaced();
    break;
  }
  sessions_.push_back(
      std::make_unique<Session>(peer, hello, limits_.session, now_ns, &symbolizer_));
  return sessions_.back().get();
}

bool SessionStore::LetGo(const Session* session) {
  const auto place = std::find_if(sessions_.begin(), sessions_.end(),
                                  [&](const auto& held) { return held.get() == session; });
  if (place == sessions_.end()) return false;
  if (on_let_go_) on_let_go_(*session);
  events_let_go_ += Sum(session->losses().received());
  ++let_go_;
  sessions_.erase(place);
  return true;
}

void SessionStore::LetGoOldest(size_t kept, bool ended) {
  std::vector<const Session*> without_connection;
  for (const auto& session : sessions_) {
    if (!session->connected() && session->HasEnded() == ended) {
      without_connection.push_back(session.get());
    }
  }
  if (without_connection.size() <= kept) return;
  std::sort(without_connection.begin(), without_connection.end(),
            [](const Session* left, const Session* right) {
              return left->last_seen_ns() < right->last_seen_ns();
            });
  without_connection.resize(without_connection.size() - kept);
  for (const Session* session : without_connection) LetGo(session);
}

void SessionStore::Trim() {
  LetGoOldest(limits_.ended, /*ended=*/true);
  LetGoOldest(limits_.disconnected, /*ended=*/false);
  over_limit_ = memory_bytes() > limits_.memory_bytes;
  while (over_limit_) {
    const Session* oldest = nullptr;
    for (const auto& session : sessions_) {
      if (!session->HasEnded()) continue;
      if (oldest == nullptr || session->last_seen_ns() < oldest->last_seen_ns()) {
        oldest = session.get();
      }
    }
    if (oldest == nullptr || !LetGo(oldest)) break;
    over_limit_ = memory_bytes() > limits_.memory_bytes;
  }
}

size_t SessionStore::memory_bytes() const {
  size_t bytes = symbolizer_.memory_bytes();
  for (const auto& session : sessions_) bytes += session->memory_bytes();
  return bytes;
}

uint64_t SessionStore::events() const {
  uint64_t events = events_let_go_;
  for (const auto& session : sessions_) events += Sum(session->losses().received());
  return events;
}

}  // namespace tp
