// One call of cuBLAS as an operation (collector/tpcollect.h), as long as the object lives.
#ifndef COLLECTOR_CUBLAS_PRODUCT_OPERATION_H_
#define COLLECTOR_CUBLAS_PRODUCT_OPERATION_H_

#include <optional>

#include "collector/cublas/matrix_product.h"

namespace tp::collect {

// Of the calling thread. A call that cuBLAS makes of itself within another is part of that one.
class ProductOperation {
 public:
  // `name` lives for ever. `read` returns the MatrixProduct, or an optional one where it may not be
  // known.
  template <typename Read>
  ProductOperation(const char* name, Read&& read)
      : is_outermost_(Enter()), is_told_(is_outermost_ && IsWanted()) {
    if (is_told_) Begin(name, read());
  }
  ~ProductOperation() {
    if (is_told_) End();
    if (is_outermost_) Leave();
  }
  ProductOperation(const ProductOperation&) = delete;
  ProductOperation& operator=(const ProductOperation&) = delete;

 private:
  static bool Enter();
  static void Leave();
  static bool IsWanted();
  static void Begin(const char* name, const std::optional<MatrixProduct>& product);
  static void End();

  const bool is_outermost_;
  const bool is_told_;
};

}  // namespace tp::collect

#endif  // COLLECTOR_CUBLAS_PRODUCT_OPERATION_H_
