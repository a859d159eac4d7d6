// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tolerances of outputs beside those that an ONNX test case stores.
#include <string>
#include <vector>

#include "byoc/runtime/tensor.h"

namespace byoc::driver {

/// The largest allowed error of a value v is absolute + relative * |v|.
struct CaseTolerance {
  double relative, absolute;
};

/// Returns the tolerance for an output of a case whose model has these operators: that of the
/// runner of ONNX 1.23, onnx/backend/test/runner, but for the rows of a table that gives reasons.
CaseTolerance case_tolerance(const std::vector<std::string>& operators, const Tensor& expected);

}  // namespace byoc::driver
