// Counts what a thread does that may take long or wait for others: memory that it allocates or
// frees, locks, and system calls; and of each, how many are made from within one library. A program
// that uses it has its own malloc and pthread_mutex_lock, which count and hand on.
#ifndef TESTS_PROGRAMS_COUNTED_CALLS_H_
#define TESTS_PROGRAMS_COUNTED_CALLS_H_

namespace tp::test {

struct CallCounts {
  long allocations = 0;  // malloc, calloc, realloc, free and their like.
  long locks = 0;        // Of pthread: mutexes, read-write locks, conditions.
  long system_calls = 0;
};

// While it lives, the calls of the thread that made it are counted, unless paused. One at a time.
class CallCounter {
 public:
  // `library`: how the library's path ends. The program ends with status 77 if system calls cannot
  // be counted here (before Linux 5.11).
  explicit CallCounter(const char* library);
  ~CallCounter();
  CallCounter(const CallCounter&) = delete;
  CallCounter& operator=(const CallCounter&) = delete;

  void Continue();
  void Pause();

  // Since it was made, or reset.
  CallCounts all() const;
  CallCounts within_library() const;
  void Reset();
};

}  // namespace tp::test

#endif  // TESTS_PROGRAMS_COUNTED_CALLS_H_
