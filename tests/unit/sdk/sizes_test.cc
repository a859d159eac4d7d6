// SPDX-License-Identifier: Apache-2.0
// Graphs with open sizes at the sizes of one run.
#include "byoc/plugin/sdk/sizes.h"

#include <gmock/gmock.h>

#include "byoc/plugin/sdk/parse.h"

namespace byoc::sdk {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Two sizes, of which one occurs only in expressions; a composite; a counted dim.
const std::string kOpenGraph = R"json({
  "format":"byoc.graph", "version":1, "requires":[], "symbol":"f",
  "sizes":[{"symbol":"B","min":1,"max":4}, {"symbol":"a b","min":2,"max":9}],
  "types":[{"dtype":"f32","shape":[{"symbol":"B","min":1,"max":4}, 8]},
           {"dtype":"f32","shape":[{"symbol":"B*\"a b\"","min":2,"max":36,"expression":true}]},
           {"dtype":"i64","shape":[{"symbol":"n","max":7,"counted":true},
                                   {"symbol":"div(B+3,4)","min":1,"max":1,"expression":true}]},
           {"dtype":"f32","shape":[4]}],
  "inputs":[{"name":"x","type":0}],
  "nodes":[{"call":0,"args":[["i",0]],"types":[1]},
           {"op":"reshape","version":1,"args":[["n",0,0]],"types":[0],
            "attrs":{"open_shape":["1<=B<=4","(2*\"a b\"-1 : 2<=\"a b\"<=9)","6"]}},
           {"op":"slice","version":1,"args":[["n",1,0]],"types":[2],
            "attrs":{"starts":[1,2],"ends":[0,0],"axes":[-2,1],"steps":[],"open_shape":["B<=4","\"a b\"","7"]}}],
  "outputs":[["n",2,0]],
  "functions":[{"name":"g","pattern":"p.q","inputs":[{"name":"x","type":0}],
                "nodes":[{"op":"reshape","version":1,"args":[["i",0]],"types":[1],
                          "attrs":{"open_shape":["(B*\"a b\" : 1<=B<=4, 2<=\"a b\"<=9)"]}}],
                "outputs":[["n",0,0]]}] })json";

TEST(SdkSizes, HaveBounds) {
  const Graph graph = parse_graph(kOpenGraph);
  ASSERT_EQ(graph.size_ranges.size(), 2u);
  EXPECT_THAT(graph.sizes, ElementsAre("B", "a b"));
  EXPECT_EQ(graph.size_ranges[1].name, "a b");
  EXPECT_EQ(graph.size_ranges[1].min, 2);
  EXPECT_EQ(graph.size_ranges[1].max, 9);
}

TEST(SdkSizes, BecomeNumbersInTypes) {
  const Graph graph = parse_graph(kOpenGraph);
  const Graph now = at_sizes(graph, std::vector<int64_t>{3, 5});
  EXPECT_EQ(now.types[0].text(), "f32[3,8]");
  EXPECT_TRUE(now.types[0].is_static());
  EXPECT_EQ(now.types[1].text(), "f32[15]");
  EXPECT_EQ(now.types[2].text(), "i64[<=7,1]") << "a counted dim stays";
  EXPECT_EQ(now.types[3].text(), "f32[4]");
  EXPECT_TRUE(now.sizes.empty());
  EXPECT_TRUE(now.json.empty());
  EXPECT_EQ(graph.types[0].text(), "f32[B<=4,8]") << "the graph itself stays open";
}

TEST(SdkSizes, BecomeNumbersInAttributes) {
  const Graph now = at_sizes(parse_graph(kOpenGraph), std::vector<int64_t>{3, 5});
  EXPECT_FALSE(now.nodes[1].attrs.has("open_shape"));
  EXPECT_THAT(now.nodes[1].attrs.ints("shape"), ElementsAre(3, 9, 6));
  EXPECT_FALSE(now.nodes[2].attrs.has("shape")) << "a slice has no such attribute";
  EXPECT_THAT(now.nodes[2].attrs.ints("ends"), ElementsAre(1 + 5, 2 + 5));
  EXPECT_THAT(now.functions[0].nodes[0].attrs.ints("shape"), ElementsAre(15));
}

std::string message_of(const std::string& json, const std::vector<int64_t>& sizes, uint32_t code) {
  try {
    at_sizes(parse_graph(json), sizes);
  } catch (const Error& e) {
    EXPECT_EQ(e.code, code);
    return e.message();
  }
  return "";
}

TEST(SdkSizes, AreWithinTheirBounds) {
  EXPECT_EQ(message_of(kOpenGraph, {5, 5}, BYOC_OUT_OF_RANGE),
            "the size B is 5, it is from 1 to 4");
  EXPECT_EQ(message_of(kOpenGraph, {1, 1}, BYOC_OUT_OF_RANGE),
            "the size a b is 1, it is from 2 to 9");
  EXPECT_EQ(message_of(kOpenGraph, {1}, BYOC_INVALID_ARGUMENT), "expected 2 sizes, got 1");
}

/// Returns a graph whose input has one dim, an expression of B, C and D.
std::string graph_of(const std::string& expression) {
  return R"({"format":"byoc.graph","version":1,"requires":[],"symbol":"f","sizes":[
    {"symbol":"B"},{"symbol":"C"},{"symbol":"D"}],"types":[{"dtype":"f32","shape":[{"symbol":")" +
         expression + R"(","expression":true}]}],"inputs":[{"name":"x","type":0}],"nodes":[],)" +
         R"("outputs":[["i",0]]})";
}

int64_t value_of(const std::string& expression, int64_t b, int64_t c, int64_t d) {
  return at_sizes(parse_graph(graph_of(expression)), std::vector<int64_t>{b, c, d})
      .types[0]
      .dims[0];
}

TEST(SdkSizes, AreComputed) {
  EXPECT_EQ(value_of("B*C+D", 2, 3, 4), 10);
  EXPECT_EQ(value_of("D-2*B-C", 2, 3, 9), 2);
  EXPECT_EQ(value_of("-B+C", 2, 3, 9), 1);
  EXPECT_EQ(value_of("(B+C)*D", 2, 3, 4), 20);
  EXPECT_EQ(value_of("div(B+3,4)*C", 6, 5, 0), 10);
  EXPECT_EQ(value_of("10+div(B-C,2)", 2, 5, 0), 8) << "rounds towards -infinity";
  EXPECT_EQ(value_of("min(B,max(C,D))", 7, 3, 4), 4);
  EXPECT_EQ(value_of("\\\"B\\\"", 7, 3, 4), 7);
}

TEST(SdkSizes, AreRefusedWithTheExpression) {
  auto fault = [](const std::string& expression, uint32_t code) {
    return message_of(graph_of(expression), {1, 2, int64_t{1} << 40}, code);
  };
  EXPECT_EQ(fault("B-C", BYOC_OUT_OF_RANGE), "the size \"B-C\" is -1");
  EXPECT_EQ(fault("D*D", BYOC_OUT_OF_RANGE), "the size \"D*D\" does not fit in 63 bits");
  EXPECT_THAT(fault("D*4194304", BYOC_OUT_OF_RANGE), HasSubstr("does not fit in 63 bits"))
      << "with the bytes of an element";
  EXPECT_THAT(fault("div(D,B-C)", BYOC_OUT_OF_RANGE), HasSubstr("does not fit"));
  EXPECT_THAT(fault("B+", BYOC_BAD_GRAPH), HasSubstr("expected a size at position 2"));
  EXPECT_THAT(fault("B C", BYOC_BAD_GRAPH), HasSubstr("expected an operator at position 1"));
  EXPECT_THAT(fault("E", BYOC_BAD_GRAPH), HasSubstr("a size of the graph, not \"E\""));
  EXPECT_THAT(fault("99999999999999999999", BYOC_BAD_GRAPH), HasSubstr("a number of 63 bits"));
  std::string deep(70, '(');
  EXPECT_THAT(fault(deep + "B" + std::string(70, ')'), BYOC_BAD_GRAPH), HasSubstr("less nesting"));
}

}  // namespace
}  // namespace byoc::sdk
