#include <cmath>
#include <limits>

#include "primitives/loops.h"

namespace byoc::onednn {

using dnnl::algorithm;

namespace {

// What oneDNN computes otherwise than the function is: infinity for e^NaN, the logarithm of a
// denormal up to 17 % off, powers for 1 / sqrt(x), which differ for -0 and -infinity, and for elu
// e^x - 1, which is 0 near 0.
Loop again(const Node& node, const Desc& format) {
  const std::string& op = node.op;
  auto cells = static_cast<int64_t>(format.get_size() / sizeof(float));
  if (op == "elu") return elu_again(cells, static_cast<float>(node.attrs.f("alpha", 1)));
  if (op == "exp") {
    return where_odd(
        cells, [](float x) { return std::isnan(x); }, [](float x) { return x; });
  }
  if (op == "log") {
    return where_odd(
        cells, [](float x) { return x < std::numeric_limits<float>::min(); },
        [](float x) { return std::log(x); });
  }
  if (op == "rsqrt") {
    return where_odd(
        cells, [](float x) { return !(x > 0); }, [](float x) { return 1 / std::sqrt(x); });
  }
  return {};
}

}  // namespace

Built build_eltwise(const Builder& b) {
  no_posts(b);
  std::optional<Eltwise> row = find_eltwise(*b.unit.node);
  BYOC_ONEDNN_CHECK(row, "build_with calls this for oneDNN's functions: " + b.unit.node->op);
  auto pd =
      describe<dnnl::eltwise_forward>(b.engine, user_scratchpad(), kInference, row->how,
                                      b.format(0), result(b.format(0)), row->alpha, row->beta);
  Built built;
  built.inputs = {b.as_it_is(DNNL_ARG_SRC, 0, pd.src_desc())};
  built.out = pd.dst_desc();
  built.loop = again(*b.unit.node, pd.dst_desc());
  if (built.loop && b.out_type().dtype != sdk::DType::kF32) throw Refusal{"only f32 is wired up"};
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

// y - x = -(x - y), exactly; y / x = 1 / (x / y).
dnnl::primitive_attr turned_around(const std::string& op) {
  dnnl::primitive_attr attr = user_scratchpad();
  dnnl::post_ops ops;
  if (op == "subtract") append_eltwise(ops, algorithm::eltwise_linear, -1, 0);
  else append_eltwise(ops, algorithm::eltwise_pow, 1, -1);
  attr.set_post_ops(ops);
  return attr;
}

}  // namespace

// oneDNN broadcasts its second operand alone: the full one goes first.
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
  bool same = b.type(1 - full).dims == out;  // of one rank as well, or seen through other dims
  Desc first = b.format(full), second = same ? first : plain_desc(other, b.data(1 - full));
  bool is_truth = b.out_type().dtype == sdk::DType::kBool;
  Desc dst = is_truth ? plain_desc(b.out_type()) : first;
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

}  // namespace byoc::onednn
