// Misbehaviour on request: what a profiler must survive and a healthy CUPTI rarely shows.
//
// The environment variable SIMCUPTI_FAULTS is read once, at the first use of the library. It is a
// list, separated by commas:
//
//   drop_every=N             every Nth record, of whatever kind, is dropped and counted as dropped
//   late_buffers_ms=N        a full or flushed buffer reaches the client N milliseconds later;
//                            a plain flush does not wait for it, a forced one hands over at once
//   old_driver               the driver is too old for several subscribers: posing as 13.3 or
//   later,
//                            who asks to allow them is refused
//   busy_subscriber          cuptiSubscribe answers that another tool is there
//   error=FUNCTION:CODE      that function of the API returns CODE (a number) and does nothing
//   error=FUNCTION:CODE:after=N   the same, after N calls that worked
//   inverted_kernel_every=N  every Nth kernel record ends before it starts
//   zero_end_every=N         every Nth kernel record has 0 for its end
//   no_push                  pushed external correlation ids are accepted and lead to no record
//
// `error` may be given several times. An entry that cannot be read stops the process with a
// message: a test whose fault is silently not there would prove nothing.
//
// Threads: all functions may be called from any thread.
#ifndef TESTS_SIMCUDA_CUPTI_FAULTS_H_
#define TESTS_SIMCUDA_CUPTI_FAULTS_H_

#include <cupti_result.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace simcupti {

// Says yes at every Nth question; never when N is 0.
class EveryNth {
 public:
  void SetPeriod(uint64_t period) { period_ = period; }
  bool Next() {
    return period_ != 0 && (count_.fetch_add(1, std::memory_order_relaxed) + 1) % period_ == 0;
  }

 private:
  uint64_t period_ = 0;
  std::atomic<uint64_t> count_{0};
};

struct Faults {
  EveryNth drop_record;
  EveryNth invert_kernel;
  EveryNth zero_kernel_end;
  uint64_t late_buffers_ms = 0;
  bool busy_subscriber = false;
  bool old_driver = false;
  bool no_push = false;

  // The error that the caller must return, or CUPTI_SUCCESS.
  CUptiResult ErrorOf(std::string_view function);

  struct FunctionError {
    std::string function;
    CUptiResult code;
    uint64_t successes_before;
    std::atomic<uint64_t> calls{0};
  };
  std::deque<FunctionError> errors;
};

// Reads a list as above into `faults`. False, with `error` set, where an entry makes no sense.
bool ParseFaults(std::string_view list, Faults* faults, std::string* error);

// The faults of this process.
Faults& ActiveFaults();

}  // namespace simcupti

#endif  // TESTS_SIMCUDA_CUPTI_FAULTS_H_
