// SPDX-License-Identifier: Apache-2.0
#include "plugins/cuda/loops/product.h"

#include <algorithm>

#include "byoc/te/rewrite.h"

namespace byoc::cuda {

Vars vars_of(const te::Expr& x) {
  Vars out;
  te::any_node(x, [&](const te::Expr& node) {
    if (const auto* ref = std::get_if<te::VarRef>(&node->kind)) out.insert(ref->var.id());
    return false;
  });
  return out;
}

bool is_sum(const te::Combiner& combiner) {
  if (combiner.result.size() != 1) return false;
  const auto* sum = std::get_if<te::Binary>(&combiner.result[0]->kind);
  if (sum == nullptr || sum->op != te::BinaryOp::kAdd) return false;
  const auto is = [](const te::Expr& x, const te::Var& var) {
    const auto* ref = std::get_if<te::VarRef>(&x->kind);
    return ref != nullptr && ref->var == var;
  };
  return is(sum->a, combiner.lhs[0]) && is(sum->b, combiner.rhs[0]);
}

namespace {

int64_t size_of(const Job& job, const std::vector<size_t>& axes) {
  int64_t out = 1;
  for (size_t axis : axes) out *= job.extents[axis];
  return out;
}

}  // namespace

bool is_adjacent_along(const te::Expr& x, const te::Var& var) {
  bool out = false;
  te::any_node(x, [&](const te::Expr& node) {
    const auto* load = std::get_if<std::shared_ptr<const te::Load>>(&node->kind);
    if (load == nullptr || !vars_of(node).contains(var.id())) return false;
    te::Substitution next({{var.id(), te::Expr(var) + 1}});
    const te::Expr& last = (*load)->indices.back();
    out = te::as_int(te::simplify(next(last) - last)) == 1;
    return true;
  });
  return out;
}

std::optional<Product> product_of_job(const Job& job) {
  if (job.reduce.empty() || job.values.size() != 1 || !is_sum(job.compute().combiner))
    return std::nullopt;
  const auto* factors = std::get_if<te::Binary>(&job.values[0]->kind);
  if (factors == nullptr || factors->op != te::BinaryOp::kMultiply) return std::nullopt;
  Product out{factors->a, factors->b, {}, {}, {}};
  const Vars in_a = vars_of(out.a), in_b = vars_of(out.b);
  std::optional<size_t> last;
  for (size_t k = 0; k < job.extents.size(); ++k) {
    const void* var = job.compute().axes[k].var.id();
    if (job.extents[k] != 1) last = k;
    if (job.extents[k] == 1 || in_a.contains(var) == in_b.contains(var)) out.batch.push_back(k);
    else (in_a.contains(var) ? out.m : out.n).push_back(k);
  }
  if (last && std::ranges::find(out.m, *last) != out.m.end()) {
    std::swap(out.m, out.n);
    std::swap(out.a, out.b);
  }
  out.batch_size = size_of(job, out.batch);
  out.m_size = size_of(job, out.m);
  out.n_size = size_of(job, out.n);
  out.k_size = job.terms();
  return out;
}

te::Exprs indices_of(const Job& job, const Product& product, const te::Expr& batch,
                     const te::Expr& m, const te::Expr& n) {
  te::Exprs out(job.extents.size());
  auto place = [&](const std::vector<size_t>& axes, const te::Expr& flat) {
    Extents extents;
    for (size_t axis : axes) extents.push_back(job.extents[axis]);
    const te::Exprs at = unflattened(flat, extents);
    for (size_t k = 0; k < axes.size(); ++k) out[axes[k]] = at[k];
  };
  place(product.batch, batch);
  place(product.m, m);
  place(product.n, n);
  return out;
}

}  // namespace byoc::cuda
