#include "analyzer/serve/rejection_log.h"

#include <spdlog/spdlog.h>

namespace tp {
namespace {

constexpr int64_t kPeriodNs = 10'000'000'000;
constexpr uint64_t kLinesPerPeriod = 20;

}  // namespace

void RejectionLog::Rejected(const Credentials& peer, std::string_view who, std::string_view why,
                            int64_t now_ns) {
  ++count_;
  Recent& recent = by_user_[peer.uid];
  if (recent.lines == 0) recent.since_ns = now_ns;
  if (recent.lines == kLinesPerPeriod) {
    ++recent.left_out;
    return;
  }
  ++recent.lines;
  spdlog::warn("connection of {} pid {} (uid {}) closed: {}", who, peer.pid, peer.uid, why);
}

void RejectionLog::Tick(int64_t now_ns) {
  for (auto place = by_user_.begin(); place != by_user_.end();) {
    const auto& [uid, recent] = *place;
    if (now_ns - recent.since_ns < kPeriodNs) {
      ++place;
      continue;
    }
    if (recent.left_out > 0) {
      spdlog::warn("{} more connections of uid {} went wrong in {} s", recent.left_out, uid,
                   (now_ns - recent.since_ns) / 1'000'000'000);
    }
    place = by_user_.erase(place);
  }
}

}  // namespace tp
