// SPDX-License-Identifier: Apache-2.0
// Makes a Dag, stage by stage.
#include <algorithm>
#include <limits>

#include "byoc/base/check.h"
#include "byoc/te/tensor.h"

namespace byoc::te {
namespace {

Combiner combiner_of(DType dtype, Expr identity, Expr (*combine)(Expr, Expr)) {
  Var lhs("lhs", dtype), rhs("rhs", dtype);
  return {{lhs}, {rhs}, {std::move(identity)}, {combine(lhs, rhs)}};
}

// Returns the least value (sign -1) or the greatest (sign 1) of a type.
Expr extreme(DType dtype, int sign) {
  if (is_float(dtype)) return constant(dtype, sign * std::numeric_limits<double>::infinity());
  if (dtype == DType::kBool) return int_constant(dtype, sign > 0);
  int bits = static_cast<int>(8 * dtype_size(dtype));
  if (!is_signed_int(dtype)) return int_constant(dtype, sign > 0 ? -1 : 0);
  uint64_t top = uint64_t{1} << (bits - 1);
  return int_constant(dtype, static_cast<int64_t>(sign > 0 ? top - 1 : ~top + 1));
}

std::vector<Axis> make_axes(const Exprs& extents, const char* prefix) {
  std::vector<Axis> out;
  for (size_t k = 0; k < extents.size(); ++k)
    out.push_back({Var(prefix + std::to_string(k)), extents[k]});
  return out;
}

Indices vars_of(const std::vector<Axis>& axes) {
  Indices out;
  for (const Axis& axis : axes) out.push_back(axis.var);
  return out;
}

}  // namespace

Combiner sum_of(DType dtype) {
  return combiner_of(dtype, constant(dtype, 0), [](Expr a, Expr b) { return a + b; });
}
Combiner product_of(DType dtype) {
  return combiner_of(dtype, constant(dtype, 1), [](Expr a, Expr b) { return a * b; });
}
Combiner min_of(DType dtype) {
  return combiner_of(dtype, extreme(dtype, 1), [](Expr a, Expr b) { return min(a, b); });
}
Combiner max_of(DType dtype) {
  return combiner_of(dtype, extreme(dtype, -1), [](Expr a, Expr b) { return max(a, b); });
}

size_t stage_of(const Dag& dag, const Tensor& tensor) {
  for (size_t s = dag.stages.size(); s-- > 0;) {
    const std::vector<Tensor>& outputs = dag.stages[s].outputs;
    if (std::find(outputs.begin(), outputs.end(), tensor) != outputs.end()) return s;
  }
  BYOC_CHECK(false, "no stage of ", dag.name, " makes ", tensor.name());
}

void Builder::begin_op(std::string op, std::string compute, uint32_t call) {
  op_ = std::move(op);
  compute_ = std::move(compute);
  call_ = call;
}

// Returns the first free one of name, name_1, name_2, ...
std::string Builder::unique(std::string name) {
  if (name.empty()) name = "t";
  if (names_.try_emplace(name, 0).second) return name;
  while (true) {
    std::string next = name + "_" + std::to_string(++names_[name]);
    if (names_.try_emplace(next, 0).second) return next;
  }
}

Stage& Builder::add(std::string name) {
  Stage stage;
  stage.role = name;
  stage.name = unique(std::move(name));
  stage.op = op_;
  stage.compute = compute_;
  stage.call = call_;
  dag_.stages.push_back(std::move(stage));
  return dag_.stages.back();
}

Tensor Builder::placeholder(std::string name, DType dtype, Exprs shape) {
  Stage& stage = add(std::move(name));
  stage.op.clear();
  stage.compute.clear();
  stage.outputs = {Tensor(stage.name, dtype, std::move(shape))};
  return stage.outputs[0];
}

Tensor Builder::placeholder(std::string name, const TensorType& type) {
  return placeholder(std::move(name), type.dtype, extents_of(type));
}

std::vector<Tensor> Builder::compute_all(std::string name, Exprs shape,
                                         const std::function<Exprs(const Indices&)>& values) {
  Compute compute;
  compute.axes = make_axes(shape, "i");
  compute.values = values(vars_of(compute.axes));
  Stage& stage = add(std::move(name));
  for (size_t k = 0; k < compute.values.size(); ++k) {
    std::string label = k == 0 ? stage.name : stage.name + "#" + std::to_string(k);
    stage.outputs.emplace_back(std::move(label), compute.values[k].dtype(), shape);
  }
  stage.kind = std::move(compute);
  return stage.outputs;
}

Tensor Builder::compute(std::string name, Exprs shape,
                        const std::function<Expr(const Indices&)>& value) {
  return compute_all(std::move(name), std::move(shape),
                     [&](const Indices& i) { return Exprs{value(i)}; })[0];
}

std::vector<Tensor> Builder::reduce_all(
    std::string name, Exprs shape, Exprs extents, Combiner combiner,
    const std::function<Exprs(const Indices&, const Indices&)>& terms) {
  Compute compute;
  compute.axes = make_axes(shape, "i");
  compute.reduce = make_axes(extents, "r");
  compute.values = terms(vars_of(compute.axes), vars_of(compute.reduce));
  const size_t n = compute.values.size();
  BYOC_CHECK(combiner.lhs.size() == n && combiner.rhs.size() == n && combiner.result.size() == n &&
                 combiner.identity.size() == n,
             "the combiner of ", name, " is not of ", n, " values");
  compute.combiner = std::move(combiner);
  Stage& stage = add(std::move(name));
  for (size_t k = 0; k < n; ++k) {
    BYOC_CHECK(compute.values[k].dtype() == compute.combiner.lhs[k].dtype(), "value ", k, " of ",
               stage.name, " is ", compute.values[k].dtype());
    std::string label = k == 0 ? stage.name : stage.name + "#" + std::to_string(k);
    stage.outputs.emplace_back(std::move(label), compute.values[k].dtype(), shape);
  }
  stage.kind = std::move(compute);
  return stage.outputs;
}

Tensor Builder::reduce(std::string name, Exprs shape, Exprs extents, Combiner combiner,
                       const std::function<Expr(const Indices&, const Indices&)>& term) {
  return reduce_all(std::move(name), std::move(shape), std::move(extents), std::move(combiner),
                    [&](const Indices& i, const Indices& r) { return Exprs{term(i, r)}; })[0];
}

std::vector<Tensor> Builder::procedure(
    std::string name, std::vector<TensorType> outputs, std::vector<Tensor> inputs,
    const std::function<Stmt(const std::vector<Tensor>&)>& body) {
  Stage& stage = add(std::move(name));
  for (size_t k = 0; k < outputs.size(); ++k) {
    std::string label = k == 0 ? stage.name : stage.name + "#" + std::to_string(k);
    stage.outputs.emplace_back(std::move(label), outputs[k].dtype, extents_of(outputs[k]));
  }
  stage.kind = Procedure{std::move(inputs), body(stage.outputs)};
  return stage.outputs;
}

Dag Builder::finish(std::string name, std::vector<Tensor> inputs, std::vector<Tensor> outputs) {
  dag_.name = std::move(name);
  dag_.inputs = std::move(inputs);
  dag_.outputs = std::move(outputs);
  names_.clear();
  return std::exchange(dag_, {});
}

}  // namespace byoc::te
