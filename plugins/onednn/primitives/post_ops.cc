// SPDX-License-Identifier: Apache-2.0
#include "primitives/post_ops.h"

#include <limits>
#include <map>

#include "primitives/builder.h"

namespace byoc::onednn {

using dnnl::algorithm;

namespace {

float f32(const Node& node, const char* attr, double fallback) {
  return static_cast<float>(node.attrs.f(attr, fallback));
}

Eltwise clip(const Node& node) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  Eltwise row{algorithm::eltwise_clip, f32(node, "min", -kNone), f32(node, "max", kNone)};
  if (!(row.alpha <= row.beta)) throw Refusal{"min is not below max"};
  return row;
}

using MakeRow = Eltwise (*)(const Node&);
template <algorithm how>
Eltwise plain(const Node&) {
  return {how, 0, 0};
}
template <algorithm how, int default_percent>
Eltwise with_alpha(const Node& n) {
  return {how, f32(n, "alpha", default_percent / 100.0), 0};
}

// y = scale-free f(x; alpha, beta), as oneDNN's table of eltwise algorithms defines them.
const std::map<std::string, MakeRow, std::less<>> kEltwise = {
    {"abs", plain<algorithm::eltwise_abs>},
    {"clip", clip},
    {"elu", with_alpha<algorithm::eltwise_elu, 100>},
    {"exp", plain<algorithm::eltwise_exp>},
    {"gelu",
     [](const Node& n) {
       bool tanh = n.attrs.s("approximate", "none") == "tanh";
       return Eltwise{tanh ? algorithm::eltwise_gelu_tanh : algorithm::eltwise_gelu_erf, 0, 0};
     }},
    {"hard_swish",
     [](const Node&) {
       return Eltwise{algorithm::eltwise_hardswish, 1.0f / 6, 0.5f};
     }},
    {"leaky_relu", with_alpha<algorithm::eltwise_relu, 1>},
    {"log", plain<algorithm::eltwise_log>},
    {"mish", plain<algorithm::eltwise_mish>},
    {"negative",
     [](const Node&) {
       return Eltwise{algorithm::eltwise_linear, -1, -0.0f};  // -1 * 0 + 0 would be 0, not -0
     }},
    {"reciprocal",
     [](const Node&) {
       return Eltwise{algorithm::eltwise_pow, 1, -1};
     }},
    {"relu", plain<algorithm::eltwise_relu>},
    {"round", plain<algorithm::eltwise_round>},
    {"rsqrt",
     [](const Node&) {
       return Eltwise{algorithm::eltwise_pow, 1, -0.5f};
     }},
    {"sigmoid", plain<algorithm::eltwise_logistic>},
    {"softplus",
     [](const Node&) {
       return Eltwise{algorithm::eltwise_soft_relu, 1, 0};
     }},
    {"sqrt", plain<algorithm::eltwise_sqrt>},
    {"swish", with_alpha<algorithm::eltwise_swish, 100>},
    {"tanh", plain<algorithm::eltwise_tanh>},
    // Nodes that the plugin makes.
    {"affine",
     [](const Node& n) {
       return Eltwise{algorithm::eltwise_linear, f32(n, "alpha", 1), f32(n, "beta", 0)};
     }},
    {"scaled_power",
     [](const Node& n) {
       return Eltwise{algorithm::eltwise_pow, f32(n, "alpha", 1), f32(n, "beta", 1)};
     }},
};

const std::map<std::string, Binary, std::less<>> kBinary = {
    {"add", {algorithm::binary_add, algorithm::binary_add}},
    {"multiply", {algorithm::binary_mul, algorithm::binary_mul}},
    {"maximum", {algorithm::binary_max, algorithm::binary_max}},
    {"minimum", {algorithm::binary_min, algorithm::binary_min}},
    {"subtract", {algorithm::binary_sub, {}}},
    {"divide", {algorithm::binary_div, {}}},
    {"equal", {algorithm::binary_eq, algorithm::binary_eq}},
    {"not_equal", {algorithm::binary_ne, algorithm::binary_ne}},
    {"greater", {algorithm::binary_gt, algorithm::binary_lt}},
    {"greater_equal", {algorithm::binary_ge, algorithm::binary_le}},
    {"less", {algorithm::binary_lt, algorithm::binary_gt}},
    {"less_equal", {algorithm::binary_le, algorithm::binary_ge}},
};

}  // namespace

std::optional<Eltwise> find_eltwise(const Node& node) {
  auto row = kEltwise.find(node.op);
  return row == kEltwise.end() ? std::nullopt : std::optional(row->second(node));
}

std::optional<Binary> find_binary(const Node& node) {
  auto row = kBinary.find(node.op);
  return row == kBinary.end() ? std::nullopt : std::optional(row->second);
}

namespace {

// Returns true for [c,1,1] against [n,c,h,w]: ones everywhere but at `axis`.
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

bool is_broadcast(const Dims& dims, const Dims& to) {
  if (dims.size() > to.size()) return false;
  size_t shift = to.size() - dims.size();
  for (size_t k = 0; k < dims.size(); ++k) {
    if (dims[k] != 1 && dims[k] != to[k + shift]) return false;
  }
  return true;
}

// Appends functions to a chain. oneDNN 2.6 keeps one code generator per algorithm in a chain: a
// second relu with another slope would get the first one's.
class EltwiseChain {
 public:
  void append(const Eltwise& row, dnnl::post_ops& ops) {
    for (const Eltwise& before : rows_) {
      if (kOneGeneratorPerFunction && before.how == row.how &&
          (before.alpha != row.alpha || before.beta != row.beta))
        throw Refusal{"one chain of post-ops has the same function with different parameters"};
    }
    rows_.push_back(row);
    append_eltwise(ops, row.how, row.alpha, row.beta);
  }

 private:
  std::vector<Eltwise> rows_;
};

class PostReader {
 public:
  PostReader(const Region& region, const Unit& unit, Channel channel, float alpha)
      : region_(region), unit_(unit), channel_(channel), alpha_(alpha) {}
  Posts read();

 private:
  bool is_bias(const Post& post, const Value& value) const;
  void add_function(const Node& node);
  void add_operand(const Post& post);
  void add_binary(const Post& post, const Type& operand);

  const Region& region_;
  const Unit& unit_;
  Channel channel_;
  float alpha_;
  Posts out_;
  dnnl::post_ops ops_;
  EltwiseChain eltwise_;
};

// Returns true for a constant of one element per channel that is added first.
bool PostReader::is_bias(const Post& post, const Value& value) const {
  return &post == unit_.posts.data() && post.node->op == "add" && alpha_ == 1.0f &&
         value.origin == Value::kConstant &&
         is_per_channel(value.type.dims, region_.type(unit_.out).rank(), channel_);
}

void PostReader::add_function(const Node& node) {
  std::optional<Eltwise> row = find_eltwise(node);
  BYOC_ONEDNN_CHECK(row, "oneDNN has each function of region/chain.cc: " + node.op);
  eltwise_.append(*row, ops_);
}

// Appends a binary op. oneDNN has a fast sum at the head of a chain alone.
void PostReader::add_operand(const Post& post) {
  const Value& value = region_.at(post.other);
  const Dims& dims = region_.type(unit_.out).dims;
  if (is_bias(post, value)) {
    out_.bias = post.other;
  } else if (post.node->op == "add" && value.type.dims == dims && ops_.len() == 0) {
    ops_.append_sum(1.0f);
    out_.sum = post.other;
  } else if (is_broadcast(value.type.dims, dims)) {
    add_binary(post, value.type);
  } else {
    throw Refusal{"the operand " + value.type.text() + " of the post-op " + post.node->op +
                  " makes another shape of the result"};
  }
}

void PostReader::add_binary(const Post& post, const Type& operand) {
  std::optional<Binary> row = find_binary(*post.node);
  BYOC_ONEDNN_CHECK(row, "oneDNN has each binary op of region/chain.cc: " + post.node->op);
  const Dims& dims = region_.type(unit_.out).dims;
  Dims seen = padded(operand.dims, dims.size());
  int index = DNNL_ARG_ATTR_MULTIPLE_POST_OP(ops_.len()) | DNNL_ARG_SRC_1;
  bool whole = seen == dims;
  DataType type = data_type(operand.dtype);
  ops_.append_binary(row->how, whole ? any_desc(seen, type) : plain_desc(seen, type));
  out_.inputs.push_back({index, post.other, seen, whole});
}

Posts PostReader::read() {
  if (alpha_ != 1.0f) eltwise_.append({algorithm::eltwise_linear, alpha_, 0.0f}, ops_);
  for (const Post& post : unit_.posts) {
    if (post.other < 0) add_function(*post.node);
    else add_operand(post);
  }
  out_.attr.set_post_ops(ops_);
  out_.attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return std::move(out_);
}

}  // namespace

Posts read_posts(const Region& region, const Unit& unit, Channel channel, float alpha) {
  return PostReader(region, unit, channel, alpha).read();
}

}  // namespace byoc::onednn
