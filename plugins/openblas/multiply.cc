// SPDX-License-Identifier: Apache-2.0
#include "multiply.h"

#include <cblas.h>
#include <omp.h>

#include <algorithm>

namespace byoc::openblas {
namespace {

/// Keeps OpenBLAS on the calling thread: it reads OpenMP's number in each call.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~OneThread() {
    if (before_ != 1) omp_set_num_threads(before_);
  }
  OneThread(const OneThread&) = delete;

 private:
  int before_;
};

void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, const float* a, int lda,
          const float* b, int ldb, float* y, int ldy) {
  cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, 1, a, lda, b, ldb, 0, y, ldy);
}
void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, const double* a, int lda,
          const double* b, int ldb, double* y, int ldy) {
  cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, 1, a, lda, b, ldb, 0, y, ldy);
}
void gemv(CBLAS_TRANSPOSE t, int rows, int columns, const float* a, int lda, const float* x,
          int step, float* y, int y_step) {
  cblas_sgemv(CblasRowMajor, t, rows, columns, 1, a, lda, x, step, 0, y, y_step);
}
void gemv(CBLAS_TRANSPOSE t, int rows, int columns, const double* a, int lda, const double* x,
          int step, double* y, int y_step) {
  cblas_dgemv(CblasRowMajor, t, rows, columns, 1, a, lda, x, step, 0, y, y_step);
}

/// Computes y[m, n] = a * b, where the leading dimension of y is ldy.
template <class T>
void blas(const Product& p, int64_t m, int64_t n, const T* a, const T* b, T* y, int64_t ldy) {
  const int rows = static_cast<int>(m), columns = static_cast<int>(n), k = static_cast<int>(p.k);
  const int lda = static_cast<int>(p.a.ld), ldb = static_cast<int>(p.b.ld);
  const int ld = static_cast<int>(ldy);
  if (rows == 1) {  // the rows of b', times a
    const int step = p.a.transposed ? lda : 1;
    if (p.b.transposed) return gemv(CblasNoTrans, columns, k, b, ldb, a, step, y, 1);
    return gemv(CblasTrans, k, columns, b, ldb, a, step, y, 1);
  }
  if (columns == 1) {
    const int step = p.b.transposed ? 1 : ldb;
    if (p.a.transposed) return gemv(CblasTrans, k, rows, a, lda, b, step, y, ld);
    return gemv(CblasNoTrans, rows, k, a, lda, b, step, y, ld);
  }
  gemm(p.a.transposed ? CblasTrans : CblasNoTrans, p.b.transposed ? CblasTrans : CblasNoTrans, rows,
       columns, k, a, lda, b, ldb, y, ld);
}

// BLAS skips the product when alpha is 0, and would then lose NaN: it is a factor of the result.
template <class T>
void scale_and_add(const Product& p, int64_t rows, int64_t columns, const T* bias, T* y) {
  const T alpha = static_cast<T>(p.alpha);
  for (int64_t r = 0; r < rows; ++r, y += p.n) {
    if (p.alpha != 1) {
      for (int64_t c = 0; c < columns; ++c) y[c] *= alpha;
    }
    if (!p.bias) continue;
    const T* row = bias + r * p.bias->row;
    if (p.bias->column == 1) {
      for (int64_t c = 0; c < columns; ++c) y[c] += row[c];
    } else {
      for (int64_t c = 0; c < columns; ++c) y[c] += row[c * p.bias->column];
    }
  }
}

template <class T>
void multiply(const Product& p, int64_t index, const Tile& t, const T* a, const T* b, const T* bias,
              T* y) {
  y += index * p.m * p.n + t.row * p.n + t.column;
  for (size_t d = p.batch.size(); d-- > 0; index /= p.batch[d]) {
    const int64_t at = index % p.batch[d];
    a += at * p.a.steps[d];
    b += at * p.b.steps[d];
    if (p.bias) bias += at * p.bias->steps[d];
  }
  a += t.row * (p.a.transposed ? 1 : p.a.ld);
  b += t.column * (p.b.transposed ? p.b.ld : 1);
  if (p.bias) bias += t.row * p.bias->row + t.column * p.bias->column;
  if (p.k == 0) {
    for (int64_t r = 0; r < t.rows; ++r) std::fill_n(y + r * p.n, t.columns, T(0));
  } else {
    blas(p, t.rows, t.columns, a, b, y, p.n);
  }
  scale_and_add(p, t.rows, t.columns, bias, y);
}

}  // namespace

void multiply(const Product& product, int64_t index, const Tile& tile, const void* a, const void* b,
              const void* bias, void* y) {
  OneThread one;
  auto typed = [&]<class T>(T) {
    multiply(product, index, tile, static_cast<const T*>(a), static_cast<const T*>(b),
             static_cast<const T*>(bias), static_cast<T*>(y));
  };
  if (product.dtype == sdk::DType::kF32) {
    typed(float());
  } else {
    typed(double());
  }
}

}  // namespace byoc::openblas
