// SPDX-License-Identifier: Apache-2.0
#include "plugins/cuda/loops/group.h"

#include <algorithm>

#include "byoc/te/rewrite.h"

namespace byoc::cuda {

Result<Extents> numbers_of(const te::Exprs& shape, std::string_view name) {
  Extents out;
  for (const te::Expr& extent : shape) {
    const std::optional<int64_t> number = te::as_int(extent);
    if (!number) return unimplemented(cat(name, " has an extent that is no number"));
    out.push_back(*number);
  }
  return out;
}

Result<Extents> numbers_of(const std::vector<te::Axis>& axes, std::string_view name) {
  te::Exprs shape;
  for (const te::Axis& axis : axes) shape.push_back(axis.extent);
  return numbers_of(shape, name);
}

int64_t product_of(const Extents& extents) {
  int64_t out = 1;
  for (int64_t extent : extents) out *= extent;
  return out;
}

te::Exprs unflattened(const te::Expr& flat, const Extents& extents) {
  te::Exprs out(extents.size());
  int64_t inner = 1;
  for (size_t d = extents.size(); d-- > 0; inner *= extents[d]) {
    te::Expr at = inner == 1 ? flat : te::floor_div(flat, inner);
    if (extents[d] == 1) at = 0;
    else if (d > 0) at = te::floor_mod(at, extents[d]);
    out[d] = at;
  }
  return out;
}

te::Stmt Groups::loop(std::unordered_set<const void*>& role, const te::Expr& extent,
                      const Body& body) {
  const te::Var var("t");
  role.insert(var.id());
  return te::make_for(var, 0, extent, te::LoopKind::kSerial, body(te::Expr(var)));
}

te::Stmt Groups::allocated(std::unordered_set<const void*>& role,
                           const std::vector<te::Tensor>& memory, te::Stmt body) {
  for (size_t k = memory.size(); k-- > 0;) {
    role.insert(memory[k].id());
    body = te::make_alloc(memory[k], te::Scope::kWorkspace, std::move(body));
  }
  return body;
}

te::Stmt Groups::flat(int64_t elements, const Body& body) {
  const int64_t width = std::min(kThreads, ceil_div(elements, 32) * 32);
  return groups(ceil_div(elements, width), [&](const te::Expr& g) {
    te::Expr extent =
        elements % width == 0 ? te::Expr(width) : te::min(width, elements - g * width);
    return threads(extent, [&](const te::Expr& t) { return body(g * width + t); });
  });
}

te::Expr at_indices(const te::Expr& value, const std::vector<te::Axis>& axes,
                    const te::Exprs& indices) {
  te::VarMap map;
  for (size_t k = 0; k < axes.size(); ++k) map[axes[k].var.id()] = indices[k];
  return te::Substitution(std::move(map))(value);
}

void add_ranges(const std::vector<te::Axis>& axes, const Extents& extents, te::Ranges& ranges) {
  for (size_t k = 0; k < axes.size(); ++k)
    ranges[axes[k].var.id()] = {0, std::max<int64_t>(extents[k] - 1, 0)};
}

}  // namespace byoc::cuda
