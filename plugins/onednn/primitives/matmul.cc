// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "library/implementations.h"
#include "primitives/builder.h"

namespace byoc::onednn {

using dnnl::algorithm;

namespace {

Desc transposed(const Dims& stored,
                DataType type) {  // the view [n, k] -> [k, n] of memory stored [n, k]
  return strided_desc({stored[1], stored[0]}, type, {1, std::max<int64_t>(stored[1], 1)});
}

// Returns whether a matrix is stored in rows or in columns, as oneDNN's matmul reads both: a
// transpose costs nothing then.
bool is_matrix(const Desc& format) {
  auto strides = plain_strides_of(format);
  if (!strides || strides->size() < 2) return false;
  return strides->back() == 1 || (*strides)[strides->size() - 2] == 1;
}

Argument operand(const Builder& b, int index, size_t arg, size_t rank) {
  const Dims& dims = b.type(arg).dims;
  if (dims.size() == rank && is_matrix(b.format(arg))) return b.as_it_is(index, arg, b.format(arg));
  return b.vector(index, arg, padded(dims, rank));
}

// Returns the layout in columns. Where oneDNN is free to choose and takes rows, [k, n] row by row,
// its gemm is up to 1.8 times faster with columns (2.6 on AVX2: 128x768x3072 13.8 -> 7.7 ms,
// 64x784x512 0.77 -> 0.58) and at most a tenth slower, with one row to multiply. A gemm with
// trans_b has columns in its file: no copy is made then.
std::optional<Desc> in_columns(const Desc& wanted, const Desc& chosen) {
  Dims dims = dims_of(chosen);
  bool is_free = wanted == any_desc(dims, DataType::f32) && dims.size() == 2;
  if (!is_free || chosen != plain_desc(dims)) return std::nullopt;
  return strided_desc(dims, kF32, {1, std::max<int64_t>(dims[0], 1)});
}

bool is_plain(const Desc& desc) { return desc == plain_desc(dims_of(desc)); }

// Returns whether a product is of f32 rows by one constant matrix, followed only by a bias, a sum
// and functions.
bool may_be_convolution(const Builder& b, const Argument& src, const Posts& posts, int64_t rows) {
  constexpr int64_t kFewRows = 8;
  return b.choices.product == "convolution" && b.is_constant(1) && b.type(1).rank() == 2 &&
         b.data(0) == DataType::f32 && b.data(1) == DataType::f32 && posts.inputs.empty() &&
         rows >= kFewRows && is_plain(src.have) && b.format(0) == plain_desc(b.type(0));
}

// Builds the product as a convolution: the rows are the pixels of an image with channels last.
// oneDNN's 1x1 convolution keeps the matrix in blocks and is faster than its gemm (2.6 on
// AVX2: 128x768x768 71 -> 88 GFLOP/s, 128x768x3072 66 -> 82, 128x3072x768 61 -> 80,
// 197x768x3072 66 -> 82).
std::optional<Built> product_as_convolution(const Builder& b, const Argument& src,
                                            const Argument& weights, const Posts& posts,
                                            const Dims& out) try {
  const int64_t columns = out.back(), depth = dims_of(src.have).back();
  const int64_t rows = b.out_type().elements() / columns;
  if (!may_be_convolution(b, src, posts, rows)) return std::nullopt;
  using Tag = dnnl::memory::format_tag;
  Desc pixels({1, depth, 1, rows}, kF32, Tag::nhwc),
      results({1, columns, 1, rows}, kF32, Tag::nhwc);
  BYOC_ONEDNN_CHECK(plain_strides_of(weights.have), "a matrix is read through a view");
  Dims steps = *plain_strides_of(weights.have), ones = {1, 1}, none = {0, 0};
  Desc matrix =
      strided_desc({columns, depth, 1, 1}, kF32, {steps.back(), steps[steps.size() - 2], 1, 1});
  Desc bias = posts.bias >= 0 ? any_desc({columns}, kF32) : Desc();
  auto pd = describe<dnnl::convolution_forward>(
      b.engine, posts.attr, kInference, algorithm::convolution_direct, pixels,
      b.packed_or_any(1, matrix), bias, results, ones, none, none, none);
  if (!is_pointwise_convolution_avx2(pd.impl_info_str())) return std::nullopt;
  Built built;
  built.inputs = {{DNNL_ARG_SRC, src.value, true, pixels, pixels},
                  {DNNL_ARG_WEIGHTS, weights.value, true, matrix, pd.weights_desc()}};
  add_posts(b, posts, pd, {columns}, bias_of(pd, posts), built);
  built.out = plain_desc(b.out_type());
  built.out_view = results;
  return finish(pd, std::move(built));
} catch (const dnnl::error&) {  // a product may still be possible
  return std::nullopt;
}

// Returns whether the right operand is brought to the layout that oneDNN prefers, once.
bool is_packed(const Builder& b) { return b.is_constant(1) && b.choices.product != "plain"; }

Argument matrix_of(const Builder& b, size_t rank) {
  Argument weights = operand(b, DNNL_ARG_WEIGHTS, 1, rank);
  if (is_packed(b)) weights.want = b.packed_or_any(1, weights.have);
  return weights;
}

// Returns whether [..., m, k] x [k, n] may be computed as one product of all rows. oneDNN computes
// a product per index of the leading dims, and exporters write tokens as [tokens, 1, k].
bool has_rows_alone(const Builder& b, const Posts& posts) {
  return b.out_type().rank() > 2 && b.type(1).rank() == 2 && posts.inputs.empty() &&
         b.out_type().elements() > 0 && b.format(0) == plain_desc(b.type(0));
}

// Multiplies integers; the matrix of weights is packed.
Built product_of_integers(const Builder& b, Argument src, Argument weights, const Dims& out) {
  IntegerAttr integers =
      product_attr(b.region, b.unit, out.back(), static_cast<int64_t>(out.size()) - 1);
  Dims bias_dims(out.size(), 1);
  bias_dims.back() = out.back();
  auto pd = describe<dnnl::matmul>(b.engine, integers.attr, src.want, weights.want,
                                   plain_desc(bias_dims), plain_desc(out, b.out_data()));
  src.want = pd.src_desc();
  weights.want = pd.weights_desc();
  Built built;
  built.inputs = {std::move(src), std::move(weights)};
  add_integer_bias(b, integers, bias_dims, built);
  built.out = pd.dst_desc();
  return finish(pd, std::move(built));
}

Built finish_matmul(const Builder& b, Argument src, Argument weights, Dims out, float alpha) {
  if (b.unit.integers && alpha != 1.0f) throw Refusal{"alpha of a product of integers is not 1"};
  if (b.unit.integers) return product_of_integers(b, std::move(src), std::move(weights), out);
  Posts posts = read_posts(b.region, b.unit,
                           Channel{out.back(), static_cast<int64_t>(out.size()) - 1}, alpha);
  if (auto built = product_as_convolution(b, src, weights, posts, out)) return *std::move(built);
  const bool is_flat = has_rows_alone(b, posts);
  if (is_flat) {
    out = {b.out_type().elements() / out.back(), out.back()};
    src = b.vector(DNNL_ARG_SRC, 0, {out.front(), b.type(1).dims.front()});
    weights = matrix_of(b, 2);
  }
  Dims bias_dims(out.size(), 1);
  bias_dims.back() = out.back();
  Desc dst = plain_desc(out, b.data(0));
  Desc bias = posts.bias >= 0 ? plain_desc(bias_dims, b.data(0)) : Desc();
  auto pd = describe<dnnl::matmul>(b.engine, posts.attr, src.want, weights.want, bias, dst);
  if (auto columns = in_columns(weights.want, pd.weights_desc()))
    pd = describe<dnnl::matmul>(b.engine, posts.attr, src.want, *columns, bias, dst);
  src.want = pd.src_desc();
  weights.want = pd.weights_desc();
  Built built;
  built.inputs = {std::move(src), std::move(weights)};
  add_posts(b, posts, pd, bias_dims, bias_of(pd, posts), built);
  built.out = is_flat ? plain_desc(b.out_type()) : pd.dst_desc();
  if (is_flat) built.out_view = pd.dst_desc();
  return finish(pd, std::move(built));
}

}  // namespace

namespace {

// Builds products of vectors, which oneDNN does not have: one row on the left, one column on the
// right, and a result without that dim.
Built build_vector_product(const Builder& b) {
  no_posts(b);
  Dims left = b.type(0).dims, right = b.type(1).dims, out = b.out_type().dims;
  if (left.size() == 1) {
    left.insert(left.begin(), 1);
    out.insert(right.size() == 1 ? out.end() : out.end() - 1, 1);
  }
  if (right.size() == 1) {
    right.push_back(1);
    out.push_back(1);
  }
  left = padded(left, out.size());
  right = padded(right, out.size());
  auto pd =
      describe<dnnl::matmul>(b.engine, user_scratchpad(), plain_desc(left, b.data(0)),
                             plain_desc(right, b.data(1)), Desc(), plain_desc(out, b.data(0)));
  Built built;
  built.inputs = {b.vector(DNNL_ARG_SRC, 0, left), b.vector(DNNL_ARG_WEIGHTS, 1, right)};
  built.out = plain_desc(b.out_type());
  built.out_view = pd.dst_desc();
  return finish(pd, std::move(built));
}

}  // namespace

Built build_matmul(const Builder& b) {
  size_t rank = b.out_type().rank();
  if (b.type(0).rank() < 2 || b.type(1).rank() < 2) {
    if (b.unit.integers) throw Refusal{"products of vectors of integers are not wired up"};
    return build_vector_product(b);
  }
  return finish_matmul(b, operand(b, DNNL_ARG_SRC, 0, rank), matrix_of(b, rank), b.out_type().dims,
                       1.0f);
}

Built build_gemm(const Builder& b) {
  const sdk::Attrs& attrs = b.attrs();
  auto matrix = [&](int index, size_t arg, bool is_transposed) {
    Dims dims = b.type(arg).dims;
    BYOC_ONEDNN_CHECK(dims.size() == 2, "gemm multiplies matrices");
    Desc view = is_transposed ? transposed(dims, b.data(arg)) : plain_desc(b.type(arg));
    return Argument{index, b.unit.args[arg], true, view,
                    view};  // read from plain memory through a view
  };
  Argument weights = matrix(DNNL_ARG_WEIGHTS, 1, attrs.b("trans_b", false));
  if (is_packed(b)) weights.want = b.packed_or_any(1, weights.have);
  return finish_matmul(b, matrix(DNNL_ARG_SRC, 0, attrs.b("trans_a", false)), std::move(weights),
                       b.out_type().dims, static_cast<float>(attrs.f("alpha", 1.0)));
}

}  // namespace byoc::onednn
