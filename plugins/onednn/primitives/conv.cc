// SPDX-License-Identifier: Apache-2.0
#include "library/implementations.h"
#include "primitives/builder.h"
#include "primitives/conv_loop.h"

namespace byoc::onednn {

using dnnl::algorithm;

namespace {

// Returns weights as a view: ONNX stores them as [c, o/group, k...], oneDNN reads [g,
// o/g, c/g, k...].
Desc transposed_weights(const Dims& stored, int64_t groups, DataType type) {
  Dims dims = stored, strides = plain_strides(stored);
  if (groups == 1) {
    std::swap(dims[0], dims[1]);
    std::swap(strides[0], strides[1]);
    return strided_desc(dims, type, strides);
  }
  dims[0] /= groups;
  dims.insert(dims.begin(), groups);
  strides.insert(strides.begin(), strides[0] * dims[1]);
  std::swap(dims[1], dims[2]);
  std::swap(strides[1], strides[2]);
  return strided_desc(dims, type, strides);
}

using Tag = dnnl::memory::format_tag;

// Describes images in a layout, at any rank: "blocked" (blocks of channels, as many as a vector has
// elements), "nhwc" (channels last), "plain", or oneDNN's own.
Desc image_desc(const std::string& layout, const Dims& dims, DataType type) {
  if (layout == "plain") return plain_desc(dims, type);
  if (dims.size() < 3 || dims.size() > 5) return any_desc(dims, type);
  constexpr Tag kChannelsLast[] = {Tag::nwc, Tag::nhwc, Tag::ndhwc},
                kEights[] = {Tag::nCw8c, Tag::nChw8c, Tag::nCdhw8c},
                kSixteens[] = {Tag::nCw16c, Tag::nChw16c, Tag::nCdhw16c};
  const bool is_wide = isa_text().starts_with("avx512");
  const size_t row = dims.size() - 3;
  if (layout == "nhwc") return Desc(dims, type, kChannelsLast[row]);
  if (layout == "blocked" && dims[1] % (is_wide ? 16 : 8) == 0)
    return Desc(dims, type, (is_wide ? kSixteens : kEights)[row]);
  return any_desc(dims, type);
}

// Returns whether the operand has the blocks of this CPU's kernels, and the convolution is one that
// loses little in them, although oneDNN prefers channels last: of 1x1, or of one channel a group
// (plugins/onednn/README.md, "Kernels of each op").
bool stays_in_blocks(const Builder& b) {
  const Dims &image = b.type(0).dims, &kernel = b.type(1).dims, &out = b.out_type().dims;
  if (b.unit.node->op != "conv2d" || b.choices.convolution != "loop" ||
      b.data(0) != DataType::f32 || out[1] % 16 != 0 || !isa_text().starts_with("avx512") ||
      b.format(0) != Desc(image, kF32, Tag::nChw16c))
    return false;
  const int64_t groups = b.attrs().i("group", 1);
  if (groups == 1) return kernel[2] == 1 && kernel[3] == 1;
  return groups == image[1] && groups == out[1];
}

// Describes a convolution in the layout that was chosen, or in oneDNN's where it has only a
// reference kernel for the chosen one.
template <class Convolution>
typename Convolution::primitive_desc describe_images(const Builder& b, algorithm how,
                                                     const Desc& weights, const Desc& bias,
                                                     const dnnl::primitive_attr& attr) {
  const sdk::Attrs& attrs = b.attrs();
  auto in = [&](const std::string& layout) {
    return describe<Convolution>(
        b.engine, attr, kInference, how, image_desc(layout, b.type(0).dims, b.data(0)), weights,
        bias, image_desc(layout, b.out_type().dims, b.out_data()), attrs.ints("strides"),
        minus_one(attrs.ints("dilations")), halves(attrs.ints("pads"), false),
        halves(attrs.ints("pads"), true));
  };
  const std::string layout = stays_in_blocks(b) ? "blocked" : b.choices.convolution;
  if (layout == "any" || layout == "loop") return in("any");
  try {
    auto pd = in(layout);
    if (!is_reference(pd.impl_info_str())) return pd;
  } catch (const dnnl::error&) {
  }
  return in("any");
}

// Returns whether a relu follows, alone or after a bias and a sum: the loop computes these, too.
bool has_relu(const Unit& unit) {
  return !unit.posts.empty() && unit.posts.back().node->op == "relu";
}
bool is_simple_chain(const Unit& unit, const Posts& posts) {
  size_t known = size_t{posts.bias >= 0} + size_t{posts.sum >= 0} + size_t{has_relu(unit)};
  return posts.inputs.empty() && unit.posts.size() == known;
}

// Returns whether oneDNN would run its AVX2 kernel for images in blocks of channels, in that
// kernel's layouts.
bool is_blocked_avx2(const Builder& b, const dnnl::convolution_forward::primitive_desc& pd) {
  return is_blocked_convolution_avx2(pd.impl_info_str()) && b.type(1).rank() == 4 &&
         b.data(0) == DataType::f32 && b.attrs().i("group", 1) == 1 &&
         pd.src_desc() == Desc(b.type(0).dims, kF32, Tag::nChw8c) &&
         pd.weights_desc() == Desc(b.type(1).dims, kF32, Tag::OIhw8i8o) &&
         pd.dst_desc() == Desc(b.out_type().dims, kF32, Tag::nChw8c);
}

std::optional<Loop> find_loop(const Builder& b, const Posts& posts,
                              const dnnl::convolution_forward::primitive_desc& pd) {
  if (b.choices.convolution != "loop" || !is_blocked_avx2(b, pd) || !is_simple_chain(b.unit, posts))
    return std::nullopt;
  const Dims &in = b.type(0).dims, &out = b.out_type().dims, &kernel = b.type(1).dims;
  Dims strides = b.attrs().ints("strides"), steps = b.attrs().ints("dilations"),
       pads = b.attrs().ints("pads");
  BYOC_ONEDNN_CHECK(strides.size() == 2 && steps.size() == 2 && pads.size() == 4,
                    "oneDNN has accepted the convolution's attributes");
  return find_conv_loop({in[0], in[1], out[1], in[2], in[3], out[2], out[3], kernel[2], kernel[3],
                         strides[0], strides[1], steps[0], steps[1], pads[0], pads[1],
                         posts.bias >= 0, posts.sum >= 0, has_relu(b.unit)});
}

Desc weights_of(const Builder& b, const Dims& dims) {
  return b.packed_or_any(1, plain_desc(dims, b.data(1)));
}

Built conv_of_integers(const Builder& b, const Dims& weight, int64_t channels) {
  IntegerAttr integers = product_attr(b.region, b.unit, channels, 1);
  auto pd = describe_images<dnnl::convolution_forward>(b, algorithm::convolution_direct,
                                                       weights_of(b, weight),
                                                       any_desc({channels}, kF32), integers.attr);
  Built built;
  built.inputs = {b.as_it_is(DNNL_ARG_SRC, 0, pd.src_desc()),
                  b.reshaped(DNNL_ARG_WEIGHTS, b.unit.args[1], weight, pd.weights_desc())};
  add_integer_bias(b, integers, {channels}, built);
  built.out = pd.dst_desc();
  return finish(pd, std::move(built));
}

}  // namespace

Built build_conv(const Builder& b) {
  const sdk::Attrs& attrs = b.attrs();
  int64_t groups = attrs.i("group", 1);
  Dims weight = b.type(1).dims;
  BYOC_ONEDNN_CHECK(groups >= 1 && weight.size() >= 3 && weight.size() == b.out_type().rank(),
                    "conv has weights [o, c / group, k...] of its result's rank");
  if (groups > 1) {
    weight[0] /= groups;
    weight.insert(weight.begin(), groups);
  }
  int64_t channels = b.out_type().dims[1];
  if (b.unit.integers) return conv_of_integers(b, weight, channels);
  Posts posts = read_posts(b.region, b.unit, Channel{channels, 1});
  Desc bias = posts.bias >= 0 ? any_desc({channels}, b.data(0)) : Desc();
  auto pd = describe_images<dnnl::convolution_forward>(b, algorithm::convolution_direct,
                                                       weights_of(b, weight), bias, posts.attr);
  Built built;
  built.inputs = {b.as_it_is(DNNL_ARG_SRC, 0, pd.src_desc()),
                  b.reshaped(DNNL_ARG_WEIGHTS, b.unit.args[1], weight, pd.weights_desc())};
  add_posts(b, posts, pd, {channels}, bias_of(pd, posts), built);
  built.out = pd.dst_desc();
  std::optional<Loop> loop = find_loop(b, posts, pd);
  if (!loop) return finish(pd, std::move(built));
  built.loop = *std::move(loop);
  built.implementation = kOwnLoopAvx2;
  return built;
}

Built build_conv_transpose(const Builder& b) {
  const sdk::Attrs& attrs = b.attrs();
  BYOC_ONEDNN_CHECK(b.type(1).rank() >= 3 && b.type(1).rank() == b.out_type().rank(),
                    "a transposed convolution has weights [c, o / group, k...]");
  Desc view = transposed_weights(b.type(1).dims, attrs.i("group", 1), b.data(1));
  int64_t channels = b.out_type().dims[1];
  Posts posts = read_posts(b.region, b.unit, Channel{channels, 1});
  Desc bias = posts.bias >= 0 ? any_desc({channels}, b.data(0)) : Desc();
  auto pd = describe_images<dnnl::deconvolution_forward>(
      b, algorithm::deconvolution_direct, b.packed_or_any(1, view), bias, posts.attr);
  Built built;
  built.inputs = {b.as_it_is(DNNL_ARG_SRC, 0, pd.src_desc()),
                  {DNNL_ARG_WEIGHTS, b.unit.args[1], true, view, pd.weights_desc()}};
  add_posts(b, posts, pd, {channels}, bias_of(pd, posts), built);
  built.out = pd.dst_desc();
  return finish(pd, std::move(built));
}

}  // namespace byoc::onednn
