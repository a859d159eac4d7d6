// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs one op's inference and reference kernel on small tensors written in a test.
#include <gmock/gmock.h>

#include "byoc/op/registry.h"

namespace byoc::testing {

/// Values of any dtype, held as f64 (integers of up to 53 bits are exact).
struct Values {
  TensorType type;
  std::vector<double> values;
};

Values tensor(DType dtype, const std::vector<int64_t>& dims, std::vector<double> values);
inline Values f32(const std::vector<int64_t>& dims, std::vector<double> values) {
  return tensor(DType::kF32, dims, std::move(values));
}
inline Values i64(const std::vector<int64_t>& dims, std::vector<double> values) {
  return tensor(DType::kI64, dims, std::move(values));
}
inline TensorType type_of(DType dtype, const std::vector<int64_t>& dims) {
  return {dtype, make_shape(dims)};
}

/// Returns the bytes of a tensor of `values.type`, and the reverse.
std::vector<std::byte> to_bytes(const Values& values);
Values from_bytes(const TensorType& type, const std::byte* bytes);

/// Completes the attributes, infers or counts, prepares and runs. Every input and output has
/// separate memory of exactly its size, so that the address sanitizer reports an access outside.
Result<std::vector<Values>> run_op(std::string_view op, const std::vector<Values>& inputs,
                                   Attrs attrs = {});
/// Returns the only (or first) output; a failure is reported to the test.
Values run_op1(std::string_view op, const std::vector<Values>& inputs, Attrs attrs = {});

/// Returns the result types, or the error, as text: "f32[2,3]", "f32[2] i64[2]", "add: dims 2
/// and 3 ...".
std::string infer(std::string_view op, const std::vector<TensorType>& inputs, Attrs attrs = {});

/// Expects the same type, and every value within `relative` of the largest expected one,
/// or both NaN.
void expect_near(const Values& got, const Values& expected, double relative);
/// Returns a tolerance that fits the dtype's rounding: a few units in the last place of
/// the largest value.
double rounding(DType dtype);
inline void expect_close(const Values& got, const Values& expected) {
  expect_near(got, expected, rounding(expected.type.dtype));
}

}  // namespace byoc::testing
