// SPDX-License-Identifier: Apache-2.0
// Captured constants of the call of a composite, in C++.
#include "byoc/plugin/sdk/match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "byoc/plugin/sdk.h"

namespace byoc::sdk {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

// The composite reads its inputs in another order than the node has constants.
constexpr std::string_view kCall = R"({"format":"byoc.graph","version":1,"requires":[],"symbol":"f",
"types":[{"dtype":"f32","shape":[2]},{"dtype":"f32","shape":[]},{"dtype":"i64","shape":[2]}],
"inputs":[{"name":"x","type":0}],
"constants":[{"name":"c0","type":1,"key":"00000000000000000000000000000001","value":[0.5]},
             {"name":"c1","type":1,"key":"00000000000000000000000000000002","value":[9.9999997473787516e-06]},
             {"name":"c2","type":2,"key":"00000000000000000000000000000003","value":[1,2]},
             {"name":"c3","type":0,"key":"00000000000000000000000000000004"}],
"nodes":[{"call":0,"args":[["i",0],["c",1],["c",0],["c",2],["c",3]],"types":[0]}],
"outputs":[["n",0,0]],
"functions":[{"name":"g","pattern":"chip.g",
 "captures":{"x":[["i",0]],"eps":[["i",1]],"half":[["i",2]],"axes":[["i",3]],"w":[["i",4]],"sum":[["n",0]]},
 "inputs":[{"name":"i0","type":0},{"name":"i1","type":1},{"name":"i2","type":1},{"name":"i3","type":2},{"name":"i4","type":0}],
 "nodes":[{"op":"add","version":1,"args":[["i",0],["i",1]],"types":[0]},
          {"op":"multiply","version":1,"args":[["n",0,0],["i",2]],"types":[0]}],
 "outputs":[["n",1,0]]}]})";

TEST(Match, ReadsConstantsByTheNamesOfThePattern) {
  const Graph graph = parse_graph(kCall);
  const Match match(graph, graph.nodes[0]);
  EXPECT_EQ(match.pattern(), "chip.g");
  EXPECT_THAT(match.constant<float>("eps"), Optional(1e-5F));
  EXPECT_THAT(match.constant<double>("half"), Optional(0.5));
  EXPECT_THAT(match.constants<int64_t>("axes"), ElementsAre(1, 2));
  EXPECT_EQ(match.constant<int64_t>("axes"), std::nullopt) << "its elements differ";
}

TEST(Match, HasNoConstantForOtherCaptures) {
  const Graph graph = parse_graph(kCall);
  const Match match(graph, graph.nodes[0]);
  EXPECT_EQ(match.constant<float>("x"), std::nullopt) << "an input of the graph";
  EXPECT_EQ(match.constant<float>("sum"), std::nullopt) << "an op";
  EXPECT_EQ(match.constant<float>("other"), std::nullopt) << "not captured";
  EXPECT_EQ(match.constant<float>("w"), std::nullopt) << "larger constants have no values";
  EXPECT_THAT(match.constants<float>("w"), IsEmpty());
  EXPECT_THAT(match.constant_index("w"), Optional(3U));
  ASSERT_TRUE(match.operand("x"));
  EXPECT_EQ(match.operand("x")->kind, Operand::kInput);
  ASSERT_NE(match.op("sum"), nullptr);
  EXPECT_EQ(match.op("sum")->op, "add");
}

TEST(PatternConstant, HasItsValueAndToleranceAsJson) {
  EXPECT_EQ(constant("c", 0.5).json(),
            R"({"const":true,"value":0.5,"rtol":9.9999999999999995e-07,"as":"c"})");
  EXPECT_EQ(constant("c", 2, 0).json(), R"({"const":true,"value":2,"rtol":0,"as":"c"})");
}

}  // namespace
}  // namespace byoc::sdk
