// SPDX-License-Identifier: Apache-2.0
#pragma once
// Types of the graph's inputs: what the file says, narrowed by --shape and --bind.
#include <onnx/onnx_pb.h>

#include "byoc/import.h"

namespace byoc::onnx_import {

/// What the file says about one input. Errors: slug "onnx-unsupported" (sequences, maps, strings).
Result<ModelInput> describe_input(const onnx::ValueInfoProto& info);

/// The types of `inputs`, in order. A size the file names (dim_param) is one symbol in all inputs;
/// sizes it leaves open get fresh names ("x_dim0"). options.shapes gives numbers to whole inputs or
/// to named sizes, options.bind to the inputs it names. Errors: slug "input-shape" (rank,
/// contradiction, unknown name), "input-name" (--bind of no input), "onnx-unsupported" (sequences,
/// maps, strings).
Result<std::vector<TensorType>> input_types(const std::vector<const onnx::ValueInfoProto*>& inputs,
                                            const ImportOptions& options);

}  // namespace byoc::onnx_import
