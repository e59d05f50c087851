// A collector's messages as a daemon takes them: any bytes are refused, or end in tables.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "analyzer/present/table.h"
#include "analyzer/serve/session.h"
#include "analyzer/wire/framing.h"

namespace tp {
namespace {

constexpr int64_t kNowNs = 1'000'000'000;

// Few of everything, so that what is let go is met too.
SessionLimits Limits() {
  SessionLimits limits;
  limits.summary = {.spans = 64,
                    .correlations = 64,
                    .groups = 16,
                    .intervals = 16,
                    .unconfirmed = 16,
                    .allocations = 16,
                    .graph_nodes = 16,
                    .span_details = 16};
  return limits;
}

bool Take(std::string_view bytes, Session* session) {
  wire::FromCollector message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return false;
  switch (message.message_case()) {
    case wire::FromCollector::kHello:
      session->Greet(message.hello(), /*new_connection=*/true, kNowNs);
      return true;
    case wire::FromCollector::kStrings:
      return session->Add(message.strings()).ok();
    case wire::FromCollector::kBatch:
      return session->Add(message.batch()).ok();
    case wire::FromCollector::kStatus:
      session->Told(message.status());
      return true;
    case wire::FromCollector::kGoodbye:
      session->Told(message.goodbye());
      return true;
    default:
      return true;
  }
}

void AllTables(const Session& session) {
  const Summary* summary = &session.summary();
  for (int view = query::View_MIN; view <= query::View_MAX; ++view) {
    TableOptions options;
    options.view = static_cast<query::View>(view);
    options.group_by_shape = true;
    query::Table table = Tabulate({&summary, 1}, options, kNowNs);
    *table.add_processes() = session.Describe();
    // It travels to tpctl.
    query::Table received;
    if (!received.ParseFromString(table.SerializeAsString())) std::abort();
    if (!FormatTable(received, {}).ok() || !FormatJson(received, {}).ok()) std::abort();
  }
}

}  // namespace
}  // namespace tp

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size == 0) return 0;
  tp::Session session(tp::Credentials{}, tp::wire::Hello(), tp::Limits(), tp::kNowNs);
  tp::FrameReader frames;
  std::memcpy(frames.Room(size).data(), bytes, size);
  frames.Filled(size);
  while (true) {
    const absl::StatusOr<std::optional<std::string_view>> message = frames.Next();
    // What cannot be right ends a connection; the session stays.
    if (!message.ok() || !message->has_value() || !tp::Take(**message, &session)) break;
  }
  tp::AllTables(session);
  return 0;
}
