// Answers to the requests of query.proto, out of what the sessions hold. Asking changes nothing.
//
// Who asks sees the processes of the own user; root sees all.
#ifndef ANALYZER_SERVE_QUERY_SERVICE_H_
#define ANALYZER_SERVE_QUERY_SERVICE_H_

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/serve/connection.h"
#include "analyzer/serve/session_store.h"
#include "proto/query.pb.h"

namespace tp {

bool MaySee(const Credentials& asker, const Session& session);

query::Response ErrorResponse(std::string message);

query::Processes DescribeProcesses(const SessionStore& store, const Credentials& asker,
                                   int64_t now_ns);

// The sessions that a table of `pid` (0: all) is about. NotFound says which processes there are.
absl::StatusOr<std::vector<const Session*>> SessionsConcerned(const SessionStore& store,
                                                              const Credentials& asker,
                                                              int64_t pid);

// The sessions that a request to begin or stop capturing is about. NotFound says which processes
// there are.
absl::StatusOr<std::vector<const Session*>> SessionsToCapture(const SessionStore& store,
                                                              const Credentials& asker,
                                                              const query::CaptureRequest& request);

// What came of such a request; `unanswered`: those of which that is not known.
query::Response MakeCaptures(const SessionStore& store, const Credentials& asker,
                             const std::vector<pid_t>& pids, const std::set<pid_t>& unanswered);

// `late`: processes that were asked for their latest events and have not answered in time.
query::Response MakeTable(const SessionStore& store, const Credentials& asker,
                          const query::TableRequest& request, const std::vector<pid_t>& late,
                          int64_t now_ns);

}  // namespace tp

#endif  // ANALYZER_SERVE_QUERY_SERVICE_H_
