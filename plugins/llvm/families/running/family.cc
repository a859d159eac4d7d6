// SPDX-License-Identifier: Apache-2.0
// Running sums and products along an axis that is not the last: as many of adjacent lines at once
// as registers, or the first cache, hold the totals of.
//   for lines l in blocks: total[l] = 0; for k: total[l] = total[l] + x[k, l], y[k, l] = total[l]
#include <algorithm>

#include "byoc/base/check.h"
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/topi/schedule.h"

namespace byoc::llvm_plugin::running {
namespace {

using te::Expr;
using te::Exprs;
using te::Tensor;

constexpr int64_t kVectors = 8;         // of totals: written out, so that they are registers
constexpr int64_t kMostVectors = 1024;  // of totals in the second cache
constexpr int64_t kPageBytes = 4096;
constexpr int64_t kPartsPerThread = 2;
constexpr int64_t kLeastLines = 4;        // that a vector is worth
constexpr int64_t kLeastWork = 1 << 16;   // elements that a second thread is worth
constexpr double kScalar = 6, kStep = 6;  // cycles of an element, which waits; of a vector

/// x [outer, extent, inner] as its own dims.
struct Lines {
  size_t axis = 0;
  Ints shape;
  DType dtype = DType::kF32, total = DType::kF64;
  bool is_product = false, is_exclusive = false, is_reverse = false;
  int64_t lanes = 1;  // totals in a vector
  bool is_shared = false;
  int64_t threads = 1;
  int64_t count(size_t first, size_t last) const {
    int64_t out = 1;
    for (size_t d = first; d < last; ++d) out *= shape[d];
    return out;
  }
  int64_t outer() const { return count(0, axis); }
  int64_t inner() const { return count(axis + 1, shape.size()); }
  // Totals in registers, where the next elements of a block are soon in the same page. Rows of a
  // page and more are read in long pieces: of short ones, each would miss the caches of addresses.
  int64_t block() const {
    const auto size = static_cast<int64_t>(dtype_size(dtype));
    int64_t vectors = inner() * size < kPageBytes ? kVectors : kMostVectors;
    auto parts = [&] { return outer() * (inner() / (vectors * lanes)); };
    while (is_shared && vectors > kVectors && parts() < kPartsPerThread * threads) vectors /= 2;
    return std::min(inner(), vectors * lanes);
  }
};

std::optional<Lines> lines_of(const te::Site& site) {
  const std::string_view op = site.op->name;
  if ((op != "cumsum" && op != "cumprod") || !is_static(site.inputs[0]->shape)) return std::nullopt;
  Lines out{.shape = static_extents(site.inputs[0]->shape), .is_product = op == "cumprod"};
  const int64_t axis = site.attrs->i("axis"), rank = static_cast<int64_t>(out.shape.size());
  out.axis = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  out.dtype = site.inputs[0]->dtype;
  out.total = is_float(out.dtype) ? DType::kF64 : out.dtype;
  out.is_exclusive = site.attrs->b("exclusive", false);
  out.is_reverse = site.attrs->b("reverse", false);
  out.lanes = site.target->lanes(dtype_size(out.total));
  out.threads = site.target->threads;
  const int64_t elements = out.count(0, out.shape.size());
  out.is_shared = site.target->threads > 1 && (elements >= kLeastWork || site.target->shares_all);
  if (elements == 0 || out.inner() < kLeastLines || out.lanes < 2) return std::nullopt;
  return out;
}

DType computing_dtype(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 ? DType::kF32 : dtype;
}

// Returns the indices of a flat position in some of the dims.
Exprs unflattened(const Lines& lines, size_t first, size_t last, const Expr& flat) {
  Exprs out(last - first, Expr(0));
  int64_t step = 1;
  for (size_t d = last; d-- > first; step *= lines.shape[d]) {
    if (lines.shape[d] == 1) continue;
    const Expr at = step == 1 ? flat : te::floor_div(flat, step);
    const bool is_first = step * lines.shape[d] == lines.count(first, last);
    out[d - first] = is_first ? at : te::floor_mod(at, lines.shape[d]);
  }
  return out;
}

/// The loops over the axis of `width` adjacent lines from line `first` on.
te::Stmt block_loops(const Lines& lines, const Tensor& x, const Tensor& y, const Expr& outer,
                     const Expr& first, int64_t width) {
  const Tensor total("total", lines.total, {Expr(width)});
  const int64_t extent = lines.shape[lines.axis];
  auto each = [&](const std::function<te::Stmt(const Expr&)>& body) {
    return te::loop(
        "l", width, [&](const Expr& l) { return body(l); }, te::LoopKind::kVectorized);
  };
  auto step = [&](const Expr& k, const Expr& l) {
    Exprs at = unflattened(lines, 0, lines.axis, outer);
    at.push_back(lines.is_reverse ? Expr(extent - 1) - k : k);
    const Exprs inner = unflattened(lines, lines.axis + 1, lines.shape.size(), first + l);
    at.insert(at.end(), inner.begin(), inner.end());
    const Expr value = te::cast(lines.total, te::cast(computing_dtype(lines.dtype), x(at)));
    const Expr sum = total(l), next = lines.is_product ? sum * value : sum + value;
    const Expr result = te::cast(computing_dtype(lines.dtype), lines.is_exclusive ? sum : next);
    const te::Stmt store = te::make_store(y, at, te::cast(lines.dtype, result));
    const te::Stmt join = te::make_store(total, {l}, next);
    return te::make_block({store, join});
  };
  const te::Stmt start = each([&](const Expr& l) {
    return te::make_store(total, {l}, te::constant(lines.total, lines.is_product ? 1 : 0));
  });
  const te::Stmt steps = te::loop(
      "k", extent, [&](const Expr& k) { return each([&](const Expr& l) { return step(k, l); }); });
  return te::make_alloc(total, te::Scope::kStack, te::make_block({start, steps}));
}

te::Stmt all_loops(const Lines& lines, const Tensor& x, const Tensor& y) {
  const int64_t width = lines.block(), blocks = lines.inner() / width, rest = lines.inner() % width;
  const auto kind = lines.is_shared ? te::LoopKind::kParallel : te::LoopKind::kSerial;
  te::Stmt whole = te::loop(
      "part", lines.outer() * blocks,
      [&](const Expr& part) {
        return block_loops(lines, x, y, te::floor_div(part, blocks),
                           te::floor_mod(part, blocks) * width, width);
      },
      kind);
  if (rest == 0) return whole;
  te::Stmt last = te::loop("o", lines.outer(), [&](const Expr& o) {
    return block_loops(lines, x, y, o, Expr(blocks * width), rest);
  });
  return te::make_block({whole, last});
}

void add_computes(const FamilyCall& call, Strategies& out) {
  const std::optional<Lines> lines = lines_of(call.site);
  if (!lines) return;
  const auto rows = static_cast<double>(lines->outer() * lines->shape[lines->axis]);
  const auto inner = static_cast<double>(lines->inner());
  out.front().cost_ns = cost_of(rows * inner * kScalar);
  te::Strategy blocks{.name = "blocks", .level = kPreferred};
  blocks.cost_ns = cost_of(rows * (inner / static_cast<double>(lines->lanes) + 1) * kStep);
  blocks.compute = [lines = *lines](te::Builder& builder, std::span<const Tensor> in, Types types,
                                    const Attrs&) -> Result<std::vector<Tensor>> {
    const char* name = lines.is_product ? "cumprod" : "cumsum";
    return builder.procedure(name, {*types[0]}, {in[0]}, [&](const std::vector<Tensor>& y) {
      return all_loops(lines, in[0], y[0]);
    });
  };
  out.push_back(std::move(blocks));
}

// The default schedules, as a kind of their own, which has several computes.
std::optional<topi::Template> schedules(const te::Dag& dag, const te::Target& target) {
  const bool is_running = std::ranges::any_of(dag.stages, [](const te::Stage& stage) {
    return stage.op == "cumsum" || stage.op == "cumprod";
  });
  if (!is_running) return std::nullopt;
  topi::Template out = topi::default_template(dag, target);
  out.kind = "running";
  return out;
}

}  // namespace

extern const Family kFamily{
    .name = "running", .add_computes = add_computes, .schedules = schedules};

}  // namespace byoc::llvm_plugin::running
