// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/given_shapes.h"

#include <algorithm>

#include "byoc/base/json.h"

namespace byoc::cli {
namespace {

Result<GivenShape> shape_of(const std::string& value, const TensorReaders& readers) {
  auto tensor = parse_value(value, nullptr, 0, readers);
  if (tensor.ok()) return GivenShape{.extents = tensor->spec().dims};
  if (tensor.status().slug() != "input-value") return std::move(tensor.status()).at(value);
  const auto commas = std::count(value.begin(), value.end(), ',');
  return GivenShape{.elements = commas > 0 ? commas + 1 : 0};
}

bool fits_all(const std::vector<GivenShape>& given, const std::vector<NamedTensor>& inputs) {
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (!given[k].fits(inputs[k].type.dims)) return false;
  }
  return true;
}

/// Returns "x f32[2,8]", or "3 elements of x", for the inputs whose values state something.
std::string describe(const std::vector<GivenShape>& given, const std::vector<NamedTensor>& inputs) {
  std::string out;
  for (size_t k = 0; k < inputs.size(); ++k) {
    const char* separator = out.empty() ? "" : ", ";
    const std::string& name = inputs[k].name;
    if (given[k].extents)
      out += cat(separator, name, " ", TensorSpec{inputs[k].type.dtype, *given[k].extents});
    else if (given[k].elements > 0) out += cat(separator, given[k].elements, " elements of ", name);
  }
  return out;
}

}  // namespace

bool GivenShape::fits(const std::vector<int64_t>& dims) const {
  if (extents) return *extents == dims;
  int64_t n = 1;
  for (int64_t dim : dims) n *= dim;
  return elements == 0 || elements == n;
}

Result<std::vector<GivenShape>> given_shapes(const std::vector<std::string>& names,
                                             const std::vector<std::string>& bindings,
                                             const TensorReaders& readers) {
  std::vector<GivenShape> shapes(names.size());
  for (const std::string& binding : bindings) {
    auto [name, value] = split_binding(binding, names);
    auto found = name.empty() && names.size() == 1 ? names.begin()
                                                   : std::find(names.begin(), names.end(), name);
    if (found == names.end()) continue;
    BYOC_TRY(shapes[static_cast<size_t>(found - names.begin())], shape_of(value, readers));
  }
  return shapes;
}

Result<PickedSize> pick_size(std::vector<SizedExecutable> sizes,
                             const std::vector<std::string>& bindings,
                             const TensorReaders& readers) {
  PickedSize out;
  for (const SizedExecutable& size : sizes) out.labels.push_back(size.label);
  size_t picked = 0;
  if (sizes.size() > 1) {
    const std::vector<NamedTensor>& inputs = sizes[0].executable.program.inputs;
    std::vector<std::string> names;
    for (const NamedTensor& input : inputs) names.push_back(input.name);
    BYOC_TRY(auto given, given_shapes(names, bindings, readers));
    while (picked < sizes.size() && !fits_all(given, sizes[picked].executable.program.inputs))
      ++picked;
    if (picked == sizes.size()) return no_such_size(describe(given, inputs), describe_sizes(sizes));
    out.is_given = std::any_of(given.begin(), given.end(), [](const GivenShape& shape) {
      return shape.extents || shape.elements > 0;
    });
  }
  out.label = sizes[picked].label;
  out.executable = std::move(sizes[picked].executable);
  return out;
}

std::string size_text(const PickedSize& picked) {
  if (picked.labels.size() < 2) return "";
  std::string all;
  for (const std::string& label : picked.labels) all += cat(all.empty() ? "" : "; ", label);
  return cat("size ", picked.label, picked.is_given ? "" : ", as no --input gives one",
             "; compiled: ", all, "\n");
}

void add_size_json(const PickedSize& picked, Json& json) {
  if (picked.labels.size() < 2) return;
  json["size"] = picked.label;
  json["sizes"] = picked.labels;
}

}  // namespace byoc::cli
