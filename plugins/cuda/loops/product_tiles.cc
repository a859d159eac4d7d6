// SPDX-License-Identifier: Apache-2.0
// A product in tiles of bm x bn results and slices of bk terms:
//   groups g { shared a[bk, bm], b[bk, bn]; registers sums[T, tm, tn]
//     threads t { sums[t] = 0 }
//     for s in 0..K/bk { threads t { a[..] = .., b[..] = .. }
//                        threads t { sums[t, i, j] += a[k, m(t, i)] b[k, n(t, j)] } }
//     threads t { y[..] = sums[t, i, j] } }
#include "plugins/cuda/loops/product.h"

namespace byoc::cuda {
namespace {

constexpr auto kUnrolled = te::LoopKind::kUnrolled;

/// Results and terms of a group, and results of a thread.
struct Tile {
  int64_t bm, bn, bk, tm, tn;
  int64_t rows() const { return bm / tm; }     // of threads
  int64_t columns() const { return bn / tn; }
  int64_t threads() const { return rows() * columns(); }
};
constexpr Tile kTiles[] = {{128, 128, 8, 8, 8}, {64, 64, 16, 4, 4}, {32, 64, 16, 2, 4},
                           {32, 32, 16, 2, 2}};

class Tiles {
 public:
  Tiles(const Job& job, const Product& product, const Tile& tile, Groups& groups)
      : job_(job),
        p_(product),
        tile_(tile),
        a_("a", product.a.dtype(), {tile.bk, tile.bm + 1}),
        b_("b", product.b.dtype(), {tile.bk, tile.bn + 1}),
        sums_(partial_results(job, {tile.threads(), tile.tm, tile.tn})),
        groups_(groups) {}

  te::Stmt kernel() {
    const int64_t rows = ceil_div(p_.m_size, tile_.bm), columns = ceil_div(p_.n_size, tile_.bn);
    return groups_.groups(p_.batch_size * rows * columns, [&](const te::Expr& group) {
      n0_ = te::floor_mod(group, columns) * tile_.bn;
      m0_ = te::floor_mod(te::floor_div(group, columns), rows) * tile_.bm;
      batch_ = te::floor_div(group, rows * columns);
      te::Stmt clear = each_sum([&](const te::Exprs& at, const te::Expr&, const te::Expr&) {
        return cleared(job_, sums_, at);
      });
      te::Stmt store = each_sum([&](const te::Exprs& at, const te::Expr& m, const te::Expr& n) {
        return stored_at(at, m0_ + m, n0_ + n);
      });
      te::Stmt body = te::make_block({std::move(clear), slices(), std::move(store)});
      return groups_.shared({a_, b_}, groups_.registers(sums_, std::move(body)));
    });
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
    const te::Expr row = te::floor_div(t, tile_.columns()), column = te::floor_mod(t, tile_.columns());
    auto columns = [&](const te::Expr& i) {
      return te::loop("j", tile_.tn, [&](const te::Expr& j) {
        return body(te::Exprs{t, i, j}, i * tile_.rows() + row, j * tile_.columns() + column);
      }, kUnrolled);
    };
    return te::loop("i", tile_.tm, columns, kUnrolled);
  }

  te::Stmt stored_at(const te::Exprs& at, const te::Expr& m, const te::Expr& n) {
    te::Stmt out = stored(job_, indices_of(job_, p_, batch_, m, n), loads_of(sums_, at));
    if (p_.m_size % tile_.bm != 0) out = te::make_if(m < te::Expr(p_.m_size), out);
    if (p_.n_size % tile_.bn != 0) out = te::make_if(n < te::Expr(p_.n_size), out);
    return out;
  }

  te::Stmt slices() {
    return te::loop("s", ceil_div(p_.k_size, tile_.bk), [&](const te::Expr& s) {
      te::Stmt bring = groups_.threads(tile_.threads(), [&](const te::Expr& t) {
        return te::make_block({brought(p_.a, a_, tile_.bm, p_.m, t, s, true),
                               brought(p_.b, b_, tile_.bn, p_.n, t, s, false)});
      });
      te::Stmt add = groups_.threads(tile_.threads(), [&](const te::Expr& t) {
        return te::loop("k", tile_.bk, [&](const te::Expr& k) {
          return own_sums(t, [&](const te::Exprs& at, const te::Expr& m, const te::Expr& n) {
            return combined(job_, sums_, at, {a_(k, m) * b_(k, n)});
          });
        });
      });
      return te::make_block({std::move(bring), std::move(add)});
    });
  }

  // Fills to[k, w] for one slice, a few elements per thread; those outside of the matrix are 0.
  // Neighbouring threads read neighbours in memory.
  te::Stmt brought(const te::Expr& factor, const te::Tensor& to, int64_t width,
                   const std::vector<size_t>& axes, const te::Expr& t, const te::Expr& s,
                   bool is_a) {
    const te::Compute& own = job_.compute();
    const bool is_along_k = is_adjacent_along(factor, own.reduce.back().var) &&
                            (axes.empty() || !is_adjacent_along(factor, own.axes[axes.back()].var));
    const int64_t cells = width * tile_.bk, rounds = ceil_div(cells, tile_.threads());
    return te::loop("e", rounds, [&](const te::Expr& e) {
      const te::Expr cell = e * tile_.threads() + t;
      const te::Expr k = is_along_k ? te::floor_mod(cell, tile_.bk) : te::floor_div(cell, width);
      const te::Expr w = is_along_k ? te::floor_div(cell, tile_.bk) : te::floor_mod(cell, width);
      te::Stmt out = te::make_store(to, {k, w}, element(factor, s * tile_.bk + k, w, is_a));
      return cells % tile_.threads() == 0 ? out : te::make_if(cell < te::Expr(cells), out);
    }, kUnrolled);
  }

  te::Expr element(const te::Expr& factor, const te::Expr& k, const te::Expr& w, bool is_a) {
    const te::Expr at = (is_a ? m0_ : n0_) + w;
    const int64_t size = is_a ? p_.m_size : p_.n_size;
    const te::Exprs indices = indices_of(job_, p_, batch_, is_a ? at : 0, is_a ? te::Expr(0) : at);
    te::Expr out = at_indices(at_indices(factor, job_.compute().axes, indices),
                              job_.compute().reduce, unflattened(k, job_.reduce));
    const te::Expr zero = te::constant(factor.dtype(), 0);
    if (p_.k_size % tile_.bk != 0) out = te::select(k < te::Expr(p_.k_size), out, zero);
    if (size % (is_a ? tile_.bm : tile_.bn) != 0) out = te::select(at < te::Expr(size), out, zero);
    return out;
  }

  const Job& job_;
  const Product& p_;
  const Tile& tile_;
  te::Tensor a_, b_;
  std::vector<te::Tensor> sums_;
  Groups& groups_;
  te::Expr n0_, m0_, batch_;
};

// Returns the largest tile of which there are enough for all processors of a large device.
const Tile& tile_of(const Product& p) {
  constexpr int64_t kGroups = 132;  // multiprocessors of an H100 or H200
  for (const Tile& tile : kTiles) {
    if (p.batch_size * (p.m_size / tile.bm) * (p.n_size / tile.bn) >= kGroups) return tile;
  }
  return kTiles[std::size(kTiles) - 1];
}

}  // namespace

std::optional<te::Stmt> product_kernel(const Job& job, Groups& groups) {
  constexpr int64_t kLeast = 8;
  const std::optional<Product> product = product_of_job(job);
  if (!product || product->m_size < kLeast || product->n_size < kLeast || product->k_size < kLeast)
    return std::nullopt;
  return Tiles(job, *product, tile_of(*product), groups).kernel();
}

}  // namespace byoc::cuda
