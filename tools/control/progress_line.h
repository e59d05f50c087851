// A line on a terminal's stderr that tells how far long work is: written over, and gone at the end.
// Elsewhere there is none.
#ifndef TOOLS_CONTROL_PROGRESS_LINE_H_
#define TOOLS_CONTROL_PROGRESS_LINE_H_

#include <functional>
#include <ostream>
#include <string>

namespace tp {

// To be told now and then which part is done, up to 1. May be empty.
using Progress = std::function<void(double part)>;

class ProgressLine {
 public:
  explicit ProgressLine(std::ostream& errors);
  ~ProgressLine() { Clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  bool is_shown() const { return is_shown_; }
  void Show(const std::string& text);
  void Clear();
  // Shows "WHAT: 42%". Empty where there is no terminal; must not outlive the line.
  Progress Percent(std::string what);

 private:
  std::ostream& errors_;
  bool is_shown_;
  std::string text_;
};

}  // namespace tp

#endif  // TOOLS_CONTROL_PROGRESS_LINE_H_
