// The options that `table` and `top` share: which table to ask for and how to print it.
#ifndef TOOLS_CONTROL_TABLE_ARGUMENTS_H_
#define TOOLS_CONTROL_TABLE_ARGUMENTS_H_

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "analyzer/present/table.h"
#include "proto/query.pb.h"

namespace tp {

enum class Format { kTable, kJson, kCsv };

struct TableArguments {
  query::TableRequest request;
  std::string input;  // A file; empty: the daemon's processes.
  TextOptions text;
  bool row_limit_given = false;
  bool name_width_given = false;
  Format format = Format::kTable;
};

void AddFormatOption(CLI::App* app, Format* format);

// `with_spans`: the view `spans` is a choice too. `arguments` outlives the parsing.
void AddTableOptions(CLI::App* app, bool with_spans, TableArguments* arguments);

}  // namespace tp

#endif  // TOOLS_CONTROL_TABLE_ARGUMENTS_H_
