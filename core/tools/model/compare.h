// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compares two tensors within a tolerance, and finds the element that differs most.
#include <nlohmann/json_fwd.hpp>

#include "byoc/ir/module.h"
#include "byoc/runtime/tensor.h"

namespace byoc::driver {

/// The help of --tolerance, for all commands that have it.
inline constexpr const char* kToleranceHelp =
    "allowed error of floats, as a share of the largest value in the same tensor, or of their own "
    "if that is greater; masks such as -10000 do not count (default f32 1e-4, f16 5e-3, bf16 "
    "4e-2). Steps of rounding in quantised models come on top";

/// The largest allowed difference of a value: floats may differ by `tolerance`, and all values by
/// `steps` steps of rounding.
struct Limit {
  double tolerance = -1;  // of floats, relative to the largest value; -1: that of the dtype
  double steps = 0;       // whole
  // The size of a step: one, or one per entry of dim `axis`. Empty: 1 for integers of 8 and 16
  // bits, and other values have no steps.
  std::vector<double> sizes = {};
  size_t axis = 0;
  std::string why = {};  // the reason of `steps`
};

/// Maps an element of a value to the size of its step; 0 where it has none.
class StepSizes {
 public:
  StepSizes(const Limit& limit, const TensorSpec& spec);
  double at(int64_t element) const;

 private:
  std::vector<double> sizes_;
  int64_t inner_ = 1;  // elements of one entry of the axis
};

struct Difference {
  bool is_equal = true;
  std::string reason;                 // when the types differ; else empty
  double max_error = 0, largest = 0;  // at `worst`; value_scale of the reference
  int64_t worst = -1;                 // flat index of the worst element, -1: none differs
  double got = 0, expected = 0;       // at `worst`
  double step = 0;                    // at `worst`, the size of a step; 0: there are none
};

/// Compares two tensors. Floats are equal when for each element
///   |got - expected| <= tolerance * max(value_scale(expected), |expected|)
/// where value_scale is the largest |expected| without masks (value_scale.h). NaN equals NaN,
/// infinities must be equal. Integers of 8 and 16 bits may be `steps` apart: quantised values are
/// rounded, and sums in another order may be at the other side of a tie. Other integers and bools
/// must be equal.
Difference compare_to_largest(const Tensor& got, const Tensor& expected, double tolerance,
                              int64_t steps = 0);
/// Compares likewise: each element may also be `limit.steps` steps of its size apart.
Difference compare_to_limit(const Tensor& got, const Tensor& expected, const Limit& limit);
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
  Limit limit;  // with the tolerance that was used
  Difference difference;
};
/// Calls compare_to_limit; a negative tolerance is replaced by default_tolerance.
ComparedValue compare_value(std::string name, const Tensor& got, const Tensor& expected,
                            Limit limit);
/// Calls it with a limit of these steps.
ComparedValue compare_value(std::string name, const Tensor& got, const Tensor& expected,
                            double tolerance, int64_t steps = 0);
/// Returns "f32[1,10]: max error ..., allowed 0.0001 of max", for equal values without the limit.
std::string value_text(const ComparedValue& value);
/// Returns "0.0001 of max" or "3 steps: the reason".
std::string limit_text(const ComparedValue& value);
nlohmann::ordered_json to_json(const ComparedValue& value);

}  // namespace byoc::driver
