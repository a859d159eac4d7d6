// SPDX-License-Identifier: Apache-2.0
// Products, reductions, normalisation, recurrent nets.
#include <algorithm>

#include "grow.h"

namespace byoc::fuzz {
namespace {

/// Returns a value of floats, or sometimes of integers, with elements.
Ref numbers(Grower& g, size_t low, size_t high, bool floats_only) {
  auto there = g.find([&](const TensorType& t) {
    return t.shape.size() >= low && t.shape.size() <= high && *num_elements(t.shape) > 0 &&
           (is_float(t.dtype) || (!floats_only && is_int(t.dtype)));
  });
  if (there && g.chance(0.8)) return g.chance(0.2) && low == 0 ? g.viewed(*there) : *there;
  Shape shape = g.shape(low + g.pick(std::min<size_t>(high, 5) - low + 1));
  if (g.chance(0.8)) {
    for (Dim& dim : shape) {
      if (dim == Dim(0)) dim = Dim(3);
    }
  }
  DType dtype = g.main_dtype();
  if (!floats_only && g.chance(0.2))
    dtype = g.one_of<DType>({DType::kI32, DType::kI64, DType::kI8, DType::kU8, DType::kI16});
  return g.parameter(TensorType{dtype, shape}, {.has_specials = true});
}

/// Adds bias, activation and residual after a product.
void follow_product(Grower& g, Ref y) {
  if (g.rank(y) == 0) return;
  const DType dtype = g.type(y)->dtype;
  if (g.chance(0.6)) y = scaled_and_shifted(g, y, g.rank(y) - 1);
  if (g.chance(0.3)) {
    auto other = g.find([&](const TensorType& t) { return TypeId(t) == g.type(y); });
    if (other) y = g.then("add", {y, *other});
  }
  if (is_float(dtype) && g.chance(0.4))
    g.then(g.one_of<std::string>({"relu", "gelu", "tanh", "sigmoid", "swish"}), {y});
}

bool grow_matmul(Grower& g) {
  Ref a = numbers(g, 1, 4, g.chance(0.85));
  const Shape& s = g.shape_of(a);
  const int64_t k = s.back().extent();
  Shape b;
  if (g.chance(0.3) && s.size() > 2) b.assign(s.begin(), s.end() - 2);
  if (!b.empty() && g.chance(0.3)) b[0] = Dim(1);
  b.push_back(Dim(k));
  if (g.chance(0.92)) {
    int64_t n = g.one_of<int64_t>({1, 2, 3, 5, 7, 8, 16, 17, 33});
    if (s.size() > 1 && g.chance(0.2)) n = s[s.size() - 2].extent();  // as many as rows
    b.push_back(Dim(n));
  }
  Ref w = g.weight(TensorType{g.type(a)->dtype, b}, {-1, 1});
  bool is_transposed = b.size() >= 2 && g.chance(0.2);
  if (is_transposed) {
    std::swap(b[b.size() - 1], b[b.size() - 2]);
    Ints perm;
    for (size_t d = 0; d < b.size(); ++d) perm.push_back(static_cast<int64_t>(d));
    std::swap(perm[b.size() - 1], perm[b.size() - 2]);
    w = g.weight(TensorType{g.type(a)->dtype, b}, {-1, 1});
    w = g.then("transpose", {w}, {{"perm", perm}});
  }
  auto y = g.call("matmul", {a, w});
  if (y) follow_product(g, *y);
  return y.has_value();
}

bool grow_gemm(Grower& g) {
  Ref a = numbers(g, 2, 2, g.chance(0.9));
  const bool ta = g.chance(0.3), tb = g.chance(0.5);
  int64_t k = g.dim(a, ta ? 0 : 1), n = g.one_of<int64_t>({1, 2, 4, 5, 8, 16, 19, 37});
  if (g.chance(0.2)) n = g.dim(a, ta ? 1 : 0);
  Ref b = g.weight(TensorType{g.type(a)->dtype, tb ? Shape{Dim(n), Dim(k)} : Shape{Dim(k), Dim(n)}},
                   {-1, 1});
  Attrs attrs{{"trans_a", ta}, {"trans_b", tb}};
  if (is_float(g.type(a)->dtype) && g.chance(0.4)) attrs.set("alpha", g.real(-2, 2));
  auto y = g.call("gemm", {a, b}, attrs);
  if (y) follow_product(g, *y);
  return y.has_value();
}

bool grow_matmul_packed(Grower& g) {
  Ref a = numbers(g, 2, 3, true);
  int64_t k = g.shape_of(a).back().extent(), block = g.one_of<int64_t>({4, 8, 16});
  Ref b =
      g.weight(TensorType{g.type(a)->dtype, {Dim(g.between(1, 3)), Dim(k), Dim(block)}}, {-1, 1});
  return g.call("matmul_packed", {a, b}).has_value();
}

bool grow_einsum(Grower& g) {
  int64_t i = g.between(1, 5), j = g.between(1, 6), k = g.between(1, 5), b = g.between(1, 3);
  const int64_t rows = g.between(1, 40), columns = g.between(14, 40);  // several tiles and panels
  auto leaf = [&](std::vector<int64_t> dims) {
    return g.weight(TensorType{g.main_dtype(), make_shape(dims)}, {-1, 1});
  };
  auto put = [&](const char* equation, const std::vector<Ref>& args) {
    return g.call("einsum", args, {{"equation", std::string(equation)}}).has_value();
  };
  switch (g.pick(12)) {
    case 9:
      return put("bhid,bhjd->bhij", {leaf({b, 2, rows, k}), leaf({b, 2, columns, k})});
    case 10:
      return put("ik,jhk->hji", {leaf({columns, k}), leaf({rows, b, k})});
    case 11:
      return put("abc,cde->abde", {leaf({b, rows, k}), leaf({k, 2, columns})});
    case 0:
      return put("ij,jk->ik", {leaf({i, j}), leaf({j, k})});
    case 1:
      return put("bij,bkj->bik", {leaf({b, i, j}), leaf({b, k, j})});
    case 2:
      return put("bhid,bhjd->bhij", {leaf({b, 2, i, k}), leaf({b, 2, j, k})});
    case 3:
      return put("ij->ji", {leaf({i, j})});
    case 4:
      return put("ii->i", {leaf({i, i})});
    case 5:
      return put("i,j->ij", {leaf({i}), leaf({j})});
    case 6:
      return put("...ij,...jk->...ik", {leaf({b, i, j}), leaf({j, k})});
    case 7:
      return put("ijk->j", {leaf({i, j, k})});
    default:
      return put("ij,jk,k->i", {leaf({i, j}), leaf({j, k}), leaf({k})});
  }
}

bool grow_det(Grower& g) {
  int64_t n = g.between(1, 4);
  Shape shape = g.chance(0.5) ? Shape{Dim(n), Dim(n)} : Shape{Dim(g.between(1, 3)), Dim(n), Dim(n)};
  return g.call("det", {g.parameter(TensorType{g.main_dtype(), shape})}).has_value();
}

bool grow_reduction(Grower& g, const std::string& op) {
  Domain positive{0.2, 2};
  Ref x = op == "log_sum" && g.chance(0.7)
              ? g.parameter(TensorType{g.main_dtype(), g.shape(1 + g.pick(4))}, positive)
              : numbers(g, 0, 6, false);
  Ints axes;
  const auto r = static_cast<int64_t>(g.rank(x));
  for (int64_t k = 0; k < r; ++k) {
    if (g.chance(0.45)) axes.push_back(g.chance(0.5) ? k : k - r);
  }
  return g
      .call(op, {x},
            {{"axes", axes}, {"keepdims", g.chance(0.5)}, {"noop_with_empty_axes", g.chance(0.2)}})
      .has_value();
}

bool grow_along_axis(Grower& g, const std::string& op) {
  const bool floats = op == "softmax" || op == "log_softmax" || op == "hardmax" || op == "lp_norm";
  Ref x = numbers(g, 1, 5, floats);
  const bool is_searched = op == "argmax" || op == "argmin" || op == "hardmax";
  if (is_searched && (!floats || is_float(g.main_dtype())) && g.chance(0.15))  // found in blocks
    x = g.parameter(TensorType{g.main_dtype(), {Dim(g.between(1, 3)), Dim(g.between(900, 4000))}},
                    {.has_specials = true});
  Attrs attrs{{"axis", random_axis(g, g.rank(x))}};
  if (op == "argmax" || op == "argmin") {
    attrs.set("keepdims", g.chance(0.5));
    attrs.set("select_last_index", g.chance(0.3));
  }
  if (op == "lp_norm") attrs.set("p", g.between(1, 2));
  if (op == "cumsum" || op == "cumprod") {
    attrs.set("exclusive", g.chance(0.4));
    attrs.set("reverse", g.chance(0.4));
  }
  if (op == "topk") {
    int64_t axis = attrs.i("axis");
    int64_t n =
        g.dim(x, static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(g.rank(x)) : axis));
    attrs.set("k", g.between(n > 0 ? 1 : 0, n));
    attrs.set("largest", g.chance(0.5));
  }
  return g.call(op, {x}, attrs).has_value();
}

/// Two elements become -1 and 1, whatever they are: their results do not show the error of the
/// mean, so norms of two elements are not made.
bool grow_norm(Grower& g, const std::string& op) {
  Ref x = numbers(g, 1, 5, true);
  if (op == "mean_variance_norm") {
    Ints axes;
    for (size_t k = 0; k < g.rank(x); ++k) {
      if (g.chance(0.6)) axes.push_back(static_cast<int64_t>(k));
    }
    int64_t count = 1;
    for (int64_t axis : axes) count *= g.dim(x, static_cast<size_t>(axis));
    return count != 2 && g.call(op, {x}, {{"axes", axes}}).has_value();
  }
  size_t axis = g.chance(0.7) ? g.rank(x) - 1 : g.pick(g.rank(x));
  Shape scale(g.shape_of(x).begin() + static_cast<std::ptrdiff_t>(axis), g.shape_of(x).end());
  TypeId type = TensorType{g.type(x)->dtype, scale};
  if (element_count(type) == 2) return false;
  std::vector<Ref> args = {x};
  if (g.chance(0.8)) args.push_back(g.weight(type, {0.5, 2}));
  if (op == "layer_norm" && args.size() == 2 && g.chance(0.8)) args.push_back(g.weight(type));
  Attrs attrs{{"axis", static_cast<int64_t>(axis)},
              {"epsilon", g.one_of<double>({1e-5, 1e-2, 1e-12})}};
  if (op == "layer_norm" && g.chance(0.2)) attrs.set("stats", true);
  return g.call(op, args, attrs).has_value();
}

bool grow_recurrent(Grower& g, const std::string& op) {
  const int64_t t = g.between(1, 4), b = g.between(1, 3), in = g.between(1, 5), h = g.between(1, 4);
  const std::string direction = g.one_of<std::string>({"forward", "reverse", "bidirectional"});
  const int64_t d = direction == "bidirectional" ? 2 : 1, gates = op == "rnn"   ? 1
                                                                  : op == "gru" ? 3
                                                                                : 4;
  auto leaf = [&](std::vector<int64_t> dims) {
    return g.weight(TensorType{g.main_dtype(), make_shape(dims)}, {-1, 1});
  };
  std::vector<Ref> args = {leaf({t, b, in}), leaf({d, gates * h, in}), leaf({d, gates * h, h})};
  if (g.chance(0.7)) args.push_back(leaf({d, 2 * gates * h}));
  if (args.size() == 4 && g.chance(0.6)) args.push_back(leaf({d, b, h}));
  if (op == "lstm" && args.size() == 5 && g.chance(0.8)) args.push_back(leaf({d, b, h}));
  if (op == "lstm" && args.size() == 6 && g.chance(0.4)) args.push_back(leaf({d, 3 * h}));
  if (args.size() == (op == "lstm" ? 7 : 5) && g.chance(0.5))
    args.push_back(g.weight(TensorType{DType::kI64, {Dim(b)}}, {0, static_cast<double>(t)}));
  Attrs attrs{{"direction", direction}};
  if (g.chance(0.2)) attrs.set("clip", 0.5);
  if (op == "lstm") attrs.set("input_forget", g.chance(0.2));
  if (op == "gru") attrs.set("linear_before_reset", g.chance(0.5));
  return g.call(op, args, attrs).has_value();
}

/// Returns a length of a line: short, or one that has several factors or is prime.
int64_t line_length(Grower& g) {
  return g.chance(0.5) ? g.between(2, 9)
                       : g.one_of<int64_t>({16, 30, 31, 32, 36, 45, 48, 64, 97, 100, 128, 240});
}

bool grow_dft(Grower& g) {
  const bool inverse = g.chance(0.4), onesided = g.chance(0.5);
  Shape shape;
  for (int64_t rank = g.between(1, 3); rank > 0; --rank) shape.push_back(Dim(g.between(1, 3)));
  const size_t axis = g.pick(shape.size());
  const int64_t extent = line_length(g);
  shape[axis] = Dim(extent);
  shape.push_back(Dim(onesided ? (inverse ? 2 : 1) : g.between(1, 2)));
  Ref x = g.parameter(TensorType{g.main_dtype(), shape});
  const auto rank = static_cast<int64_t>(shape.size()), from_front = static_cast<int64_t>(axis);
  Attrs attrs{{"axis", g.chance(0.5) ? from_front : from_front - rank},
              {"inverse", inverse},
              {"onesided", onesided}};
  if (g.chance(0.4)) attrs.set("length", g.chance(0.5) ? g.between(1, extent + 2) : line_length(g));
  return g.call("dft", {x}, attrs).has_value();
}

bool grow_linear_attention(Grower& g) {
  const std::string rule = g.one_of<std::string>({"linear", "gated", "delta", "gated_delta"});
  const int64_t n = g.between(1, 2), t = g.between(0, 4), heads = g.between(1, 3),
                group = g.between(1, 2), k = g.between(1, 5), v = g.between(1, 5);
  const DType dtype = g.main_dtype();
  auto leaf = [&](std::vector<int64_t> dims, Domain domain) {
    return g.parameter(TensorType{dtype, make_shape(dims)}, domain);
  };
  const Domain small{-0.7, 0.7};
  std::vector<Ref> in = {leaf({n, t, heads * group * k}, small), leaf({n, t, heads * k}, small),
                         leaf({n, t, heads * v}, small), leaf({n, heads, k, v}, small)};
  if (rule.starts_with("gated"))
    in.push_back(leaf({n, t, g.chance(0.5) ? heads : heads * k}, {-1, 0}));
  if (rule.ends_with("delta")) in.push_back(leaf({n, t, g.chance(0.5) ? heads : 1}, {0, 1}));
  return g
      .call("linear_attention", in,
            {{"rule", rule}, {"q_heads", heads * group}, {"kv_heads", heads}})
      .has_value();
}

}  // namespace

std::vector<Family> algebra_families() {
  std::vector<Family> out;
  auto add = [&](const std::string& op, double weight, Growth grow) {
    out.push_back({op, weight, std::move(grow), {op}});
  };
  add("matmul", 2.5, grow_matmul);
  add("gemm", 1.5, grow_gemm);
  add("matmul_packed", 1.4, grow_matmul_packed);
  add("einsum", 1.4, grow_einsum);
  add("det", 1.4, grow_det);
  add("dft", 1.4, grow_dft);
  add("linear_attention", 1.4, grow_linear_attention);
  for (const char* op :
       {"sum", "mean", "max", "min", "prod", "l1", "l2", "log_sum", "log_sum_exp", "sum_square"})
    add(op, 2.1, [op](Grower& g) { return grow_reduction(g, op); });
  for (const char* op : {"softmax", "log_softmax", "hardmax", "lp_norm", "argmax", "argmin", "topk",
                         "cumsum", "cumprod"})
    add(op, 3.2, [op](Grower& g) { return grow_along_axis(g, op); });
  for (const char* op : {"layer_norm", "rms_norm", "mean_variance_norm"})
    add(op, 2.1, [op](Grower& g) { return grow_norm(g, op); });
  for (const char* op : {"rnn", "gru", "lstm"})
    add(op, 2.1, [op](Grower& g) { return grow_recurrent(g, op); });
  return out;
}

}  // namespace byoc::fuzz
