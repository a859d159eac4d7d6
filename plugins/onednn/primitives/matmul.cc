#include <algorithm>

#include "primitives/builder.h"

namespace byoc::onednn {

namespace {

Desc transposed(const Dims& stored) {  // the view [n, k] -> [k, n] of memory stored [n, k]
  return Desc({stored[1], stored[0]}, kF32, Dims{1, std::max<int64_t>(stored[1], 1)});
}

Built finish_matmul(const Builder& b, Argument src, Argument weights, const Dims& out,
                    float alpha) {
  Posts posts = read_posts(b.region, b.unit,
                           Channel{out.back(), static_cast<int64_t>(out.size()) - 1}, alpha);
  Dims bias_dims(out.size(), 1);
  bias_dims.back() = out.back();
  Desc dst = plain_desc(out);
  Desc bias = posts.bias >= 0 ? plain_desc(bias_dims) : Desc();
  auto pd = describe<dnnl::matmul>(b.engine, posts.attr, src.want, weights.want, bias, dst);
  src.want = pd.src_desc();
  weights.want = pd.weights_desc();
  Built built;
  built.inputs = {std::move(src), std::move(weights)};
  add_posts(b, posts, bias_dims, bias_of(pd, posts), built);
  built.out = pd.dst_desc();
  return finish(pd, std::move(built));
}

}  // namespace

Built build_matmul(const Builder& b) {
  size_t rank = b.out_type().rank();
  if (b.type(0).rank() < 2 || b.type(1).rank() < 2)
    throw Refusal{"matmul with a vector is not wired up"};
  Dims src = padded(b.type(0).dims, rank), weights = padded(b.type(1).dims, rank);
  Desc any_weights = b.is_constant(1) ? any_desc(weights) : plain_desc(weights);
  return finish_matmul(b, b.reshaped(DNNL_ARG_SRC, b.unit.args[0], src, plain_desc(src)),
                       b.reshaped(DNNL_ARG_WEIGHTS, b.unit.args[1], weights, any_weights),
                       b.out_type().dims, 1.0f);
}

Built build_gemm(const Builder& b) {
  const sdk::Attrs& attrs = b.attrs();
  auto operand = [&](int index, size_t arg, bool is_transposed) {
    Dims dims = b.type(arg).dims;
    Desc view = is_transposed ? transposed(dims) : plain_desc(dims);
    return Argument{index, b.unit.args[arg], true, view,
                    view};  // read from plain memory through a view
  };
  Argument weights = operand(DNNL_ARG_WEIGHTS, 1, attrs.b("trans_b", false));
  if (b.is_constant(1)) weights.want = any_desc(dims_of(weights.have));
  return finish_matmul(b, operand(DNNL_ARG_SRC, 0, attrs.b("trans_a", false)), std::move(weights),
                       b.out_type().dims, static_cast<float>(attrs.f("alpha", 1.0)));
}

}  // namespace byoc::onednn
