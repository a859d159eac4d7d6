#include "post_ops.h"

namespace byoc::onednn {

using dnnl::algorithm;

std::optional<Eltwise> find_eltwise(const Node& node) {
  if (node.op == "relu") return Eltwise{algorithm::eltwise_relu, 0.0f, 0.0f};
  if (node.op == "leaky_relu")
    return Eltwise{algorithm::eltwise_relu, static_cast<float>(node.attrs.f("alpha", 0.01)), 0.0f};
  if (node.op == "sigmoid") return Eltwise{algorithm::eltwise_logistic, 0.0f, 0.0f};
  if (node.op == "tanh") return Eltwise{algorithm::eltwise_tanh, 0.0f, 0.0f};
  return std::nullopt;
}

std::optional<Binary> find_binary(const Node& node) {
  if (node.op == "add") return Binary{algorithm::binary_add};
  if (node.op == "multiply") return Binary{algorithm::binary_mul};
  return std::nullopt;
}

namespace {

// [c,1,1] against [n,c,h,w]: ones everywhere but at `axis`.
bool is_per_channel(const Dims& dims, size_t rank, Channel channel) {
  if (dims.size() > rank) return false;
  size_t shift = rank - dims.size();
  int64_t elements = 1;
  for (size_t k = 0; k < dims.size(); ++k) {
    if (static_cast<int64_t>(k + shift) != channel.axis && dims[k] != 1) return false;
    elements *= dims[k];
  }
  return elements == channel.count;
}

Dims leading_ones(const Dims& dims, size_t rank) {
  Dims out(rank - dims.size(), 1);
  out.insert(out.end(), dims.begin(), dims.end());
  return out;
}

Dims row_major_strides(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t k = dims.size(); k-- > 1;) strides[k - 1] = strides[k] * dims[k];
  return strides;
}

}  // namespace

Posts read_posts(const Region& region, const Unit& unit, Channel channel, float alpha) {
  Posts out;
  dnnl::post_ops ops;
  const Dims& dims = region.type(unit.out).dims;
  if (alpha != 1.0f) ops.append_eltwise(1.0f, algorithm::eltwise_linear, alpha, 0.0f);
  for (size_t k = 0; k < unit.posts.size(); ++k) {
    const Post& post = unit.posts[k];
    if (post.other < 0) {
      std::optional<Eltwise> row = find_eltwise(*post.node);
      if (!row) throw Refusal{post.node->op + " as a post-op is not wired up"};
      ops.append_eltwise(1.0f, row->how, row->alpha, row->beta);
      continue;
    }
    if (!find_binary(*post.node)) throw Refusal{post.node->op + " as a post-op is not wired up"};
    const Value& value = region.values[static_cast<size_t>(post.other)];
    const Dims& other = value.type.dims;
    bool is_add = post.node->op == "add";
    if (k == 0 && is_add && alpha == 1.0f && value.origin == Value::kConstant &&
        is_per_channel(other, dims.size(), channel)) {
      out.bias = post.other;
    } else if (is_add && other == dims && out.sum < 0) {
      ops.append_sum(1.0f);
      out.sum = post.other;
    } else if (other.size() <= dims.size() &&
               (other == dims || is_per_channel(other, dims.size(), channel))) {
      Dims seen = leading_ones(other, dims.size());
      int index = DNNL_ARG_ATTR_MULTIPLE_POST_OP(ops.len()) | DNNL_ARG_SRC_1;
      ops.append_binary(
          find_binary(*post.node)->how,
          dnnl::memory::desc(seen, dnnl::memory::data_type::f32, row_major_strides(seen)));
      out.inputs.push_back({index, post.other, seen});
    } else {
      throw Refusal{"the operand " + value.type.text() + " of the post-op " + post.node->op +
                    " is neither per channel nor of the result's shape"};
    }
  }
  out.attr.set_post_ops(ops);
  out.attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return out;
}

}  // namespace byoc::onednn
