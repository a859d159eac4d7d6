// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loops of a packed GEMM, written by hand, as a schedule should produce them.
#include "byoc/te/stmt.h"

namespace byoc::test {

constexpr int64_t kTileM = 6, kTileN = 16, kLanes = 8;

/// Returns `body(i, j)` for the 6 x 16 entries of a tile, as 6 x 2 vectors of 8 lanes.
inline te::Stmt tile(const std::function<te::Stmt(te::Expr, te::Expr)>& body) {
  return te::loop(
      "i", kTileM,
      [&](te::Expr i) {
        return te::loop(
            "jo", kTileN / kLanes,
            [&](te::Expr jo) {
              return te::loop(
                  "ji", kLanes, [&](te::Expr ji) { return body(i, jo * kLanes + ji); },
                  te::LoopKind::kVectorized);
            },
            te::LoopKind::kUnrolled);
      },
      te::LoopKind::kUnrolled);
}

/// Returns loops for c [m, n] = a b, with a packed as [m/6][k][6] and b as [n/16][k][16]. k is
/// split into chunks of `kc`, so that a chunk of a panel of b stays in the L1 cache. Rows are split
/// into blocks of `block` tiles, so that their part of a stays in the L2 cache. The last tile may
/// have more rows than c; these are computed but not stored.
inline te::LoopFunction packed_gemm(int64_t m, int64_t n, int64_t k, int64_t kc,
                                    int64_t block = 16) {
  int64_t mt = (m + kTileM - 1) / kTileM, nt = n / kTileN;
  te::Tensor a("a", DType::kF32, {mt, k, kTileM}), b("b", DType::kF32, {nt, k, kTileN});
  te::Tensor c("c", DType::kF32, {m, n}), acc("acc", DType::kF32, {kTileM, kTileN});
  auto kernel = [&](te::Expr ko, te::Expr jt, te::Expr it) {
    auto row = [&](te::Expr i) { return it * kTileM + i; };
    auto zero = te::constant(DType::kF32, 0);
    auto inside = [&](te::Expr i, te::Stmt s) { return te::make_if(row(i) < te::Expr(m), s); };
    te::Stmt clear = tile([&](te::Expr i, te::Expr j) {
      te::Expr more = te::Expr(0) < ko && row(i) < te::Expr(m);
      return te::make_store(acc, {i, j}, te::select(more, c(row(i), jt * kTileN + j), zero));
    });
    te::Stmt sum = te::loop("k", kc, [&](te::Expr r) {
      te::Expr kk = ko * kc + r;
      return tile([&](te::Expr i, te::Expr j) {
        return te::make_store(acc, {i, j}, acc(i, j) + a(it, kk, i) * b(jt, kk, j));
      });
    });
    te::Stmt put = tile([&](te::Expr i, te::Expr j) {
      return inside(i, te::make_store(c, {row(i), jt * kTileN + j}, acc(i, j)));
    });
    return te::make_alloc(acc, te::Scope::kStack, te::make_block({clear, sum, put}));
  };
  int64_t blocks = (mt + block - 1) / block;
  te::Stmt body = te::loop("ko", k / kc, [&](te::Expr ko) {
    return te::loop("ib", blocks, [&](te::Expr ib) {
      te::Expr tiles = te::min(block, te::Expr(mt) - ib * block);
      return te::loop("jt", nt, [&](te::Expr jt) {
        return te::loop("it", tiles, [&](te::Expr it) { return kernel(ko, jt, ib * block + it); });
      });
    });
  });
  return {"gemm", {a, b}, {c}, body};
}

}  // namespace byoc::test
