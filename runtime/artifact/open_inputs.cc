// SPDX-License-Identifier: Apache-2.0
#include "runtime/artifact/open_inputs.h"

#include "byoc/base/size_expression.h"

namespace byoc {
namespace {

Result<int64_t> extent_at(const std::string& text, const SizesByName& sizes) {
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

bool note_sizes(const TensorSpec& type, std::span<const int64_t> dims, SizesByName& sizes) {
  if (dims.size() != type.dims.size()) return false;
  bool agrees = true;
  for (size_t d = 0; d < type.open.size(); ++d) {
    if (!type.is_open(d)) continue;
    const Result<SizeExpression> size = SizeExpression::parse(type.open[d]);
    if (!size.ok() || size->steps().size() != 1 || size->names().size() != 1) continue;
    agrees = sizes.emplace(size->names()[0], dims[d]).first->second == dims[d] && agrees;
  }
  return agrees;
}

Result<std::vector<NamedTensor>> inputs_at(const std::vector<NamedTensor>& inputs,
                                           SizesByName sizes) {
  std::vector<NamedTensor> out = inputs;
  for (const NamedTensor& input : inputs) note_sizes(input.type, input.type.dims, sizes);
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
