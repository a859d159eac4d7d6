// SPDX-License-Identifier: Apache-2.0
// Schedules of stages that read elements in another order than they store them: transposes, and
// streams that are stored in turns.
#include <algorithm>

#include "byoc/te/rewrite.h"
#include "byoc/te/simplify.h"
#include "plugins/llvm/tiling/access.h"
#include "plugins/llvm/topi/planner.h"

namespace byoc::llvm_plugin::topi {
namespace {

constexpr int64_t kLeastLines = 32;   // the lines of fewer stay in the first cache anyway
constexpr int64_t kLeastColumns = 4;  // elements of a line that a transpose reads
constexpr int64_t kMostRows = 16;     // of a tile that is transposed in registers
constexpr int64_t kMostStreams = 8;   // that are stored in turns
constexpr size_t kMostMet = 64;       // inlined stages; others may be read in several ways

constexpr int64_t kUneven = INT64_MIN;  // the step of an index such as h / 4 along h

/// The steps of some expressions, each with every axis of a stage.
using Moves = std::vector<Ints>;

// Returns the steps of `of`, expressions of `axes`, whose own steps are `by`.
Moves moves_of(const te::Exprs& of, const std::vector<te::Axis>& axes, const Moves& by) {
  Moves out(of.size(), Ints(by.empty() ? 0 : by[0].size(), 0));
  for (size_t x = 0; x < of.size(); ++x) {
    for (size_t k = 0; k < axes.size(); ++k) {
      if (extent_of(axes[k]) == 1) continue;
      const std::optional<int64_t> step = coefficient_of(of[x], axes[k].var);
      for (size_t d = 0; d < out[x].size() && step != 0; ++d) {
        if (by[k][d] == 0 || out[x][d] == kUneven) continue;
        const bool is_even = step && by[k][d] != kUneven;
        out[x][d] = is_even ? out[x][d] + *step * by[k][d] : kUneven;
      }
    }
  }
  return out;
}

// Returns the number of streams that an index takes elements from in turns, as floor_mod(last, m)
// chooses among m channels; 0: it does not.
int64_t turns_in(const te::Expr& index, const te::Var& last) {
  auto* binary = std::get_if<te::Binary>(&index->kind);
  if (binary == nullptr) return 0;
  const std::optional<int64_t> by = te::as_int(binary->b);
  if (binary->op == te::BinaryOp::kFloorModulo && by && coefficient_of(binary->a, last) == 1)
    return *by;
  return std::max(turns_in(binary->a, last), turns_in(binary->b, last));
}

// Returns the step of a load along a stream: `last` is m * step + the number of the stream.
std::optional<int64_t> step_of_stream(const te::Load& load, const te::Axis& last, int64_t m) {
  te::Var step("step"), stream("stream");
  const std::optional<te::Expr> offset = offset_of(load);
  if (!offset) return std::nullopt;
  te::Substitution split({{last.var.id(), te::Expr(step) * m + stream}});
  const te::Ranges ranges{{step.id(), {0, extent_of(last) / m - 1}}, {stream.id(), {0, m - 1}}};
  return coefficient_of(te::simplify(split(*offset), ranges), step);
}

/// A stage one of whose axes is two: the blocks of channels, and the channels of a block.
struct Blocked {
  te::Compute compute;
  size_t axis = 0;    // the first of the two
  int64_t block = 1;  // 1: none is
};

// Divides the first axis before the last one whose elements a read finds in whole blocks:
//   y[c, h, w] = x[c / 16, h, w, c % 16]   is   y[c.o, c.i, h, w] = x[c.o, h, w, c.i]
Blocked blocked(const te::Compute& own) {
  Blocked out{own};
  for (size_t d = 0; d + 1 < own.axes.size() && out.block == 1; ++d) {
    int64_t block = 0;
    for (const te::Load* load : loads_of(own)) {
      for (const te::Expr& index : load->indices)
        block = std::max(block, turns_in(te::simplify(index), own.axes[d].var));
    }
    const int64_t extent = extent_of(own.axes[d]);
    if (block < kLeastColumns || extent % block != 0) continue;
    const te::Axis outer{te::Var("o"), extent / block}, inner{te::Var("i"), block};
    te::Substitution split({{own.axes[d].var.id(), te::Expr(outer.var) * block + inner.var}});
    const te::Ranges ranges{{outer.var.id(), {0, extent / block - 1}},
                            {inner.var.id(), {0, block - 1}}};
    for (te::Expr& value : out.compute.values) value = te::simplify(split(value), ranges);
    out.compute.axes[d] = outer;
    out.compute.axes.insert(out.compute.axes.begin() + static_cast<ptrdiff_t>(d) + 1, inner);
    out.axis = d, out.block = block;
  }
  return out;
}

// Finds the axis that reads go along in memory, other than the last one: elements of a column that
// the last axis visits are at least `far` from each other. Returns the last axis if there is none.
size_t transposed_axis(const te::Compute& own, const std::vector<Ints>& strides, int64_t far) {
  const size_t last = own.axes.size() - 1;
  size_t along = last;
  for (const Ints& of : strides) {
    const bool is_far = of[last] != kUneven && std::abs(of[last]) >= far;
    for (size_t d = 0; d < last && is_far; ++d) {
      if (of[d] == 1 && extent_of(own.axes[d]) >= kLeastColumns) along = d;
    }
  }
  return along;
}

}  // namespace

// Returns the strides of all reads through inlined stages, per axis of `own`, or kUneven; nothing
// where a read is of no input.
std::vector<Ints> Planner::strides_of(const te::Compute& own) const {
  struct Met {
    const te::Compute* compute;
    Moves axes;
  };
  const te::Dag& dag = schedule_.dag();
  Moves same(own.axes.size(), Ints(own.axes.size(), 0));
  for (size_t d = 0; d < own.axes.size(); ++d) same[d][d] = 1;
  std::vector<Met> met = {{&own, std::move(same)}};
  std::vector<Ints> out;
  for (size_t k = 0; k < met.size() && met.size() < kMostMet; ++k) {
    const Met from = met[k];
    for (const te::Load* load : loads_of(*from.compute)) {
      const te::Stage& stage = dag.stages[te::stage_of(dag, load->tensor)];
      const bool is_passed = is_inlined(stage.name);
      const std::optional<te::Expr> offset = offset_of(*load);
      if (!offset || (!is_passed && !std::holds_alternative<te::Placeholder>(stage.kind)))
        return {};
      const te::Exprs of = is_passed ? load->indices : te::Exprs{te::simplify(*offset)};
      Moves moves = moves_of(of, from.compute->axes, from.axes);
      if (is_passed) {
        met.push_back({compute(stage.name), std::move(moves)});
        continue;
      }
      moves[0].resize(own.axes.size());  // a stage without axes has no strides
      out.push_back(std::move(moves[0]));
    }
  }
  return out;
}

// Transposes in tiles: of a column that is read, the lines of one vector stay in the first cache
// until the next columns have been read from them.
//   [k, j]: y[k, j] = x[j, k]   is computed as   [j.o, k, j.i]
bool Planner::plan_transposed(const std::string& name) {
  const te::Compute& own = *compute(name);
  const size_t last = own.axes.size() - 1;
  const int64_t lanes = lanes_of(name);
  if (last == 0 || lanes < 2) return false;
  if (schedule_.loops(name).size() != last + 1) return false;
  if (transpose_in_registers(name)) return true;
  const size_t along = transposed_axis(own, strides_of(own), lanes);
  if (along == last || extent_of(own.axes[last]) < std::max(2 * lanes, kLeastLines)) return false;
  std::vector<std::string> order = schedule_.loops(name);
  const std::string inner = order[last];
  if (!schedule_.split(name, inner, lanes).ok()) return false;
  order[last] = inner + ".i";
  order.insert(order.begin() + static_cast<int64_t>(along), inner + ".o");
  if (!schedule_.reorder(name, order).ok()) return false;
  (void)schedule_.vectorize(name, order.back()).ok();
  parallelize(name, order, rules_.grain);
  return true;
}

// Loads vectors along the axis that is contiguous in memory, and stores a tile of them as rows of
// the other axis: the tile is transposed in registers (Values::store_rows).
//   [k, j]: y[k, j] = x[j, k]   is computed as   [k.o, j.o, j.i, k.i]
// j.i is written out, k.i in vectors. Returns false, and changes nothing, where no tile divides the
// last axes, or where a read is contiguous along the last axis only.
bool Planner::transpose_in_registers(const std::string& name) {
  const Blocked own = blocked(*compute(name));
  const std::vector<te::Axis>& axes = own.compute.axes;
  const std::vector<Ints> strides = strides_of(own.compute);
  const size_t last = axes.size() - 1, along = transposed_axis(own.compute, strides, kLeastColumns);
  const bool fits = std::ranges::all_of(
      strides, [&](const Ints& of) { return of[along] == 0 || of[along] == 1; });
  if (along == last || !fits) return false;
  size_t first = last;  // of the last axes that every read moves evenly through, as through one
  int64_t extent = extent_of(axes[last]);
  const auto is_even = [&](const Ints& of) {
    return of[last] != kUneven && of[first - 1] == of[last] * extent;
  };
  while (first > along + 1 && std::ranges::all_of(strides, is_even))
    extent *= extent_of(axes[--first]);
  int64_t rows = std::min<int64_t>(lanes_of(name), kMostRows);
  while (rows > 1 && extent % rows != 0) rows /= 2;
  if (rows < kLeastColumns) return false;
  if (own.block > 1 && !schedule_.split(name, schedule_.loops(name)[own.axis], own.block).ok())
    return false;
  const int64_t columns = lanes_of(name), width = extent_of(axes[along]);
  return transpose_tiles(name, first, along, rows, width > columns && width % columns == 0);
}

// Fuses the loops from `first` on, and computes tiles of `rows` of their iterations, and of vectors
// of the loop `along`.
bool Planner::transpose_tiles(const std::string& name, size_t first, size_t along, int64_t rows,
                              bool has_columns) {
  std::vector<std::string> order = schedule_.loops(name);
  for (; order.size() > first + 1; order = schedule_.loops(name)) {
    if (!schedule_.fuse(name, order[first], order[first + 1]).ok()) return true;
  }
  const std::string row = order.back(), column = order[along];
  if (!schedule_.split(name, row, rows).ok()) return true;
  order.back() = row + ".o";
  has_columns = has_columns && schedule_.split(name, column, lanes_of(name)).ok();
  if (has_columns) order[along] = column + ".o";
  else order.erase(order.begin() + static_cast<ptrdiff_t>(along));
  order.push_back(row + ".i");
  order.push_back(has_columns ? column + ".i" : column);
  if (!schedule_.reorder(name, order).ok()) return true;
  (void)schedule_.unroll(name, row + ".i").ok();
  (void)schedule_.vectorize(name, order.back()).ok();
  parallelize(name, {order.begin(), order.end() - 2}, rules_.grain);
  return true;
}

// Copies adjacent rows that are read again and again as one long row each time:
//   [i, j]: y[i, j] = x[i % 9, j]   is computed as   [i.o, i.i.j], i.i.j in vectors
// Returns false where no axis before the last one repeats, or where a repeated part has gaps.
bool Planner::plan_repeated(const std::string& name) {
  const Blocked own = blocked(*compute(name));
  const size_t first = own.axis + 1;  // of the axes of a part
  if (own.block == 1 || schedule_.loops(name).size() + 1 != own.compute.axes.size()) return false;
  const std::vector<te::Axis>& axes = own.compute.axes;
  const std::vector<Ints> strides = strides_of(own.compute);
  int64_t part = 1;
  for (size_t d = first; d < axes.size(); ++d) part *= extent_of(axes[d]);
  // Returns true for a read of one element, or of adjacent ones, in all of a part.
  const auto is_one_row = [&](const Ints& of) {
    int64_t step = 1;
    bool is_row = true, is_one = true;
    for (size_t d = axes.size(); d-- > first;) {
      const int64_t extent = extent_of(axes[d]);
      if (extent == 1) continue;
      is_row = is_row && of[d] == step;
      is_one = is_one && of[d] == 0;
      step *= extent;
    }
    return is_row || is_one;
  };
  if (strides.empty() || part < lanes_of(name) || !std::ranges::all_of(strides, is_one_row))
    return false;
  if (!schedule_.split(name, schedule_.loops(name)[own.axis], own.block).ok()) return false;
  std::vector<std::string> loops = schedule_.loops(name);
  for (; loops.size() > first + 1; loops = schedule_.loops(name)) {
    if (!schedule_.fuse(name, loops[first], loops[first + 1]).ok()) break;
  }
  (void)schedule_.vectorize(name, loops.back()).ok();
  parallelize(name, {loops.begin(), loops.end() - 1}, rules_.grain);
  return true;
}

// Returns the number of streams that reads of a stage take elements from in turns along the last
// axis, each stream contiguous; 1: no such reads.
int64_t Planner::streams_of(const te::Compute& own) const {
  const std::optional<std::vector<Read>> reads = reads_of(own);
  int64_t streams = 1;
  for (size_t k = 0; reads && k < reads->size(); ++k) {
    const auto& [load, axes] = (*reads)[k];
    if (axes->empty() || stride_of(*load, axes->back().var)) continue;
    for (const te::Expr& index : load->indices)
      streams = std::max(streams, turns_in(te::simplify(index), axes->back().var));
  }
  if (streams == 1 || streams > kMostStreams || extent_of(own.axes.back()) % streams != 0) return 1;
  const bool is_contiguous = std::ranges::all_of(*reads, [&](const Read& read) {
    const auto step =
        read.axes->empty() ? 0 : step_of_stream(*read.load, read.axes->back(), streams);
    return step == 0 || step == 1;
  });
  return is_contiguous ? streams : 1;
}

// Loads a vector of each stream, and stores the streams in turns: pixels that are shuffled.
//   [j]: y[j] = x[j % 3, j / 3]   is computed as   [j.i, j.o], written out and in vectors
bool Planner::plan_streams(const std::string& name) {
  const te::Compute& own = *compute(name);
  const int64_t streams = streams_of(own);
  if (streams == 1 || extent_of(own.axes.back()) / streams < lanes_of(name)) return false;
  std::vector<std::string> order = schedule_.loops(name);
  const std::string inner = order.back();
  if (order.size() != own.axes.size() || !schedule_.split(name, inner, streams).ok()) return false;
  order.back() = inner + ".i";
  order.push_back(inner + ".o");
  if (!schedule_.reorder(name, order).ok()) return false;
  (void)schedule_.unroll(name, inner + ".i").ok();
  (void)schedule_.vectorize(name, inner + ".o").ok();
  if (order.size() > 2) parallelize(name, {order.begin(), order.end() - 2}, rules_.grain);
  return true;
}

}  // namespace byoc::llvm_plugin::topi
