// The names that the system has for the program's threads (pthread_setname_np), for descriptions.
#ifndef COLLECTOR_THREAD_NAMES_H_
#define COLLECTOR_THREAD_NAMES_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "collector/link/descriptions.h"

namespace tp::collect {

// Not thread-safe: the collector thread's own. Reads /proc/self/task, and nothing once a filter of
// system calls has come that was not there at first: the call might end the process.
class ThreadNames {
 public:
  // The descriptions outlive it.
  explicit ThreadNames(Descriptions* descriptions);

  // A thread that ranges or calls are of. Costs next to nothing for one that was seen last.
  void Seen(uint32_t thread_id) {
    if (thread_id != last_) Add(thread_id);
  }

  // Reads the names of threads that are new, of some at a time.
  void ReadNew();
  // Reads one of the others again, each in its turn: threads can name themselves later, and their
  // numbers can come to be another's.
  void ReadNext();
  // Reads them all again, as many as there is time for at the end.
  void ReadAll();

 private:
  void Add(uint32_t thread_id);
  void Read(uint32_t thread_id);
  bool MayRead();

  Descriptions* descriptions_;
  const int filtered_;  // Whether system calls are, at first.
  bool stopped_ = false;
  uint32_t last_ = 0;
  std::unordered_set<uint32_t> known_;
  std::vector<uint32_t> threads_;  // Those of known_, in the order in which they came.
  size_t read_ = 0;                // Of threads_, at least once.
  size_t next_ = 0;
};

}  // namespace tp::collect

#endif  // COLLECTOR_THREAD_NAMES_H_
