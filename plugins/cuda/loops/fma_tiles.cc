// SPDX-License-Identifier: Apache-2.0
// A product in tiles of bm x bn results and slices of bk terms:
//   groups g { shared a[bk, bm], b[bk, bn]; registers sums[T, tm, tn]
//     threads t { sums[t] = 0 }
//     for s in 0..K/bk { threads t { a[..] = .., b[..] = .. }
//                        threads t { sums[t, i, j] += a[k, m(t, i)] b[k, n(t, j)] } }
//     threads t { y[..] = sums[t, i, j] } }
#include "plugins/cuda/loops/tile_frame.h"

namespace byoc::cuda {
namespace {

/// Results and terms of a group, and results of a thread.
struct FmaTile {
  int64_t bm, bn, bk, tm, tn;
  int64_t rows() const { return bm / tm; }  // of threads
  int64_t columns() const { return bn / tn; }
  int64_t threads() const { return rows() * columns(); }
  TileSize size() const { return {bm, bn, bk, threads()}; }
};
constexpr FmaTile kFmaTiles[] = {
    {128, 128, 8, 8, 8}, {64, 64, 16, 4, 4}, {32, 64, 16, 2, 4}, {32, 32, 16, 2, 2}};

class FmaTiles {
 public:
  FmaTiles(const Job& job, const Product& product, const FmaTile& tile, Groups& groups)
      : job_(job),
        tile_(tile),
        frame_(job, product, tile.size(), product.a, product.b),
        a_("a", product.a.dtype(), {tile.bk, tile.bm + 1}),  // rows begin in different banks
        b_("b", product.b.dtype(), {tile.bk, tile.bn + 1}),
        sums_(partial_results(job, {tile.threads(), tile.tm, tile.tn})),
        groups_(groups) {}

  te::Stmt kernel() {
    return frame_.kernel(
        groups_, {a_, b_}, sums_, [&](const TileFrame::OfSum& body) { return each_sum(body); },
        [&](const te::Expr& s) { return slice(s); });
  }

 private:
  // Calls body(place in sums_, m, n) for the sums of each thread; m and n count from the tile's.
  // Threads of a row have neighbouring columns, so that they store neighbours.
  template <class Body>
  te::Stmt each_sum(Body&& body) {
    return groups_.threads(tile_.threads(), [&](const te::Expr& t) { return own_sums(t, body); });
  }
  template <class Body>
  te::Stmt own_sums(const te::Expr& t, Body&& body) {
    const te::Expr row = te::floor_div(t, tile_.columns()),
                   column = te::floor_mod(t, tile_.columns());
    auto columns = [&](const te::Expr& i) {
      auto one = [&](const te::Expr& j) {
        return body(te::Exprs{t, i, j}, i * tile_.rows() + row, j * tile_.columns() + column);
      };
      return te::loop("j", tile_.tn, one, kUnrolled);
    };
    return te::loop("i", tile_.tm, columns, kUnrolled);
  }

  te::Stmt slice(const te::Expr& s) {
    te::Stmt bring = groups_.threads(tile_.threads(), [&](const te::Expr& t) {
      return te::make_block({frame_.brought_a(a_, t, s, false), frame_.brought_b(b_, t, s, false)});
    });
    te::Stmt add = groups_.threads(tile_.threads(), [&](const te::Expr& t) {
      return te::loop("k", tile_.bk, [&](const te::Expr& k) {
        return own_sums(t, [&](const te::Exprs& at, const te::Expr& m, const te::Expr& n) {
          return combined(job_, sums_, at, {a_(k, m) * b_(k, n)});
        });
      });
    });
    return te::make_block({std::move(bring), std::move(add)});
  }

  const Job& job_;
  const FmaTile& tile_;
  TileFrame frame_;
  te::Tensor a_, b_;
  std::vector<te::Tensor> sums_;
  Groups& groups_;
};

}  // namespace

te::Stmt fma_tiles(const Job& job, const Product& product, Groups& groups) {
  return FmaTiles(job, product, tile_of(product, kFmaTiles), groups).kernel();
}

std::optional<te::Stmt> product_kernel(const Job& job, Groups& groups) {
  constexpr int64_t kLeast = 8;
  const std::optional<Product> product = product_of_job(job);
  if (!product || product->m_size < kLeast || product->n_size < kLeast || product->k_size < kLeast)
    return std::nullopt;
  if (std::optional<te::Stmt> out = mma_tiles(job, *product, groups)) return out;
  return fma_tiles(job, *product, groups);
}

}  // namespace byoc::cuda
