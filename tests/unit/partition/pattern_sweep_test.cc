// SPDX-License-Identifier: Apache-2.0
// The sweep over a function must exclude no match, and its cost must be linear in the size of the
// function. The cost is the number of pattern parts tried, not a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "byoc/text/builder.h"
#include "core/region/match.h"

namespace byoc {
namespace {

Pattern pattern(std::string_view json) {
  Result<Pattern> parsed = Pattern::parse(json);
  EXPECT_TRUE(parsed.ok()) << parsed.status().to_string();
  return *parsed;
}

// Returns patterns like those of plugins: chains after an anchor, residuals, a function of several
// ops that reads its operand twice, alternatives, and conditions on attributes and ranks.
std::vector<Pattern> patterns() {
  std::string posts =
      R"({"repeat":{"one_of":[{"op":"relu","args":["$"]},{"op":"tanh","args":["$"]},
         {"op":"add","args":["$",{"any":true,"as":"other"}]},
         {"op":"multiply","args":["$",{"any":true,"as":"other"}]}]},"as":"post","max":5,"on":)";
  std::string biased = R"({"optional":{"op":"add","args":["$",{"const":true,"as":"bias"}]},
         "on":{"op":"exp","args":[{"any":true}],"as":"anchor"}})";
  std::string swish = R"({"op":"multiply","args":[{"op":"sigmoid","args":[X]},{"same":"x"}]})";
  auto swish_of = [&](const std::string& x) {
    std::string out = swish;
    return out.replace(out.find('X'), 1, x);
  };
  std::vector<Pattern> out;
  out.push_back(pattern(posts + biased + "}"));
  out.push_back(pattern(swish_of(R"({"any":true,"as":"x"})")));
  out.push_back(pattern(swish_of(R"({"one_of":[)" + biased + R"(,{"op":"tanh"}],"as":"x"})")));
  out.push_back(
      pattern(posts + swish_of(R"({"one_of":[)" + posts + biased + R"(}],"as":"x"})") + "}"));
  out.push_back(pattern(R"({"op":"relu"})"));
  out.push_back(
      pattern(R"({"repeat":{"op":"relu","args":["$"]},"min":2,"max":3,"on":{"op":"tanh"}})"));
  out.push_back(pattern(R"({"op":"add","args":[{"op":"relu"},{"op":"relu"}]})"));
  out.push_back(pattern(
      R"({"op":"leaky_relu","attrs":{"alpha":{"max":0.2}},"args":[{"op":"relu","rank":[1]}]})"));
  return out;
}

IRModule random_module(std::mt19937& random, uint32_t ops, uint32_t reach) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  TensorType type{DType::kF32, {2}};
  std::vector<ValueId> values = {f.param("x", type), f.param("y", type),
                                 f.constant_f32({2}, {1, 2})};
  auto pick = [&] {
    size_t back = random() % std::min<size_t>(values.size(), reach);
    return random() % 8 == 0 ? values[random() % values.size()] : values[values.size() - 1 - back];
  };
  constexpr const char* kUnary[] = {"relu", "tanh", "exp", "sigmoid", "leaky_relu"};
  uint32_t kinds = 1 + random() % 5, first = random() % 5;  // few kinds: long matches are likely
  auto either_order = [&](const char* op, ValueId a, ValueId b) {
    return random() % 2 == 0 ? f.call(op, {a, b}) : f.call(op, {b, a});
  };
  for (uint32_t k = 0; k < ops; ++k) {
    ValueId left = pick();
    switch (random() % 6) {  // two random kinds, and ops that begin a match
      case 0:
        left = f.call("exp", {left});
        break;
      case 1:
        left = either_order("add", f.call("exp", {left}), values[2]);
        break;
      case 2:
        left = either_order("multiply", f.call("sigmoid", {left}), left);
        break;
      case 3:
        left = either_order("add", f.call("relu", {left}), f.call("relu", {pick()}));
        break;
      case 4:
        left = f.call("relu", {f.call("relu", {f.call("tanh", {left})})});
        break;
    }
    if (random() % 2 == 0) {
      values.push_back(f.call(kUnary[(first + random() % kinds) % 5], {left}));
    } else {
      ValueId right = random() % 4 == 0 ? left : pick();
      values.push_back(f.call(random() % 2 == 0 ? "add" : "multiply", {left, right}));
    }
  }
  Status status = f.finish("main", {values.back(), values[values.size() / 2]});
  EXPECT_TRUE(status.ok()) << status.to_string();
  return module;
}

bool same(const Match& a, const Match& b) {
  return a.nodes == b.nodes && a.inputs == b.inputs && a.captures == b.captures;
}

TEST(PatternSweep, GivesTheMatchesOfASearchThatTriesEverything) {
  std::mt19937 random(11);
  std::vector<Pattern> all = patterns();
  PatternStates states(all);
  std::vector<uint32_t> found(all.size(), 0);
  for (uint32_t graph = 0; graph < 2000; ++graph) {
    IRModule module = random_module(random, 1 + random() % 6, 1 + random() % 3);
    const Function& function = module.function("main");
    UseCounts uses(function);
    PatternSweep sweep(states, function, uses);
    for (uint32_t root = 0; root < function.nodes.size(); ++root) {
      if (!std::holds_alternative<Call>(function.nodes[root].kind)) continue;
      for (uint32_t k = 0; k < all.size(); ++k) {
        uint64_t steps = 0;
        MatchSearch everything{.limit = 3, .steps = &steps};
        std::vector<Match> expected = matches_at(all[k], function, uses, root, everything);
        ASSERT_LT(steps, 4096u) << "the search without a sweep reached its limit";
        std::span<const uint32_t> possible = sweep.patterns_at(root);
        std::vector<Match> got;
        if (std::ranges::binary_search(possible, k)) got = sweep.matches(k, root, 3);
        ASSERT_TRUE(std::ranges::equal(got, expected, same))
            << "graph " << graph << ", pattern " << k << ", node " << root;
        found[k] += static_cast<uint32_t>(got.size());
      }
    }
  }
  for (uint32_t k = 0; k < all.size(); ++k) EXPECT_GT(found[k], 40u) << "pattern " << k;
}

// Without the sweep, these graphs take up to 4096 steps for each root and pattern.
TEST(PatternSweep, TriesFewPartsOfPatternsForEachOp) {
  std::vector<Pattern> all = patterns();
  for (uint32_t ops : {1000u, 10000u}) {
    std::mt19937 random(12);
    IRModule module = random_module(random, ops, 8);
    const Function& function = module.function("main");
    UseCounts uses(function);
    PatternStates states(all);
    PatternSweep sweep(states, function, uses);
    for (uint32_t root = 0; root < function.nodes.size(); ++root) {
      for (uint32_t k : sweep.patterns_at(root)) sweep.matches(k, root, 4);
    }
    EXPECT_LT(sweep.steps(), 40u * ops);
    EXPECT_LT(states.num_states(), 1000u);
  }
}

}  // namespace
}  // namespace byoc
