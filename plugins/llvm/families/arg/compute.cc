// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/families/arg/compute.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "byoc/base/check.h"

namespace byoc::llvm_plugin::arg {
namespace {

using te::Expr;
using te::Exprs;
using te::Tensor;

constexpr double kStep = 1.5;      // cycles of a vector in one pass: a load, a compare, a blend
constexpr double kScalar = 6;      // cycles of an element whose step waits for the one before
constexpr double kFolding = 6;     // cycles to halve the lanes of a vector
constexpr int64_t kMostShort = 2;  // vectors of a line that are not worth a search by lanes

// Returns true where NaN is an extreme. Lines that ignore it have no NaN in their reductions.
bool has_nan(const Lines& lines) { return is_float(lines.dtype); }
bool finds_nan(const Lines& lines) { return has_nan(lines) && lines.is_greatest && !lines.is_hard; }

DType state_of(const Lines& lines) {
  const bool is_small = lines.dtype == DType::kF16 || lines.dtype == DType::kBF16;
  return is_small ? DType::kF32 : lines.dtype;
}

// Combines values of which NaN is the greatest. For the least one, and in hardmax, NaN is ignored:
// min and max return their second operand, the value so far, which begins at infinity.
te::Combiner extreme_of(const Lines& lines) {
  const DType dtype = state_of(lines);
  te::Combiner out = lines.is_greatest ? te::max_of(dtype) : te::min_of(dtype);
  if (!has_nan(lines)) return out;
  const Expr a = out.lhs[0], b = out.rhs[0];
  const Expr best = lines.is_greatest ? te::max(b, a) : te::min(b, a);
  out.result = {finds_nan(lines) ? te::select(te::unary(te::UnaryOp::kIsNan, b), b, best) : best};
  return out;
}

// Returns true where a value is the extreme of its line, or the NaN that is.
Expr is_extreme(const Lines& lines, const Expr& value, const Expr& top) {
  const Expr is_same = value == top;
  if (!finds_nan(lines)) return is_same;
  return is_same || te::unary(te::UnaryOp::kIsNan, value);
}

/// Positions as numbers as wide as the elements where these can count them.
struct Positions {
  explicit Positions(const Lines& lines)
      : is_last(lines.is_last),
        dtype(lines.extent < INT32_MAX ? DType::kI32 : DType::kI64),
        none(te::int_constant(dtype, lines.is_last          ? -1
                                     : dtype == DType::kI32 ? INT32_MAX
                                                            : INT64_MAX)),
        combiner(is_last ? te::max_of(dtype) : te::min_of(dtype)) {
    combiner.identity = {none};
  }
  Expr where(const Expr& condition, const Expr& position) const {
    return te::select(condition, te::cast(dtype, position), none);
  }
  // Returns the position that was found, or the first (last) one of `count` where all are NaN.
  Expr found(const Expr& at, int64_t count) const {
    const Expr any = te::int_constant(dtype, is_last ? count - 1 : 0);
    return te::cast(DType::kI64, te::select(at == none, any, at));
  }

  bool is_last;
  DType dtype;
  Expr none;
  te::Combiner combiner;
};

// Returns the element of x at position r of the line of the result's element i.
Expr element(const Lines& lines, const Tensor& x, const Exprs& i, const Expr& r) {
  Exprs at = i;
  if (lines.keepdims) at[lines.axis] = r;
  else at.insert(at.begin() + static_cast<ptrdiff_t>(lines.axis), r);
  return te::cast(state_of(lines), x(at));
}

Exprs with(Exprs at, const Expr& last) {
  at.push_back(last);
  return at;
}

// Returns the extents with one value per line.
Exprs lines_in(const Lines& lines, const TensorType& out) {
  Exprs shape = te::extents_of(out);
  if (lines.is_hard) shape[lines.axis] = 1;
  return shape;
}

// Computes the result out of each line's position.
Tensor result_of(te::Builder& builder, const Lines& lines, const Tensor& x, const TensorType& out,
                 const std::function<Expr(const Exprs& line)>& position) {
  const Exprs shape = te::extents_of(out);
  if (!lines.is_hard) return builder.compute("position", shape, position);
  const DType wide = Positions(lines).dtype;
  const Tensor at = builder.compute("position", lines_in(lines, out), [&](const Exprs& line) {
    const Expr found = te::cast(wide, position(line));
    if (!has_nan(lines)) return found;
    const Expr first = element(lines, x, line, 0);
    return te::select(te::unary(te::UnaryOp::kIsNan, first), te::int_constant(wide, 0), found);
  });
  return builder.compute("hardmax", shape, [&](const Exprs& i) {
    Exprs line = i;
    line[lines.axis] = 0;
    const Expr is_there = at(line) == te::cast(wide, i[lines.axis]);
    return te::select(is_there, te::constant(lines.dtype, 1), te::constant(lines.dtype, 0));
  });
}

}  // namespace

std::optional<Lines> lines_of(const te::Site& site) {
  const bool is_hard = site.op->name == "hardmax";
  const bool is_greatest = is_hard || site.op->name == "argmax";
  if ((!is_greatest && site.op->name != "argmin") || !is_static(site.inputs[0]->shape))
    return std::nullopt;
  const Ints x = static_extents(site.inputs[0]->shape);
  const auto rank = static_cast<int64_t>(x.size());
  const int64_t axis = site.attrs->i("axis");
  Lines out{.axis = static_cast<size_t>(axis < 0 ? axis + rank : axis),
            .dtype = site.inputs[0]->dtype,
            .is_greatest = is_greatest,
            .is_last = site.attrs->b("select_last_index", false),
            .keepdims = site.attrs->b("keepdims", true),
            .is_hard = is_hard};
  BYOC_CHECK(out.axis < x.size(), "axis ", axis, " of rank ", rank);
  for (size_t d = 0; d < x.size(); ++d)
    (d < out.axis ? out.outer : d == out.axis ? out.extent : out.inner) *= x[d];
  if (out.outer * out.inner * out.extent == 0) return std::nullopt;
  out.lanes = site.target->lanes(dtype_size(state_of(out)));
  return out.lanes < 2 ? std::nullopt : std::optional(out);
}

double direct_cycles_of(const Lines& lines) {
  return kScalar * static_cast<double>(lines.outer * lines.extent * lines.inner);
}

double cycles_of(const Lines& lines, int64_t block) {
  const auto lanes = static_cast<double>(lines.lanes), n = static_cast<double>(lines.extent);
  if (lines.inner > 1) {
    const double vectors = std::ceil(static_cast<double>(lines.inner) / lanes);
    return 2 * kStep * static_cast<double>(lines.outer) * n * vectors;
  }
  const double fold = kFolding * std::log2(lanes), step = kStep / lanes;
  const auto rows = static_cast<double>(lines.outer);
  if (lines.extent < kMostShort * lines.lanes) return rows * 2 * kStep * n;
  if (block == 0) return rows * 2 * (n * step + fold);
  const auto b = static_cast<double>(block), count = std::ceil(n / b);
  return rows * (count * (b * step + fold) + 2 * count + b * step + fold);
}

// The least cost of n / b blocks, each with the steps of b elements and a fold, and of one block
// more, is where both grow alike: b * b * step = n * fold.
int64_t block_of(const Lines& lines) {
  if (lines.inner > 1 || lines.extent < 4 * lines.lanes) return 0;
  const double fold = kFolding * std::log2(static_cast<double>(lines.lanes));
  const double step = kStep / static_cast<double>(lines.lanes);
  const double best = std::sqrt(static_cast<double>(lines.extent) * fold / step);
  const int64_t unit = 4 * lines.lanes;
  const int64_t block = std::max<int64_t>(1, std::llround(best / static_cast<double>(unit))) * unit;
  if (2 * block > lines.extent || cycles_of(lines, block) >= cycles_of(lines, 0)) return 0;
  return block;
}

ComputeFn passes(const Lines& lines) {
  return [lines](te::Builder& builder, std::span<const Tensor> in, Types out,
                 const Attrs&) -> Result<std::vector<Tensor>> {
    const Tensor& x = in[0];
    const Exprs shape = lines_in(lines, *out[0]);
    const Positions positions(lines);
    const Tensor top =
        builder.reduce("top", shape, {lines.extent}, extreme_of(lines),
                       [&](const Exprs& i, const Exprs& r) { return element(lines, x, i, r[0]); });
    const Tensor at = builder.reduce(
        "at", shape, {lines.extent}, positions.combiner, [&](const Exprs& i, const Exprs& r) {
          return positions.where(is_extreme(lines, element(lines, x, i, r[0]), top(i)), r[0]);
        });
    return std::vector<Tensor>{result_of(builder, lines, x, *out[0], [&](const Exprs& i) {
      return positions.found(at(i), lines.extent);
    })};
  };
}

ComputeFn blocks(const Lines& lines, int64_t block) {
  return [lines, block](te::Builder& builder, std::span<const Tensor> in, Types out,
                        const Attrs&) -> Result<std::vector<Tensor>> {
    const Tensor& x = in[0];
    const Exprs shape = lines_in(lines, *out[0]);
    const Positions positions(lines);
    const int64_t count = (lines.extent + block - 1) / block;
    auto start = [&](const Expr& k) {
      const Expr at = k * block;
      return lines.extent % block == 0 ? at : te::min(at, Expr(lines.extent - block));
    };
    auto line = [](const Exprs& i) { return Exprs(i.begin(), i.end() - 1); };
    const Tensor tops = builder.reduce("block_top", with(shape, Expr(count)), {block},
                                       extreme_of(lines), [&](const Exprs& i, const Exprs& r) {
                                         return element(lines, x, line(i), start(i.back()) + r[0]);
                                       });
    const Tensor top =
        builder.reduce("top", shape, {count}, extreme_of(lines),
                       [&](const Exprs& i, const Exprs& r) { return tops(with(i, r[0])); });
    const Tensor found = builder.reduce(
        "block", shape, {count}, positions.combiner, [&](const Exprs& i, const Exprs& r) {
          return positions.where(is_extreme(lines, tops(with(i, r[0])), top(i)), r[0]);
        });
    const Tensor from = builder.compute(
        "start", shape, [&](const Exprs& i) { return start(positions.found(found(i), count)); });
    const Tensor at = builder.reduce(
        "at", shape, {block}, positions.combiner, [&](const Exprs& i, const Exprs& r) {
          const Expr value = element(lines, x, i, from(i) + r[0]);
          return positions.where(is_extreme(lines, value, top(i)), r[0]);
        });
    return std::vector<Tensor>{result_of(builder, lines, x, *out[0], [&](const Exprs& i) {
      return from(i) + positions.found(at(i), block);
    })};
  };
}

}  // namespace byoc::llvm_plugin::arg
