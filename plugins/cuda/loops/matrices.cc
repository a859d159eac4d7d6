// SPDX-License-Identifier: Apache-2.0
#include "plugins/cuda/loops/matrices.h"

#include <algorithm>

#include "byoc/te/rewrite.h"

namespace byoc::cuda {
namespace {

constexpr int64_t kLeast = 16;  // rows, columns and terms of a product for a library

/// A factor in memory, and the distance of neighbours along the axes of the job, then of its terms.
struct Factor {
  te::Tensor tensor;
  Extents distances;
};

/// The distances of a matrix: from a row, a column and a matrix of the batch to the next one.
struct Distances {
  int64_t row = 0, column = 0, batch = 0;
};

std::optional<Factor> factor_of(const Job& job, const te::Expr& x) {
  const auto* cast = std::get_if<te::Cast>(&x->kind);
  const te::Expr& from = cast != nullptr ? cast->x : x;
  const auto* load = std::get_if<std::shared_ptr<const te::Load>>(&from->kind);
  if (load == nullptr) return std::nullopt;
  const Result<Extents> shape = numbers_of((*load)->tensor.shape(), "a factor");
  if (!shape.ok()) return std::nullopt;
  te::Expr flat = 0;
  int64_t step = 1;
  for (size_t d = shape->size(); d-- > 0; step *= (*shape)[d])
    flat = flat + (*load)->indices[d] * step;
  Factor out{(*load)->tensor, {}};
  std::vector<te::Axis> axes = job.compute().axes;
  axes.insert(axes.end(), job.compute().reduce.begin(), job.compute().reduce.end());
  te::VarMap origin;
  for (const te::Axis& axis : axes) {
    origin.emplace(axis.var.id(), te::Expr(0));
    te::Substitution next({{axis.var.id(), te::Expr(axis.var) + 1}});
    const std::optional<int64_t> distance = te::as_int(te::simplify(next(flat) - flat));
    if (!distance || *distance < 0) return std::nullopt;
    out.distances.push_back(*distance);
  }
  const te::Expr first = te::simplify(te::Substitution(std::move(origin))(flat));
  return te::as_int(first) == 0 ? std::optional(out) : std::nullopt;
}

// Returns the distance of neighbours along these axes as one axis; nullopt where it varies.
std::optional<int64_t> joined(const std::vector<size_t>& axes, const Extents& extents,
                              const Extents& distances) {
  std::optional<int64_t> out, last;
  for (size_t k = axes.size(); k-- > 0;) {
    const size_t axis = axes[k];
    if (extents[axis] == 1) continue;
    if (last && distances[axis] != *last) return std::nullopt;
    if (!out) out = distances[axis];
    last = distances[axis] * extents[axis];
  }
  return out.value_or(0);
}

// Returns true for compact rows or columns: the other distance is a leading dimension then.
bool is_matrix(const Distances& at, int64_t rows, int64_t columns) {
  return (at.column == 1 && at.row >= columns) || (at.row == 1 && at.column >= rows);
}

struct Match {
  Product product;
  Factor a, b;
  Distances of_a, of_b, of_d;
};

std::optional<Match> match(const Job& job) {
  std::optional<Product> product = product_of_job(job);
  const DType sums = job.stage->outputs[0].dtype();
  if (!product || job.attention != nullptr ||
      std::min({product->m_size, product->n_size, product->k_size}) < kLeast ||
      product->batch_size == 0 || (sums != DType::kF32 && sums != DType::kF64))
    return std::nullopt;
  const std::optional<Factor> a = factor_of(job, product->a), b = factor_of(job, product->b);
  if (!a || !b || a->tensor.dtype() != b->tensor.dtype() || !is_float(a->tensor.dtype()) ||
      (a->tensor.dtype() == DType::kF64) != (sums == DType::kF64))
    return std::nullopt;
  Extents extents = job.extents;
  std::vector<size_t> terms;
  for (int64_t extent : job.reduce) {
    terms.push_back(extents.size());
    extents.push_back(extent);
  }
  Extents result(job.extents.size());
  int64_t step = 1;
  for (size_t d = result.size(); d-- > 0; step *= job.extents[d]) result[d] = step;
  Match out{*product, *a, *b, {}, {}, {}};
  auto find = [&](const std::vector<size_t>& rows, const std::vector<size_t>& columns,
                  const Extents& distances, Distances& to) {
    const auto row = joined(rows, extents, distances), column = joined(columns, extents, distances),
               batch = joined(out.product.batch, extents, distances);
    if (row && column && batch) to = {*row, *column, *batch};
    return row && column && batch;
  };
  const Product& p = out.product;
  const bool is_found = find(p.m, terms, a->distances, out.of_a) &&
                        find(terms, p.n, b->distances, out.of_b) &&
                        find(p.m, p.n, result, out.of_d);
  if (!is_found || !is_matrix(out.of_a, p.m_size, p.k_size) ||
      !is_matrix(out.of_b, p.k_size, p.n_size) || out.of_d.column != 1 || out.of_d.row < p.n_size)
    return std::nullopt;
  return out;
}

te::Place first_of(const te::Tensor& tensor) { return {tensor, te::Exprs(tensor.rank(), 0)}; }

bool is_plain(const te::Expr& x) {
  const auto* cast = std::get_if<te::Cast>(&x->kind);
  return cast != nullptr && is_float(cast->x.dtype()) && is_float(x.dtype()) &&
         std::holds_alternative<std::shared_ptr<const te::Load>>(cast->x->kind);
}

}  // namespace

bool is_matrix_product(const Job& job) { return match(job).has_value(); }

bool is_conversion(const Job& job) {
  return job.reduce.empty() && job.values.size() == 1 && is_plain(job.values[0]);
}

std::optional<te::Stmt> matrix_product(const Job& job) {
  const bool is_converted = job.end != nullptr;
  if (is_converted && (job.end_values.size() != 1 || !is_plain(job.end_values[0])))
    return std::nullopt;
  const std::optional<Match> found = match(job);
  if (!found) return std::nullopt;
  const te::Tensor& d = is_converted ? job.end->outputs[0] : job.stage->outputs[0];
  const Product& p = found->product;
  const auto type = [](const te::Tensor& x) { return static_cast<int64_t>(x.dtype()); };
  const bool is_known =
      d.dtype() == job.stage->outputs[0].dtype() || d.dtype() == found->a.tensor.dtype();
  if (!is_known) return std::nullopt;
  te::Exprs args;
  for (int64_t x : {type(found->a.tensor), type(d), p.m_size, p.n_size, p.k_size, p.batch_size,
                    found->of_a.row, found->of_a.column, found->of_a.batch, found->of_b.row,
                    found->of_b.column, found->of_b.batch, found->of_d.row, found->of_d.batch})
    args.emplace_back(x);
  return te::make_intrinsic(kMatrixProduct,
                            {first_of(found->a.tensor), first_of(found->b.tensor), first_of(d)},
                            std::move(args));
}

}  // namespace byoc::cuda
