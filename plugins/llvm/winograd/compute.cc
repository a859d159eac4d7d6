// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/winograd/compute.h"

#include <algorithm>

#include "plugins/llvm/winograd/transforms.h"

namespace byoc::llvm_plugin::winograd {
namespace {

using te::Expr;
using te::Exprs;
using te::Tensor;

int64_t count_of(int64_t whole, int64_t part) { return (whole + part - 1) / part; }

// Returns values[index].
Expr element(const Exprs& values, const Expr& index) {
  Expr out = values.back();
  for (size_t k = values.size() - 1; k-- > 0;)
    out = te::select(index == static_cast<int64_t>(k), values[k], out);
  return out;
}

// Appends x * factor to a sum, which is empty at first.
void add_term(Expr& sum, const Expr& x, double factor) {
  if (factor == 0) return;
  const double size = std::abs(factor);
  Expr term = size == 1 ? x : x * te::constant(x.dtype(), size);
  if (sum.is_empty()) sum = factor < 0 ? -term : term;
  else sum = factor < 0 ? sum - term : sum + term;
}

// Returns the sum of terms with factors. Terms with a factor of 1 are first, because a product with
// a sum is one instruction.
Expr sum_of(const std::vector<double>& factors, const Exprs& terms) {
  Expr out;
  for (bool is_one : {true, false}) {
    for (size_t k = 0; k < terms.size(); ++k) {
      if ((factors[k] == 1) == is_one) add_term(out, terms[k], factors[k]);
    }
  }
  return out.is_empty() ? te::constant(terms[0].dtype(), 0) : out;
}

// Returns matrix times terms. Two rows for the points p and -p are the sum and the difference of
// their even and their odd parts.
Exprs rows_times(const Matrix& matrix, const Exprs& terms) {
  Exprs out;
  for (size_t row = 0; row < matrix.size(); ++row) {
    std::vector<double> even, odd;
    const bool has_next = row + 1 < matrix.size();
    bool is_pair = has_next;
    for (size_t k = 0; k < terms.size() && has_next; ++k) {
      const double a = matrix[row][k], b = matrix[row + 1][k];
      even.push_back((a + b) / 2), odd.push_back((a - b) / 2);
      is_pair = is_pair && (a == b || a == -b);
    }
    if (!is_pair || std::ranges::count(odd, 0) == static_cast<ptrdiff_t>(odd.size())) {
      out.push_back(sum_of(matrix[row], terms));
      continue;
    }
    const Expr e = sum_of(even, terms), o = sum_of(odd, terms);
    out.push_back(e + o);
    out.push_back(e - o);
    ++row;
  }
  return out;
}

/// Terms of sums, and the column of a matrix for each.
struct Columns {
  std::vector<std::vector<double>> factors;
  Exprs terms;
  void append(std::vector<double> column, Expr term) {
    factors.push_back(std::move(column));
    terms.push_back(std::move(term));
  }
};

// Returns the columns of a matrix, equal ones as one for the sum of their terms.
Columns different_columns(const Matrix& matrix, const Exprs& terms) {
  Columns out;
  for (size_t k = 0; k < terms.size(); ++k) {
    std::vector<double> column;
    for (const auto& row : matrix) column.push_back(row[k]);
    const auto same = std::ranges::find(out.factors, column);
    if (same == out.factors.end()) out.append(std::move(column), terms[k]);
    else {
      Expr& sum = out.terms[static_cast<size_t>(same - out.factors.begin())];
      sum = sum + terms[k];
    }
  }
  return out;
}

// Returns matrix times terms. Two columns for the points p and -p have the same factors but for the
// sign: the sum and the difference of their terms are computed once.
Exprs columns_times(const Matrix& matrix, const Exprs& terms) {
  const Columns all = different_columns(matrix, terms);
  Columns joined;
  for (size_t k = 0; k < all.terms.size(); ++k) {
    const std::vector<double>& a = all.factors[k];
    const bool has_next = k + 1 < all.terms.size();
    const std::vector<double>& b = all.factors[has_next ? k + 1 : k];
    bool is_pair = has_next;
    for (size_t i = 0; i < a.size(); ++i)
      is_pair = is_pair && (i % 2 == 0 ? a[i] == b[i] : a[i] == -b[i]);
    if (!is_pair) {
      joined.append(a, all.terms[k]);
      continue;
    }
    std::vector<double> even = a, odd = a;
    for (size_t i = 0; i < a.size(); ++i) (i % 2 == 0 ? odd : even)[i] = 0;
    joined.append(std::move(even), all.terms[k] + all.terms[k + 1]);
    joined.append(std::move(odd), all.terms[k] - all.terms[k + 1]);
    ++k;
  }
  Exprs out;
  for (size_t i = 0; i < matrix.size(); ++i) {
    std::vector<double> row;
    for (const auto& column : joined.factors) row.push_back(column[i]);
    out.push_back(sum_of(row, joined.terms));
  }
  return out;
}

class Stages {
 public:
  Stages(te::Builder& builder, const Conv& conv, const Tile& tile)
      : builder_(builder),
        conv_(conv),
        down_(transforms_of(tile.rows, conv.rows, conv.stride)),
        across_(transforms_of(tile.columns, conv.columns, conv.stride)),
        tiles_down_(count_of(conv.oh, tile.rows)),
        tiles_across_(count_of(conv.ow, tile.columns)) {}

  Tensor filters(const Tensor& weight);
  Tensor inputs(const Tensor& x);
  Tensor products(const Tensor& inputs, const Tensor& filters);
  Tensor result(const Tensor& products);

 private:
  template <class F>
  static Exprs each(int64_t count, F&& term) {
    Exprs out;
    for (int64_t k = 0; k < count; ++k) out.push_back(term(k));
    return out;
  }
  template <class F>
  Tensor compute(std::string_view name, Exprs shape, F&& value) {
    return builder_.compute(std::string(name), std::move(shape), value);
  }

  te::Builder& builder_;
  const Conv& conv_;
  const Transforms down_, across_;  // over rows, over columns
  const int64_t tiles_down_, tiles_across_;
};

Tensor Stages::filters(const Tensor& weight) {
  const Exprs shape = {down_.products(), across_.products(), conv_.o_blocks,
                       conv_.c_blocks,   conv_.c_block,      conv_.o_block};
  return compute(kFilters, shape, [&](const Exprs& i) {
    const Exprs sums = each(conv_.rows, [&](int64_t row) {
      const Exprs taps = each(conv_.columns, [&](int64_t column) {
        return te::cast(DType::kF64, weight(i[2], i[3], row, column, i[4], i[5]));
      });
      return element(rows_times(across_.filter, taps), i[1]);
    });
    return te::cast(DType::kF32, element(rows_times(down_.filter, sums), i[0]));
  });
}

Tensor Stages::inputs(const Tensor& x) {
  const int64_t reach = across_.reach();
  const Exprs shape = {conv_.n,          conv_.c_blocks, tiles_down_,  tiles_across_,
                       down_.products(), reach,          conv_.c_block};
  auto cell = [&](const Exprs& i, int64_t row) {
    const Expr h = i[2] * (down_.m * conv_.stride) + (row - conv_.pad_top);
    const Expr w = i[3] * (across_.m * conv_.stride) + i[5] - conv_.pad_left;
    const Expr is_inside = Expr(0) <= h && h < conv_.h && Expr(0) <= w && w < conv_.w;
    return te::select(is_inside, x(i[0], i[1], h, w, i[6]), te::constant(DType::kF32, 0));
  };
  Tensor columns = compute(kColumns, shape, [&](const Exprs& i) {
    const Exprs cells = each(down_.reach(), [&](int64_t row) { return cell(i, row); });
    return element(rows_times(down_.input, cells), i[4]);
  });
  const Exprs both = {down_.products(), across_.products(), conv_.n,      conv_.c_blocks,
                      tiles_down_,      tiles_across_,      conv_.c_block};
  return compute(kInputs, both, [&](const Exprs& i) {
    const Exprs cells = each(
        reach, [&](int64_t column) { return columns(i[2], i[3], i[4], i[5], i[0], column, i[6]); });
    return element(rows_times(across_.input, cells), i[1]);
  });
}

Tensor Stages::products(const Tensor& inputs, const Tensor& filters) {
  const Exprs shape = {down_.products(), across_.products(),          conv_.n,
                       conv_.o_blocks,   tiles_down_ * tiles_across_, conv_.o_block};
  return builder_.reduce(std::string(kProducts), shape, {conv_.c_blocks, conv_.c_block},
                         te::sum_of(DType::kF32), [&](const Exprs& i, const Exprs& r) {
                           const Expr down = floor_div(i[4], tiles_across_);
                           const Expr across = floor_mod(i[4], tiles_across_);
                           return inputs(i[0], i[1], i[2], r[0], down, across, r[1]) *
                                  filters(i[0], i[1], i[3], r[0], r[1], i[5]);
                         });
}

Tensor Stages::result(const Tensor& products) {
  const int64_t down = down_.m, across = across_.m;
  const Exprs half = {conv_.n, conv_.o_blocks,     tiles_down_,  tiles_across_,
                      down,    across_.products(), conv_.o_block};
  Tensor rows = compute(kRows, half, [&](const Exprs& i) {
    const Exprs terms = each(down_.products(), [&](int64_t row) {
      return products(row, i[5], i[0], i[1], i[2] * tiles_across_ + i[3], i[6]);
    });
    return element(columns_times(down_.output, terms), i[4]);
  });
  const Exprs whole = {conv_.n,       conv_.o_blocks, tiles_down_,  down,
                       tiles_across_, across,         conv_.o_block};
  Tensor tiles = compute(kTiles, whole, [&](const Exprs& i) {
    const Exprs terms = each(across_.products(), [&](int64_t column) {
      return rows(i[0], i[1], i[2], i[4], i[3], column, i[6]);
    });
    return element(columns_times(across_.output, terms), i[5]);
  });
  const Exprs shape = {conv_.n, conv_.o_blocks, conv_.oh, conv_.ow, conv_.o_block};
  return compute("conv2d_nchwc", shape, [&](const Exprs& i) {
    return tiles(i[0], i[1], floor_div(i[2], down), floor_mod(i[2], down), floor_div(i[3], across),
                 floor_mod(i[3], across), i[4]);
  });
}

bool all_are(const Ints& values, int64_t value) {
  return std::ranges::all_of(values, [&](int64_t x) { return x == value; });
}

bool has_tiles(int64_t rows, int64_t columns, int64_t stride) {
  if (rows == columns) return (rows == 3 || rows == 5) && stride <= 2;
  const int64_t shorter = std::min(rows, columns), longer = std::max(rows, columns);
  return shorter == 1 && (longer == 3 || longer == 7) && stride == 1;
}

}  // namespace

std::optional<Conv> conv_of(const te::Site& site) {
  if (site.op->name != "conv2d_nchwc" || site.inputs[0]->dtype != DType::kF32) return std::nullopt;
  if (site.inputs[0]->shape.size() != 5) return std::nullopt;
  for (TypeId type : {site.inputs[0], site.inputs[1], site.outputs[0]}) {
    if (!is_static(type->shape)) return std::nullopt;
    if (std::ranges::count(static_extents(type->shape), 0) > 0) return std::nullopt;
  }
  const Ints x = static_extents(site.inputs[0]->shape), y = static_extents(site.outputs[0]->shape);
  const Ints weight = static_extents(site.inputs[1]->shape);
  Ints pads = site.attrs->ints("pads");
  if (pads.empty()) pads = {0, 0, 0, 0};
  const Ints strides = site.attrs->ints("strides");
  const int64_t stride = strides.empty() ? 1 : strides[0];
  const bool fits = site.attrs->i("group", 1) == 1 && all_are(strides, stride) &&
                    all_are(site.attrs->ints("dilations"), 1) && weight[4] == x[4] &&
                    has_tiles(weight[2], weight[3], stride);
  if (!fits) return std::nullopt;
  return Conv{x[0], x[1], x[4],      x[2],      x[3],    y[1],    y[4],
              y[2], y[3], weight[2], weight[3], pads[0], pads[1], stride};
}

std::vector<Tile> tiles_of(const Conv& conv) {
  if (conv.rows == conv.columns) {
    if (conv.stride == 2) return {{4, 4}, {3, 3}, {2, 2}};
    if (conv.rows == 5) return {{2, 2}};
    return {{4, 4}, {2, 2}};
  }
  std::vector<Tile> out;
  for (int64_t m : conv.rows * conv.columns == 3 ? Ints{4} : Ints{4, 2})
    out.push_back(conv.rows == 1 ? Tile{1, m} : Tile{m, 1});
  return out;
}

std::string name_of(const Tile& tile) { return cat("winograd_", tile.rows, "x", tile.columns); }

ComputeFn compute_of(const Conv& conv, const Tile& tile) {
  return [conv, tile](te::Builder& builder, std::span<const Tensor> in, Types,
                      const Attrs&) -> Result<std::vector<Tensor>> {
    Stages stages(builder, conv, tile);
    const Tensor filters = stages.filters(in[1]), inputs = stages.inputs(in[0]);
    return std::vector<Tensor>{stages.result(stages.products(inputs, filters))};
  };
}

}  // namespace byoc::llvm_plugin::winograd
