// SPDX-License-Identifier: Apache-2.0
#include "runtime/artifact/open_inputs.h"

#include "byoc/base/check.h"
#include "byoc/base/size_expression.h"

namespace byoc {
namespace {

using Sizes = std::map<std::string, int64_t>;

// Notes the sizes that are dims by themselves.
Status take_sizes(const TensorSpec& type, const std::vector<int64_t>& dims, Sizes& sizes) {
  for (size_t d = 0; d < type.open.size() && dims.size() == type.dims.size(); ++d) {
    if (!type.is_open(d)) continue;
    BYOC_TRY(SizeExpression size, SizeExpression::parse(type.open[d]));
    if (size.steps().size() == 1 && size.names().size() == 1)
      sizes.emplace(size.names()[0], dims[d]);
  }
  return {};
}

Result<int64_t> extent_at(const std::string& text, const Sizes& sizes) {
  BYOC_TRY(SizeExpression expression, SizeExpression::parse(text));
  std::vector<int64_t> values;
  for (const std::string& name : expression.names()) {
    auto found = sizes.find(name);
    if (found == sizes.end())
      return invalid(cat("no input has the size ", name)).with_slug("executable");
    values.push_back(found->second);
  }
  return expression.evaluate(values);
}

}  // namespace

Result<std::vector<NamedTensor>> inputs_at(const std::vector<NamedTensor>& inputs,
                                           std::span<const Tensor* const> given) {
  BYOC_CHECK(given.size() == inputs.size(), given.size(), " values of ", inputs.size(), " inputs");
  std::vector<NamedTensor> out = inputs;
  Sizes sizes;
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (given[k] != nullptr)
      BYOC_TRY_STATUS(take_sizes(inputs[k].type, given[k]->spec().dims, sizes));
  }
  for (const NamedTensor& input : inputs)
    BYOC_TRY_STATUS(take_sizes(input.type, input.type.dims, sizes));
  for (NamedTensor& input : out) {
    for (size_t d = 0; d < input.type.open.size(); ++d) {
      if (!input.type.is_open(d)) continue;
      BYOC_TRY(input.type.dims[d], extent_at(input.type.open[d], sizes));
    }
    input.type.open.clear();
  }
  return out;
}

}  // namespace byoc
