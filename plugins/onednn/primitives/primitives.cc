#include "primitives/primitives.h"

#include <algorithm>
#include <functional>
#include <map>

#include "primitives/builder.h"

namespace byoc::onednn {

Dims plain_strides(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t k = dims.size(); k-- > 1;)
    strides[k - 1] = strides[k] * std::max<int64_t>(dims[k], 1);
  return strides;
}

Desc plain_desc(const Dims& dims) {
  return dims.empty() ? Desc({1}, kF32, Dims{1}) : Desc(dims, kF32, plain_strides(dims));
}

Desc plain_desc(const Type& type) { return plain_desc(type.dims); }

Desc any_desc(const Dims& dims) { return Desc(dims, kF32, dnnl::memory::format_tag::any); }

Argument Builder::reshaped(int index, int value, const Dims& dims, Desc want) const {
  bool same = region.type(value).dims == dims;
  return {index, value, !same, same ? formats[static_cast<size_t>(value)] : plain_desc(dims),
          std::move(want)};
}

Argument Builder::vector(int index, size_t arg, const Dims& dims) const {
  return reshaped(index, unit.args[arg], dims, plain_desc(dims));
}

void no_posts(const Builder& b) {
  if (!b.unit.posts.empty())
    throw Refusal{"post-ops behind " + b.unit.node->op + " are not wired up"};
}

Dims halves(const Dims& pads, bool second) {
  auto middle = pads.begin() + static_cast<ptrdiff_t>(pads.size() / 2);
  return second ? Dims(middle, pads.end()) : Dims(pads.begin(), middle);
}

Dims minus_one(Dims dilations) {
  for (int64_t& d : dilations) --d;
  return dilations;
}

Dims padded(const Dims& dims, size_t rank) {
  Dims out(rank - dims.size(), 1);
  out.insert(out.end(), dims.begin(), dims.end());
  return out;
}

size_t axis_of(const Builder& b, std::string_view name, int64_t fallback) {
  int64_t axis = b.attrs().i(name, fallback), rank = static_cast<int64_t>(b.type(0).rank());
  return static_cast<size_t>(axis < 0 ? axis + rank : axis);
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

void add_posts(const Builder& b, const Posts& posts, const Dims& bias_dims, const Desc& bias,
               Built& built) {
  if (posts.bias >= 0)
    built.inputs.push_back(b.reshaped(DNNL_ARG_BIAS, posts.bias, bias_dims, bias));
  for (const PostInput& post : posts.inputs)
    built.inputs.push_back(b.reshaped(post.index, post.value, post.dims, plain_desc(post.dims)));
  built.sum = posts.sum;
}

namespace {

const std::map<std::string, Built (*)(const Builder&), std::less<>> kRows = {
    {"conv1d", build_conv},
    {"conv2d", build_conv},
    {"conv3d", build_conv},
    {"conv1d_transpose", build_conv_transpose},
    {"conv2d_transpose", build_conv_transpose},
    {"conv3d_transpose", build_conv_transpose},
    {"matmul", build_matmul},
    {"gemm", build_gemm},
    {"max_pool", build_max_pool},
    {"average_pool", build_average_pool},
    {"global_max_pool", build_global_max_pool},
    {"global_average_pool", build_global_average_pool},
    {"batch_norm", build_batch_norm},
    {"layer_norm", build_layer_norm},
    {"lrn", build_lrn},
    {"softmax", build_softmax},
    {"log_softmax", build_log_softmax},
    {"mean", build_reduction},
    {"sum", build_reduction},
    {"max", build_reduction},
    {"min", build_reduction},
    {"prod", build_reduction},
    {"l1", build_reduction},
    {"l2", build_reduction},
    {"sum_square", build_reduction},
    {"concat", build_concat},
    {"reshape", build_view},
    {"flatten", build_view},
    {"squeeze", build_view},
    {"unsqueeze", build_view},
    {"transpose", build_transpose},
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
    if (!find_eltwise(*unit.node).empty()) return build_eltwise(builder);
    if (find_binary(*unit.node)) return build_binary(builder);
  } catch (const dnnl::error& e) {
    throw Refusal{"oneDNN has no implementation for this " + unit.node->op + ": " + e.what()};
  }
  throw Refusal{unit.node->op + " is not wired up"};
}

}  // namespace byoc::onednn
