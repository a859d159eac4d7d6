#include "primitives.h"

#include <algorithm>
#include <functional>
#include <map>

#include "post_ops.h"

namespace byoc::onednn {

using dnnl::algorithm;
using dnnl::memory;
constexpr auto kF32 = memory::data_type::f32;
constexpr auto kInference = dnnl::prop_kind::forward_inference;

Desc plain_desc(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t k = dims.size(); k-- > 1;)
    strides[k - 1] = strides[k] * std::max<int64_t>(dims[k], 1);
  return Desc(dims.empty() ? Dims{1} : dims, kF32, dims.empty() ? Dims{1} : strides);
}

Desc plain_desc(const Type& type) { return plain_desc(type.dims); }

namespace {

Desc any_desc(const Dims& dims) { return Desc(dims, kF32, memory::format_tag::any); }

struct Builder {
  const Region& region;
  const Unit& unit;
  const std::vector<Desc>& formats;
  const dnnl::engine& engine;

  const Type& type(size_t arg) const { return region.type(unit.args[arg]); }
  const Type& out_type() const { return region.type(unit.out); }
  const Desc& format(size_t arg) const { return formats[static_cast<size_t>(unit.args[arg])]; }
  Argument as_it_is(int index, size_t arg, Desc want) const {
    return {index, unit.args[arg], false, format(arg), std::move(want)};
  }
  Argument reshaped(int index, int value, const Dims& dims, Desc want) const {
    bool same = region.type(value).dims == dims;
    return {index, value, !same, same ? formats[static_cast<size_t>(value)] : plain_desc(dims),
            std::move(want)};
  }
};

void no_posts(const Builder& b) {
  if (!b.unit.posts.empty())
    throw Refusal{"post-ops behind " + b.unit.node->op + " are not wired up"};
}

template <class PrimitiveDesc>
Built finish(const PrimitiveDesc& pd, Built built) {
  built.primitive = dnnl::primitive(pd);
  built.scratchpad = pd.scratchpad_desc();
  built.implementation = pd.impl_info_str();
  return built;
}

Dims halves(const Dims& pads, bool second) {
  size_t n = pads.size() / 2;
  return second ? Dims(pads.begin() + static_cast<ptrdiff_t>(n), pads.end())
                : Dims(pads.begin(), pads.begin() + static_cast<ptrdiff_t>(n));
}

// oneDNN counts the cells between taps, ONNX the distance.
Dims minus_one(Dims dilations) {
  for (int64_t& d : dilations) --d;
  return dilations;
}

Built build_conv(const Builder& b) {
  const sdk::Attrs& attrs = b.unit.node->attrs;
  int64_t groups = attrs.i("group", 1);
  Dims weight = b.type(1).dims;
  if (groups > 1) {
    weight[0] /= groups;
    weight.insert(weight.begin(), groups);
  }
  int64_t channels = b.out_type().dims[1];
  Posts posts = read_posts(b.region, b.unit, Channel{channels, 1});
  Desc bias = posts.bias >= 0 ? any_desc({channels}) : Desc();
  dnnl::convolution_forward::desc desc(
      kInference, algorithm::convolution_direct, any_desc(b.type(0).dims), any_desc(weight), bias,
      any_desc(b.out_type().dims), attrs.ints("strides"), minus_one(attrs.ints("dilations")),
      halves(attrs.ints("pads"), false), halves(attrs.ints("pads"), true));
  dnnl::convolution_forward::primitive_desc pd(desc, posts.attr, b.engine);
  Built built;
  built.inputs = {b.as_it_is(DNNL_ARG_SRC, 0, pd.src_desc()),
                  b.reshaped(DNNL_ARG_WEIGHTS, b.unit.args[1], weight, pd.weights_desc())};
  if (posts.bias >= 0)
    built.inputs.push_back(b.reshaped(DNNL_ARG_BIAS, posts.bias, {channels}, pd.bias_desc()));
  for (const PostInput& post : posts.inputs)
    built.inputs.push_back(b.reshaped(post.index, post.value, post.dims, plain_desc(post.dims)));
  built.sum = posts.sum;
  built.out = pd.dst_desc();
  return finish(pd, std::move(built));
}

// Dims with leading ones up to `rank`.
Dims padded(const Dims& dims, size_t rank) {
  Dims out(rank - dims.size(), 1);
  out.insert(out.end(), dims.begin(), dims.end());
  return out;
}

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
  dnnl::matmul::desc desc =
      posts.bias >= 0 ? dnnl::matmul::desc(src.want, weights.want, plain_desc(bias_dims), dst)
                      : dnnl::matmul::desc(src.want, weights.want, dst);
  dnnl::matmul::primitive_desc pd(desc, posts.attr, b.engine);
  src.want = pd.src_desc();
  weights.want = pd.weights_desc();
  Built built;
  built.inputs = {std::move(src), std::move(weights)};
  if (posts.bias >= 0)
    built.inputs.push_back(b.reshaped(DNNL_ARG_BIAS, posts.bias, bias_dims, pd.bias_desc()));
  for (const PostInput& post : posts.inputs)
    built.inputs.push_back(b.reshaped(post.index, post.value, post.dims, plain_desc(post.dims)));
  built.sum = posts.sum;
  built.out = pd.dst_desc();
  return finish(pd, std::move(built));
}

bool is_constant(const Builder& b, size_t arg) {
  return b.region.values[static_cast<size_t>(b.unit.args[arg])].origin == Value::kConstant;
}

Built build_matmul(const Builder& b) {
  size_t rank = b.out_type().rank();
  if (b.type(0).rank() < 2 || b.type(1).rank() < 2)
    throw Refusal{"matmul with a vector is not wired up"};
  Dims src = padded(b.type(0).dims, rank), weights = padded(b.type(1).dims, rank);
  Desc any_weights = is_constant(b, 1) ? any_desc(weights) : plain_desc(weights);
  return finish_matmul(b, b.reshaped(DNNL_ARG_SRC, b.unit.args[0], src, plain_desc(src)),
                       b.reshaped(DNNL_ARG_WEIGHTS, b.unit.args[1], weights, any_weights),
                       b.out_type().dims, 1.0f);
}

Built build_gemm(const Builder& b) {
  const sdk::Attrs& attrs = b.unit.node->attrs;
  auto operand = [&](int index, size_t arg, bool is_transposed) {
    Dims dims = b.type(arg).dims;
    Desc view = is_transposed ? transposed(dims) : plain_desc(dims);
    return Argument{index, b.unit.args[arg], true, view,
                    view};  // read from plain memory through a view
  };
  Argument weights = operand(DNNL_ARG_WEIGHTS, 1, attrs.b("trans_b", false));
  if (is_constant(b, 1)) weights.want = any_desc(weights.have.dims());
  return finish_matmul(b, operand(DNNL_ARG_SRC, 0, attrs.b("trans_a", false)), std::move(weights),
                       b.out_type().dims, static_cast<float>(attrs.f("alpha", 1.0)));
}

// The window a pooling op slides; the right padding grows to what ceil_mode reaches into.
struct Window {
  Dims kernel, strides, dilations, begin, end;
  bool grew = false;
};

Window read_window(const Builder& b) {
  const sdk::Attrs& attrs = b.unit.node->attrs;
  size_t spatial = b.type(0).rank() - 2;
  Dims pads = attrs.ints("pads");
  if (pads.empty()) pads.assign(2 * spatial, 0);
  Window w{attrs.ints("kernel_shape"), attrs.ints("strides"), attrs.ints("dilations"),
           halves(pads, false), halves(pads, true)};
  if (w.strides.empty()) w.strides.assign(spatial, 1);
  if (w.dilations.empty()) w.dilations.assign(spatial, 1);
  for (size_t k = 0; k < spatial; ++k) {
    int64_t in = b.type(0).dims[k + 2], out = b.out_type().dims[k + 2];
    int64_t needed =
        (out - 1) * w.strides[k] + (w.kernel[k] - 1) * w.dilations[k] + 1 - in - w.begin[k];
    if (needed > w.end[k]) {
      w.end[k] = needed;
      w.grew = true;
    }
  }
  return w;
}

Built pool_with(const Builder& b, algorithm how, const Window& w) {
  no_posts(b);
  dnnl::pooling_v2_forward::desc desc(kInference, how, b.format(0), any_desc(b.out_type().dims),
                                      w.strides, w.kernel, minus_one(w.dilations), w.begin, w.end);
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::pooling_v2_forward::primitive_desc pd(desc, attr, b.engine);
  Built built;
  built.inputs = {b.as_it_is(DNNL_ARG_SRC, 0, pd.src_desc())};
  built.out = pd.dst_desc();
  return finish(pd, std::move(built));
}

Built build_max_pool(const Builder& b) {
  return pool_with(b, algorithm::pooling_max, read_window(b));
}

Built build_average_pool(const Builder& b) {
  Window w = read_window(b);
  bool include = b.unit.node->attrs.b("count_include_pad", false);
  if (include && w.grew)
    throw Refusal{"ceil_mode with count_include_pad counts cells that oneDNN does not"};
  return pool_with(
      b, include ? algorithm::pooling_avg_include_padding : algorithm::pooling_avg_exclude_padding,
      w);
}

Built build_global_average_pool(const Builder& b) {
  Dims spatial(b.type(0).dims.begin() + 2, b.type(0).dims.end()), zeros(spatial.size(), 0),
      ones(spatial.size(), 1);
  return pool_with(b, algorithm::pooling_avg_exclude_padding, {spatial, ones, ones, zeros, zeros});
}

Built build_eltwise(const Builder& b) {
  no_posts(b);
  Eltwise row = *find_eltwise(*b.unit.node);
  dnnl::eltwise_forward::desc desc(kInference, row.how, b.format(0), row.alpha, row.beta);
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::eltwise_forward::primitive_desc pd(desc, attr, b.engine);
  Built built;
  built.inputs = {b.as_it_is(DNNL_ARG_SRC, 0, pd.src_desc())};
  built.out = pd.dst_desc();
  return finish(pd, std::move(built));
}

// oneDNN broadcasts its second operand alone; these ops commute, so the full one goes first.
Built build_binary(const Builder& b) {
  no_posts(b);
  const Dims& out = b.out_type().dims;
  size_t full = b.type(0).dims == out ? 0 : 1;
  if (b.type(full).dims != out) throw Refusal{"both operands are broadcast; oneDNN broadcasts one"};
  if (out.empty()) throw Refusal{"scalars are not wired up"};
  Dims other = padded(b.type(1 - full).dims, out.size());
  bool same =
      b.type(1 - full).dims == out;  // of one rank as well, or it is seen through other dims
  Desc first = b.format(full), second = same ? first : plain_desc(other);
  dnnl::binary::desc desc(find_binary(*b.unit.node)->how, first, second, first);
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::binary::primitive_desc pd(desc, attr, b.engine);
  Built built;
  built.inputs = {b.as_it_is(DNNL_ARG_SRC_0, full, first)};
  if (same) built.inputs.push_back(b.as_it_is(DNNL_ARG_SRC_1, 1 - full, second));
  else built.inputs.push_back(b.reshaped(DNNL_ARG_SRC_1, b.unit.args[1 - full], other, second));
  built.out = pd.dst_desc();
  return finish(pd, std::move(built));
}

const std::map<std::string, Built (*)(const Builder&), std::less<>> kRows = {
    {"conv2d", build_conv},
    {"matmul", build_matmul},
    {"gemm", build_gemm},
    {"max_pool", build_max_pool},
    {"average_pool", build_average_pool},
    {"global_average_pool", build_global_average_pool},
};

void check_types(const Region& region, const Unit& unit) {
  std::vector<int> values = unit.args;
  values.push_back(unit.out);
  for (const Post& post : unit.posts) {
    if (post.other >= 0) values.push_back(post.other);
  }
  for (int value : values) {
    const Type& type = region.type(value);
    if (type.dtype != sdk::DType::kF32)
      throw Refusal{std::string(sdk::dtype_name(type.dtype)) + " is not wired up, only f32 is"};
    if (!type.is_static()) throw Refusal{"dims must be numbers, not " + type.text()};
    if (type.elements() == 0) throw Refusal{"empty tensors are not wired up: " + type.text()};
    if (type.rank() > 6)
      throw Refusal{"rank " + std::to_string(type.rank()) + " is not wired up, at most 6 is"};
  }
}

}  // namespace

Built build_unit(const Region& region, const Unit& unit, const std::vector<Desc>& formats,
                 const dnnl::engine& engine) {
  check_types(region, unit);
  Builder builder{region, unit, formats, engine};
  auto row = kRows.find(unit.node->op);
  try {
    if (row != kRows.end()) return row->second(builder);
    if (find_eltwise(*unit.node)) return build_eltwise(builder);
    if (find_binary(*unit.node)) return build_binary(builder);
  } catch (const dnnl::error& e) {
    throw Refusal{"oneDNN has no implementation for this " + unit.node->op + ": " + e.what()};
  }
  throw Refusal{unit.node->op + " is not wired up"};
}

}  // namespace byoc::onednn
