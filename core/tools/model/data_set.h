// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads ONNX's test_data_set_* folders: input_0.pb, input_1.pb, ..., output_0.pb, ...
#include "byoc/runtime/artifact.h"
#include "core/import/onnx/file/tensor_file.h"

namespace byoc::driver {

/// Read the tensors of a folder. Errors: those of read_pb; slug "data-set" when it has no output.
Result<std::vector<PbTensor>> read_stored_inputs(const std::string& folder);
Result<std::vector<PbTensor>> read_stored_outputs(const std::string& folder);

/// Return the tensors in the order of `expected`: by name when the files have the model's names,
/// else by position. Errors: slug "data-set".
Result<std::vector<Tensor>> match_inputs(std::vector<PbTensor> tensors,
                                         const std::vector<NamedTensor>& expected);
Result<std::vector<Tensor>> match_outputs(std::vector<PbTensor> tensors,
                                          const std::vector<NamedTensor>& expected);

}  // namespace byoc::driver
