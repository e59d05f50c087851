#include "tests/simcuda/cupti/faults.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace simcupti {
namespace {

bool ParseNumber(std::string_view text, uint64_t* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// The part of `text` before `separator`, which is removed from it together with the separator.
std::string_view TakeUntil(std::string_view* text, char separator) {
  const size_t position = text->find(separator);
  const std::string_view head = text->substr(0, position);
  *text = position == std::string_view::npos ? std::string_view() : text->substr(position + 1);
  return head;
}

bool ParseError(std::string_view value, Faults* faults) {
  const std::string_view function = TakeUntil(&value, ':');
  const std::string_view code_text = TakeUntil(&value, ':');
  uint64_t code = 0;
  uint64_t after = 0;
  if (function.empty() || !ParseNumber(code_text, &code)) return false;
  if (!value.empty()) {
    if (TakeUntil(&value, '=') != "after" || !ParseNumber(value, &after)) return false;
  }
  Faults::FunctionError& error = faults->errors.emplace_back();
  error.function = function;
  error.code = static_cast<CUptiResult>(code);
  error.successes_before = after;
  return true;
}

bool ParseEntry(std::string_view entry, Faults* faults) {
  const std::string_view name = TakeUntil(&entry, '=');
  if (name == "error") return ParseError(entry, faults);
  const std::pair<std::string_view, bool*> switches[] = {
      {"busy_subscriber", &faults->busy_subscriber},
      {"no_push", &faults->no_push},
      {"old_driver", &faults->old_driver},
  };
  for (const auto& [switch_name, on] : switches) {
    if (name != switch_name) continue;
    *on = true;
    return entry.empty();
  }
  uint64_t number = 0;
  if (!ParseNumber(entry, &number)) return false;
  if (name == "drop_every") {
    faults->drop_record.SetPeriod(number);
  } else if (name == "inverted_kernel_every") {
    faults->invert_kernel.SetPeriod(number);
  } else if (name == "zero_end_every") {
    faults->zero_kernel_end.SetPeriod(number);
  } else if (name == "late_buffers_ms") {
    faults->late_buffers_ms = number;
  } else {
    return false;
  }
  return true;
}

}  // namespace

CUptiResult Faults::ErrorOf(std::string_view function) {
  for (FunctionError& error : errors) {
    if (error.function != function) continue;
    if (error.calls.fetch_add(1, std::memory_order_relaxed) >= error.successes_before) {
      return error.code;
    }
  }
  return CUPTI_SUCCESS;
}

bool ParseFaults(std::string_view list, Faults* faults, std::string* error) {
  while (!list.empty()) {
    const std::string_view entry = TakeUntil(&list, ',');
    if (entry.empty()) continue;
    if (!ParseEntry(entry, faults)) {
      *error = "cannot read \"" + std::string(entry) + "\"";
      return false;
    }
  }
  return true;
}

Faults& ActiveFaults() {
  // Never destroyed: threads of the program may still be in here while the process ends.
  static Faults* const faults = [] {
    auto* read = new Faults;
    const char* list = std::getenv("SIMCUPTI_FAULTS");
    std::string error;
    if (list != nullptr && !ParseFaults(list, read, &error)) {
      std::fprintf(stderr, "SIMCUPTI_FAULTS: %s\n", error.c_str());
      std::abort();
    }
    return read;
  }();
  return *faults;
}

}  // namespace simcupti
