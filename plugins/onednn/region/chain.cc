// SPDX-License-Identifier: Apache-2.0
#include "region/chain.h"

#include <algorithm>
#include <iterator>

#include "region/scalars.h"

namespace byoc::onednn {
namespace {

using Made = std::list<Node>;

const Node* write(const Node& like, const char* op, Made& made) {
  Node node = like;
  node.op = op;
  node.attrs = {};
  return &made.emplace_back(std::move(node));
}

// Writes sigmoid as 1/2 + tanh(x / 2) / 2, which keeps NaN; oneDNN's logistic loses NaN as a
// post-op. The three functions differ, because 2.6 has one code generator per function in a chain.
std::vector<const Node*> sigmoid_by_tanh(const Node& node, Made& made) {
  return {write_scaled(node, "scaled_power", 0.5, 1, made), write(node, "tanh", made),
          write_scaled(node, "affine", 0.5, 0.5, made)};
}

// Writes min(max(alpha * x + beta, 0), 1), for which 2.6 has no function.
std::vector<const Node*> clipped_affine(const Node& node, Made& made) {
  const Node* line =
      write_scaled(node, "affine", node.attrs.f("alpha", 0.2), node.attrs.f("beta", 0.5), made);
  const Node* clip = write(node, "clip", made);
  made.back().attrs.set("min", 0.0);
  made.back().attrs.set("max", 1.0);
  return {line, clip};
}

constexpr auto kNearOne = Exactness::kNearOne, kWrongNearZero = Exactness::kWrongNearZero;
constexpr bool kBinary = true;

constexpr ChainOp kOps[] = {
    {.op = "relu", .loses_nan = true},
    {.op = "clip", .loses_nan = true},
    {"tanh"},
    {"gelu"},
    {"swish"},
    {"hard_swish"},
    {.op = "hard_sigmoid", .replace = clipped_affine, .has_primitive = false, .loses_nan = true},
    {.op = "sigmoid", .exactness = kNearOne, .replace = sigmoid_by_tanh},
    // e^x - 1, as oneDNN subtracts: its own primitive has a loop after it, see elu_again
    {.op = "elu", .exactness = kWrongNearZero},
    {"leaky_relu"},
    // x * ((e^x + 1)^2 - 1) / ((e^x + 1)^2 + 1): 1.3e-4 of the result off at -8. Its own primitive
    // has a loop after it, too.
    {.op = "mish", .exactness = kWrongNearZero},
    {"add", kBinary},
    {"multiply", kBinary},
    {.op = "maximum", .is_binary = kBinary, .loses_nan = true},
    {.op = "minimum", .is_binary = kBinary, .loses_nan = true},
    {"subtract", kBinary},
    {"divide", kBinary},
};

}  // namespace

std::span<const ChainOp> chain_ops() { return kOps; }

const ChainOp* find_chain_op(std::string_view op) {
  auto row = std::find_if(std::begin(kOps), std::end(kOps),
                          [&](const ChainOp& known) { return known.op == op; });
  return row == std::end(kOps) ? nullptr : row;
}

Chain read_chain(const std::vector<Post>& posts, std::list<Node>& made, const ChainRules& rules) {
  Chain chain;
  auto append = [&](std::vector<Post>& to, const std::vector<const Node*>& nodes) {
    for (const Node* node : nodes) to.push_back({node});
  };
  for (const Post& post : posts) {
    const ChainOp* row = find_chain_op(post.node->op);
    if (row == nullptr || row->is_binary != (post.other >= 0))
      throw Refusal{post.node->op + " as a post-op is not wired up"};
    bool is_cut = post.grows || row->exactness == Exactness::kWrongNearZero ||
                  (rules.keeps_nan && row->loses_nan);
    if (!chain.rest.empty() || is_cut) {
      if (row->has_primitive) chain.rest.push_back(post);
      else append(chain.rest, row->replace(*post.node, made));
    } else if (row->replace == nullptr) {
      chain.fused.push_back(post);
    } else {
      append(chain.fused, row->replace(*post.node, made));
    }
  }
  return chain;
}

}  // namespace byoc::onednn
