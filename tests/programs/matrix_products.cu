// A program that multiplies matrices with cuBLAS and cuBLASLt, one way after the other. Prints what
// each call returned and what came out, so that two runs can be compared.
//
//   matrix_products [--threads T]
//
// Each thread calls each function twice, cublasSgemm with two shapes. The main thread makes the
// calls that fail.

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kM = 3, kN = 5, kK = 7, kBatch = 4;

template <typename T>
T From(double value) {
  return static_cast<T>(value);
}
template <>
cuComplex From(double value) {
  return make_cuComplex(static_cast<float>(value), 1);
}
template <>
cuDoubleComplex From(double value) {
  return make_cuDoubleComplex(value, 1);
}

double Real(float value) { return value; }
double Real(double value) { return value; }
double Real(__half value) { return __half2float(value); }
double Real(cuComplex value) { return value.x + 2 * value.y; }
double Real(cuDoubleComplex value) { return value.x + 2 * value.y; }

// Device memory for a batch of the three matrices.
template <typename T>
struct Matrices {
  Matrices() {
    a = Make(kM * kK * kBatch, 1);
    b = Make(kK * kN * kBatch, 2);
    c = Make(kM * kN * kBatch, 3);
  }
  ~Matrices() {
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
  }
  static T* Make(int count, int seed) {
    std::vector<T> host;
    for (int i = 0; i < count; ++i) host.push_back(From<T>((i * seed) % 5 - 1));
    T* device = nullptr;
    cudaMalloc(&device, count * sizeof(T));
    cudaMemcpy(device, host.data(), count * sizeof(T), cudaMemcpyHostToDevice);
    return device;
  }
  double Sum() const {
    std::vector<T> host(kM * kN * kBatch);
    cudaDeviceSynchronize();
    cudaMemcpy(host.data(), c, host.size() * sizeof(T), cudaMemcpyDeviceToHost);
    double sum = 0;
    for (size_t i = 0; i < host.size(); ++i) sum += Real(host[i]) * static_cast<double>(i + 1);
    return sum;
  }
  // Of the batch, one by one.
  std::vector<T*> Each(T* first, int elements) const {
    std::vector<T*> each;
    for (int i = 0; i < kBatch; ++i) each.push_back(first + i * elements);
    return each;
  }
  T *a, *b, *c;
  T one = From<T>(1), two = From<T>(2);
};

class Products {
 public:
  Products() {
    cublasCreate(&handle_);
    cublasLtCreate(&lt_);
    cudaStreamCreate(&stream_);
    cublasSetStream(handle_, stream_);
  }
  ~Products() {
    cublasDestroy(handle_);
    cublasLtDestroy(lt_);
    cudaStreamDestroy(stream_);
  }

  void All() {
    Matrices<float> s;
    Matrices<double> d;
    Matrices<cuComplex> c;
    Matrices<cuDoubleComplex> z;
    Matrices<__half> h;
    Say("Sgemm", s,
        cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_T, kM, kN, kK, &s.one, s.a, kM, s.b, kN, &s.two,
                    s.c, kM));
    Say("Sgemm", s,
        cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &s.one, s.a, kM, s.b, kK, &s.two,
                    s.c, kM));
    Say("Sgemm_64", s,
        cublasSgemm_64(handle_, CUBLAS_OP_T, CUBLAS_OP_N, kM, kN, kK, &s.one, s.a, kK, s.b, kK,
                       &s.two, s.c, kM));
    Say("Dgemm", d,
        cublasDgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, kK, &d.one, d.a, kM, d.b, kK, &d.two,
                    d.c, kM));
    Say("Cgemm", c,
        cublasCgemm(handle_, CUBLAS_OP_C, CUBLAS_OP_N, kM, kN, kK, &c.one, c.a, kK, c.b, kK, &c.two,
                    c.c, kM));
    Say("Zgemm", z,
        cublasZgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_C, kM, kN, kK, &z.one, z.a, kM, z.b, kN, &z.two,
                    z.c, kM));
    Say("Hgemm", h,
        cublasHgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, kK, &h.one, h.a, kM, h.b, kK, &h.two,
                    h.c, kM));
    const std::vector<float*> as = s.Each(s.a, kM * kK), bs = s.Each(s.b, kK * kN),
                              cs = s.Each(s.c, kM * kN);
    Say("SgemmBatched", s,
        cublasSgemmBatched(handle_, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, kK, &s.one, as.data(), kM,
                           bs.data(), kK, &s.two, cs.data(), kM, kBatch));
    Say("DgemmStridedBatched", d,
        cublasDgemmStridedBatched(handle_, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, kK, &d.one, d.a, kM,
                                  kM * kK, d.b, kK, kK * kN, &d.two, d.c, kM, kM * kN, kBatch));
    Say("GemmEx", d,
        cublasGemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, kK, &d.one, d.a, CUDA_R_64F, kM,
                     d.b, CUDA_R_64F, kK, &d.two, d.c, CUDA_R_64F, kM, CUBLAS_COMPUTE_64F,
                     CUBLAS_GEMM_DEFAULT));
    Say("GemmBatchedEx", s,
        cublasGemmBatchedEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, kK, &s.one,
                            reinterpret_cast<const void* const*>(as.data()), CUDA_R_32F, kM,
                            reinterpret_cast<const void* const*>(bs.data()), CUDA_R_32F, kK, &s.two,
                            reinterpret_cast<void* const*>(cs.data()), CUDA_R_32F, kM, kBatch,
                            CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    Say("GemmStridedBatchedEx", s,
        cublasGemmStridedBatchedEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, kK, &s.one, s.a,
                                   CUDA_R_32F, kM, kM * kK, s.b, CUDA_R_32F, kK, kK * kN, &s.two,
                                   s.c, CUDA_R_32F, kM, kM * kN, kBatch, CUBLAS_COMPUTE_32F,
                                   CUBLAS_GEMM_DEFAULT));
    Say("LtMatmul", s, Matmul(s));
  }

  void Failing() {
    Matrices<float> s;
    Say("Sgemm of no handle", s,
        cublasSgemm(nullptr, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, kK, &s.one, s.a, kM, s.b, kK, &s.two,
                    s.c, kM));
    Say("Sgemm of a negative size", s,
        cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, -1, kN, kK, &s.one, s.a, kM, s.b, kK, &s.two,
                    s.c, kM));
    Say("GemmEx of half", s,
        cublasGemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, kK, &s.one, s.a, CUDA_R_16F, kM,
                     s.b, CUDA_R_32F, kK, &s.two, s.c, CUDA_R_32F, kM, CUBLAS_COMPUTE_32F,
                     CUBLAS_GEMM_DEFAULT));
    cublasPointerMode_t mode = CUBLAS_POINTER_MODE_HOST;
    cublasSetPointerMode(handle_, CUBLAS_POINTER_MODE_DEVICE);
    cublasGetPointerMode(handle_, &mode);
    cudaStream_t stream = nullptr;
    cublasGetStream(handle_, &stream);
    said_ += mode == CUBLAS_POINTER_MODE_DEVICE && stream == stream_ ? "handle as it was\n"
                                                                     : "handle changed\n";
  }

  const std::string& said() const { return said_; }

 private:
  cublasStatus_t Matmul(const Matrices<float>& s) {
    cublasLtMatmulDesc_t description;
    cublasLtMatrixLayout_t a, b, c;
    cublasLtMatmulDescCreate(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    const int32_t transposed = CUBLAS_OP_T;
    cublasLtMatmulDescSetAttribute(description, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                   sizeof(transposed));
    cublasLtMatrixLayoutCreate(&a, CUDA_R_32F, kK, kM, kK);
    cublasLtMatrixLayoutCreate(&b, CUDA_R_32F, kK, kN, kK);
    cublasLtMatrixLayoutCreate(&c, CUDA_R_32F, kM, kN, kM);
    const int32_t batch = kBatch;
    const int64_t strides[] = {kM * kK, kK * kN, kM * kN};
    const cublasLtMatrixLayout_t layouts[] = {a, b, c};
    for (int i = 0; i < 3; ++i) {
      cublasLtMatrixLayoutSetAttribute(layouts[i], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch,
                                       sizeof(batch));
      cublasLtMatrixLayoutSetAttribute(layouts[i], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                       &strides[i], sizeof(strides[i]));
    }
    const cublasStatus_t status = cublasLtMatmul(lt_, description, &s.one, s.a, a, s.b, b, &s.two,
                                                 s.c, c, s.c, c, nullptr, nullptr, 0, stream_);
    for (cublasLtMatrixLayout_t layout : layouts) cublasLtMatrixLayoutDestroy(layout);
    cublasLtMatmulDescDestroy(description);
    return status;
  }

  template <typename T>
  void Say(const char* what, const Matrices<T>& matrices, cublasStatus_t status) {
    char line[200];
    snprintf(line, sizeof(line), "%s: status %d, sum %.6g\n", what, status, matrices.Sum());
    said_ += line;
  }

  cublasHandle_t handle_ = nullptr;
  cublasLtHandle_t lt_ = nullptr;
  cudaStream_t stream_ = nullptr;
  std::string said_;
};

}  // namespace

int main(int argc, char** argv) {
  int threads = 1;
  if (argc == 3 && strcmp(argv[1], "--threads") == 0) threads = atoi(argv[2]);
  std::vector<std::string> said(threads);
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&said, i] {
      Products products;
      products.All();
      products.All();
      said[i] = products.said();
    });
  }
  for (std::thread& thread : running) thread.join();
  Products failing;
  failing.Failing();
  for (const std::string& lines : said) fputs(lines.c_str(), stdout);
  fputs(failing.said().c_str(), stdout);
  return 0;
}
