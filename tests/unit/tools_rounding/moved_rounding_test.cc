// SPDX-License-Identifier: Apache-2.0
// Functions whose rounded values are a step off.
#include "core/tools/rounding/moved_rounding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "byoc/ir/visit.h"
#include "byoc/op/registry.h"
#include "byoc/text/text.h"

namespace byoc::test {
namespace {

using driver::Moved;

IRModule moved(const std::string& text, Moved which) {
  auto module = parse_module(text, all_ops());
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  IRModule out = driver::with_moved_rounding(*module, which);
  Status status = verify(out);
  EXPECT_TRUE(status.ok()) << status.to_string();
  return out;
}

/// Returns the values of each constant that an add reads as its second operand.
std::vector<std::vector<float>> moves_in(const IRModule& module) {
  const Function& main = module.function("main");
  std::vector<std::vector<float>> out;
  for (const Node& node : main.nodes) {
    auto* call = std::get_if<Call>(&node.kind);
    if (call == nullptr || call->op->name != "add") continue;
    const Node& by = main.nodes[main.args(node)[1].node];
    const Buffer& data = *std::get<Constant>(by.kind).data;
    out.emplace_back(data.size() / sizeof(float));
    std::memcpy(out.back().data(), data.data(), data.size());
  }
  return out;
}

std::string chain(const std::string& shape, const std::string& rest) {
  return "fn main(%x: f32[" + shape + R"(]) {
    %s = const(0.5) : f32[]
    %z = const(0) : i8[]
    %q = quantize(%x, %s, %z)
    %f = dequantize(%q, %s)
    %t = tanh(%f)
)" + rest +
         "}";
}

TEST(MovedRounding, MovesOneIn64OfTheValuesThatAreRoundedAgain) {
  const std::string twice = "%p = quantize(%t, %s, %z)  return %p";
  auto moves = moves_in(moved(chain("2,64,128", twice), Moved::kSome));
  ASSERT_EQ(moves.size(), 2u) << "one for each quantize";
  EXPECT_EQ(moves[0].size(), 8192u) << "the trailing dims with 4096 elements or more";
  const auto off = std::ranges::count_if(moves[0], [](float by) { return by != 0; });
  EXPECT_NEAR(static_cast<double>(off), 8192.0 / 64, 40);
  for (float by : moves[0]) EXPECT_TRUE(by == 0 || by == 1 || by == -1) << by;
}

TEST(MovedRounding, MovesAtLeastOneOfAFewValues) {
  auto moves = moves_in(moved(chain("1,5", "%p = quantize(%t, %s, %z)  return %p"), Moved::kSome));
  EXPECT_GE(std::ranges::count_if(moves[0], [](float by) { return by != 0; }), 1);
}

/// Returns the op before the tanh of `chain`, and the one before that.
std::vector<std::string> before_tanh(const IRModule& module) {
  const Function& main = module.function("main");
  std::vector<std::string> out;
  for (const Node& node : main.nodes) {
    auto* call = std::get_if<Call>(&node.kind);
    if (call == nullptr || call->op->name != "tanh") continue;
    const Node* at = &node;
    for (int k = 0; k < 3; ++k) {
      at = &main.nodes[main.args(*at)[0].node];
      auto* before = std::get_if<Call>(&at->kind);
      out.push_back(before != nullptr ? before->op->name : "");
    }
  }
  return out;
}

TEST(MovedRounding, LeavesTheLastRoundingToKLast) {
  using testing::ElementsAre;
  const std::string once = chain("4", "return %t"),
                    twice = chain("4", "%p = quantize(%t, %s, %z)  return %p");
  EXPECT_THAT(before_tanh(moved(once, Moved::kLast)), ElementsAre("dequantize", "quantize", "add"));
  EXPECT_THAT(before_tanh(moved(once, Moved::kSome)), ElementsAre("dequantize", "quantize", ""));
  EXPECT_THAT(before_tanh(moved(twice, Moved::kSome)),
              ElementsAre("dequantize", "quantize", "add"));
  EXPECT_THAT(before_tanh(moved(twice, Moved::kLast)), ElementsAre("dequantize", "quantize", ""));
}

TEST(MovedRounding, DependsOnTheModuleAlone) {
  const std::string text = chain("3,7", "%p = quantize(%t, %s, %z)  return %p");
  EXPECT_EQ(print(moved(text, Moved::kSome)), print(moved(text, Moved::kSome)));
}

}  // namespace
}  // namespace byoc::test
