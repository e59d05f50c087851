// One line in the log for every connection that went wrong, which says who and why; and one for
// many of them, when a user's connections go wrong by the dozen.
#ifndef ANALYZER_SERVE_REJECTION_LOG_H_
#define ANALYZER_SERVE_REJECTION_LOG_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string_view>

#include "analyzer/serve/connection.h"

namespace tp {

class RejectionLog {
 public:
  void Rejected(const Credentials& peer, std::string_view who, std::string_view why,
                int64_t now_ns);
  // Tells how many lines were left out; to be called about once a second.
  void Tick(int64_t now_ns);
  uint64_t count() const { return count_; }

 private:
  struct Recent {
    int64_t since_ns = 0;
    uint64_t lines = 0;
    uint64_t left_out = 0;
  };

  uint64_t count_ = 0;
  std::map<uid_t, Recent> by_user_;
};

}  // namespace tp

#endif  // ANALYZER_SERVE_REJECTION_LOG_H_
