#include "primitives/builder.h"

namespace byoc::onednn {

using dnnl::algorithm;

namespace {

// ONNX keeps the weights as [c, o/group, k...], oneDNN wants [g, o/g, c/g, k...]: a view.
Desc transposed_weights(const Dims& stored, int64_t groups, DataType type) {
  Dims dims = stored, strides = plain_strides(stored);
  if (groups == 1) {
    std::swap(dims[0], dims[1]);
    std::swap(strides[0], strides[1]);
    return Desc(dims, type, strides);
  }
  dims[0] /= groups;
  dims.insert(dims.begin(), groups);
  strides.insert(strides.begin(), strides[0] * dims[1]);
  std::swap(dims[1], dims[2]);
  std::swap(strides[1], strides[2]);
  return Desc(dims, type, strides);
}

}  // namespace

Built build_conv(const Builder& b) {
  const sdk::Attrs& attrs = b.attrs();
  int64_t groups = attrs.i("group", 1);
  Dims weight = b.type(1).dims;
  if (groups > 1) {
    weight[0] /= groups;
    weight.insert(weight.begin(), groups);
  }
  int64_t channels = b.out_type().dims[1];
  Posts posts = read_posts(b.region, b.unit, Channel{channels, 1});
  Desc bias = posts.bias >= 0 ? any_desc({channels}, b.data(0)) : Desc();
  auto pd = describe<dnnl::convolution_forward>(
      b.engine, posts.attr, kInference, algorithm::convolution_direct,
      any_desc(b.type(0).dims, b.data(0)), any_desc(weight, b.data(1)), bias,
      any_desc(b.out_type().dims, b.data(0)), attrs.ints("strides"),
      minus_one(attrs.ints("dilations")), halves(attrs.ints("pads"), false),
      halves(attrs.ints("pads"), true));
  Built built;
  built.inputs = {b.as_it_is(DNNL_ARG_SRC, 0, pd.src_desc()),
                  b.reshaped(DNNL_ARG_WEIGHTS, b.unit.args[1], weight, pd.weights_desc())};
  add_posts(b, posts, pd, {channels}, bias_of(pd, posts), built);
  built.out = pd.dst_desc();
  return finish(pd, std::move(built));
}

Built build_conv_transpose(const Builder& b) {
  const sdk::Attrs& attrs = b.attrs();
  Desc view = transposed_weights(b.type(1).dims, attrs.i("group", 1), b.data(1));
  int64_t channels = b.out_type().dims[1];
  Posts posts = read_posts(b.region, b.unit, Channel{channels, 1});
  Desc bias = posts.bias >= 0 ? any_desc({channels}, b.data(0)) : Desc();
  auto pd = describe<dnnl::deconvolution_forward>(
      b.engine, posts.attr, kInference, algorithm::deconvolution_direct,
      any_desc(b.type(0).dims, b.data(0)), any_desc(dims_of(view), b.data(1)), bias,
      any_desc(b.out_type().dims, b.data(0)), attrs.ints("strides"),
      minus_one(attrs.ints("dilations")), halves(attrs.ints("pads"), false),
      halves(attrs.ints("pads"), true));
  Built built;
  built.inputs = {b.as_it_is(DNNL_ARG_SRC, 0, pd.src_desc()),
                  {DNNL_ARG_WEIGHTS, b.unit.args[1], true, view, pd.weights_desc()}};
  add_posts(b, posts, pd, {channels}, bias_of(pd, posts), built);
  built.out = pd.dst_desc();
  return finish(pd, std::move(built));
}

}  // namespace byoc::onednn
