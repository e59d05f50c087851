// Which rows are shown, and their fields: shared by all forms of output.
#ifndef ANALYZER_PRESENT_ROWS_H_
#define ANALYZER_PRESENT_ROWS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/present/table.h"
#include "nlohmann/json.hpp"
#include "proto/query.pb.h"

namespace tp {

// {kind: {cause: count}}.
nlohmann::ordered_json LossFields(const google::protobuf::RepeatedPtrField<query::Loss>& losses);

// A copy of the table, sorted and limited as asked. Its totals are still those of all rows.
absl::StatusOr<query::Table> ShownRows(const query::Table& table, const TextOptions& options);

// One object per row of the table's view, all with the same fields in the same order.
std::vector<nlohmann::ordered_json> RowFields(const query::Table& table);

// The names of those fields, also where there is no row.
std::vector<std::string> FieldNames(query::View view);

}  // namespace tp

#endif  // ANALYZER_PRESENT_ROWS_H_
