// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/attention/compute.h"

#include <algorithm>

namespace byoc::llvm_plugin::attention {
namespace {

using te::Expr;
using te::Exprs;
using te::Tensor;

constexpr size_t kMostMet = 64;  // ops from the scores to the product with the values

const Call* call_of(const Function& function, uint32_t node) {
  return std::get_if<Call>(&function.nodes[node].kind);
}

bool passes_on(const Call& call) {
  return call.op->kind == FusionKind::kElementwise || call.op->kind == FusionKind::kBroadcast;
}

bool is_product(const te::Site& site) {
  if (site.op->name != "matmul" || site.outputs[0]->dtype != DType::kF32) return false;
  return std::ranges::all_of(site.inputs, [](TypeId type) {
    return type->shape.size() >= 2 && is_static(type->shape) && type->shape.back().extent() > 0;
  });
}

// Returns the readers of a node; a function of attention is short.
std::vector<uint32_t> readers_of(const Function& function, uint32_t node) {
  std::vector<uint32_t> out;
  for (uint32_t at = node + 1; at < function.nodes.size(); ++at) {
    const std::span<const ValueId> args = function.args(function.nodes[at]);
    if (std::ranges::any_of(args, [&](ValueId arg) { return arg.node == node; })) out.push_back(at);
  }
  return out;
}

// Returns the product with the values that the scores lead to: all that reads them is a softmax,
// and all that reads this is the product, both through elementwise ops.
std::optional<uint32_t> values_of(const Function& function, uint32_t scores) {
  bool has_softmax = false;
  uint32_t node = scores;
  for (size_t k = 0; k < kMostMet; ++k) {
    const std::vector<uint32_t> readers = readers_of(function, node);
    const Call* call = readers.size() == 1 ? call_of(function, readers[0]) : nullptr;
    if (call == nullptr) return std::nullopt;
    if (call->op->name == "matmul") {
      const bool is_first = function.args(function.nodes[readers[0]])[0].node == node;
      return has_softmax && is_first ? std::optional(readers[0]) : std::nullopt;
    }
    if (call->op->name == "softmax") has_softmax = true;
    else if (!passes_on(*call)) return std::nullopt;
    node = readers[0];
  }
  return std::nullopt;
}

bool is_values(const Function& function, uint32_t product) {
  for (uint32_t node = 0; node < product; ++node) {
    const Call* call = call_of(function, node);
    if (call != nullptr && call->op->name == "matmul" && values_of(function, node) == product)
      return true;
  }
  return false;
}

// Returns the index of an operand in the leading dims of a result.
Exprs leading(const Tensor& operand, const Exprs& i) {
  const size_t count = operand.rank() - 2, shift = i.size() - operand.rank();
  Exprs out;
  for (size_t d = 0; d < count; ++d)
    out.push_back(te::as_int(operand.shape()[d]) == 1 ? Expr(0) : i[d + shift]);
  return out;
}

Exprs with(Exprs at, std::initializer_list<Expr> more) {
  at.insert(at.end(), more);
  return at;
}

// Returns the matrices y [.., k, n] in panels of columns, [.., n / lanes, k, lanes].
Tensor panels_of(te::Builder& builder, std::string_view name, const Tensor& y, int64_t lanes) {
  const size_t rank = y.rank();
  const int64_t columns = *te::as_int(y.shape()[rank - 1]);
  Exprs shape(y.shape().begin(), y.shape().end() - 2);
  shape = with(std::move(shape), {(columns + lanes - 1) / lanes, y.shape()[rank - 2], lanes});
  return builder.compute(std::string(name), shape, [&](const Exprs& i) {
    const Expr column = i[rank - 2] * lanes + i[rank];
    const Expr value = y(with(Exprs(i.begin(), i.begin() + static_cast<ptrdiff_t>(rank) - 2),
                              {i[rank - 1], column}));
    return columns % lanes == 0 ? value
                                : te::select(column < columns, value, te::constant(DType::kF32, 0));
  });
}

Tensor queries_of(te::Builder& builder, const Tensor& x) {
  return builder.compute(std::string(kQueries), x.shape(), [&](const Exprs& i) { return x(i); });
}

}  // namespace

Role role_of(const te::Site& site) {
  if (!is_product(site)) return Role::kNone;
  if (values_of(*site.function, site.node)) return Role::kScores;
  return is_values(*site.function, site.node) ? Role::kValues : Role::kNone;
}

ComputeFn compute_of(Role role, int64_t lanes) {
  return [role, lanes](te::Builder& builder, std::span<const Tensor> in, Types out,
                       const Attrs&) -> Result<std::vector<Tensor>> {
    const bool is_scores = role == Role::kScores;
    const Tensor x = is_scores ? queries_of(builder, in[0]) : in[0];
    const Tensor panels = panels_of(builder, is_scores ? kKeys : kValues, in[1], lanes);
    const Exprs whole = te::extents_of(*out[0]);
    Exprs shape = whole;
    const int64_t columns = *te::as_int(shape.back());
    shape.back() = (columns + lanes - 1) / lanes * lanes;
    const Expr terms = x.shape().back();
    const Tensor sums = builder.reduce(
        std::string(is_scores ? kScores : kResults), shape, {terms}, te::sum_of(DType::kF32),
        [&](const Exprs& i, const Exprs& r) {
          const Expr &row = i[i.size() - 2], &column = i.back();
          return x(with(leading(x, i), {row, r[0]})) *
                 panels(with(leading(in[1], i),
                             {floor_div(column, lanes), r[0], floor_mod(column, lanes)}));
        });
    return std::vector<Tensor>{
        builder.compute("matmul", whole, [&](const Exprs& i) { return sums(i); })};
  };
}

}  // namespace byoc::llvm_plugin::attention
