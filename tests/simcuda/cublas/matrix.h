// Products of matrices in memory, computed by the host: the simulated device's memory is the
// host's.
#ifndef TESTS_SIMCUDA_CUBLAS_MATRIX_H_
#define TESTS_SIMCUDA_CUBLAS_MATRIX_H_

#include <cublas_api.h>

#include <complex>
#include <cstdint>

namespace tp::simcuda {

// What is computed with, for each type that is stored.
inline float Widen(__half value) { return __half2float(value); }
inline float Widen(float value) { return value; }
inline double Widen(double value) { return value; }
inline std::complex<float> Widen(cuComplex value) { return {value.x, value.y}; }
inline std::complex<double> Widen(cuDoubleComplex value) { return {value.x, value.y}; }

inline void Narrow(float value, __half* to) { *to = __float2half(value); }
inline void Narrow(float value, float* to) { *to = value; }
inline void Narrow(double value, double* to) { *to = value; }
inline void Narrow(std::complex<float> value, cuComplex* to) { *to = {value.real(), value.imag()}; }
inline void Narrow(std::complex<double> value, cuDoubleComplex* to) {
  *to = {value.real(), value.imag()};
}

template <typename T>
T Conjugate(T value) {
  return value;
}
template <typename T>
std::complex<T> Conjugate(std::complex<T> value) {
  return std::conj(value);
}

// Element (row, column) of op(matrix), stored by columns.
template <typename T>
auto Element(const T* matrix, cublasOperation_t operation, int64_t leading, int64_t row,
             int64_t column) {
  if (operation == CUBLAS_OP_N) return Widen(matrix[column * leading + row]);
  const auto value = Widen(matrix[row * leading + column]);
  return operation == CUBLAS_OP_C ? Conjugate(value) : value;
}

struct Sizes {
  int64_t m, n, k;
};

// C = alpha op(A) op(B) + beta C.
template <typename T>
void Multiply(cublasOperation_t a_operation, cublasOperation_t b_operation, Sizes sizes,
              const T* alpha, const T* a, int64_t lda, const T* b, int64_t ldb, const T* beta, T* c,
              int64_t ldc) {
  for (int64_t column = 0; column < sizes.n; ++column) {
    for (int64_t row = 0; row < sizes.m; ++row) {
      decltype(Widen(T())) sum = {};
      for (int64_t i = 0; i < sizes.k; ++i) {
        sum += Element(a, a_operation, lda, row, i) * Element(b, b_operation, ldb, i, column);
      }
      T* element = c + column * ldc + row;
      Narrow(Widen(*alpha) * sum + Widen(*beta) * Widen(*element), element);
    }
  }
}

}  // namespace tp::simcuda

#endif  // TESTS_SIMCUDA_CUBLAS_MATRIX_H_
