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

/// NumPy has no bfloat16: ONNX writes such tensors as the 16-bit integers that hold their bits.
bool is_bfloat_as_bits(const TensorSpec& stored, const TensorSpec& wanted) {
  return stored.dtype == DType::kU16 && wanted.dtype == DType::kBF16 && stored.dims == wanted.dims;
}

Result<Tensor> copy_as(const Tensor& stored, const TensorSpec& wanted) {
  if (!is_bfloat_as_bits(stored.spec(), wanted)) return stored.copy();
  BYOC_TRY(Tensor tensor, Tensor::make(wanted));
  BYOC_CHECK(tensor.size_bytes() == stored.size_bytes(), tensor.spec(), " from ", stored.spec());
  std::memcpy(tensor.data(), stored.data(), stored.size_bytes());
  return tensor;
}

Result<std::vector<Tensor>> match(std::vector<PbTensor> tensors,
                                  const std::vector<NamedTensor>& wanted, std::string_view what) {
  std::vector<Tensor> matched;
  for (size_t k = 0; k < wanted.size(); ++k) {
    auto found = std::find_if(tensors.begin(), tensors.end(),
                              [&](const PbTensor& t) { return t.name == wanted[k].name; });
    if (found == tensors.end() && tensors.size() == wanted.size())
      found = tensors.begin() + static_cast<std::ptrdiff_t>(k);
    if (found == tensors.end()) {
      return data_set_error(cat("the data set has no ", what, " \"", wanted[k].name, "\""));
    }
    BYOC_TRY(Tensor copy, copy_as(found->tensor, wanted[k].type));
    if (what == "input" && copy.spec() != wanted[k].type) {
      return data_set_error(cat(what, " \"", wanted[k].name, "\" of the data set is ", copy.spec(),
                                ", the model wants ", wanted[k].type));
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
                                         const std::vector<NamedTensor>& wanted) {
  return match(std::move(tensors), wanted, "input");
}

Result<std::vector<Tensor>> match_outputs(std::vector<PbTensor> tensors,
                                          const std::vector<NamedTensor>& wanted) {
  return match(std::move(tensors), wanted, "output");
}

}  // namespace byoc::driver
