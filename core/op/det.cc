// det: the determinant of each matrix.
#include <cmath>
#include <utility>

#include "core/op/families.h"
#include "core/op/kernel.h"
#include "core/op/move.h"

namespace byoc::op {
namespace {

constexpr int64_t kMost = 64;  // a kernel has its stack and nothing else

Result<std::vector<TensorType>> infer_det(Types in, const Attrs&) {
  BYOC_TRY_STATUS(expect_dtype("det", "x", in[0], dtypes_of(FloatTypes{})));
  const Shape& x = in[0]->shape;
  if (x.size() < 2 || x[x.size() - 2] != x.back()) {
    return shape_error("det: expects square matrices", in[0]);
  }
  return one_result({in[0]->dtype, {x.begin(), x.end() - 2}});
}

// Gaussian elimination with row pivots; destroys `a`.
double eliminate(double* a, int64_t n) {
  double det = 1;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t row = k + 1; row < n; ++row) {
      if (std::abs(a[row * n + k]) > std::abs(a[pivot * n + k])) pivot = row;
    }
    if (a[pivot * n + k] == 0) return 0;
    if (pivot != k) det = -det;
    for (int64_t column = 0; column < n; ++column)
      std::swap(a[k * n + column], a[pivot * n + column]);
    det *= a[k * n + k];
    for (int64_t row = k + 1; row < n; ++row) {
      double factor = a[row * n + k] / a[k * n + k];
      for (int64_t column = k; column < n; ++column)
        a[row * n + column] -= factor * a[k * n + column];
    }
  }
  return det;
}

Result<RefKernel> reference_det(Types in, Types out, const Attrs&) {
  int64_t n = in[0]->shape.back().extent(), matrices = count(out[0]);
  if (n > kMost)
    return unimplemented(
        cat("det has a kernel for matrices up to ", kMost, " x ", kMost, " (x ", in[0], ")"));
  return for_dtype("det", in[0]->dtype, FloatTypes{}, [&]<class T>() -> RefKernel {
    return [=](const void* const* from, void* const* to) {
      double a[kMost * kMost];
      for (int64_t m = 0; m < matrices; ++m) {
        for (int64_t k = 0; k < n * n; ++k)
          a[k] = static_cast<double>(in_as<T>(from, 0)[m * n * n + k]);
        out_as<T>(to, 0)[m] = static_cast<T>(eliminate(a, n));
      }
    };
  });
}

double flops_det(Types in, Types out, const Attrs&) {
  double n = static_cast<double>(in[0]->shape.back().extent());
  return flop_count(out[0]) * 2 * n * n * n / 3;
}

}  // namespace

void add_det_ops(OpRegistry& ops) {
  ops.add({.name = "det",
           .doc = "The determinant of each matrix.",
           .inputs = {{"x", "float [..., n, n]"}},
           .outputs = {{"y", "[...]"}},
           .infer = infer_det,
           .reference = reference_det,
           .flops = flops_det});
}

}  // namespace byoc::op
