// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds where the files of an ONNX model have the bytes of its tensors.
#include <memory>

#include "byoc/base/file.h"
#include "byoc/runtime/model_weights.h"

namespace byoc::driver {

struct ModelParts {
  std::vector<std::shared_ptr<const MappedFile>> files;  // that the parts are views of
  std::vector<ModelPart> parts;                          // in the order of the model
};

/// Returns the tensors of an .onnx file, initializers and constants of its graph, that are bytes in
/// this file or in one beside it; a file in a folder below is left out. Tensors that are written as
/// lists of numbers in another form have no bytes. Errors: those of opening `path`; slug "usage"
/// for another kind of model. Cost: O(bytes).
Result<ModelParts> parts_of_model(const std::string& path);

}  // namespace byoc::driver
