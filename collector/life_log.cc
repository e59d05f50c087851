#include "collector/life_log.h"

#include <algorithm>
#include <utility>

#include "collector/log.h"
#include "proto/socket_path.h"
#include "proto/version.h"

namespace tp::collect {
namespace {

const char* Word(State state) {
  switch (state) {
    case State::kDormant:
      return "dormant";
    case State::kCapturing:
      return "capturing";
    case State::kDisabled:
      return "disabled";
    case State::kWaiting:
      return "waiting";
  }
  return "unknown";
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

uint64_t Lost(const StatusFields& status) {
  uint64_t lost = 0;
  for (const Loss& loss : status.losses) lost += loss.count;
  return lost;
}

uint64_t Produced(const StatusFields& status) {
  uint64_t produced = 0;
  for (size_t kind = 0; kind < kEventKinds; ++kind) {
    produced += status.produced[static_cast<EventKind>(kind)];
  }
  return produced;
}

std::string SocketPath() {
  char path[kSocketPathBytes];
  return FindDaemonSocket(path) ? path : "TP_SOCKET, whose path is too long";
}

}  // namespace

void LifeLog::Begin(const Beginning& beginning) {
  if (!IsLogged(LogLevel::kInfo)) return;
  Log(LogLevel::kInfo, std::string("TensorProf ") + kVersion + ", " + beginning.library +
                           ", loaded " + std::to_string(beginning.loaded_ns_ago / 1'000'000) +
                           " ms before CUDA began; " + (beginning.dormant ? "dormant, " : "") +
                           std::to_string(beginning.memory_bytes >> 20) + " MiB of memory, " +
                           (beginning.others_come_first ? "other profilers come" : "comes") +
                           " first, daemon at " + SocketPath());
}

void LifeLog::Look(const DaemonLink& link) {
  if (!IsLogged(LogLevel::kError)) return;
  if (link.connections() != connections_) {
    connections_ = link.connections();
    connected_ = true;
    Log(LogLevel::kInfo, "connected to the daemon at " + SocketPath());
  }
  if (connected_ && !link.connected()) {
    connected_ = false;
    Log(LogLevel::kInfo, "the connection to the daemon has ended; what is collected is kept");
  }
  if (link.refusal() != refusal_) {
    refusal_ = link.refusal();
    if (!refusal_.empty()) Log(LogLevel::kWarning, "no connection to the daemon: " + refusal_);
  }
}

void LifeLog::Look(const StatusFields& status) {
  if (!IsLogged(LogLevel::kError)) return;
  for (const std::string& note : status.notes) {
    if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) {
      Log(LogLevel::kWarning, note);
    }
  }
  notes_ = status.notes;
  if (status.state != state_ || status.reason != reason_) {
    state_ = status.state;
    reason_ = status.reason;
    const bool is_wrong = state_ == State::kDisabled || state_ == State::kWaiting;
    Log(is_wrong ? LogLevel::kWarning : LogLevel::kInfo,
        Word(state_) + (reason_.empty() ? reason_ : ": " + reason_));
  }
  if (status.activities != activities_) {
    activities_ = status.activities;
    Log(LogLevel::kInfo, "collects " + Joined(activities_));
  }
  if (const uint64_t lost = Lost(status); lost != lost_) {
    lost_ = lost;
    Log(LogLevel::kWarning, std::to_string(lost) + " events lost so far");
  }
  if (const uint64_t produced = Produced(status); produced != produced_) {
    produced_ = produced;
    Log(LogLevel::kDebug, std::to_string(produced) + " events so far; our thread used " +
                              std::to_string(status.collector_cpu_ns / 1'000'000) +
                              " ms, our buffers hold " + std::to_string(status.memory_bytes >> 10) +
                              " KiB");
  }
}

void LifeLog::Look(const CuptiApi& cupti, const CuptiClient* client) {
  if (cupti.path != cupti_path_) {
    cupti_path_ = cupti.path;
    Log(LogLevel::kInfo, "CUPTI version " + std::to_string(cupti.version) + ", " + cupti_path_);
  }
  if (client == nullptr || client->family() == family_) return;
  family_ = client->family();
  Log(LogLevel::kDebug, family_ == CuptiClient::Family::kPerSubscriber
                            ? "CUPTI serves several subscribers: we are one"
                            : "CUPTI serves one subscriber: we are it only while we begin");
}

void LifeLog::End(const StatusFields& status, bool all_arrived) {
  if (!IsLogged(LogLevel::kInfo)) return;
  Log(LogLevel::kInfo, "ends with the process: " + std::to_string(Produced(status)) + " events, " +
                           std::to_string(Lost(status)) + " lost" +
                           (all_arrived ? "; the daemon has the rest"
                                        : "; the daemon has not said that it has the rest"));
}

}  // namespace tp::collect
