// SPDX-License-Identifier: Apache-2.0
#include "core/tools/model/data_set.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "byoc/base/check.h"

namespace byoc::driver {
namespace {

Status data_set_error(std::string message) {
  return invalid(std::move(message)).with_slug("data-set");
}

Result<std::vector<PbTensor>> read_numbered(const std::string& folder, std::string_view stem) {
  std::vector<PbTensor> tensors;
  for (size_t k = 0;; ++k) {
    std::string path = cat(folder, "/", stem, "_", k, ".pb");
    if (std::error_code error; !std::filesystem::exists(path, error)) return tensors;
    BYOC_TRY(PbTensor tensor, read_pb(path));
    tensors.push_back(std::move(tensor));
  }
}

/// Returns true for dims of the type, with any extents for its open ones: a run checks them.
bool has_dims(const TensorSpec& tensor, const TensorSpec& type) {
  if (tensor.dims.size() != type.dims.size()) return false;
  for (size_t d = 0; d < type.dims.size(); ++d) {
    if (!type.is_open(d) && tensor.dims[d] != type.dims[d]) return false;
  }
  return true;
}

/// Returns true for a bfloat16 tensor stored as u16. NumPy has no bfloat16, so ONNX writes such
/// tensors as integers that have their bits.
bool is_bfloat_as_bits(const TensorSpec& stored, const TensorSpec& expected) {
  return stored.dtype == DType::kU16 && expected.dtype == DType::kBF16 &&
         has_dims(stored, expected);
}

Result<Tensor> copy_as(const Tensor& stored, const TensorSpec& expected) {
  if (!is_bfloat_as_bits(stored.spec(), expected)) return stored.copy();
  BYOC_TRY(Tensor tensor, Tensor::make({expected.dtype, stored.spec().dims}));
  BYOC_CHECK(tensor.size_bytes() == stored.size_bytes(), tensor.spec(), " from ", stored.spec());
  std::memcpy(tensor.data(), stored.data(), stored.size_bytes());
  return tensor;
}

Result<std::vector<Tensor>> match(std::vector<PbTensor> tensors,
                                  const std::vector<NamedTensor>& expected, std::string_view what) {
  std::vector<Tensor> matched;
  for (size_t k = 0; k < expected.size(); ++k) {
    auto found = std::find_if(tensors.begin(), tensors.end(),
                              [&](const PbTensor& t) { return t.name == expected[k].name; });
    if (found == tensors.end() && tensors.size() == expected.size())
      found = tensors.begin() + static_cast<std::ptrdiff_t>(k);
    if (found == tensors.end()) {
      return data_set_error(cat("the data set has no ", what, " \"", expected[k].name, "\""));
    }
    BYOC_TRY(Tensor copy, copy_as(found->tensor, expected[k].type));
    const bool fits =
        copy.spec().dtype == expected[k].type.dtype && has_dims(copy.spec(), expected[k].type);
    if (what == "input" && !fits) {
      return data_set_error(cat(what, " \"", expected[k].name, "\" of the data set is ",
                                copy.spec(), ", the model expects ", expected[k].type));
    }
    matched.push_back(std::move(copy));
  }
  return matched;
}

}  // namespace

Result<std::vector<PbTensor>> read_stored_inputs(const std::string& folder) {
  return read_numbered(folder, "input");
}

Result<std::vector<PbTensor>> read_stored_outputs(const std::string& folder) {
  BYOC_TRY(auto outputs, read_numbered(folder, "output"));
  if (outputs.empty()) return data_set_error(cat(folder, " has no output_0.pb"));
  return outputs;
}

Result<std::vector<Tensor>> match_inputs(std::vector<PbTensor> tensors,
                                         const std::vector<NamedTensor>& expected) {
  return match(std::move(tensors), expected, "input");
}

Result<std::vector<Tensor>> match_outputs(std::vector<PbTensor> tensors,
                                          const std::vector<NamedTensor>& expected) {
  return match(std::move(tensors), expected, "output");
}

}  // namespace byoc::driver
