// SPDX-License-Identifier: Apache-2.0
#include "plugins/cuda/loops/job.h"

#include "byoc/te/rewrite.h"

namespace byoc::cuda {

te::Expr with_value(const te::Expr& x, const te::Tensor& tensor, const te::Expr& value) {
  std::unordered_map<const te::ExprNode*, te::Expr> done;
  auto replace = [&](auto& self, const te::Expr& node) -> te::Expr {
    auto known = done.find(&*node);
    if (known != done.end()) return known->second;
    const auto* load = std::get_if<std::shared_ptr<const te::Load>>(&node->kind);
    te::Expr out =
        load != nullptr && (*load)->tensor == tensor
            ? value
            : te::map_operands(node, [&](const te::Expr& operand) { return self(self, operand); });
    done.emplace(&*node, out);
    return out;
  };
  return replace(replace, x);
}

namespace {

te::Stmt store_all(const std::vector<te::Tensor>& to, const te::Exprs& at,
                   const te::Exprs& values) {
  if (to.size() == 1) return te::make_store(to[0], at, values[0]);
  std::vector<te::Stmt> stores;  // values may be loads of what is stored
  std::vector<te::Var> names;
  for (size_t k = 0; k < to.size(); ++k) {
    names.emplace_back("v", values[k].dtype());
    stores.push_back(te::make_store(to[k], at, names[k]));
  }
  te::Stmt out = te::make_block(std::move(stores));
  for (size_t k = to.size(); k-- > 0;) out = te::make_let(names[k], values[k], std::move(out));
  return out;
}

}  // namespace

te::Stmt stored(const Job& job, const te::Exprs& indices, const te::Exprs& sums) {
  if (job.compute().reduce.empty()) {
    te::Exprs values;
    for (const te::Expr& value : job.values)
      values.push_back(at_indices(value, job.compute().axes, indices));
    return store_all(job.stage->outputs, indices, values);
  }
  if (job.end == nullptr) return store_all(job.stage->outputs, indices, sums);
  const auto& end = std::get<te::Compute>(job.end->kind);
  te::Exprs values;
  te::Var sum("sum", sums[0].dtype());
  for (const te::Expr& value : job.end_values)
    values.push_back(at_indices(with_value(value, job.stage->outputs[0], sum), end.axes, indices));
  return te::make_let(sum, sums[0], store_all(job.end->outputs, indices, values));
}

std::vector<te::Tensor> partial_results(const Job& job, const te::Exprs& shape) {
  std::vector<te::Tensor> out;
  for (const te::Tensor& result : job.stage->outputs)
    out.emplace_back("part", result.dtype(), shape);
  return out;
}

te::Stmt cleared(const Job& job, const std::vector<te::Tensor>& memory, const te::Exprs& at) {
  return store_all(memory, at, job.compute().combiner.identity);
}

te::Stmt combined(const Job& job, const std::vector<te::Tensor>& memory, const te::Exprs& at,
                  const te::Exprs& terms) {
  const te::Combiner& combiner = job.compute().combiner;
  te::VarMap map;
  for (size_t k = 0; k < memory.size(); ++k) {
    map[combiner.lhs[k].id()] = memory[k](at);
    map[combiner.rhs[k].id()] = terms[k];
  }
  te::Substitution substitute(std::move(map));
  te::Exprs values;
  for (const te::Expr& result : combiner.result) values.push_back(substitute(result));
  return store_all(memory, at, values);
}

te::Exprs loads_of(const std::vector<te::Tensor>& memory, const te::Exprs& at) {
  te::Exprs out;
  for (const te::Tensor& tensor : memory) out.push_back(tensor(at));
  return out;
}

te::Exprs terms_at(const Job& job, const te::Exprs& indices, const te::Exprs& reduce) {
  te::Exprs out;
  for (const te::Expr& value : job.values) {
    out.push_back(
        at_indices(at_indices(value, job.compute().axes, indices), job.compute().reduce, reduce));
  }
  return out;
}

te::Stmt allocated(const std::vector<te::Tensor>& memory, te::Stmt body) {
  for (size_t k = memory.size(); k-- > 0;)
    body = te::make_alloc(memory[k], te::Scope::kStack, std::move(body));
  return body;
}

te::Stmt elementwise_kernel(const Job& job, Groups& groups) {
  return groups.flat(job.elements(), [&](const te::Expr& flat) {
    return stored(job, unflattened(flat, job.extents), {});
  });
}

}  // namespace byoc::cuda
