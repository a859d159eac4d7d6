// SPDX-License-Identifier: Apache-2.0
// Products of f16 and bf16 by tensor cores. A warp of 32 threads has tiles of 16 x 8 results, each
// thread four of each tile: rows g and g + 8, columns 2 q and 2 q + 1 for its thread 4 g + q.
// mma.sync adds 16 terms to all of them; its operands are pairs of neighbours along k.
// Source: "PTX ISA", Matrix Fragments for mma.m16n8k16.
#include <algorithm>

#include "plugins/cuda/loops/mma.h"
#include "plugins/cuda/loops/tile_frame.h"

namespace byoc::cuda {

te::Expr as_small(const te::Expr& x, DType type) {
  if (const auto* cast = std::get_if<te::Cast>(&x->kind))
    return cast->x.dtype() == type ? cast->x : te::Expr();
  if (const auto* number = std::get_if<te::FloatImm>(&x->kind))
    return number->value == 0 ? te::constant(type, 0) : te::Expr();
  if (const auto* select = std::get_if<te::Select>(&x->kind)) {
    const te::Expr yes = as_small(select->yes, type), no = as_small(select->no, type);
    if (!yes.is_empty() && !no.is_empty()) return te::select(select->condition, yes, no);
  }
  return {};
}

namespace {

using namespace mma;

/// Results and terms of a group, and results of a warp.
struct MmaTile {
  int64_t bm, bn, bk, wm, wn;
  int64_t warps() const { return bm / wm * (bn / wn); }
  TileSize size() const { return {bm, bn, bk, warps() * kWarp}; }
};
constexpr MmaTile kMmaTiles[] = {
    {128, 128, 32, 64, 32}, {64, 64, 32, 32, 32}, {32, 32, 32, 16, 16}};

class MmaTiles {
 public:
  MmaTiles(const Job& job, const Product& product, const MmaTile& tile, const te::Expr& a,
           const te::Expr& b, Groups& groups)
      : tile_(tile),
        frame_(job, product, tile.size(), a, b),
        a_("a", a.dtype(), {tile.bm, tile.bk + kPad}),
        b_("b", b.dtype(), {tile.bn, tile.bk + kPad}),
        sums_(partial_results(job,
                              {tile.size().threads, tile.wm / kRows, tile.wn / kColumns, kSums})),
        groups_(groups) {}

  te::Stmt kernel() {
    return frame_.kernel(
        groups_, {a_, b_}, sums_, [&](const TileFrame::OfSum& body) { return each_sum(body); },
        [&](const te::Expr& s) { return slice(s); });
  }

 private:
  te::Stmt threads(const Groups::Body& body) { return groups_.threads(tile_.size().threads, body); }

  /// The place of a thread: the first row and column of its warp, and its place in it.
  struct Place {
    te::Expr m, n, group, pair;
  };
  Place place_of(const te::Expr& t) const {
    const int64_t columns = tile_.bn / tile_.wn;
    const te::Expr warp = te::floor_div(t, kWarp), lane = te::floor_mod(t, kWarp);
    return {te::floor_div(warp, columns) * tile_.wm, te::floor_mod(warp, columns) * tile_.wn,
            te::floor_div(lane, 4), te::floor_mod(lane, 4) * 2};
  }
  // Calls body(i, j) for the tiles of 16 x 8 of a warp.
  template <class Body>
  te::Stmt each_tile(Body&& body) {
    auto row = [&](const te::Expr& i) {
      return te::loop(
          "j", tile_.wn / kColumns, [&](const te::Expr& j) { return body(i, j); }, kUnrolled);
    };
    return te::loop("i", tile_.wm / kRows, row, kUnrolled);
  }
  template <class Body>
  te::Stmt each_sum(Body&& body) {
    return threads([&](const te::Expr& t) {
      const Place at = place_of(t);
      return each_tile([&](const te::Expr& i, const te::Expr& j) {
        auto one = [&](const te::Expr& r) {
          const te::Expr m = at.m + i * kRows + at.group + te::floor_div(r, 2) * 8;
          const te::Expr n = at.n + j * kColumns + at.pair + te::floor_mod(r, 2);
          return body(te::Exprs{t, i, j, r}, m, n);
        };
        return te::loop("r", kSums, one, kUnrolled);
      });
    });
  }

  te::Stmt slice(const te::Expr& s) {
    te::Stmt bring = threads([&](const te::Expr& t) {
      return te::make_block({frame_.brought_a(a_, t, s, true), frame_.brought_b(b_, t, s, true)});
    });
    te::Stmt add = threads([&](const te::Expr& t) {
      const Place at = place_of(t);
      auto terms = [&](const te::Expr& k) {
        return each_tile([&](const te::Expr& i, const te::Expr& j) {
          const te::Expr first = k * kTerms + at.pair;
          return added({sums_[0], {t, i, j, 0}}, {a_, {at.m + i * kRows + at.group, first}},
                       {b_, {at.n + j * kColumns + at.group, first}}, 8 * (tile_.bk + kPad));
        });
      };
      return te::loop("k", tile_.bk / kTerms, terms, kUnrolled);
    });
    return te::make_block({std::move(bring), std::move(add)});
  }

  const MmaTile& tile_;
  TileFrame frame_;
  te::Tensor a_, b_;
  std::vector<te::Tensor> sums_;
  Groups& groups_;
};

}  // namespace

std::optional<te::Stmt> mma_tiles(const Job& job, const Product& product, Groups& groups) {
  constexpr int64_t kLeast = 16;
  if (job.stage->outputs[0].dtype() != DType::kF32 ||
      std::min({product.m_size, product.n_size, product.k_size}) < kLeast)
    return std::nullopt;
  for (DType type : {DType::kF16, DType::kBF16}) {
    const te::Expr a = as_small(product.a, type), b = as_small(product.b, type);
    if (!a.is_empty() && !b.is_empty())
      return MmaTiles(job, product, tile_of(product, kMmaTiles), a, b, groups).kernel();
  }
  return std::nullopt;
}

}  // namespace byoc::cuda
