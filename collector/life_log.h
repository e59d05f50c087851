// Writes a collector's life to the log: what it began with, and each change of what the daemon is
// told. The collector thread's own.
#ifndef COLLECTOR_LIFE_LOG_H_
#define COLLECTOR_LIFE_LOG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/cupti/cupti_api.h"
#include "collector/cupti/cupti_client.h"
#include "collector/link/daemon_link.h"
#include "collector/link/messages.h"

namespace tp::collect {

class LifeLog {
 public:
  struct Beginning {
    std::string library;  // Our own path.
    int64_t loaded_ns_ago;
    size_t memory_bytes;
    bool dormant;
    bool others_come_first;
  };
  static void Begin(const Beginning& beginning);

  // What has changed since the last call.
  void Look(const DaemonLink& link);
  void Look(const StatusFields& status);
  // `client`: nullptr before CUPTI is wanted.
  void Look(const CuptiApi& cupti, const CuptiClient* client);

  // The last line. `all_arrived`: the daemon has acknowledged everything.
  static void End(const StatusFields& status, bool all_arrived);

 private:
  bool connected_ = false;
  uint64_t connections_ = 0;
  std::string refusal_;

  std::string cupti_path_;
  CuptiClient::Family family_ = CuptiClient::Family::kNone;

  State state_ = State{};
  std::string reason_;
  std::vector<std::string> activities_, notes_;
  uint64_t lost_ = 0, produced_ = 0;
};

}  // namespace tp::collect

#endif  // COLLECTOR_LIFE_LOG_H_
