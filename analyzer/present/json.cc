#include "analyzer/present/rows.h"
#include "analyzer/present/table.h"
#include "analyzer/present/utf8.h"

namespace tp {

absl::StatusOr<std::string> FormatJson(const query::Table& table, const TextOptions& options) {
  absl::StatusOr<query::Table> shown = ShownRows(table, options);
  if (!shown.ok()) return shown.status();
  nlohmann::ordered_json notes = nlohmann::ordered_json::array();
  for (const std::string& note : table.notes()) notes.push_back(ValidUtf8(note));
  nlohmann::ordered_json object = {
      {"view", ViewName(table.view())},
      {"rows", RowFields(*shown)},
      {"totals",
       {{"self_cpu_time_total_ns", table.self_cpu_time_total_ns()},
        {"self_device_time_total_ns", table.self_device_time_total_ns()},
        {"device_time_total_ns", table.device_time_total_ns()}}},
      {"losses", LossFields(table.losses())},
      {"notes", std::move(notes)},
  };
  // Names are valid already; what else a daemon sends must not throw either.
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace tp
