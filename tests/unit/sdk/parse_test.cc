// SPDX-License-Identifier: Apache-2.0
#include "byoc/plugin/sdk/parse.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <new>
#include <random>

namespace {
long failing_in = 0;  // allocations until one fails; 0: none does
bool fails_from_then = false;

bool fails() {
  if (failing_in == 0) return false;
  if (failing_in == 1 && fails_from_then) return true;
  return --failing_in == 0;
}
}  // namespace

// Replace those of this program.
void* operator new(size_t size) {
  void* memory = fails() ? nullptr : std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace byoc::sdk {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A graph in the format of docs/graph-json.md, with every kind of attribute.
const std::string kGraph = R"({
  "format":"byoc.graph", "version":1, "requires":[], "symbol":"onednn_main_0", "unknown":{"is":["ignored"]},
  "types":[{"dtype":"f32","shape":[1,3,32,32]}, {"dtype":"f32","shape":[16,3,3,3]}, {"dtype":"i64","shape":[]},
           {"dtype":"f32","shape":[{"symbol":"N","min":1,"max":64},16,32,32]}, {"dtype":"bool","shape":[0,2]}],
  "inputs":[{"name":"x","type":0}],
  "constants":[{"name":"w0","type":1,"key":"9f2c"}, {"name":"b0","type":2,"key":"00ff","value":[9007199254740993]}],
  "nodes":[{"call":0,"args":[["i",0],["c",0]],"types":[3],"loc":"Conv_0"},
           {"op":"split","version":2,"args":[["n",0,0]],"types":[4,4],"loc":"Split_3",
            "attrs":{"axis":1,"split":[8,8],"eps":1e-5,"whole":1.0,"mode":"cubic","keep":true,"none":[],
                     "names":["a","b"],"flags":[true,false],"scales":[1.0,{"float":"inf"}],"low":{"float":"-inf"},
                     "to":{"dtype":"f16"},"table":{"constant":"abcd","type":1}}}],
  "outputs":[["n",1,0],["n",1,1]],
  "functions":[{"name":"conv2d_relu_0","pattern":"onednn.conv2d_relu",
                "captures":{"conv":[["n",0]],"post":[["n",1]],"x":[["i",0]]},
                "inputs":[{"name":"x","type":0},{"name":"w","type":1}],
                "nodes":[{"op":"conv2d","version":1,"args":[["i",0],["i",1]],"types":[3]},
                         {"op":"relu","version":1,"args":[["n",0,0]],"types":[3]}],
                "outputs":[["n",1,0]]}] })";

TEST(SdkGraph, ReadsNodesOperandsAndTypes) {
  Graph graph = parse_graph(kGraph);
  EXPECT_EQ(graph.symbol, "onednn_main_0");
  ASSERT_EQ(graph.nodes.size(), 2u);
  EXPECT_TRUE(graph.nodes[0].is_call());
  EXPECT_EQ(graph.nodes[0].loc, "Conv_0");
  EXPECT_THAT(graph.nodes[0].args,
              ElementsAre(Operand{Operand::kInput, 0}, Operand{Operand::kConstant, 0}));
  EXPECT_EQ(graph.nodes[1].op, "split");
  EXPECT_EQ(graph.nodes[1].version, 2);
  EXPECT_THAT(graph.outputs,
              ElementsAre(Operand{Operand::kNode, 1, 0}, Operand{Operand::kNode, 1, 1}));
  EXPECT_EQ(graph.input_type(0).text(), "f32[1,3,32,32]");
  EXPECT_EQ(graph.input_type(0).bytes(), 1 * 3 * 32 * 32 * 4);
  EXPECT_EQ(graph.output_type(1).text(), "bool[0,2]");
  EXPECT_EQ(graph.output_type(1).elements(), 0);
}

TEST(SdkGraph, KeepsSymbolicDimsApart) {
  Graph graph = parse_graph(kGraph);
  const Type& type = graph.type(graph.nodes[0]);
  EXPECT_FALSE(type.is_static());
  EXPECT_EQ(type.text(), "f32[N<=64,16,32,32]");
  EXPECT_EQ(type.dims[0], Type::kSymbolic);
  EXPECT_EQ(type.symbols[0].min, 1);
  EXPECT_EQ(type.symbols[0].max, 64);
}

TEST(SdkGraph, ReadsCompositesAndTheirCaptures) {
  Graph graph = parse_graph(kGraph);
  const Body* body = graph.callee(graph.nodes[0]);
  ASSERT_NE(body, nullptr);
  EXPECT_EQ(body->pattern, "onednn.conv2d_relu");
  ASSERT_NE(body->captured("conv"), nullptr);
  EXPECT_EQ(body->captured("conv")->op, "conv2d");
  EXPECT_EQ(body->captured("x"), nullptr) << "an input, not a node";
  EXPECT_EQ(body->captured("nothing"), nullptr);
  EXPECT_EQ(graph.type(*body, body->outputs[0]).text(), "f32[N<=64,16,32,32]");
  EXPECT_EQ(graph.callee(graph.nodes[1]), nullptr);
}

TEST(SdkGraph, ReadsConstantsAndSmallValuesExactly) {
  Graph graph = parse_graph(kGraph);
  EXPECT_EQ(graph.constants[0].key, "9f2c");
  EXPECT_FALSE(graph.constants[0].value.has_value());
  EXPECT_THAT(std::get<Ints>(*graph.constants[1].value), ElementsAre(9007199254740993))
      << "expected an integer that no double represents";
}

TEST(SdkAttrs, ReadsEveryKind) {
  Graph graph = parse_graph(kGraph);
  const Attrs& attrs = graph.nodes[1].attrs;
  EXPECT_EQ(attrs.i("axis"), 1);
  EXPECT_THAT(attrs.ints("split"), ElementsAre(8, 8));
  EXPECT_EQ(attrs.f("eps"), 1e-5);
  EXPECT_EQ(attrs.f("whole"), 1.0);
  EXPECT_EQ(attrs.f("axis"), 1.0) << "expected the integer to be read as a float";
  EXPECT_EQ(attrs.s("mode"), "cubic");
  EXPECT_TRUE(attrs.b("keep", false));
  EXPECT_TRUE(attrs.ints("none").empty());
  EXPECT_TRUE(attrs.floats("none").empty());
  EXPECT_TRUE(attrs.strings("none").empty());
  EXPECT_THAT(attrs.strings("names"), ElementsAre("a", "b"));
  EXPECT_THAT(std::get<Bools>(*attrs.find("flags")), ElementsAre(true, false));
  EXPECT_THAT(attrs.floats("scales"), ElementsAre(1.0, std::numeric_limits<double>::infinity()));
  EXPECT_EQ(attrs.f("low"), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(attrs.dtype("to"), DType::kF16);
  EXPECT_EQ(std::get<ConstantKey>(*attrs.find("table")).hex, "abcd");
}

TEST(SdkAttrs, FallsBackOnlyWhenAbsent) {
  Attrs attrs;
  attrs.set("axis", std::string("one"));
  EXPECT_EQ(attrs.i("missing", 3), 3);
  EXPECT_EQ(attrs.s("missing", "x"), "x");
  EXPECT_THROW(attrs.i("axis", 3), Error);
  try {
    attrs.i("missing");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code, uint32_t{BYOC_INVALID_ARGUMENT});
    EXPECT_EQ(e.message(), "attribute \"missing\" is missing");
  }
}

TEST(SdkGraph, ReadsConstantElementsThatJsonHasNoNumberFor) {
  Graph graph =
      parse_graph(R"({"format":"byoc.graph","version":1,"types":[{"dtype":"f32","shape":[4]}],
      "constants":[{"name":"c","type":0,"key":"","value":["nan","-inf",0.5,"0x7fc00001"]}]})");
  const auto& values = std::get<Floats>(*graph.constants[0].value);
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_EQ(values[1], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(values[2], 0.5);
  EXPECT_TRUE(std::isnan(values[3]));
}

/// Returns whether the graph is parsed although the n-th allocation fails.
bool is_parsed_without(long n, bool and_later_ones, const std::string& text) {
  failing_in = n, fails_from_then = and_later_ones;
  bool is_parsed = false;
  try {
    is_parsed = parse_graph(text).nodes.size() == 2;
  } catch (const std::bad_alloc&) {
  }
  const bool has_failed = failing_in == 0 || (and_later_ones && failing_in == 1);
  failing_in = 0;
  return is_parsed || !has_failed;
}

// nlohmann's destructor and its comparison with texts allocate and are noexcept.
TEST(SdkGraph, IsParsedWithAllocationsThatFail) {
  for (const bool and_later_ones : {false, true}) {
    long n = 1;
    while (!is_parsed_without(n, and_later_ones, kGraph)) ++n;
    EXPECT_GT(n, 300) << and_later_ones;
  }
}

struct Bad {
  std::string from, to, message;
};

class RefusesAGraph : public testing::TestWithParam<Bad> {};

TEST_P(RefusesAGraph, WithTheReason) {
  std::string text = kGraph;
  text.replace(text.find(GetParam().from), GetParam().from.size(), GetParam().to);
  try {
    parse_graph(text);
    FAIL() << text;
  } catch (const Error& e) {
    EXPECT_EQ(e.code, uint32_t{BYOC_BAD_GRAPH});
    EXPECT_THAT(e.message(), HasSubstr(GetParam().message));
  }
}

const Bad kBad[] = {
    {"\"byoc.graph\"", "\"onnx\"", "not a byoc.graph"},
    {"\"version\":1", "\"version\":2", "version 2, this SDK reads 1"},
    {"\"requires\":[]", "\"requires\":[\"loops\"]", "\"loops\" is required and missing"},
    {"\"requires\":[]", "\"requires\":[\"loans\"]", "requires \"loans\", unknown to this SDK"},
    {"\"dtype\":\"bool\"", "\"dtype\":\"f8\"", "unknown dtype \"f8\""},
    {"[1,3,32,32]", "[1,-3,32,32]", "a dim is negative"},
    {"[1,3,32,32]", "[1,3.5,32,32]", "a dim is not an integer"},
    {"{\"name\":\"x\",\"type\":0}", "{\"name\":\"x\",\"type\":9}", "type 9 of 5"},
    {"[\"i\",0],[\"c\",0]", "[\"i\",7],[\"c\",0]", "input 7 of 1"},
    {"[\"i\",0],[\"c\",0]", "[\"i\",0],[\"c\",2]", "constant 2 of 2"},
    {"\"args\":[[\"n\",0,0]],\"types\":[4,4]", "\"args\":[[\"n\",1,0]],\"types\":[4,4]",
     "node 1 of 1"},
    {"\"args\":[[\"n\",0,0]],\"types\":[4,4]", "\"args\":[[\"n\",0,1]],\"types\":[4,4]",
     "output 1 of 1"},
    {"\"args\":[[\"n\",0,0]],\"types\":[4,4]", "\"args\":[[\"z\",0,0]],\"types\":[4,4]",
     "not an operand"},
    {"{\"call\":0", "{\"call\":3", "call 3 of 1"},
    {"{\"call\":0,\"args\":[[\"i\",0],[\"c\",0]]", "{\"call\":0,\"args\":[[\"i\",0]]",
     "a call does not fit"},
    {"{\"call\":0", "{\"extern\":\"f\"", "neither an op nor a call"},
    {"\"axis\":1", "\"axis\":{\"who\":1}", "attribute \"axis\" is of no known kind"},
    {"\"axis\":1", "\"axis\":null", "attribute \"axis\" is of no known kind"},
    {"[8,8]", "[8,\"8\"]", "a list of mixed kinds"},
    {"[9007199254740993]", "[{}]", "elements of a constant are neither numbers nor booleans"},
    {"\"outputs\":[[\"n\",1,0],[\"n\",1,1]]", "\"outputs\":5", "\"outputs\" is not a list"},
    {"\"outputs\":[[\"n\",1,0],[\"n\",1,1]]", "\"outputs\":[", "parse error"},
};
INSTANTIATE_TEST_SUITE_P(SdkGraph, RefusesAGraph, testing::ValuesIn(kBad));

TEST(SdkGraph, RefusesHostileDepthBeforeParsing) {
  std::string deep(200000, '[');
  try {
    parse_graph(deep);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.message(), "graph JSON: nested deeper than 64");
  }
}

TEST(SdkGraph, SurvivesTruncationAndDamage) {
  auto survives = [](const std::string& text) {
    try {
      parse_graph(text);
    } catch (const Error&) {  // the only exception allowed
    }
  };
  for (size_t size = 0; size < kGraph.size(); size += 3) survives(kGraph.substr(0, size));
  std::mt19937 random(1);
  for (int k = 0; k < 3000; ++k) {
    std::string text = kGraph;
    text[random() % text.size()] = static_cast<char>(' ' + random() % 95);
    survives(text);
  }
}

}  // namespace
}  // namespace byoc::sdk
