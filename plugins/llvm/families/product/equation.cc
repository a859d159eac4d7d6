// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/families/product/equation.h"

#include <algorithm>
#include <map>

#include "byoc/base/check.h"
#include "plugins/llvm/families/product/packed.h"
#include "plugins/llvm/tiling/register_tile.h"

namespace byoc::llvm_plugin::product {
namespace {

using te::Expr;
using te::Exprs;
using te::Tensor;

bool has(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

bool are_letters(const std::string& labels) {
  return std::ranges::all_of(
      labels, [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
}

bool all_differ(std::string labels) {
  std::ranges::sort(labels);
  return std::ranges::adjacent_find(labels) == labels.end();
}

// Splits "ij,kj->ik"; nullopt for other numbers of operands, an ellipsis, or no result.
std::optional<Equation> parsed(std::string text) {
  std::erase(text, ' ');
  const size_t arrow = text.find("->"), comma = text.find(',');
  if (arrow == std::string::npos || comma == std::string::npos || comma > arrow)
    return std::nullopt;
  Equation out{.a = text.substr(0, comma),
               .b = text.substr(comma + 1, arrow - comma - 1),
               .result = text.substr(arrow + 2)};
  for (const std::string& labels : {out.a, out.b, out.result})
    if (!are_letters(labels) || !all_differ(labels)) return std::nullopt;
  return out;
}

std::optional<Equation> written(const te::Site& site) {
  if (site.op->name == "einsum") return parsed(site.attrs->s("equation", ""));
  if (site.op->name != "gemm") return std::nullopt;
  return Equation{.a = site.attrs->b("trans_a", false) ? "ki" : "ik",
                  .b = site.attrs->b("trans_b", false) ? "jk" : "kj",
                  .result = "ij"};
}

using Extents = std::map<char, int64_t>;

// Returns the extents of the labels; nullopt where a dim of 1 is broadcast, or one is 0.
std::optional<Extents> extents_of(const te::Site& site, const Equation& equation) {
  Extents out;
  for (const bool is_a : {true, false}) {
    const std::string& labels = is_a ? equation.a : equation.b;
    const Shape& shape = site.inputs[is_a ? equation.a_operand : 1 - equation.a_operand]->shape;
    if (!is_static(shape) || shape.size() != labels.size()) return std::nullopt;
    for (size_t d = 0; d < labels.size(); ++d) {
      const int64_t extent = shape[d].extent();
      if (extent < 1 || out.emplace(labels[d], extent).first->second != extent) return std::nullopt;
    }
  }
  return out;
}

// Returns the rows: the last label of the result, with several elements, that the matrix lacks.
std::optional<char> rows_of(const Equation& equation, const Extents& extents) {
  for (size_t d = equation.result.size(); d-- > 0;) {
    const char label = equation.result[d];
    if (!has(equation.b, label) && extents.at(label) > 1) return label;
  }
  return std::nullopt;
}

// Returns true where panels pay. For each term the direct sums load an element per column and tile
// of rows, as the columns are not adjacent. Panels are loaded and stored once, then read as vectors
// per tile of rows.
bool packing_pays(const te::Site& site, int64_t rows, int64_t columns) {
  const auto lanes = static_cast<double>(site.target->lanes(sizeof(float)));
  const int64_t vectors = std::max<int64_t>(columns / site.target->lanes(sizeof(float)), 1);
  const topi::RegisterTile tile = topi::best_tile(rows, vectors, site.target->vector_registers);
  const auto tiles = static_cast<double>((rows + tile.cells - 1) / tile.cells);
  return 1 + (1 + tiles) / lanes < tiles;
}

// Computes y[result] over the terms of panels[the labels of b that are neither columns nor terms,
// column / block, term, column % block]. The last panel is filled up with zeros.
Result<std::vector<Tensor>> compute(const Equation& equation, const Extents& extents, int64_t block,
                                    te::Builder& builder, std::span<const Tensor> in, Types types,
                                    double alpha) {
  const Tensor a = in[equation.a_operand], b = in[1 - equation.a_operand];
  const int64_t n = extents.at(equation.columns()), k = extents.at(equation.terms);
  std::string kept;
  for (char label : equation.b)
    if (label != equation.terms && label != equation.columns()) kept += label;
  Exprs shape;
  for (char label : kept) shape.emplace_back(extents.at(label));
  for (int64_t extent : {(n + block - 1) / block, k, block}) shape.emplace_back(extent);
  const size_t rank = kept.size();
  auto indices = [](const std::string& labels, const std::map<char, Expr>& at) {
    Exprs out;
    for (char label : labels) out.push_back(at.at(label));
    return out;
  };
  const Tensor panels = builder.compute("panels", shape, [&](const Exprs& i) {
    std::map<char, Expr> at;
    for (size_t d = 0; d < rank; ++d) at[kept[d]] = i[d];
    const Expr column = i[rank] * block + i[rank + 2];
    at[equation.columns()] = column, at[equation.terms] = i[rank + 1];
    const Expr value = b(indices(equation.b, at));
    return n % block == 0 ? value
                          : te::select(column < Expr(n), value, te::constant(DType::kF32, 0));
  });
  auto term = [&](const Exprs& i, const Exprs& r) {
    std::map<char, Expr> at;
    for (size_t d = 0; d < i.size(); ++d) at[equation.result[d]] = i[d];
    at[equation.terms] = r[0];
    Exprs of_panels = indices(kept, at);
    for (const Expr& index : {floor_div(i.back(), block), r[0], floor_mod(i.back(), block)})
      of_panels.push_back(index);
    return a(indices(equation.a, at)) * panels(of_panels);
  };
  const Tensor y =
      builder.reduce("product", te::extents_of(*types[0]), {k}, te::sum_of(DType::kF32), term);
  if (alpha == 1) return std::vector<Tensor>{y};
  return std::vector<Tensor>{builder.compute("scaled", y.shape(), [&](const Exprs& i) {
    return te::constant(DType::kF32, alpha) * y(i);
  })};
}

}  // namespace

std::optional<Equation> equation_of(const te::Site& site) {
  if (site.inputs.size() != 2 || site.inputs[0]->dtype != DType::kF32) return std::nullopt;
  std::optional<Equation> out = written(site);
  if (!out || out->result.empty()) return std::nullopt;
  if (!has(out->b, out->columns())) std::swap(out->a, out->b), out->a_operand = 1;
  if (!has(out->b, out->columns()) || has(out->a, out->columns())) return std::nullopt;
  std::string summed;
  for (char label : out->b)
    if (!has(out->result, label)) summed += label;
  if (summed.size() != 1 || !has(out->a, summed[0])) return std::nullopt;
  out->terms = summed[0];
  const bool is_whole = std::ranges::all_of(
      out->a, [&](char label) { return label == out->terms || has(out->result, label); });
  return is_whole ? out : std::nullopt;
}

void add_equation_computes(const FamilyCall& call, Strategies& out) {
  const te::Site& site = call.site;
  const std::optional<Equation> equation = equation_of(site);
  if (!equation) return;
  const std::optional<Extents> extents = extents_of(site, *equation);
  const int64_t block = panel_columns(*site.target);
  if (!extents || extents->at(equation->columns()) < block) return;
  const std::optional<char> rows = rows_of(*equation, *extents);
  if (!rows) return;
  const bool is_constant = has_constant_weight(site, 1 - equation->a_operand);
  const bool is_apart = equation->b.back() != equation->columns();
  const int64_t columns = extents->at(equation->columns());
  if (!is_constant && (!is_apart || !packing_pays(site, extents->at(*rows), columns))) return;
  te::Strategy strategy{.name = kPackedCompute, .level = kPreferred};
  strategy.compute = [equation = *equation, extents = *extents, block](
                         te::Builder& builder, std::span<const Tensor> in, Types types,
                         const Attrs& attrs) {
    return compute(equation, extents, block, builder, in, types, attrs.f("alpha", 1));
  };
  out.push_back(std::move(strategy));
}

}  // namespace byoc::llvm_plugin::product
