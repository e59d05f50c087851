// The tables of sessions, with all that a reader must know beside the rows: of those that a daemon
// holds, and of those that a recording tells of.
#ifndef ANALYZER_SERVE_SESSION_TABLE_H_
#define ANALYZER_SERVE_SESSION_TABLE_H_

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "analyzer/serve/session.h"
#include "proto/query.pb.h"

namespace tp {

// The view that `request` asks for, over all of `sessions`. What is open ends at `now_ns`. `late`:
// processes that were asked for their latest events and have not answered in time.
query::Table TableOf(const std::vector<const Session*>& sessions,
                     const query::TableRequest& request, const std::vector<pid_t>& late,
                     int64_t now_ns);

}  // namespace tp

#endif  // ANALYZER_SERVE_SESSION_TABLE_H_
