// Which operations of one process are shown by their own names where there must not be many and
// their numbers must never go back (counters that others read now and then).
//
// The `kTop` with the most device time of their own are shown, and who has been shown stays so, up
// to `kMost` in all; the rest is "(other)". An operation that comes in later brings along what
// "(other)" has not told of it yet: what it did before stays there, so that neither goes back and
// the sum is right. As long as a process has had no more than `kTop` operations with device time,
// each has its whole time.
#ifndef ANALYZER_SERVE_SHOWN_OPERATIONS_H_
#define ANALYZER_SERVE_SHOWN_OPERATIONS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tp {

class ShownOperations {
 public:
  static constexpr size_t kTop = 20;
  static constexpr size_t kMost = 40;

  struct Row {
    std::string name;
    std::string kind;  // As in query::OperationRow; empty of "(other)".
    int64_t self_device_ns = 0;
  };

  // Given all operations as they are now, those that are shown: by name and kind, "(other)" last if
  // it has any time. Those with the same name and kind are one.
  std::vector<Row> Update(const std::vector<Row>& operations);

 private:
  using Key = std::pair<std::string, std::string>;
  struct Shown {
    int64_t told_elsewhere_ns = 0;  // In "(other)", before it was shown.
    int64_t told_ns = 0;
  };
  std::map<Key, Shown> shown_;
  int64_t other_ns_ = 0;
};

}  // namespace tp

#endif  // ANALYZER_SERVE_SHOWN_OPERATIONS_H_
