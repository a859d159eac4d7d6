// SPDX-License-Identifier: Apache-2.0
#include "core/tools/verify/case_tolerance.h"

#include <algorithm>
#include <string_view>

#include "core/tools/model/value_scale.h"

namespace byoc::driver {
namespace {

/// A tolerance beyond the runner's for outputs of a dtype when a model has an operator.
struct Wider {
  std::string_view op;
  DType dtype;
  double relative;
  double of_largest;  ///< an absolute tolerance, as a part of the largest value
};

constexpr Wider kWider[] = {
    // The stored results were rounded to f16 after each product, exponential and sum, and byoc's
    // once. Two steps of f16 are up to 2^-9, more than 1e-3.
    {"Attention", DType::kF16, 0x1p-9, 0},
    {"Softmax", DType::kF16, 0x1p-9, 0},  // as the body of Attention has it
    // Terms up to 50 cancel. The stored zeros are what their rounding to f32 leaves, up to 2e-7.
    {"DFT", DType::kF32, 0, 0x1p-24},
};

}  // namespace

CaseTolerance case_tolerance(const std::vector<std::string>& operators, const Tensor& expected) {
  const DType dtype = expected.spec().dtype;
  CaseTolerance out{dtype == DType::kBF16 ? 0x1p-6 : 1e-3, 1e-7};
  for (const Wider& row : kWider) {
    if (row.dtype != dtype || std::ranges::count(operators, row.op) == 0) continue;
    out.relative = std::max(out.relative, row.relative);
    if (row.of_largest > 0)
      out.absolute = std::max(out.absolute, row.of_largest * value_scale(expected));
  }
  return out;
}

}  // namespace byoc::driver
