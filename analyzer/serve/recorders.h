// The recordings that are under way in a daemon. What comes of its sessions is told to all of them;
// none costs next to nothing.
#ifndef ANALYZER_SERVE_RECORDERS_H_
#define ANALYZER_SERVE_RECORDERS_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "analyzer/serve/recorder.h"

namespace tp {

class Recorders {
 public:
  // Each may have a full queue.
  static constexpr size_t kMost = 8;

  // Recorders are their owners', who remove them before they go.
  void Add(Recorder* recorder) { recorders_.push_back(recorder); }
  void Remove(Recorder* recorder) { std::erase(recorders_, recorder); }
  size_t count() const { return recorders_.size(); }

  // As of Recorder.
  void Taken(const Session& session, const wire::FromCollector& message, std::string_view bytes,
             bool new_connection, int64_t now_ns) {
    for (Recorder* recorder : recorders_) {
      recorder->Taken(session, message, bytes, new_connection, now_ns);
    }
  }
  void Disconnected(const Session& session, int64_t now_ns) {
    for (Recorder* recorder : recorders_) recorder->Disconnected(session, now_ns);
  }
  void LookForEndings() {
    for (Recorder* recorder : recorders_) recorder->LookForEndings();
  }
  void LetGo(const Session& session, int64_t now_ns) {
    for (Recorder* recorder : recorders_) recorder->LetGo(session, now_ns);
  }

 private:
  std::vector<Recorder*> recorders_;
};

}  // namespace tp

#endif  // ANALYZER_SERVE_RECORDERS_H_
