// SPDX-License-Identifier: Apache-2.0
// The table of post-ops and its reader: where a chain is cut, and the functions that replace an op
// inside it.
#include "region/chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace byoc::onednn {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Makes posts on a value, by their ops; "add" and the other binary ops read value 7 as well.
class Posts {
 public:
  explicit Posts(std::initializer_list<const char*> ops) {
    for (const char* op : ops) {
      Node node;
      node.op = op;
      const ChainOp* row = find_chain_op(op);
      posts_.push_back(
          {&nodes_.emplace_back(std::move(node)), row != nullptr && row->is_binary ? 7 : -1});
    }
  }
  Node& node(size_t k) { return *std::next(nodes_.begin(), static_cast<ptrdiff_t>(k)); }
  Chain read(const ChainRules& rules = {}) { return read_chain(posts_, made_, rules); }
  std::vector<Post> posts_;

 private:
  std::list<Node> nodes_, made_;
};

std::vector<std::string> ops_of(const std::vector<Post>& posts) {
  std::vector<std::string> out;
  for (const Post& post : posts) out.push_back(post.node->op);
  return out;
}

std::string refusal_of(Posts&& posts) {
  try {
    posts.read();
  } catch (const Refusal& refusal) {
    return refusal.reason;
  }
  return "";
}

TEST(OnednnChain, KeepsOpsThatOnednnHasAsOneFunction) {
  Posts posts{"add", "relu", "swish", "multiply"};
  Chain chain = posts.read();
  EXPECT_THAT(ops_of(chain.fused), ElementsAre("add", "relu", "swish", "multiply"));
  EXPECT_EQ(chain.fused[0].other, 7);
  EXPECT_EQ(chain.fused[0].node, posts.posts_[0].node) << "the graph's own node";
  EXPECT_THAT(chain.rest, IsEmpty());
}

TEST(OnednnChain, IsCutBeforeAnOpThatMakesTheResultLarger) {
  Posts posts{"add", "multiply", "relu"};
  posts.posts_[1].grows = true;
  Chain chain = posts.read();
  EXPECT_THAT(ops_of(chain.fused), ElementsAre("add"));
  EXPECT_THAT(ops_of(chain.rest), ElementsAre("multiply", "relu"));
}

TEST(OnednnChain, IsCutBeforeAnOpThatIsWrongNearZero) {
  Posts posts{"add", "relu", "elu", "multiply", "elu", "tanh"};
  Chain chain = posts.read();
  EXPECT_THAT(ops_of(chain.fused), ElementsAre("add", "relu"));
  EXPECT_THAT(ops_of(chain.rest), ElementsAre("elu", "multiply", "elu", "tanh"));
  EXPECT_EQ(chain.rest[1].other, 7);
}

// sigmoid(x) = 1/2 + tanh(x / 2) / 2.
TEST(OnednnChain, HasTanhInPlaceOfSigmoid) {
  Posts posts{"relu", "sigmoid", "add"};
  Chain chain = posts.read();
  ASSERT_THAT(ops_of(chain.fused), ElementsAre("relu", "scaled_power", "tanh", "affine", "add"));
  EXPECT_EQ(chain.fused[1].node->attrs.f("alpha"), 0.5);
  EXPECT_EQ(chain.fused[1].node->attrs.f("beta"), 1.0);
  EXPECT_EQ(chain.fused[3].node->attrs.f("alpha"), 0.5);
  EXPECT_EQ(chain.fused[3].node->attrs.f("beta"), 0.5);
}

TEST(OnednnChain, LeavesSigmoidToItsPrimitiveAfterTheCut) {
  Posts posts{"elu", "sigmoid"};
  Chain chain = posts.read();
  EXPECT_THAT(chain.fused, IsEmpty());
  EXPECT_THAT(ops_of(chain.rest), ElementsAre("elu", "sigmoid"));
}

// ONNX: HardSigmoid is max(0, min(1, alpha * x + beta)), alpha 0.2 and beta 0.5 when not given.
TEST(OnednnChain, HasALineAndAClipInPlaceOfHardSigmoid) {
  Posts posts{"hard_sigmoid", "hard_sigmoid"};
  posts.node(1).attrs.set("alpha", 0.3);
  posts.node(1).attrs.set("beta", 0.4);
  Chain chain = posts.read();
  ASSERT_THAT(ops_of(chain.fused), ElementsAre("affine", "clip", "affine", "clip"));
  EXPECT_EQ(chain.fused[0].node->attrs.f("alpha"), 0.2);
  EXPECT_EQ(chain.fused[0].node->attrs.f("beta"), 0.5);
  EXPECT_EQ(chain.fused[1].node->attrs.f("min"), 0.0);
  EXPECT_EQ(chain.fused[1].node->attrs.f("max"), 1.0);
  EXPECT_EQ(chain.fused[2].node->attrs.f("alpha"), 0.3);
  EXPECT_EQ(chain.fused[2].node->attrs.f("beta"), 0.4);
}

TEST(OnednnChain, WritesHardSigmoidAsALineAndAClipAfterTheCutToo) {
  Posts posts{"elu", "hard_sigmoid"};
  Chain chain = posts.read();
  EXPECT_THAT(ops_of(chain.rest), ElementsAre("elu", "affine", "clip"));
}

// Tests the table of README.md: post-ops that lose NaN.
TEST(OnednnChain, IsCutBeforeAnOpThatLosesNanWhereTheRulesKeepIt) {
  for (const char* op : {"relu", "clip", "maximum", "minimum"}) {
    Posts posts{"add", "tanh", op, "add"};
    Chain chain = posts.read({.keeps_nan = true});
    EXPECT_THAT(ops_of(chain.fused), ElementsAre("add", "tanh"));
    EXPECT_THAT(ops_of(chain.rest), ElementsAre(op, "add"));
    EXPECT_THAT(posts.read().rest, IsEmpty()) << "without the rule";
  }
  Posts posts{"hard_sigmoid"};
  EXPECT_THAT(ops_of(posts.read({.keeps_nan = true}).rest), ElementsAre("affine", "clip"));
}

// Graphs from artifacts have not been matched by a pattern.
TEST(OnednnChain, RefusesWhatTheTableDoesNotHave) {
  EXPECT_EQ(refusal_of(Posts{"relu", "log"}), "log as a post-op is not wired up");
  Posts without_operand{"add"};
  without_operand.posts_[0].other = -1;
  EXPECT_EQ(refusal_of(std::move(without_operand)), "add as a post-op is not wired up");
  Posts with_operand{"relu"};
  with_operand.posts_[0].other = 3;
  EXPECT_EQ(refusal_of(std::move(with_operand)), "relu as a post-op is not wired up");
}

}  // namespace
}  // namespace byoc::onednn
