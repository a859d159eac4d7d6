// SPDX-License-Identifier: Apache-2.0
#pragma once
// What --shape and --bind say.
#include <map>

#include "byoc/import.h"
#include "byoc/pass/bind.h"
#include "byoc/runtime/tensor.h"
#include "runtime/cli/values.h"

namespace byoc::driver {

/// .npy and .pb.
cli::TensorReaders tensor_readers();
/// "x=1x3x224x224" and "N=1". Errors: slug "usage".
Result<std::map<std::string, std::vector<int64_t>>> parse_shapes(
    const std::vector<std::string>& texts);
/// "axes=[0,1]" as parse_binding takes it, and "axes=a.npy"; `model` has the inputs in its entry
/// function.
Result<std::map<std::string, BoundTensor>> parse_bindings(const std::vector<std::string>& texts,
                                                          const IRModule& model);
/// A module with these inputs and nothing else.
IRModule signature_module(const std::vector<ModelInput>& inputs);
BoundTensor bound_tensor(const Tensor& tensor);

}  // namespace byoc::driver
