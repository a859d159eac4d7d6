// SPDX-License-Identifier: Apache-2.0
#pragma once
// The common parts of tiles of products: the place of a group's tile, the slices of its factors in
// shared memory, and the results that it stores.
#include "plugins/cuda/loops/product.h"

namespace byoc::cuda {

/// Results (bm x bn) and terms (bk) of a group, and its threads.
struct TileSize {
  int64_t bm, bn, bk, threads;
};

inline constexpr auto kUnrolled = te::LoopKind::kUnrolled;

/// Returns the first of these tiles, which are in descending order, of which there are enough for
/// all multiprocessors of a large device; else the last one.
template <class Tile, size_t n>
const Tile& tile_of(const Product& p, const Tile (&tiles)[n]) {
  constexpr int64_t kGroups = 132;  // multiprocessors of an H100 or H200
  for (const Tile& tile : tiles) {
    if (p.batch_size * (p.m_size / tile.bm) * (p.n_size / tile.bn) >= kGroups) return tile;
  }
  return tiles[n - 1];
}

class TileFrame {
 public:
  /// `a` and `b`: the factors, which may be of another type than in the product.
  TileFrame(const Job& job, const Product& product, const TileSize& size, te::Expr a, te::Expr b)
      : job_(job), p_(product), size_(size), a_(std::move(a)), b_(std::move(b)) {}

  /// Makes a statement about a sum: its place in `sums`, and its row and column in the tile.
  using OfSum = std::function<te::Stmt(const te::Exprs& at, const te::Expr& m, const te::Expr& n)>;
  /// Makes the kernel: each group clears its sums, adds slice after slice, and stores. `each_sum`
  /// makes the loops over the sums of all threads; `shared` has the slices of the factors.
  te::Stmt kernel(Groups& groups, const std::vector<te::Tensor>& shared,
                  const std::vector<te::Tensor>& sums,
                  const std::function<te::Stmt(const OfSum&)>& each_sum, const Groups::Body& slice);
  /// Makes the statements with which thread `t` brings its part of slice `s` of a factor to shared
  /// memory: to[k, w], or to[w, k] with `is_k_last`; w counts rows of a or columns of b.
  te::Stmt brought_a(const te::Tensor& to, const te::Expr& t, const te::Expr& s, bool is_k_last) {
    return brought(a_, to, true, t, s, is_k_last);
  }
  te::Stmt brought_b(const te::Tensor& to, const te::Expr& t, const te::Expr& s, bool is_k_last) {
    return brought(b_, to, false, t, s, is_k_last);
  }

 private:
  // Makes the statement that stores a result of the tile, if the matrix has it.
  te::Stmt stored_at(const te::Expr& m, const te::Expr& n, const te::Expr& sum) const;
  // Sets the tile of the following calls to that of a group.
  void enter(const te::Expr& group);
  int64_t rows() const { return ceil_div(p_.m_size, size_.bm); }
  int64_t columns() const { return ceil_div(p_.n_size, size_.bn); }
  te::Stmt brought(const te::Expr& factor, const te::Tensor& to, bool is_a, const te::Expr& t,
                   const te::Expr& s, bool is_k_last) const;
  te::Expr element(const te::Expr& factor, bool is_a, const te::Expr& k, const te::Expr& w) const;

  const Job& job_;
  const Product& p_;
  TileSize size_;
  te::Expr a_, b_, m0_, n0_, batch_;
};

/// The kernel of a product in tiles whose sums are in registers of single threads: exact products
/// of any type, in the order of k.
te::Stmt fma_tiles(const Job& job, const Product& product, Groups& groups);

/// The kernel of a product of factors that are f16 or bf16 by the instruction mma.sync of a warp,
/// which rounds sums to f32; nullopt for other factors, and for products that are too small.
std::optional<te::Stmt> mma_tiles(const Job& job, const Product& product, Groups& groups);

}  // namespace byoc::cuda
