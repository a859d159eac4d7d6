// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/families/strassen/recurrent.h"

namespace byoc::llvm_plugin::strassen {

using te::Expr;
using te::Tensor;

std::optional<Product> input_product_of(const te::Site& site, int64_t block) {
  const std::string& op = site.op->name;
  if (op != "lstm" && op != "gru" && op != "rnn") return std::nullopt;
  const bool has_lengths = site.inputs.size() > (op == "lstm" ? 7u : 5u);
  const Shape &x = site.inputs[0]->shape, &w = site.inputs[1]->shape;
  if (has_lengths || site.inputs[0]->dtype != DType::kF32 || !is_static(x) || !is_static(w))
    return std::nullopt;
  const Ints steps = static_extents(x), matrix = static_extents(w);
  const Product out{steps[0] * steps[1], steps[2], matrix[0] * matrix[1], block};
  const bool fits =
      out.m > 1 && out.k > 0 && out.k % 2 == 0 && out.n > 0 && out.n % (2 * block) == 0;
  return fits ? std::optional(out) : std::nullopt;
}

ComputeFn recurrent_compute_of(const te::Site& site, const Product& product) {
  return [direct = site.op->compute, lanes = site.target->lanes(sizeof(float)),
          shares = shares_steps(*site.target),
          product](te::Builder& builder, std::span<const Tensor> in, Types types,
                   const Attrs& attrs) -> Result<std::vector<Tensor>> {
    const int64_t rows = *te::as_int(in[1].shape()[1]);
    auto matrix = [&](const Expr& j, const Expr& k, const Expr& b) {
      const Expr column = j * product.block + b;
      return in[1](floor_div(column, rows), floor_mod(column, rows), k);
    };
    std::vector<Tensor> operands(in.begin(), in.end());
    operands[1] = add_product(builder, product, in[0], matrix);
    Attrs more = attrs;
    more.set("panel_lanes", lanes);
    more.set("shares_steps", shares);
    more.set("has_input_products", true);
    return direct(builder, operands, types, more);
  };
}

}  // namespace byoc::llvm_plugin::strassen
