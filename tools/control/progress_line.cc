#include "tools/control/progress_line.h"

#include <unistd.h>

#include <iostream>

#include "absl/strings/str_cat.h"

namespace tp {

ProgressLine::ProgressLine(std::ostream& errors)
    : errors_(errors), is_shown_(&errors == &std::cerr && isatty(STDERR_FILENO) == 1) {}

void ProgressLine::Show(const std::string& text) {
  if (!is_shown_ || text == text_) return;
  text_ = text;
  errors_ << "\r" << text << "\033[K" << std::flush;
}

void ProgressLine::Clear() {
  if (!text_.empty()) errors_ << "\r\033[K" << std::flush;
  text_.clear();
}

Progress ProgressLine::Percent(std::string what) {
  if (!is_shown_) return {};
  return [this, what = std::move(what)](double part) {
    Show(absl::StrCat(what, ": ", static_cast<int>(part * 100), "%"));
  };
}

}  // namespace tp
