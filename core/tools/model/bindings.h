// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parses the arguments of --shape, --bind and --input.
#include <map>

#include "byoc/import.h"
#include "byoc/pass/bind.h"
#include "byoc/runtime/tensor.h"
#include "runtime/cli/values.h"

namespace byoc::driver {

/// Returns the readers of .npy and .pb files.
cli::TensorReaders tensor_readers();
/// Parses "x=1x3x224x224", "N=1" and "batch=1,seq=16". Errors: slug "usage".
Result<GivenShapes> parse_shapes(const std::vector<std::string>& texts);
/// Parses "axes=[0,1]", as parse_binding does, and "axes=a.npy". The inputs are those of the entry
/// function of `model`.
Result<std::map<std::string, BoundTensor>> parse_bindings(const std::vector<std::string>& texts,
                                                          const IRModule& model);
/// Returns a module with these inputs and no ops.
IRModule signature_module(const std::vector<ModelInput>& inputs);
BoundTensor bound_tensor(const Tensor& tensor);
/// Returns `bindings`, and zeros for states of i32 and i64 that they have no value for: these count
/// rows, from zero on in a first run, and random numbers would be beyond the rows.
std::vector<std::string> with_counters_at_zero(std::span<const NamedTensor> states,
                                               std::vector<std::string> bindings);

}  // namespace byoc::driver
