// SPDX-License-Identifier: Apache-2.0
#include "primitives/primitives.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "library/implementations.h"
#include "primitives/builder.h"
#include "region/chain.h"

namespace byoc::onednn {

Dims plain_strides(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t k = dims.size(); k-- > 1;)
    strides[k - 1] = strides[k] * std::max<int64_t>(dims[k], 1);
  return strides;
}

namespace {

int64_t count(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace

std::optional<DataType> find_data_type(sdk::DType dtype) {
  switch (dtype) {
    case sdk::DType::kF32:
      return DataType::f32;
    case sdk::DType::kF16:
      return DataType::f16;
    case sdk::DType::kBF16:
      return DataType::bf16;
    case sdk::DType::kI8:
      return DataType::s8;
    case sdk::DType::kU8:
    case sdk::DType::kBool:
      return DataType::u8;
    case sdk::DType::kI32:
      return DataType::s32;
    default:
      return std::nullopt;
  }
}

DataType data_type(sdk::DType dtype) {
  if (auto type = find_data_type(dtype)) return *type;
  throw Refusal{"oneDNN has no " + std::string(sdk::dtype_name(dtype))};
}

Desc plain_or_none(const Type& type) {
  bool has_one = type.is_static() && type.rank() <= 6 && find_data_type(type.dtype);
  return has_one ? plain_desc(type) : Desc();
}

Desc plain_desc(const Dims& dims, DataType type) {
  return dims.empty() ? Desc({1}, type, Dims{1}) : Desc(dims, type, plain_strides(dims));
}

Desc plain_desc(const Type& type) { return plain_desc(type.dims, data_type(type.dtype)); }

Desc strided_desc(const Dims& dims, DataType type, Dims strides) {
  BYOC_ONEDNN_CHECK(strides.size() == dims.size(), "there is a stride per dim");
  int64_t span = 1;  // the span of the dims after d
  for (size_t d = dims.size(); d-- > 0;) {
    if (dims[d] == 1) strides[d] = span;
    else span = std::max(span, strides[d] * dims[d]);
  }
  return Desc(dims, type, strides);
}

Desc canonical(const Desc& desc, DataType type) {
  Dims dims = dims_of(desc);
  std::optional<Dims> strides = plain_strides_of(desc);
  return strides && !dims.empty() ? strided_desc(dims, type, *std::move(strides)) : desc;
}

Desc any_desc(const Dims& dims, DataType type) {
  return Desc(dims, type, dnnl::memory::format_tag::any);
}

Desc Blocks::with_dims(const Dims& dims) const {
  using Tag = dnnl::memory::format_tag;
  return Desc(dims, kF32, size == 8 ? Tag::nChw8c : Tag::nChw16c);
}

namespace {

std::optional<Blocks> blocks_of(const Builder& b, size_t arg, int64_t size) {
  const Dims& dims = b.type(arg).dims;
  if (dims.size() != 4 || b.data(arg) != DataType::f32 || dims[1] % size != 0) return std::nullopt;
  Blocks blocks{size, Desc()};
  blocks.desc = blocks.with_dims(dims);
  return blocks;
}

}  // namespace

std::optional<Blocks> find_blocks(const Builder& b, size_t arg) {
  for (int64_t size : {8, 16}) {
    std::optional<Blocks> blocks = blocks_of(b, arg, size);
    if (blocks && blocks->desc == b.format(arg)) return blocks;
  }
  return std::nullopt;
}

std::optional<Blocks> find_or_make_blocks(const Builder& b, size_t arg) {
  if (std::optional<Blocks> blocks = find_blocks(b, arg)) return blocks;
  if (b.format(arg) != plain_desc(b.type(arg))) return std::nullopt;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return blocks_of(b, arg, 16);
#endif
  return blocks_of(b, arg, 8);
}

Desc channels_last(const Dims& dims) {
  const int64_t h = std::max<int64_t>(dims[2], 1), w = std::max<int64_t>(dims[3], 1),
                c = std::max<int64_t>(dims[1], 1);
  return strided_desc(dims, kF32, {h * w * c, 1, w * c, c});
}

bool has_channels_last(const Builder& b, size_t arg) {
  const Dims& dims = b.type(arg).dims;
  return dims.size() == 4 && dims[1] > 0 && b.format(arg) == channels_last(dims);
}

// Splits and merges runs of dims that follow each other without a gap; dims of 1 are skipped.
std::optional<Dims> reshaped_strides(const Dims& dims, const Dims& strides, const Dims& to) {
  BYOC_ONEDNN_CHECK(count(dims) == count(to) && count(to) > 0,
                    "a reshape has as many elements as its operand, and some");
  BYOC_ONEDNN_CHECK(strides.size() == dims.size(), "there is a stride per dim");
  Dims old_dims, old_strides, out(to.size(), 1);
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 1) continue;
    old_dims.push_back(dims[d]);
    old_strides.push_back(strides[d]);
  }
  size_t first = 0, from = 0;
  while (first < to.size() && from < old_dims.size()) {
    size_t last = first, end = from;
    int64_t want = to[first], have = old_dims[from];
    while (want != have) want < have ? want *= to[++last] : have *= old_dims[++end];
    for (size_t d = from; d < end; ++d) {
      if (old_strides[d] != old_dims[d + 1] * old_strides[d + 1]) return std::nullopt;
    }
    int64_t stride = old_strides[end];
    for (size_t d = last + 1; d-- > first; stride *= to[d]) out[d] = stride;
    first = last + 1;
    from = end + 1;
  }
  return out;
}

Argument Builder::reshaped(int index, int value, const Dims& dims, Desc want) const {
  const Type& type = region.type(value);
  bool same = type.dims == dims && !wants_plain;
  Desc have = same ? formats[static_cast<size_t>(value)] : plain_desc(dims, data_type(type.dtype));
  return {index, value, !same, std::move(have), std::move(want)};
}

Desc without_leading_ones(const Desc& desc) {
  Dims dims = dims_of(desc);
  std::optional<Dims> strides = plain_strides_of(desc);
  if (!strides || desc.get_size() == 0) return desc;
  size_t ones = 0;
  while (dims.size() > ones + 2 && dims[ones] == 1) ++ones;
  if (ones == 0) return desc;
  const auto first = static_cast<ptrdiff_t>(ones);
  return desc.reshape({dims.begin() + first, dims.end()});
}

Desc Builder::packed_or_any(size_t arg, const Desc& have) const {
  if (choices.packed == nullptr || !is_constant(arg)) return any_desc(dims_of(have), data(arg));
  const uint32_t constant = region.at(value(arg)).index;
  auto found = choices.packed->find({constant, layout_text(without_leading_ones(have))});
  if (found == choices.packed->end()) found = choices.packed->find({constant, layout_text(have)});
  if (found == choices.packed->end()) return have;  // no copy: products of a few rows
  const bool same_rank = dims_of(found->second).size() == dims_of(have).size();
  return same_rank ? found->second : found->second.reshape(dims_of(have));
}

Argument Builder::vector(int index, size_t arg, const Dims& dims) const {
  return reshaped(index, unit.args[arg], dims, plain_desc(dims, data(arg)));
}

void no_posts(const Builder& b) {
  if (!b.unit.posts.empty())
    throw Refusal{"post-ops after " + b.unit.node->op + " are not wired up"};
}

Dims halves(const Dims& pads, bool second) {
  BYOC_ONEDNN_CHECK(pads.size() % 2 == 0, "pads are as many at the end as at the beginning");
  auto middle = pads.begin() + static_cast<ptrdiff_t>(pads.size() / 2);
  return second ? Dims(middle, pads.end()) : Dims(pads.begin(), middle);
}

Dims minus_one(Dims dilations) {
  for (int64_t& d : dilations) --d;
  return dilations;
}

Dims padded(const Dims& dims, size_t rank) {
  BYOC_ONEDNN_CHECK(dims.size() <= rank, "dims are only ever added");
  Dims out(rank - dims.size(), 1);
  out.insert(out.end(), dims.begin(), dims.end());
  return out;
}

size_t axis_of(const Builder& b, std::string_view name, int64_t fallback) {
  int64_t axis = b.attrs().i(name, fallback), rank = static_cast<int64_t>(b.type(0).rank());
  if (axis < 0) axis += rank;
  BYOC_ONEDNN_CHECK(axis >= 0 && axis < rank, b.unit.node->op + " has an axis of its operand");
  return static_cast<size_t>(axis);
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

void add_posts(const Builder& b, const Posts& posts, const dnnl::primitive_desc_base& pd,
               const Dims& bias_dims, const Desc& bias, Built& built) {
  if (posts.bias >= 0)
    built.inputs.push_back(b.reshaped(DNNL_ARG_BIAS, posts.bias, bias_dims, bias));
  BYOC_ONEDNN_CHECK(posts.bias < 0 || bias.get_size() > 0, "oneDNN has a layout for the bias");
  for (const PostInput& post : posts.inputs) {
    DataType type = data_type(b.region.type(post.value).dtype);
    Desc want = post.whole ? pd.query_md(dnnl::query::exec_arg_md, post.index)
                           : plain_desc(post.dims, type);
    built.inputs.push_back(b.reshaped(post.index, post.value, post.dims, want));
  }
  built.sum = posts.sum;
}

void add_integer_bias(const Builder& b, const IntegerAttr& integers, const Dims& dims,
                      Built& built) {
  Desc desc = plain_desc(dims);
  built.inputs.push_back(
      {DNNL_ARG_BIAS, b.unit.integers->second.scale, true, desc, desc, integers.bias});
}

namespace {

struct Row {
  Built (*build)(const Builder&);
  Kind kind;
};

const std::map<std::string, Row, std::less<>> kRows = {
    {"conv1d", {build_conv, Kind::kConvolution}},
    {"conv2d", {build_conv, Kind::kConvolution}},
    {"conv3d", {build_conv, Kind::kConvolution}},
    {"conv1d_transpose", {build_conv_transpose, Kind::kTransposedConvolution}},
    {"conv2d_transpose", {build_conv_transpose, Kind::kTransposedConvolution}},
    {"conv3d_transpose", {build_conv_transpose, Kind::kTransposedConvolution}},
    {"matmul", {build_matmul, Kind::kProduct}},
    {"gemm", {build_gemm, Kind::kProduct}},
    {"max_pool", {build_max_pool, Kind::kPool}},
    {"average_pool", {build_average_pool, Kind::kMeanPool}},
    {"global_max_pool", {build_global_max_pool, Kind::kReduction}},
    {"global_average_pool", {build_global_average_pool, Kind::kReduction}},
    {"batch_norm", {build_batch_norm, Kind::kNorm}},
    {"layer_norm", {build_layer_norm, Kind::kNorm}},
    {"lrn", {build_lrn, Kind::kNorm}},
    {"softmax", {build_softmax, Kind::kSoftmax}},
    {"log_softmax", {build_log_softmax, Kind::kSoftmax}},
    {"mean", {build_reduction, Kind::kReduction}},
    {"sum", {build_reduction, Kind::kReduction}},
    {"max", {build_reduction, Kind::kReduction}},
    {"min", {build_reduction, Kind::kReduction}},
    {"prod", {build_reduction, Kind::kReduction}},
    {"l1", {build_reduction, Kind::kReduction}},
    {"l2", {build_reduction, Kind::kReduction}},
    {"sum_square", {build_reduction, Kind::kReduction}},
    {"concat", {build_concat, Kind::kConcat}},
    {"reshape", {build_view, Kind::kView}},
    {"flatten", {build_view, Kind::kView}},
    {"squeeze", {build_view, Kind::kView}},
    {"unsqueeze", {build_view, Kind::kView}},
    {"layout_transform", {build_layout_transform, Kind::kMove}},
    {"transpose", {build_transpose, Kind::kMove}},
    {"subview", {build_subview, Kind::kMove}},
    {"prelu", {build_prelu, Kind::kElementwise}},
    {"resize", {build_resize, Kind::kResize}},
    {"where", {build_where, Kind::kElementwise}},
    {"pad", {build_pad, Kind::kConcat}},
    {"identity", {build_view, Kind::kView}},
};

}  // namespace

Kind kind_of(const Unit& unit) {
  const auto row = kRows.find(unit.node->op);
  return row == kRows.end() ? Kind::kElementwise : row->second.kind;
}

namespace {

// Returns whether an op may have integers: only those that move or choose elements. Where oneDNN
// computes with integers it saturates, and the op wraps around. oneDNN itself refuses f16 and bf16.
bool takes_integers(std::string_view op) {
  constexpr std::string_view kOps[] = {
      "max_pool", "global_max_pool", "relu",      "maximum",   "minimum", "concat",   "reshape",
      "flatten",  "squeeze",         "unsqueeze", "transpose", "subview", "identity", "where"};
  return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

// Returns true for ops that compare elements, of which oneDNN computes i32 in f32, and drops NaN of
// f16 and bf16. The loops of loops.h are for f32.
bool compares_elements(std::string_view op) {
  constexpr std::string_view kOps[] = {"max_pool", "global_max_pool", "relu", "clip",
                                       "maximum",  "minimum",         "max",  "min"};
  return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

bool gives_truths(std::string_view op) {
  return op.starts_with("greater") || op.starts_with("less") || op.ends_with("equal");
}

void check_type(const Unit& unit, const Type& type) {
  if (!type.is_static()) throw Refusal{"dims must be numbers, not " + type.text()};
  if (type.rank() > 6)
    throw Refusal{"rank " + std::to_string(type.rank()) + " is not wired up, at most 6 is"};
  DataType data = data_type(type.dtype);
  bool is_half = data == DataType::f16 || data == DataType::bf16;
  if (compares_elements(unit.node->op) && is_half)
    throw Refusal{std::string(sdk::dtype_name(type.dtype)) + " would lose NaN"};
  if (compares_elements(unit.node->op) && data == DataType::s32)
    throw Refusal{"i32 would be rounded to the 24 bits of f32"};
  if (is_half && takes_integers(unit.node->op))  // by a reorder, in oneDNN 2.6
    throw Refusal{std::string(sdk::dtype_name(type.dtype)) + " would lose the sign of 0"};
  bool has_f32_operands = unit.node->op == "batch_norm" || unit.node->op == "layer_norm";
  if (data == DataType::f32 || (is_half && !has_f32_operands) || takes_integers(unit.node->op))
    return;
  throw Refusal{std::string(sdk::dtype_name(type.dtype)) + " is not wired up, only f32 is"};
}

void check_types(const Region& region, const Unit& unit) {
  if (unit.integers) return;  // region/integers.cc has checked them
  for (int arg : unit.args) check_type(unit, region.type(arg));
  for (const Post& post : unit.posts) {
    if (post.other >= 0) check_type(unit, region.type(post.other));
  }
  if (!gives_truths(unit.node->op)) check_type(unit, region.type(unit.out));
}

}  // namespace

namespace {

Built build_with(const Builder& builder) {
  const Unit& unit = builder.unit;
  auto row = kRows.find(unit.node->op);
  try {
    if (unit.integers && unit.node->op == "add") return build_sum_of_integers(builder);
    if (row != kRows.end()) return row->second.build(builder);
    if (find_eltwise(*unit.node)) return build_eltwise(builder);
    if (find_binary(*unit.node)) return build_binary(builder);
  } catch (const dnnl::error& e) {
    throw Refusal{"oneDNN has no implementation for this " + unit.node->op + ": " + e.what()};
  }
  const ChainOp* post = find_chain_op(unit.node->op);
  throw Refusal{unit.node->op + (post != nullptr && !post->has_primitive
                                     ? " is wired up as a post-op alone"
                                     : " is not wired up")};
}

// Returns a result without elements, which needs no primitive.
Built nothing(const Type& type) {
  Built built;
  built.is_nothing = true;
  built.out = plain_desc(type);
  built.implementation = kNothingStep;
  return built;
}

// Refuses empty operands: oneDNN does not write the result of a sum over no elements.
void check_operands(const Region& region, const Unit& unit) {
  for (int arg : unit.args) {
    if (region.type(arg).elements() == 0 && unit.node->op != "concat")
      throw Refusal{"oneDNN writes no result of an empty operand: " + region.type(arg).text()};
  }
}

bool all_plain(const Region& region, const Unit& unit, const std::vector<Desc>& formats) {
  return std::all_of(unit.args.begin(), unit.args.end(), [&](int arg) {
    return formats[static_cast<size_t>(arg)] == plain_desc(region.type(arg));
  });
}

}  // namespace

namespace {

// Builds with operands in their present layouts where oneDNN has a fast kernel for that, else in
// the plain layout, for which judge has built the primitive.
Built build_in(Builder builder) {
  if (all_plain(builder.region, builder.unit, builder.formats)) return build_with(builder);
  try {
    Built built = build_with(builder);
    if (!is_reference(built.implementation)) return built;
  } catch (const Refusal&) {
  }
  builder.wants_plain = true;
  return build_with(builder);
}

}  // namespace

// Requires the packed layouts of the choices where oneDNN has a fast kernel for them.
Built build_unit(const Region& region, const Unit& unit, const std::vector<Desc>& formats,
                 const dnnl::engine& engine, const Choices& choices) {
  check_types(region, unit);
  if (region.type(unit.out).elements() == 0) return nothing(region.type(unit.out));
  check_operands(region, unit);
  if (choices.packed != nullptr) {
    try {
      Built built = build_in({region, unit, formats, engine, choices});
      if (!is_reference(built.implementation)) return built;
    } catch (const Refusal&) {
    }
  }
  Choices free = choices;
  free.packed = nullptr;
  return build_in({region, unit, formats, engine, free});
}

}  // namespace byoc::onednn
