// SPDX-License-Identifier: Apache-2.0
#pragma once
// Are two tensors equal enough, and if not, where they differ most.
#include <nlohmann/json_fwd.hpp>

#include "byoc/runtime/tensor.h"

namespace byoc::driver {

struct Difference {
  bool is_equal = true;
  std::string reason;                 // types differ; else empty
  double max_error = 0, largest = 0;  // at `worst`; value_scale of the reference
  int64_t worst = -1;                 // flat index of the worst element, -1: none differs
  double got = 0, wanted = 0;         // there
};

/// Floats: |got - wanted| <= tolerance * max(value_scale(wanted), |wanted|) for each element, where
/// value_scale is the largest |wanted|, masks left out (value_scale.h). NaN equals NaN, infinities
/// must be the same. Integers and bools: equal.
Difference compare_to_largest(const Tensor& got, const Tensor& wanted, double tolerance);
/// Floats: |got - wanted| <= absolute + relative * |wanted| for each element, as numpy.allclose has
/// it.
Difference compare_each(const Tensor& got, const Tensor& wanted, double relative, double absolute);
/// "max error 0.31 (2.4e-1 of max), worst [0,17] 3.12 instead of 2.81", or why they cannot be
/// compared.
std::string describe(const Difference& difference, const TensorSpec& spec);

struct ComparedValue {
  std::string name;
  TensorSpec spec;
  double allowed = 0;  // of the largest value
  Difference difference;
};
/// compare_to_largest with `tolerance`, or when that is negative with what fits the dtype: 1e-4,
/// more for sixteen-bit floats.
ComparedValue compare_value(std::string name, const Tensor& got, const Tensor& wanted,
                            double tolerance);
/// "f32[1,10]: max error ..., allowed 0.0001 of max".
std::string value_text(const ComparedValue& value);
nlohmann::ordered_json to_json(const ComparedValue& value);

}  // namespace byoc::driver
