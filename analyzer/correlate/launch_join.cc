#include "analyzer/correlate/launch_join.h"

#include <algorithm>

namespace tp {

LaunchJoin::Launch& LaunchJoin::At(uint64_t correlation) {
  return launches_.At(correlation, [this](const auto& forgotten) {
    for (const auto& [id, launch] : forgotten) {
      if (launch.operation != kNoOperation) largest_let_go_ = std::max(largest_let_go_, id);
    }
  });
}

LaunchJoin::Outcome LaunchJoin::AddLaunch(uint64_t correlation, uint64_t operation) {
  Launch& launch = At(correlation);
  bool is_inner = launch.operation == kNoOperation || operation > launch.operation;
  if (operation == kNoOperation || !is_inner) return {};
  Outcome outcome = {operation, launch.operation, launch.work};
  launch.operation = operation;
  return outcome;
}

LaunchJoin::Outcome LaunchJoin::AddWork(uint64_t correlation, const DeviceWork& work) {
  Launch& launch = At(correlation);
  if (launch.operation == kNoOperation && correlation <= largest_let_go_ && work.records > 0) {
    too_late_ += work.records;
  }
  launch.work += work;
  return {launch.operation, kNoOperation, work};
}

LaunchJoin::Call LaunchJoin::AddCall(uint64_t correlation, int64_t start_ns) {
  Launch& launch = At(correlation);
  Call call = {start_ns<launch.call_start_ns, launch.work.records> 0};
  launch.call_start_ns = std::min(launch.call_start_ns, start_ns);
  return call;
}

int64_t LaunchJoin::CallStart(uint64_t correlation) {
  const Launch* launch = launches_.Find(correlation);
  return launch == nullptr ? kNoCall : launch->call_start_ns;
}

}  // namespace tp
