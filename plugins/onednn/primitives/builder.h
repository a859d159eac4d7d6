// SPDX-License-Identifier: Apache-2.0
#pragma once
// The shared part of the rows: a unit to be built, and the usual ways to describe its arguments.
#include "integers/integers.h"
#include "library/code_memory.h"
#include "primitives/post_ops.h"
#include "primitives/primitives.h"

namespace byoc::onednn {

constexpr auto kF32 = dnnl::memory::data_type::f32;
constexpr auto kInference = dnnl::prop_kind::forward_inference;

struct Builder {
  const Region& region;
  const Unit& unit;
  const std::vector<Desc>& formats;
  const dnnl::engine& engine;
  const Choices& choices;
  bool wants_plain = false;  // the operands are brought to the plain layout first

  const sdk::Attrs& attrs() const { return unit.node->attrs; }
  int value(size_t arg) const {
    BYOC_ONEDNN_CHECK(arg < unit.args.size(), unit.node->op + " has another operand");
    return unit.args[arg];
  }
  const Type& type(size_t arg) const { return region.type(value(arg)); }
  const Type& out_type() const { return region.type(unit.out); }
  DataType data(size_t arg) const { return data_type(type(arg).dtype); }
  /// Returns the operand's present or planned layout.
  Desc format(size_t arg) const {
    return wants_plain ? plain_desc(type(arg)) : formats[static_cast<size_t>(unit.args[arg])];
  }
  /// Returns the type of the result's elements.
  DataType out_data() const { return data_type(out_type().dtype); }
  /// Returns the type of a bias, f32 for integers.
  DataType bias_data() const { return unit.integers ? DataType::f32 : data(0); }
  bool is_constant(size_t arg) const { return region.at(value(arg)).origin == Value::kConstant; }
  /// Returns the layout to require of a constant that the graph has in the layout `have`: any; with
  /// Choices::packed the one that is there, else `have`.
  Desc packed_or_any(size_t arg, const Desc& have) const;
  Argument as_it_is(int index, size_t arg, Desc want) const {
    return {index, unit.args[arg], wants_plain, format(arg), std::move(want)};
  }
  /// Returns the value as an argument with other dims of as many elements.
  Argument reshaped(int index, int value, const Dims& dims, Desc want) const;
  /// Returns the same as an argument whose required layout is plain.
  Argument vector(int index, size_t arg, const Dims& dims) const;
};

Desc any_desc(const Dims& dims, DataType type);
/// Images in blocks of channels, nChw8c or nChw16c.
struct Blocks {
  int64_t size;  // channels
  Desc desc;
  /// Returns the same blocks of an image of other dims.
  Desc with_dims(const Dims& dims) const;
};
/// Returns f32 operand `arg` as it is when its layout has blocks; nothing otherwise.
std::optional<Blocks> find_blocks(const Builder& builder, size_t arg);
/// Returns the same or, for a plain operand, the blocks that this CPU's primitives take.
std::optional<Blocks> find_or_make_blocks(const Builder& builder, size_t arg);
/// Returns f32 images [n, c, h, w] whose channels come last.
Desc channels_last(const Dims& dims);
/// Returns whether operand `arg` is such images, with channels.
bool has_channels_last(const Builder& builder, size_t arg);
/// Returns dims with leading ones up to `rank`.
Dims padded(const Dims& dims, size_t rank);
Dims halves(const Dims& pads, bool second);
/// Converts ONNX's dilations, distances between taps, to oneDNN's, cells between taps.
Dims minus_one(Dims dilations);
/// Returns an axis attribute as an index. The op's schema has checked its range.
size_t axis_of(const Builder& builder, std::string_view name, int64_t fallback);
dnnl::primitive_attr user_scratchpad();
/// Throws Refusal when the unit has post-ops.
void no_posts(const Builder& builder);

template <class PrimitiveDesc>
Built finish(const PrimitiveDesc& pd, Built built) {
  require_code_memory();
  built.primitive = dnnl::primitive(pd.get());
  built.scratchpad = pd.scratchpad_desc();
  built.implementation = pd.impl_info_str();
  return built;
}

/// Appends the bias and the operands of the post-ops.
void add_posts(const Builder& builder, const Posts& posts, const dnnl::primitive_desc_base& pd,
               const Dims& bias_dims, const Desc& bias, Built& built);
/// Appends the vector that is added to the sums of integers.
void add_integer_bias(const Builder& builder, const IntegerAttr& integers, const Dims& dims,
                      Built& built);
template <class PrimitiveDesc>
Desc bias_of(const PrimitiveDesc& pd, const Posts& posts) {
  return posts.bias >= 0 ? pd.bias_desc() : Desc();
}

// One function per row of the table in primitives.cc; all throw Refusal or dnnl::error.
Built build_conv(const Builder& builder);  // conv.cc
Built build_conv_transpose(const Builder& builder);
Built build_matmul(const Builder& builder);  // matmul.cc
Built build_gemm(const Builder& builder);
Built build_max_pool(const Builder& builder);  // pool.cc
Built build_average_pool(const Builder& builder);
Built build_global_max_pool(const Builder& builder);
Built build_global_average_pool(const Builder& builder);
Built build_eltwise(const Builder& builder);  // elementwise.cc
Built build_binary(const Builder& builder);
Built build_sum_of_integers(const Builder& builder);
Built build_batch_norm(const Builder& builder);  // normalize.cc
Built build_layer_norm(const Builder& builder);
Built build_lrn(const Builder& builder);
Built build_softmax(const Builder& builder);
Built build_log_softmax(const Builder& builder);
Built build_reduction(const Builder& builder);  // reduce.cc
Built build_concat(const Builder& builder);     // move.cc
Built build_view(const Builder& builder);
Built build_layout_transform(const Builder& builder);
Built build_transpose(const Builder& builder);
Built build_subview(const Builder& builder);
Built build_prelu(const Builder& builder);   // elementwise.cc
Built build_resize(const Builder& builder);  // resample.cc
Built build_where(const Builder& builder);   // loops.cc
Built build_pad(const Builder& builder);

}  // namespace byoc::onednn
