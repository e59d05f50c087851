// The function of cuBLAS that one of ours stands before.
//
// cuBLAS's functions carry the version of their library ("libcublas.so.12", which is also the name
// that the loader knows the library by), and so do those that replace them: a call of a program
// that was linked with cuBLAS 12 comes to the one for 12 and goes on to cuBLAS 12, whatever other
// cuBLAS there is in the process.
#ifndef COLLECTOR_CUBLAS_REAL_FUNCTION_H_
#define COLLECTOR_CUBLAS_REAL_FUNCTION_H_

#include <atomic>

namespace tp::collect {

// Any thread. Takes the loader's lock at the first call alone.
class RealFunction {
 public:
  constexpr RealFunction(const char* name, const char* library) : name_(name), library_(library) {}
  RealFunction(const RealFunction&) = delete;
  RealFunction& operator=(const RealFunction&) = delete;

  // nullptr if there is none. The library then stays in the process, as one does that programs are
  // linked with.
  void* Get() {
    void* known = function_.load(std::memory_order_acquire);
    return __builtin_expect(known != nullptr, 1) ? known : Find();
  }

 private:
  void* Find();

  const char* name_;
  const char* library_;
  std::atomic<void*> function_{nullptr};
};

}  // namespace tp::collect

#endif  // COLLECTOR_CUBLAS_REAL_FUNCTION_H_
