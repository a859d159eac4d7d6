// SPDX-License-Identifier: Apache-2.0
#pragma once
// The types of the graph's inputs: those of the file, narrowed by --shape and --bind.
#include <onnx/onnx_pb.h>

#include "byoc/import.h"

namespace byoc::onnx_import {

/// Returns the file's description of one input.
/// Errors: slug "onnx-unsupported" (sequences, maps, strings).
Result<ModelInput> describe_input(const onnx::ValueInfoProto& info);

/// Returns the types of `inputs`, in order. A size that the file names (dim_param) is one symbol in
/// all inputs; sizes without a name get fresh ones ("x_dim0"). options.shapes gives numbers to
/// whole inputs or to named sizes, options.bind to the inputs that it names. Errors: slug
/// "input-shape" (rank, contradiction, a name that is unknown and not kMaxIterations), "input-name"
/// (--bind of an unknown input), "onnx-unsupported" (sequences, maps, strings).
Result<std::vector<TensorType>> input_types(const std::vector<const onnx::ValueInfoProto*>& inputs,
                                            const ImportOptions& options);

/// The name that --shape gives to the most iterations of loops that the model does not bound, if
/// they stack or grow a result: memory is planned for so many.
inline constexpr const char* kMaxIterations = "max_iterations";

/// Returns the options that give a number to each open size of these inputs, such as
/// "--shape N=1 --shape x=1x3"; "" when there is none.
std::string open_sizes(const std::vector<const onnx::ValueInfoProto*>& inputs,
                       const std::vector<TensorType>& types);

}  // namespace byoc::onnx_import
