// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/given_shapes.h"

#include <algorithm>

namespace byoc::cli {
namespace {

Result<GivenShape> shape_of(const std::string& value, const TensorReaders& readers) {
  auto tensor = parse_value(value, nullptr, 0, readers);
  if (tensor.ok()) return GivenShape{.extents = tensor->spec().dims};
  if (tensor.status().slug() != "input-value") return std::move(tensor.status()).at(value);
  const auto commas = std::count(value.begin(), value.end(), ',');
  return GivenShape{.elements = commas > 0 ? commas + 1 : 0};
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

}  // namespace byoc::cli
