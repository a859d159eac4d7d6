#include "core/driver/commands/data_set.h"

#include <algorithm>
#include <filesystem>

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
    if (what == "input" && found->tensor.spec() != wanted[k].type) {
      return data_set_error(cat(what, " \"", wanted[k].name, "\" of the data set is ",
                                found->tensor.spec(), ", the model wants ", wanted[k].type));
    }
    BYOC_TRY(Tensor copy, found->tensor.copy());
    matched.push_back(std::move(copy));
  }
  return matched;
}

}  // namespace

Result<DataSet> read_data_set(const std::string& folder) {
  DataSet data;
  BYOC_TRY(data.inputs, read_numbered(folder, "input"));
  BYOC_TRY(data.outputs, read_numbered(folder, "output"));
  if (data.outputs.empty()) return data_set_error(cat(folder, " has no output_0.pb"));
  return data;
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
