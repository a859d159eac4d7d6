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
       return Eltwise{algorithm::eltwise_linear, -1, 0};
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
    // Nodes of our own, and the log of a softmax over one element: 0, or NaN.
    {"affine",
     [](const Node& n) {
       return Eltwise{algorithm::eltwise_linear, f32(n, "alpha", 1), f32(n, "beta", 0)};
     }},
    {"scaled_power",
     [](const Node& n) {
       return Eltwise{algorithm::eltwise_pow, f32(n, "alpha", 1), f32(n, "beta", 1)};
     }},
    {"log_softmax", plain<algorithm::eltwise_linear>},
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

std::vector<Eltwise> find_eltwise(const Node& node) {
  if (node.op == "hard_sigmoid") {
    return {{algorithm::eltwise_linear, f32(node, "alpha", 0.2), f32(node, "beta", 0.5)},
            {algorithm::eltwise_clip, 0, 1}};
  }
  auto row = kEltwise.find(node.op);
  return row == kEltwise.end() ? std::vector<Eltwise>() : std::vector{row->second(node)};
}

// As a post-op, logistic loses NaN: 1/2 + tanh(x / 2) / 2 keeps it. Three functions,
// so that the chain has none of them twice.
std::vector<Eltwise> find_post(const Node& node) {
  if (node.op != "sigmoid") return find_eltwise(node);
  return {{algorithm::eltwise_pow, 0.5f, 1},
          {algorithm::eltwise_tanh, 0, 0},
          {algorithm::eltwise_linear, 0.5f, 0.5f}};
}

std::optional<Binary> find_binary(const Node& node) {
  auto row = kBinary.find(node.op);
  return row == kBinary.end() ? std::nullopt : std::optional(row->second);
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

bool is_broadcast(const Dims& dims, const Dims& to) {
  if (dims.size() > to.size()) return false;
  size_t shift = to.size() - dims.size();
  for (size_t k = 0; k < dims.size(); ++k) {
    if (dims[k] != 1 && dims[k] != to[k + shift]) return false;
  }
  return true;
}

Dims leading_ones(const Dims& dims, size_t rank) {
  Dims out(rank - dims.size(), 1);
  out.insert(out.end(), dims.begin(), dims.end());
  return out;
}

}  // namespace

namespace {

// oneDNN 2.6 keeps one code generator per algorithm in a chain: a second relu with another slope
// gets the first one's.
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

}  // namespace

Posts read_posts(const Region& region, const Unit& unit, Channel channel, float alpha) {
  Posts out;
  dnnl::post_ops ops;
  const Dims& dims = region.type(unit.out).dims;
  EltwiseChain eltwise;
  if (alpha != 1.0f) eltwise.append({algorithm::eltwise_linear, alpha, 0.0f}, ops);
  for (size_t k = 0; k < unit.posts.size(); ++k) {
    const Post& post = unit.posts[k];
    if (post.other < 0) {
      std::vector<Eltwise> rows = find_post(*post.node);
      if (rows.empty()) throw Refusal{post.node->op + " as a post-op is not wired up"};
      for (const Eltwise& row : rows) eltwise.append(row, ops);
      continue;
    }
    if (!find_binary(*post.node)) throw Refusal{post.node->op + " as a post-op is not wired up"};
    const Value& value = region.values[static_cast<size_t>(post.other)];
    const Dims& other = value.type.dims;
    bool is_add = post.node->op == "add";
    if (k == 0 && is_add && alpha == 1.0f && value.origin == Value::kConstant &&
        is_per_channel(other, dims.size(), channel)) {
      out.bias = post.other;
    } else if (is_add && other == dims && ops.len() == 0) {  // oneDNN has a fast sum there alone
      ops.append_sum(1.0f);
      out.sum = post.other;
    } else if (is_broadcast(other, dims)) {
      Dims seen = leading_ones(other, dims.size());
      int index = DNNL_ARG_ATTR_MULTIPLE_POST_OP(ops.len()) | DNNL_ARG_SRC_1;
      bool whole = seen == dims;
      DataType type = data_type(value.type.dtype);
      ops.append_binary(find_binary(*post.node)->how,
                        whole ? any_desc(seen, type) : plain_desc(seen, type));
      out.inputs.push_back({index, post.other, seen, whole});
    } else {
      throw Refusal{"the operand " + value.type.text() + " of the post-op " + post.node->op +
                    " makes another shape of the result"};
    }
  }
  out.attr.set_post_ops(ops);
  out.attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return out;
}

}  // namespace byoc::onednn
