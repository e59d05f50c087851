#include "analyzer/present/table.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/present/command.h"
#include "analyzer/present/process_list.h"
#include "analyzer/present/rows.h"
#include "analyzer/present/text_table.h"
#include "analyzer/present/units.h"
#include "analyzer/present/utf8.h"
#include "analyzer/summarize/texts.h"

namespace tp {
namespace {

double Microseconds(int64_t ns) { return static_cast<double>(ns) / 1000.0; }

double AverageMicroseconds(int64_t total_ns, int64_t count) {
  return count == 0 ? 0 : static_cast<double>(total_ns) / static_cast<double>(count) / 1000.0;
}

void AddHeader(const TextOptions& options, TextTable* text) {
  if (!options.header.empty()) text->AddHeader(ValidUtf8(options.header));
}

// Whole numbers whole, others with ten digits.
std::string NumberText(double value) {
  constexpr double kLargestExact = 9007199254740992;  // 2^53
  const bool is_whole = std::abs(value) <= kLargestExact && value == std::trunc(value);
  return is_whole ? absl::StrFormat("%.0f", value) : absl::StrFormat("%.10g", value);
}

// "Message size [bytes]=4096, Reduction operation=Sum"
std::string ValuesText(const google::protobuf::RepeatedPtrField<query::Value>& values) {
  std::string text;
  for (const query::Value& value : values) {
    if (!text.empty()) text += ", ";
    absl::StrAppend(&text, ValidUtf8(value.name()), "=");
    switch (value.value_case()) {
      case query::Value::kSignedNumber:
        absl::StrAppend(&text, value.signed_number());
        break;
      case query::Value::kUnsignedNumber:
        absl::StrAppend(&text, value.unsigned_number());
        break;
      case query::Value::kRealNumber:
        text += NumberText(value.real_number());
        break;
      default:
        text += ValidUtf8(value.text());
    }
  }
  return text;
}

// Of OPERATIONS and SPANS. `shown` holds the rows, `all` the totals.
std::string OperationsText(const query::Table& shown, const TextOptions& options) {
  const auto& rows = shown.operations();
  if (rows.empty()) return "";
  auto any = [&rows](auto has) { return std::any_of(rows.begin(), rows.end(), has); };
  using Row = query::OperationRow;
  bool has_device = any([](const Row& row) {
    return row.self_device_time_total_ns() != 0 || row.device_time_total_ns() != 0;
  });
  bool has_bytes = any([](const Row& row) { return row.output_bytes() != 0; });
  bool has_shapes = any([](const Row& row) { return row.input_shapes_size() > 0; });
  bool has_flops = options.with_flops && any([](const Row& row) { return row.flops() > 0; });
  bool has_values = any([](const Row& row) { return row.values_size() > 0; });
  bool has_stack = any([](const Row& row) { return row.stack_size() > 0; });

  std::string device =
      shown.device_kind().empty() ? "CUDA" : absl::AsciiStrToUpper(shown.device_kind());
  FlopsUnit flops_unit = FlopsUnitFor(0);
  TextTable text;
  AddHeader(options, &text);
  if (options.top_level_events_only) {
    text.AddHeader("Nested spans are omitted; only outermost operations are shown.");
  }
  text.AddLeftColumn("Name", options.max_name_width);
  for (const char* title : {"Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"}) {
    text.AddColumn(title);
  }
  if (has_device) {
    text.AddColumn("Self " + device);
    text.AddColumn("Self " + device + " %");
    text.AddColumn(device + " total");
    text.AddColumn(device + " time avg");
  }
  if (has_bytes) {
    text.AddColumn("Output Mem");
    text.AddColumn("Self Output Mem");
  }
  text.AddColumn("# of Calls");
  if (has_shapes) {
    text.AddLeftColumn("Input Shapes", options.max_shapes_width, TextTable::Cut::kEnd);
  }
  if (has_flops) {
    int64_t smallest = INT64_MAX;
    for (const Row& row : rows) {
      if (row.flops() > 0) smallest = std::min(smallest, row.flops());
    }
    flops_unit = FlopsUnitFor(static_cast<double>(smallest));
    text.AddColumn(absl::StrCat("Total ", flops_unit.prefix, "FLOPs"));
  }
  if (has_values) text.AddLeftColumn("Values", options.max_shapes_width, TextTable::Cut::kEnd);
  if (has_stack) {
    text.AddLeftColumn("Source Location", options.max_source_width, TextTable::Cut::kFront);
  }

  double self_cpu_total = Microseconds(shown.self_cpu_time_total_ns());
  double self_device_total = Microseconds(shown.self_device_time_total_ns());
  auto duration = [&options](double microseconds) {
    return DurationText(microseconds, options.time_unit);
  };
  for (const Row& row : rows) {
    double self_cpu = Microseconds(row.self_cpu_time_total_ns());
    double cpu = Microseconds(row.cpu_time_total_ns());
    std::vector<std::string> cells = {
        ValidUtf8(row.name()), ShareText(self_cpu, self_cpu_total),
        duration(self_cpu),    row.asynchronous() ? "0.00%" : ShareText(cpu, self_cpu_total),
        duration(cpu),         duration(AverageMicroseconds(row.cpu_time_total_ns(), row.count())),
    };
    if (has_device) {
      double self_device = Microseconds(row.self_device_time_total_ns());
      double device_total = Microseconds(row.device_time_total_ns());
      cells.push_back(duration(self_device));
      cells.push_back(ShareText(self_device, self_device_total));
      cells.push_back(duration(device_total));
      cells.push_back(duration(row.count() == 0 ? 0 : device_total / row.count()));
    }
    if (has_bytes) {
      cells.push_back(BytesText(row.nested_output_bytes()));
      cells.push_back(BytesText(row.output_bytes()));
    }
    cells.push_back(absl::StrCat(row.count()));
    if (has_shapes) {
      cells.push_back(row.input_shapes_size() > 0 ? ShapesText(row.input_shapes()) : "");
    }
    if (has_flops) {
      cells.push_back(row.flops() > 0 ? absl::StrFormat("%.3f", row.flops() / flops_unit.size)
                                      : "--");
    }
    if (has_values) cells.push_back(ValuesText(row.values()));
    if (has_stack) cells.push_back(row.stack_size() > 0 ? ValidUtf8(row.stack(0)) : "");
    size_t columns = cells.size();
    text.AddRow(std::move(cells));
    for (int i = 1; i < row.stack_size(); ++i) {
      std::vector<std::string> frame(columns);
      frame.back() = ValidUtf8(row.stack(i));
      text.AddRow(std::move(frame));
    }
  }

  std::string result =
      absl::StrCat(text.Text(), "Self CPU time total: ", duration(self_cpu_total), "\n");
  if (has_device) {
    absl::StrAppend(&result, "Self ", device, " time total: ", duration(self_device_total), "\n");
  }
  return result;
}

// The table of section 6, which has a layout of its own.
std::string KernelsText(const query::Table& all, const query::Table& shown,
                        const TextOptions& options) {
  int64_t calls = 0, total_ns = 0;
  for (const query::WorkRow& row : all.kernels()) {
    calls += row.count();
    total_ns += row.total_ns();
  }
  auto line = [](const std::string& name, const std::string& kind, const std::string& count,
                 const std::string& total) {
    std::string padding(40 - std::min<size_t>(40, CodePoints(name)), ' ');
    return absl::StrFormat("%s%s %4s %6s %11s", name, padding, kind, count, total);
  };
  std::string title =
      absl::StrCat(line("Name", "Kind", "Calls", "Total us"),
                   absl::StrFormat(" %7s %10s %10s %10s", "Total %", "Avg us", "Min us", "Max us"));
  std::string rule(title.size(), '-');
  std::string text;
  if (!options.header.empty()) {
    absl::StrAppend(&text, std::string(title.size(), '='), "\n", ValidUtf8(options.header), "\n");
  }
  absl::StrAppend(&text, title, "\n", rule, "\n");
  for (const query::WorkRow& row : shown.kernels()) {
    double share =
        total_ns == 0 ? 0 : Microseconds(row.total_ns()) * 100.0 / Microseconds(total_ns);
    absl::StrAppend(&text,
                    line(ValidUtf8(row.name()), row.kind(), absl::StrCat(row.count()),
                         absl::StrFormat("%.2f", Microseconds(row.total_ns()))),
                    absl::StrFormat(" %6.1f%% %10.2f %10.2f %10.2f\n", share,
                                    AverageMicroseconds(row.total_ns(), row.count()),
                                    Microseconds(row.min_ns()), Microseconds(row.max_ns())));
  }
  absl::StrAppend(
      &text, rule, "\n",
      line("Total", "", absl::StrCat(calls), absl::StrFormat("%.2f", Microseconds(total_ns))));
  return text;
}

// Total, average, least and longest, and the share of `whole_ns`.
template <typename Row>
std::vector<std::string> DurationCells(const Row& row, int64_t whole_ns, TimeUnit unit) {
  return {
      DurationText(Microseconds(row.total_ns()), unit),
      ShareText(Microseconds(row.total_ns()), Microseconds(whole_ns)),
      DurationText(AverageMicroseconds(row.total_ns(), row.count()), unit),
      DurationText(Microseconds(row.min_ns()), unit),
      DurationText(Microseconds(row.max_ns()), unit),
  };
}

void AddDurationColumns(const char* share_title, TextTable* text) {
  for (const char* title : {"Total", share_title, "Avg", "Min", "Max"}) text->AddColumn(title);
}

template <typename Rows>
int64_t SumOfTotals(const Rows& rows) {
  int64_t sum_ns = 0;
  for (const auto& row : rows) sum_ns += row.total_ns();
  return sum_ns;
}

void Append(std::vector<std::string> more, std::vector<std::string>* cells) {
  cells->insert(cells->end(), more.begin(), more.end());
}

std::string CopiesText(const query::Table& all, const query::Table& shown,
                       const TextOptions& options) {
  int64_t all_ns = SumOfTotals(all.copies());
  TextTable text;
  AddHeader(options, &text);
  text.AddLeftColumn("Direction", options.max_name_width);
  text.AddLeftColumn("From", std::nullopt);
  text.AddLeftColumn("To", std::nullopt);
  text.AddColumn("# of Copies");
  text.AddColumn("Bytes");
  text.AddColumn("GB/s");
  AddDurationColumns("Total %", &text);
  for (const query::CopyRow& row : shown.copies()) {
    std::vector<std::string> cells = {
        row.direction(),
        row.direction() == "fill" ? "" : row.source_memory(),
        row.destination_memory(),
        absl::StrCat(row.count()),
        BytesText(row.bytes()),
        // Bytes per ns are GB (of 1000) per second.
        row.total_ns() == 0
            ? "--"
            : absl::StrFormat("%.2f", static_cast<double>(row.bytes()) / row.total_ns()),
    };
    Append(DurationCells(row, all_ns, options.time_unit), &cells);
    text.AddRow(std::move(cells));
  }
  return absl::StrCat(text.Text(),
                      "Copy time total: ", DurationText(Microseconds(all_ns), options.time_unit),
                      "\n");
}

std::string CallsText(const query::Table& all, const query::Table& shown,
                      const TextOptions& options) {
  // A runtime call contains the driver calls that it makes: their times have no common whole.
  std::map<std::string_view, int64_t> domains_ns;
  for (const query::CallRow& row : all.calls()) domains_ns[row.domain()] += row.total_ns();
  TextTable text;
  AddHeader(options, &text);
  text.AddLeftColumn("Name", options.max_name_width);
  text.AddLeftColumn("Domain", std::nullopt);
  text.AddColumn("# of Calls");
  AddDurationColumns("Domain %", &text);
  text.AddColumn("Errors");
  for (const query::CallRow& row : shown.calls()) {
    std::vector<std::string> cells = {ValidUtf8(row.name()), row.domain(),
                                      absl::StrCat(row.count())};
    Append(DurationCells(row, domains_ns[row.domain()], options.time_unit), &cells);
    cells.push_back(absl::StrCat(row.errors()));
    text.AddRow(std::move(cells));
  }
  return text.Text();
}

std::string StreamsText(const query::Table& shown, const TextOptions& options) {
  const bool has_names =
      std::any_of(shown.streams().begin(), shown.streams().end(),
                  [](const query::StreamRow& row) { return !row.name().empty(); });
  TextTable text;
  AddHeader(options, &text);
  for (const char* title : {"Process", "Device", "Context", "Stream"}) text.AddColumn(title);
  if (has_names) text.AddLeftColumn("Name", options.max_name_width);
  for (const char* title : {"# of Records", "Total", "Busy"}) text.AddColumn(title);
  for (const query::StreamRow& row : shown.streams()) {
    std::vector<std::string> cells = {absl::StrCat(row.pid()), absl::StrCat(row.device()),
                                      absl::StrCat(row.context()), absl::StrCat(row.stream())};
    if (has_names) cells.push_back(ValidUtf8(row.name()));
    Append(
        {absl::StrCat(row.count()), DurationText(Microseconds(row.total_ns()), options.time_unit),
         DurationText(Microseconds(row.busy_ns()), options.time_unit)},
        &cells);
    text.AddRow(std::move(cells));
  }
  std::string result = text.Text();
  for (const query::DeviceUse& device : shown.devices()) {
    int64_t span_ns = device.last_ns() - device.first_ns();
    absl::StrAppend(&result, "Device ", device.device(),
                    device.name().empty() ? "" : absl::StrCat(" (", ValidUtf8(device.name()), ")"),
                    ": busy ", DurationText(Microseconds(device.busy_ns()), options.time_unit),
                    " of ", DurationText(Microseconds(span_ns), options.time_unit), " (",
                    ShareText(Microseconds(device.busy_ns()), Microseconds(span_ns)), ")\n");
  }
  return result;
}

std::string MemoryText(const query::Table& shown, const TextOptions& options) {
  TextTable text;
  AddHeader(options, &text);
  text.AddColumn("Process");
  text.AddLeftColumn("Kind", std::nullopt);
  for (const char* title : {"Device", "Allocations", "Releases", "Allocated", "Live", "Peak"}) {
    text.AddColumn(title);
  }
  const auto bytes = [](uint64_t count) { return BytesText(static_cast<int64_t>(count)); };
  for (const query::MemoryRow& row : shown.memory()) {
    text.AddRow({absl::StrCat(row.pid()), row.kind() + (row.from_pool() ? ", from a pool" : ""),
                 absl::StrCat(row.device()), absl::StrCat(row.allocations()),
                 absl::StrCat(row.releases()), bytes(row.allocated_bytes()),
                 bytes(row.live_bytes()), bytes(row.peak_bytes())});
  }
  return text.Text();
}

std::string CountersText(const query::Table& shown, const TextOptions& options) {
  TextTable text;
  AddHeader(options, &text);
  text.AddColumn("Process");
  text.AddLeftColumn("Name", options.max_name_width);
  for (const char* title : {"# of Values", "Last", "Average", "Min", "Max", "Not finite"}) {
    text.AddColumn(title);
  }
  for (const query::CounterRow& row : shown.counters()) {
    const auto number = [&row](double value) {
      return row.count() == 0 ? std::string("--") : NumberText(value);
    };
    text.AddRow({absl::StrCat(row.pid()), ValidUtf8(row.name()), absl::StrCat(row.count()),
                 number(row.last()), number(row.average()), number(row.min()), number(row.max()),
                 absl::StrCat(row.not_finite())});
  }
  return text.Text();
}

std::string ProcessesText(const query::Table& shown, const TextOptions& options) {
  const bool has_devices =
      std::any_of(shown.processes().begin(), shown.processes().end(),
                  [](const query::Process& row) { return !DeviceNames(row).empty(); });
  TextTable text;
  AddHeader(options, &text);
  text.AddColumn("Process");
  text.AddLeftColumn("Command", options.max_name_width);
  text.AddLeftColumn("State", std::nullopt);
  text.AddColumn("Events");
  text.AddColumn("Lost");
  text.AddColumn("Device time");
  text.AddColumn("Unattributed");
  text.AddColumn("CUPTI");
  if (has_devices) text.AddLeftColumn("Devices", options.max_name_width);
  text.AddLeftColumn("Reason", std::nullopt);
  for (const query::Process& row : shown.processes()) {
    uint64_t events = 0, lost = 0;
    for (const query::KindCount& event : row.events()) events += event.count();
    for (const query::Loss& loss : row.losses()) lost += loss.count();
    std::vector<std::string> cells = {
        absl::StrCat(row.pid()),
        ValidUtf8(ShortCommand(row.command())),
        StateText(row),
        absl::StrCat(events),
        absl::StrCat(lost, row.more_may_be_lost() ? "+?" : ""),
        DurationText(Microseconds(row.device_time_ns()), options.time_unit),
        DurationText(Microseconds(row.unattributed_ns()), options.time_unit),
        CuptiVersionText(row.cupti_version())};
    if (has_devices) cells.push_back(ValidUtf8(DeviceNames(row)));
    cells.push_back(ValidUtf8(row.reason()));
    text.AddRow(std::move(cells));
  }
  return text.Text();
}

}  // namespace

absl::StatusOr<TimeUnit> ParseTimeUnit(std::string_view text) {
  if (text == "s") return TimeUnit::kSeconds;
  if (text == "ms") return TimeUnit::kMilliseconds;
  if (text == "us") return TimeUnit::kMicroseconds;
  return absl::InvalidArgumentError(
      absl::StrCat("unsupported time_unit: ", std::string(text), " (supported: s, ms, us)"));
}

absl::StatusOr<std::string> FormatTable(const query::Table& table, const TextOptions& options) {
  absl::StatusOr<query::Table> shown = ShownRows(table, options);
  if (!shown.ok()) return shown.status();
  switch (table.view()) {
    case query::KERNELS:
      return KernelsText(table, *shown, options);
    case query::COPIES:
      return CopiesText(table, *shown, options);
    case query::API:
      return CallsText(table, *shown, options);
    case query::STREAMS:
      return StreamsText(*shown, options);
    case query::MEMORY:
      return MemoryText(*shown, options);
    case query::COUNTERS:
      return CountersText(*shown, options);
    case query::PROCESSES:
      return ProcessesText(*shown, options);
    default:
      return OperationsText(*shown, options);
  }
}

}  // namespace tp
