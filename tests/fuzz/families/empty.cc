// SPDX-License-Identifier: Apache-2.0
// Sums of no terms, images of no channels, batches of nothing: any extent of an anchor may be 0.
#include "grow.h"

namespace byoc::fuzz {
namespace {

/// Hands out extents of one op, of which about one in `most` is 0.
class Extents {
 public:
  Extents(Grower& g, uint64_t most) : g_(g), empty_(g.pick(most)) {}
  Dim operator()(int64_t extent) { return Dim(count_++ == empty_ ? 0 : extent); }
  Dim small() { return (*this)(g_.between(1, 5)); }

 private:
  Grower& g_;
  uint64_t empty_, count_ = 0;
};

Ref leaf(Grower& g, const Shape& shape) {
  return g.weight(TensorType{g.main_dtype(), shape}, {-1, 1});
}

/// Adds what exporters write after an anchor: operands that are as empty as its result, or not.
bool followed(Grower& g, std::optional<Ref> y, size_t axis) {
  if (!y) return false;
  if (g.chance(0.7)) y = scaled_and_shifted(g, *y, axis);
  if (g.chance(0.4)) y = g.then(g.one_of<std::string>({"relu", "tanh", "sigmoid", "gelu"}), {*y});
  if (g.chance(0.3)) g.then("softmax", {*y}, {{"axis", random_axis(g, g.rank(*y))}});
  return true;
}

bool grow_empty_product(Grower& g) {
  Extents extents(g, 4);
  const Dim k = extents.small(), m = extents.small(), n = extents(g.one_of<int64_t>({1, 3, 8, 16}));
  const Dim batch = extents.small();
  Shape a = {m, k}, b = {k, n};
  if (g.chance(0.5)) {
    a.insert(a.begin(), batch);
    if (g.chance(0.5)) b.insert(b.begin(), batch);
    return followed(g, g.call("matmul", {leaf(g, a), leaf(g, b)}), 2);
  }
  if (g.chance(0.5)) return followed(g, g.call("matmul", {leaf(g, a), leaf(g, b)}), 1);
  const bool ta = g.chance(0.5), tb = g.chance(0.5);
  if (ta) std::swap(a[0], a[1]);
  if (tb) std::swap(b[0], b[1]);
  Attrs attrs{{"trans_a", ta}, {"trans_b", tb}};
  if (g.chance(0.4)) attrs.set("alpha", g.real(-2, 2));
  return followed(g, g.call("gemm", {leaf(g, a), leaf(g, b)}, attrs), 1);
}

bool grow_empty_packed_product(Grower& g) {
  Extents extents(g, 4);
  const Dim k = extents.small(), m = extents.small(), panels = extents.small();
  const Dim block = extents(g.one_of<int64_t>({8, 16, 16}));
  return followed(g, g.call("matmul_packed", {leaf(g, {m, k}), leaf(g, {panels, k, block})}), 1);
}

bool grow_empty_contraction(Grower& g) {
  Extents extents(g, 4);
  const Dim b = extents.small(), i = extents.small(), j = extents.small(), k = extents.small();
  const bool is_scores = g.chance(0.5);
  const std::vector<Ref> args = {leaf(g, {b, i, k}),
                                 leaf(g, is_scores ? Shape{b, j, k} : Shape{k, j})};
  return followed(g,
                  g.call("einsum", args,
                         {{"equation", std::string(is_scores ? "bik,bjk->bij" : "bik,kj->bij")}}),
                  2);
}

bool grow_empty_convolution(Grower& g, size_t spatial, bool is_transposed) {
  Extents extents(g, 4 + spatial);
  const int64_t group = g.chance(0.3) ? 2 : 1;
  const Dim n = extents(g.between(1, 2)), in = extents.small(), out = extents.small();
  const auto grouped = [&](Dim dim) { return Dim(dim.extent() * group); };
  Shape x = {n, grouped(in)};
  Shape weight = is_transposed ? Shape{grouped(in), out} : Shape{grouped(out), in};
  for (size_t d = 0; d < spatial; ++d) {
    x.push_back(extents(g.between(3, 7)));
    weight.push_back(Dim(g.between(1, 3)));
  }
  return followed(g,
                  g.call(cat("conv", spatial, is_transposed ? "d_transpose" : "d"),
                         {leaf(g, x), leaf(g, weight)}, {{"group", group}}),
                  1);
}

bool grow_empty_blocked_convolution(Grower& g) {
  Extents extents(g, 5);
  const Dim n = extents(1), in = extents.small(), out = extents.small();
  const Dim block = extents(g.one_of<int64_t>({8, 16}));
  const Dim side(g.between(1, 3));
  const Ref x = leaf(g, {n, in, Dim(5), extents(6), block});
  return g.call("conv2d_nchwc", {x, leaf(g, {out, in, side, side, block, block})}).has_value();
}

bool grow_empty_recurrence(Grower& g) {
  Extents extents(g, 5);
  const std::string op = g.one_of<std::string>({"rnn", "gru", "lstm"});
  const int64_t gates = op == "rnn" ? 1 : op == "gru" ? 3 : 4;
  const Dim t = extents.small(), b = extents.small(), in = extents.small(), h = extents.small();
  const Dim rows(gates * h.extent());
  const std::vector<Ref> args = {leaf(g, {t, b, in}), leaf(g, {Dim(1), rows, in}),
                                 leaf(g, {Dim(1), rows, h})};
  return followed(g, g.call(op, args), 2);
}

}  // namespace

std::vector<Family> empty_families() {
  std::vector<Family> out;
  const auto add = [&](const std::string& name, double weight, Growth grow,
                       std::vector<std::string> ops) {
    out.push_back({name, weight, std::move(grow), std::move(ops)});
  };
  add("empty product", 0.7, grow_empty_product, {"matmul", "gemm"});
  add("empty packed product", 0.7, grow_empty_packed_product, {"matmul_packed"});
  add("empty contraction", 0.3, grow_empty_contraction, {"einsum"});
  for (const size_t spatial : {1, 2, 3}) {
    for (const bool is_transposed : {false, true}) {
      const std::string op = cat("conv", spatial, is_transposed ? "d_transpose" : "d");
      add("empty " + op, 0.2,
          [=](Grower& g) { return grow_empty_convolution(g, spatial, is_transposed); }, {op});
    }
  }
  add("empty conv2d_nchwc", 0.7, grow_empty_blocked_convolution, {"conv2d_nchwc"});
  add("empty recurrence", 0.3, grow_empty_recurrence, {"rnn", "gru", "lstm"});
  return out;
}

}  // namespace byoc::fuzz
