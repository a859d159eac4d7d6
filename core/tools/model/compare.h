// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compares two tensors within a tolerance, and finds the element that differs most.
#include <nlohmann/json_fwd.hpp>

#include "byoc/ir/module.h"
#include "byoc/runtime/tensor.h"

namespace byoc::driver {

struct Difference {
  bool is_equal = true;
  std::string reason;                 // when the types differ; else empty
  double max_error = 0, largest = 0;  // at `worst`; value_scale of the reference
  int64_t worst = -1;                 // flat index of the worst element, -1: none differs
  double got = 0, expected = 0;       // at `worst`
};

/// Compares two tensors. Floats are equal when for each element
///   |got - expected| <= tolerance * max(value_scale(expected), |expected|)
/// where value_scale is the largest |expected| without masks (value_scale.h). NaN equals NaN,
/// infinities must be equal. Integers of 8 and 16 bits may be `steps` apart: quantised values are
/// rounded, and sums in another order may be at the other side of a tie. Other integers and bools
/// must be equal.
Difference compare_to_largest(const Tensor& got, const Tensor& expected, double tolerance,
                              int64_t steps = 0);
/// Compares likewise, with |got - expected| <= absolute + relative * |expected| for each element,
/// as numpy.allclose does.
Difference compare_each(const Tensor& got, const Tensor& expected, double relative,
                        double absolute);
/// Returns "max error 0.31 (2.4e-1 of max), worst [0,17] 3.12 instead of 2.81", or the reason why
/// they cannot be compared.
std::string describe(const Difference& difference, const TensorSpec& spec);

/// Returns the tolerance of values of a dtype. Floats of 16 bits are rounded at every step, with
/// relative errors up to 2^-11 (f16) and 2^-8 (bf16).
double default_tolerance(DType dtype);
/// Returns the largest difference allowed between two integers of 8 or 16 bits: 1 in a module that
/// quantises values, else 0.
int64_t allowed_steps(const IRModule& module);

struct ComparedValue {
  std::string name;
  TensorSpec spec;
  double allowed = 0;  // of the largest value
  Difference difference;
};
/// Calls compare_to_largest with `tolerance`; when that is negative, with default_tolerance.
ComparedValue compare_value(std::string name, const Tensor& got, const Tensor& expected,
                            double tolerance, int64_t steps = 0);
/// Returns "f32[1,10]: max error ..., allowed 0.0001 of max".
std::string value_text(const ComparedValue& value);
nlohmann::ordered_json to_json(const ComparedValue& value);

}  // namespace byoc::driver
