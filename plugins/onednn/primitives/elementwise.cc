// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "exact/extrema.h"
#include "exact/functions.h"
#include "library/implementations.h"
#include "primitives/loops.h"

namespace byoc::onednn {

using dnnl::algorithm;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

int64_t cells_of(const Desc& format) {
  return static_cast<int64_t>(format.get_size() / sizeof(float));
}

// Returns true for a layout without gaps between cells and without padded blocks.
bool is_dense(const Desc& format, const Type& type) {
  return format.get_size() == static_cast<uint64_t>(type.bytes());
}

Pieces pieces_of(const Builder& b, const Desc& format) {
  return {cells_of(format), b.choices.piece};
}

// Returns a loop to replace the primitive: for functions where oneDNN's kernel differs from the
// definition nearly everywhere, and for relu and clip, which lose NaN and are as fast as a loop.
Loop instead(const Node& node, const Pieces& cells) {
  const std::string& op = node.op;
  if (op == "relu") return relu_loop(cells);
  if (op == "log") return log_loop(cells);
  if (op == "softplus") return softplus_loop(cells);
  if (op != "clip") return {};
  std::optional<Eltwise> bounds = find_eltwise(node);
  BYOC_ONEDNN_CHECK(bounds, "clip has a row");
  return clip_loop(cells, bounds->alpha, bounds->beta);
}

// Returns a loop for the cells where oneDNN differs from the definition: infinity for e^NaN and 0
// for e^x with x below -87; powers for 1 / sqrt(x), which differ for -0 and -infinity; NaN for the
// root of -infinity as a power; for elu e^x - 1, which is 0 near 0; for mish a quotient that loses
// digits below 0.
Loop again(const Node& node, const Pieces& cells) {
  const std::string& op = node.op;
  if (op == "elu") return elu_again(cells.cells, static_cast<float>(node.attrs.f("alpha", 1)));
  if (op == "exp")
    return where_odd(
        cells, [](float x) { return !(x > -87); }, [](float x) { return std::exp(x); });
  if (op == "rsqrt")
    return where_odd(
        cells, [](float x) { return !(x > 0); }, [](float x) { return 1 / std::sqrt(x); });
  if (op == "mish") {
    return where_odd(
        cells, [](float x) { return x < -1; },
        [](float x) { return x * std::tanh(std::log1p(std::exp(x))); });
  }
  if (op == "scaled_power" && node.attrs.f("beta", 1) == 0.5 && node.attrs.f("alpha", 1) == 1) {
    return where_odd(
        cells, [](float x) { return x == -kInfinity; }, [](float) { return kInfinity; });
  }
  return {};
}

// Computes a loop over cells. The operand may have any layout without gaps; else it is brought to
// the plain one.
Built loop_over_cells(const Builder& b, Loop loop) {
  Built built;
  built.inputs = {b.as_it_is(0, 0, b.format(0))};
  built.out = b.format(0);
  built.loop = std::move(loop);
  built.in_place = b.unit.args[0];
  built.implementation = kOwnLoop;
  return built;
}

}  // namespace

Built build_eltwise(const Builder& b) {
  no_posts(b);
  std::optional<Eltwise> row = find_eltwise(*b.unit.node);
  BYOC_ONEDNN_CHECK(row, "build_with calls this for oneDNN's functions: " + b.unit.node->op);
  const bool is_f32 = b.out_type().dtype == sdk::DType::kF32;
  const Pieces cells = pieces_of(b, b.format(0));
  if (Loop loop = instead(*b.unit.node, cells); loop && is_f32) {
    // relu keeps the zeros that pad blocks of channels.
    bool is_relu_of_blocks = b.unit.node->op == "relu" && !plain_strides_of(b.format(0));
    if (!is_relu_of_blocks && !is_dense(b.format(0), b.type(0)))
      throw Refusal{"the operand has gaps, or blocks that are filled up"};
    Built built = loop_over_cells(b, std::move(loop));
    built.pieces = cells.count();
    return built;
  }
  if (b.unit.node->op == "log" && b.out_type().dtype == sdk::DType::kBF16)
    throw Refusal{"oneDNN's log takes denormals of bf16 for 2^-127"};
  auto pd =
      describe<dnnl::eltwise_forward>(b.engine, user_scratchpad(), kInference, row->how,
                                      b.format(0), result(b.format(0)), row->alpha, row->beta);
  Built built;
  built.inputs = {b.as_it_is(DNNL_ARG_SRC, 0, pd.src_desc())};
  built.out = pd.dst_desc();
  built.loop = again(*b.unit.node, pieces_of(b, pd.dst_desc()));
  if (built.loop && !is_f32) throw Refusal{"only f32 is wired up"};
  if (!built.loop) built.in_place = b.unit.args[0];
  return finish(pd, std::move(built));
}

Built build_prelu(const Builder& b) {
  no_posts(b);
  Dims slopes = padded(b.type(1).dims, b.type(0).rank());
  if (b.out_type().dtype != sdk::DType::kF32) throw Refusal{"only f32 is wired up"};
  Desc plain = plain_desc(b.type(0));  // for the loop after it
  auto pd = describe<dnnl::prelu_forward>(b.engine, user_scratchpad(), kInference, plain,
                                          plain_desc(slopes, b.data(1)), result(plain));
  Built built;
  built.inputs = {b.as_it_is(DNNL_ARG_SRC, 0, plain), b.vector(DNNL_ARG_WEIGHTS, 1, slopes)};
  built.out = plain;
  built.loop = prelu_again(b.type(0).dims, slopes);
  return finish(pd, std::move(built));
}

namespace {

// Reverses operands: y - x = -(x - y), exactly; y / x = 1 / (x / y).
dnnl::primitive_attr turned_around(const std::string& op) {
  dnnl::primitive_attr attr = user_scratchpad();
  dnnl::post_ops ops;
  if (op == "subtract") append_eltwise(ops, algorithm::eltwise_linear, -1, 0);
  else append_eltwise(ops, algorithm::eltwise_pow, 1, -1);
  attr.set_post_ops(ops);
  return attr;
}

}  // namespace

namespace {

// Computes maximum and minimum of f32 by a loop, as oneDNN's kernels drop NaN.
Built build_extrema(const Builder& b, size_t full, const Desc& first, const Desc& second) {
  const bool is_max = b.unit.node->op == "maximum", is_one = b.type(1 - full).elements() == 1;
  const bool is_same = b.type(1 - full).dims == b.out_type().dims;
  const bool is_plain = first == plain_desc(b.out_type());
  if (!is_plain && !((is_same || is_one) && is_dense(first, b.out_type())))
    throw Refusal{"the operand has gaps or is broadcast to another layout"};
  Loop loop = is_same || is_one ? extrema_loop(is_max, pieces_of(b, first), is_one)
                                : extrema_rows(is_max, b.out_type().dims, dims_of(second));
  Built built = loop_over_cells(b, std::move(loop));
  if (is_same || is_one) built.pieces = pieces_of(b, first).count();
  built.inputs = {b.as_it_is(0, full, first)};
  if (is_same) built.inputs.push_back(b.as_it_is(1, 1 - full, second));
  else built.inputs.push_back(b.reshaped(1, b.unit.args[1 - full], dims_of(second), second));
  built.out = first;
  built.in_place = b.unit.args[full];
  return built;
}

bool is_extrema(const Node& node) { return node.op == "maximum" || node.op == "minimum"; }

}  // namespace

// Puts the full operand first, because oneDNN broadcasts its second operand alone.
Built build_binary(const Builder& b) {
  no_posts(b);
  const Dims& out = b.out_type().dims;
  BYOC_ONEDNN_CHECK(find_binary(*b.unit.node), "build_with calls this for oneDNN's binary ops");
  Binary row = *find_binary(*b.unit.node);
  bool is_greater = row.how == algorithm::binary_gt || row.how == algorithm::binary_ge;
  size_t full = b.type(0).dims == out && !(is_greater && b.type(1).dims == out) ? 0 : 1;
  if (b.type(full).dims != out) throw Refusal{"both operands are broadcast; oneDNN broadcasts one"};
  if (out.empty()) throw Refusal{"scalars are not wired up"};
  Dims other = padded(b.type(1 - full).dims, out.size());
  bool same = b.type(1 - full).dims == out;  // also has the same rank; else seen in other dims
  Desc first = b.format(full), second = same ? first : plain_desc(other, b.data(1 - full));
  if (is_extrema(*b.unit.node) && b.out_type().dtype == sdk::DType::kF32)
    return build_extrema(b, full, first, second);
  bool is_truth = b.out_type().dtype == sdk::DType::kBool;
  Desc dst = is_truth ? plain_desc(b.out_type()) : first;
  // oneDNN's kernel writes truths in the order in which it reads the operand, whatever the layout
  // of the result.
  if (is_truth && first != plain_desc(b.type(full))) throw Refusal{"the operand is not plain"};
  algorithm how = full == 0 ? row.how : row.swapped.value_or(row.how);
  if (how == algorithm::binary_gt || how == algorithm::binary_ge)
    throw Refusal{
        "oneDNN's greater holds for NaN, and its less cannot broadcast the first operand"};
  bool is_turned = full == 1 && !row.swapped;
  dnnl::primitive_attr attr = is_turned ? turned_around(b.unit.node->op) : user_scratchpad();
  auto pd = describe<dnnl::binary>(b.engine, attr, how, first, second, dst);
  Built built;
  built.inputs = {b.as_it_is(DNNL_ARG_SRC_0, full, first)};
  if (same) built.inputs.push_back(b.as_it_is(DNNL_ARG_SRC_1, 1 - full, second));
  else built.inputs.push_back(b.reshaped(DNNL_ARG_SRC_1, b.unit.args[1 - full], other, second));
  built.out = pd.dst_desc();
  if (!is_truth) built.in_place = b.unit.args[full];
  return finish(pd, std::move(built));
}

// Adds by a loop, in the layout of the first operand where that is dense: oneDNN's sum is rounded
// between its steps in another order than ONNX Runtime's, which a deep network amplifies.
Built build_sum_of_integers(const Builder& b) {
  if (b.type(0).dims != b.type(1).dims) throw Refusal{"a sum of integers is broadcast"};
  const int64_t cells = b.out_type().elements();
  const bool is_dense = b.format(0).get_size() == static_cast<size_t>(cells);
  const Desc layout = is_dense ? b.format(0) : plain_desc(b.type(0));
  Built built;
  built.inputs = {b.as_it_is(DNNL_ARG_SRC_0, 0, layout),
                  b.as_it_is(DNNL_ARG_SRC_1, 1, with_type(layout, b.data(1)))};
  built.out = with_type(layout, b.out_data());
  built.loop = sum_of_integers_loop(sum_of(b.region, b.unit), {cells});
  built.implementation = kOwnLoop;
  return built;
}

}  // namespace byoc::onednn
