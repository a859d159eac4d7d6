// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/families/phases/compute.h"

#include "plugins/llvm/families/phases/merge.h"

#include <algorithm>

namespace byoc::llvm_plugin::phases {
namespace {

using te::Expr;
using te::Exprs;
using te::LoopKind;
using te::Stmt;
using te::Tensor;
using Index = std::array<Expr, kDims>;

constexpr int64_t kLongestBody =
    128;                             // multiply-adds: of more, LLVM loads so early that sums spill
constexpr int64_t kMostInTurns = 8;  // phases whose sums are moved as vectors
constexpr int64_t kLeastVector = 8;  // places of a row whose results are computed as vectors
constexpr double kShared = 20000;    // cycles of a thread that are worth to start it

DType sum_type(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 ? DType::kF32 : dtype;
}

Expr zero(DType dtype) {
  return is_float(dtype) ? te::constant(dtype, 0) : te::int_constant(dtype, 0);
}

// Returns the panels of a class. Rows after the last are zeros.
Tensor panels_of(te::Builder& builder, const Geometry& g, const Plan& plan, size_t k,
                 const Tensor& weight) {
  const Class& of = g.classes[k];
  const ClassPlan& own = plan.classes[k];
  const int64_t rows = plan.outputs * of.phases();
  const DType dtype = sum_type(weight.dtype());
  const Exprs shape = {g.groups, plan.panels_of(g), own.tiles, g.c, of.taps(), own.tile.cells};
  return builder.compute("phases.panels", shape, [&](const Exprs& i) {
    const Expr row = i[2] * own.tile.cells + i[5];
    Expr phase = floor_mod(row, of.phases()), tap = i[4];
    Index at;
    for (size_t d = kDims; d-- > 0;) {
      const Range& range = of.ranges[d];
      at[d] = floor_mod(phase, range.count) * range.tap_up + range.tap +
              floor_mod(tap, range.taps) * range.period;
      phase = floor_div(phase, range.count), tap = floor_div(tap, range.taps);
    }
    const Expr output = i[1] * plan.outputs + floor_div(row, of.phases());
    const Expr value = te::cast(dtype, weight(g.at(i[0] * g.c + i[3], output, at)));
    if (own.tiles * own.tile.cells == rows) return value;
    return te::select(row < rows, value, zero(dtype));
  });
}

/// The loops of one part.
class Part {
 public:
  Part(const Geometry& g, const Plan& plan, const std::vector<Tensor>& in, const Tensor& y)
      : g_(g), plan_(plan), in_(in), y_(y), dtype_(sum_type(y.dtype())) {
    cells_ = Tensor("cells", dtype_, {g.c, plan.cells_per_channel(g)});
    sums_ = Tensor("sums", dtype_, {std::max<int64_t>(plan.sum_rows, 1), pitch()});
  }
  Stmt loops(const Expr& unit);

 private:
  int64_t pitch() const { return plan_.vectors * plan_.lanes; }
  Expr begin(size_t dim) const { return dim == plan_.axis ? Expr(first_) : Expr(0); }
  Stmt pack() const;
  Stmt copy(const Expr& c, size_t dim, Index cell, const Expr& place) const;
  Stmt clear_rests() const;
  Stmt pack_taps(size_t k) const;
  Stmt copy_rows(const Expr& c, size_t dim, const Index& first, Index cell,
                 const Expr& place) const;
  Expr cell_of(const Expr& c, const Index& cell) const {
    return te::cast(dtype_, in_[0](g_.at(Expr(image_), Expr(group_) * g_.c + c, cell)));
  }
  Stmt products(size_t k) const;
  Stmt tile(size_t k, const Expr& t, const Expr& p, int64_t vectors) const;
  Stmt term(size_t k, const Expr& t, const Expr& p, const Tensor& acc) const;
  struct Place {  // of a sum, and of its result
    Expr channel, output, sum;
    Index result, phase;
    std::span<const Class> classes;  // that differ in the last dim
  };
  Stmt moves() const;
  Stmt move_dim(size_t d, const Place& at) const;
  Stmt move_row(const Place& at) const;
  Stmt move_phases(const Place& at, const Expr& j, int64_t most) const;
  int64_t results_of(size_t d) const { return d == plan_.axis ? plan_.rows : g_.dims[d].results(); }
  // Writes out the sums of a tile. The shorter side is inside: its operands stay in registers while
  // the longer one goes by.
  template <class Body>
  Stmt each_of_tile(const Tensor& acc, Body&& body) const {
    const int64_t rows = *te::as_int(acc.shape()[0]);
    const int64_t vectors = *te::as_int(acc.shape()[1]) / plan_.lanes;
    auto sums = [&](const Expr& i, const Expr& v) {
      return te::loop(
          "l", plan_.lanes, [&](const Expr& l) { return body(i, v * plan_.lanes + l); },
          LoopKind::kVectorized);
    };
    const bool has_rows_inside = rows < vectors;
    auto outer = [&](const Expr& a) {
      auto inner = [&](const Expr& b) { return has_rows_inside ? sums(b, a) : sums(a, b); };
      return te::loop("b", has_rows_inside ? rows : vectors, inner, LoopKind::kUnrolled);
    };
    return te::loop("a", has_rows_inside ? vectors : rows, outer, LoopKind::kUnrolled);
  }

  const Geometry& g_;
  const Plan& plan_;
  const std::vector<Tensor>& in_;  // the image, then the panels of classes with terms
  const Tensor& y_;
  const DType dtype_;
  Tensor cells_, sums_;
  const te::Var image_{"n"}, group_{"g"}, panel_{"a"}, first_{"j"};
};

Stmt Part::loops(const Expr& unit) {
  const int64_t parts = plan_.parts_of(g_), panels = plan_.panels_of(g_);
  std::vector<Stmt> all;
  all.push_back(plan_.cells.is_by_tap ? clear_rests() : pack());
  for (size_t k = 0; k < g_.classes.size(); ++k) {
    if (plan_.cells.is_by_tap) all.push_back(pack_taps(k));
    all.push_back(products(k));
  }
  all.push_back(moves());
  Stmt out = te::make_block(std::move(all));
  out = te::make_alloc(cells_, te::Scope::kWorkspace, std::move(out));
  out = te::make_alloc(sums_, te::Scope::kWorkspace, std::move(out));
  out = te::make_let(first_, floor_mod(unit, parts) * plan_.rows, std::move(out));
  const Expr rest = floor_div(unit, parts);
  out = te::make_let(panel_, floor_mod(rest, panels), std::move(out));
  out = te::make_let(group_, floor_mod(floor_div(rest, panels), g_.groups), std::move(out));
  return te::make_let(image_, floor_div(rest, panels * g_.groups), std::move(out));
}

// Copies the cells that the part reads. An image of one dim is copied with what is around it.
Stmt Part::pack() const {
  const int64_t all = plan_.cells_per_channel(g_);
  const int64_t first = g_.spatial == 1 ? plan_.cells.stored[kDims - 1] : 0;
  return te::loop("c", g_.c, [&](const Expr& c) {
    Stmt clear = te::loop(
        "p", all - first,
        [&](const Expr& p) {
          return te::make_store(cells_, {c, p + first}, zero(dtype_));
        },
        LoopKind::kVectorized);
    return te::make_block({clear, copy(c, 0, {}, plan_.cells.margin)});
  });
}

// Copies the cells along a dim and those after it. Cells outside of the image stay zero.
Stmt Part::copy(const Expr& c, size_t dim, Index cell, const Expr& place) const {
  const Cells& cells = plan_.cells;
  const bool is_last = dim + 1 == kDims, is_whole = dim > plan_.axis;
  return te::loop(
      cat("s", dim), cells.stored[dim],
      [&](const Expr& s) {
        cell[dim] = is_whole ? s : begin(dim) + s + cells.first[dim];
        const Expr next = place + s * cells.distance[dim];
        const Expr is_inside = Expr(0) <= cell[dim] && cell[dim] < g_.dims[dim].in;
        if (!is_last) {
          Stmt rest = copy(c, dim + 1, cell, next);
          return is_whole ? rest : te::make_if(is_inside, rest);
        }
        Expr value = cell_of(c, cell);
        if (!is_whole) value = te::select(is_inside, value, zero(dtype_));
        return te::make_store(cells_, {c, next}, value);
      },
      is_last ? LoopKind::kVectorized : LoopKind::kSerial);
}

// Clears what vectors have after the last place: other values may be slow to multiply.
Stmt Part::clear_rests() const {
  const int64_t results = plan_.cells.results, rest = pitch() - results;
  if (rest == 0) return {};
  return te::loop("c", g_.c, [&](const Expr& c) {
    return te::loop("m", plan_.cells_per_channel(g_) / pitch(), [&](const Expr& m) {
      return te::loop(
          "l", rest,
          [&](const Expr& l) {
            return te::make_store(cells_, {c, m * pitch() + results + l}, zero(dtype_));
          },
          LoopKind::kVectorized);
    });
  });
}

// Copies the cells that each tap of a class reads.
Stmt Part::pack_taps(size_t k) const {
  const std::array<Range, kDims>& ranges = g_.classes[k].ranges;
  if (plan_.classes[k].tiles == 0) return {};
  auto taps = [&](size_t d, const Expr& c, Index first, const Expr& tap, auto&& self) -> Stmt {
    if (d == kDims) return copy_rows(c, 0, first, {}, tap * pitch());
    return te::loop(cat("m", d), ranges[d].taps, [&](const Expr& m) {
      first[d] = begin(d) + ranges[d].base - m * ranges[d].step;
      return self(d + 1, c, first, tap * ranges[d].taps + m, self);
    });
  };
  return te::loop("c", g_.c, [&](const Expr& c) { return taps(0, c, {}, 0, taps); });
}

// Copies the cells of a tap along a dim and those after it, from `first` on. Rows outside of the
// image are zeros.
Stmt Part::copy_rows(const Expr& c, size_t dim, const Index& first, Index cell,
                     const Expr& place) const {
  const bool is_last = dim + 1 == kDims;
  return te::loop(
      cat("s", dim), results_of(dim),
      [&](const Expr& s) {
        cell[dim] = first[dim] + s;
        const Expr next = place + s * plan_.cells.distance[dim];
        if (!is_last) return copy_rows(c, dim + 1, first, cell, next);
        Expr is_inside = Expr(0) <= cell[0] && cell[0] < g_.dims[0].in;
        for (size_t d = 1; d < kDims; ++d)
          is_inside = is_inside && Expr(0) <= cell[d] && cell[d] < g_.dims[d].in;
        return te::make_store(cells_, {c, next},
                              te::select(is_inside, cell_of(c, cell), zero(dtype_)));
      },
      is_last ? LoopKind::kVectorized : LoopKind::kSerial);
}

Stmt Part::products(size_t k) const {
  const ClassPlan& own = plan_.classes[k];
  if (own.tiles == 0) return {};
  const int64_t whole = plan_.vectors / own.tile.vectors, rest = plan_.vectors % own.tile.vectors;
  const int64_t step = own.tile.vectors * plan_.lanes;
  return te::loop("t", own.tiles, [&](const Expr& t) {
    Stmt tiles =
        te::loop("p", whole, [&](const Expr& p) { return tile(k, t, p * step, own.tile.vectors); });
    if (rest == 0) return tiles;
    return te::make_block({tiles, tile(k, t, whole * step, rest)});
  });
}

Stmt Part::tile(size_t k, const Expr& t, const Expr& p, int64_t vectors) const {
  const ClassPlan& own = plan_.classes[k];
  const Tensor acc("acc", dtype_, {own.tile.cells, vectors * plan_.lanes});
  Stmt clear = each_of_tile(acc, [&](const Expr& i, const Expr& l) {
    return te::make_store(acc, {i, l}, zero(dtype_));
  });
  Stmt store = each_of_tile(acc, [&](const Expr& i, const Expr& l) {
    return te::make_store(sums_, {t * own.tile.cells + i + own.first, p + l}, acc(i, l));
  });
  return te::make_alloc(acc, te::Scope::kStack, te::make_block({clear, term(k, t, p, acc), store}));
}

// Adds all terms to a tile: channels, then taps.
Stmt Part::term(size_t k, const Expr& t, const Expr& p, const Tensor& acc) const {
  const Class& of = g_.classes[k];
  const Tensor& panels =
      in_[1 + static_cast<size_t>(std::count_if(plan_.classes.begin(),
                                                plan_.classes.begin() + static_cast<ptrdiff_t>(k),
                                                [](const ClassPlan& c) { return c.tiles > 0; }))];
  const int64_t sums = *te::as_int(acc.shape()[0]) * *te::as_int(acc.shape()[1]) / plan_.lanes;
  const bool is_by_tap = plan_.cells.is_by_tap;
  int64_t start = plan_.cells.margin;
  for (size_t d = 0; d < kDims && !is_by_tap; ++d)
    start += (of.ranges[d].base - plan_.cells.first[d]) * plan_.cells.distance[d];
  auto body = [&](const Expr& c, const Index& m) {
    Expr tap = m[0], place = p + start;
    for (size_t d = 1; d < kDims; ++d) tap = tap * of.ranges[d].taps + m[d];
    if (is_by_tap) place = place + tap * pitch();
    for (size_t d = 0; d < kDims && !is_by_tap; ++d)
      place = place - m[d] * (of.ranges[d].step * plan_.cells.distance[d]);
    return each_of_tile(acc, [&](const Expr& i, const Expr& l) {
      const Expr product = panels(Expr(group_), Expr(panel_), t, c, tap, i) * cells_(c, place + l);
      return te::make_store(acc, {i, l}, acc(i, l) + product);
    });
  };
  auto over = [&](size_t d, auto&& inner) {
    int64_t body = sums;
    for (size_t later = d; later < kDims; ++later) body *= of.ranges[later].taps;
    const LoopKind kind = body <= kLongestBody ? LoopKind::kUnrolled : LoopKind::kSerial;
    return te::loop(cat("m", d), of.ranges[d].taps, inner, kind);
  };
  return te::loop("c", g_.c, [&](const Expr& c) {
    return over(0, [&](const Expr& a) {
      return over(1, [&](const Expr& b) {
        return over(2, [&](const Expr& m) { return body(c, {a, b, m}); });
      });
    });
  });
}

// Moves the sums of all classes to their places. Classes that differ in the last dim are next to
// each other.
Stmt Part::moves() const {
  return te::loop("o", plan_.outputs, [&](const Expr& o) {
    Place at;
    at.channel = (Expr(group_) * plan_.panels_of(g_) + Expr(panel_)) * plan_.outputs + o;
    at.output = o, at.sum = 0;
    std::vector<Stmt> all;
    for (size_t k = 0; k < g_.classes.size(); k += g_.last_classes()) {
      at.classes = std::span(g_.classes).subspan(k, g_.last_classes());
      all.push_back(move_dim(0, at));
    }
    return te::make_block(std::move(all));
  });
}

Stmt Part::move_dim(size_t d, const Place& at) const {
  if (d + 1 == kDims) return move_row(at);
  const Range& range = at.classes[0].ranges[d];
  const Dim& dim = g_.dims[d];
  return te::loop(cat("q", d), range.count, [&](const Expr& q) {
    return te::loop(cat("j", d), results_of(d), [&](const Expr& j) {
      Place next = at;
      next.result[d] = (begin(d) + j) * dim.stride + range.first + q;
      next.phase[d] = q, next.sum = at.sum + j * plan_.cells.distance[d];
      return te::make_if(next.result[d] < dim.out, move_dim(d + 1, next));
    });
  });
}

// Moves the sums of a place of the last dim: those of its phases below `most`.
Stmt Part::move_phases(const Place& at, const Expr& j, int64_t most) const {
  constexpr size_t kLast = kDims - 1;
  std::vector<Stmt> out;
  for (const Class& of : at.classes) {
    const ClassPlan& own = plan_.classes[static_cast<size_t>(&of - g_.classes.data())];
    Expr row = at.output;
    for (size_t d = 0; d < kLast; ++d) row = row * of.ranges[d].count + at.phase[d];
    const Range& range = of.ranges[kLast];
    for (int64_t q = 0; q < range.count && range.first + q < most; ++q) {
      Index result = at.result;
      result[kLast] = (begin(kLast) + j) * g_.dims[kLast].stride + (range.first + q);
      const Expr value =
          own.tiles == 0 ? zero(dtype_) : sums_(row * range.count + (own.first + q), at.sum + j);
      out.push_back(
          te::make_store(y_, g_.at(Expr(image_), at.channel, result), te::cast(y_.dtype(), value)));
    }
  }
  return te::make_block(std::move(out));
}

// Moves one row of results: first the places of which every phase has a result.
Stmt Part::move_row(const Place& at) const {
  constexpr size_t kLast = kDims - 1;
  const Dim& dim = g_.dims[kLast];
  const int64_t common = dim.out / dim.stride;
  auto row = [&](int64_t count) {
    const bool is_vector = dim.stride <= kMostInTurns;
    return te::loop(
        "j", count, [&](const Expr& j) { return move_phases(at, j, dim.stride); },
        is_vector ? LoopKind::kVectorized : LoopKind::kSerial);
  };
  auto rest = [&](const Expr& j) { return move_phases(at, j, dim.out - common * dim.stride); };
  if (plan_.axis != kLast)
    return common == dim.results() ? row(common) : te::make_block({row(common), rest(common)});
  // The last part may have fewer places, and one of which not every phase has a result.
  const int64_t parts = plan_.parts_of(g_), left = common - (parts - 1) * plan_.rows;
  const bool is_even = left == plan_.rows;
  Stmt last = te::make_block(
      {row(std::max<int64_t>(left, 0)), common == dim.results() ? Stmt() : rest(left)});
  if (parts == 1) return last;
  if (is_even) return row(plan_.rows);
  return te::make_if(Expr(first_) < (parts - 1) * plan_.rows, row(plan_.rows), last);
}

}  // namespace

ComputeFn compute_of(const Geometry& geometry, const Plan& plan) {
  return [geometry, plan](te::Builder& builder, std::span<const Tensor> in, Types out,
                          const Attrs&) -> Result<std::vector<Tensor>> {
    std::vector<Tensor> read = {in[0]};
    for (size_t k = 0; k < geometry.classes.size(); ++k) {
      if (plan.classes[k].tiles > 0) read.push_back(panels_of(builder, geometry, plan, k, in[1]));
    }
    const Dim& row = geometry.dims[kDims - 1];
    const bool has_vectors = row.stride <= kMostInTurns && row.out / row.stride >= kLeastVector;
    return builder.procedure(
        has_vectors ? kVectors : kScalars, {*out[0]}, read, [&](const std::vector<Tensor>& y) {
          auto part = [&](const Expr& unit) {
            return Part(geometry, plan, read, y[0]).loops(unit);
          };
          const int64_t units = plan.units_of(geometry);
          const bool is_shared = units > 1 && plan.cycles > kShared;
          return te::loop("u", units, part, is_shared ? LoopKind::kParallel : LoopKind::kSerial);
        });
  };
}

}  // namespace byoc::llvm_plugin::phases
