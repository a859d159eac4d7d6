// SPDX-License-Identifier: Apache-2.0
#include "byoc/text/graph_json.h"

#include <gtest/gtest.h>

#include <cmath>

#include "byoc/base/json.h"
#include "byoc/ir/composite.h"
#include "byoc/text/text.h"

namespace byoc {
namespace {

IRModule parse(std::string_view text) {
  auto module = parse_module(text, all_ops());
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  return module.ok() ? *std::move(module) : IRModule();
}

std::string json_of(const IRModule& module, Symbol name = "main") {
  std::string out;
  write_graph_json(module, module.function(name), name, out);
  return out;
}

GraphConstants constants_of(const IRModule& module) {
  return [&module](const ContentKey& key) -> std::shared_ptr<const Buffer> {
    auto found = module.constants.find(key);
    return found == module.constants.end() ? nullptr : found->second;
  };
}

constexpr const char* kComposite = R"(
  fn main(%x: f32[2,2<=N<=8]) {
    %0 = const([1,nan]) : f32[2,1] loc("bias")
    %1 = @p_0(%x, %0) loc("Relu_0")
    %2 = leaky_relu(%1) {alpha=0.5} loc("Leaky_1")
    return %2, %1, %x, %0 }
  fn p_0(%a: f32[2,2<=N<=8], %b: f32[2,1]) {composite="json.add_relu", captures=["add=n0","b=i1","post=n1"]} {
    %0 = add(%a, %b)  %1 = relu(%0)  return %1 })";

// Compares every member with the format that docs/graph-json.md defines.
TEST(WriteGraphJson, HasTheDocumentedShape) {
  IRModule module = parse(kComposite);
  auto json = parse_json(json_of(module));
  ASSERT_TRUE(json.ok()) << json.status().to_string();
  Json expected = Json::parse(R"({
    "format":"byoc.graph","version":1,"requires":[],"symbol":"main",
    "sizes":[{"symbol":"N","min":2,"max":8}],
    "types":[{"dtype":"f32","shape":[2,{"symbol":"N","min":2,"max":8}]},{"dtype":"f32","shape":[2,1]}],
    "inputs":[{"name":"x","type":0}],
    "constants":[{"name":"bias","type":1,"key":"KEY","value":[1.0,"nan"]}],
    "nodes":[{"call":0,"args":[["i",0],["c",0]],"types":[0],"loc":"Relu_0"},
             {"op":"leaky_relu","version":1,"args":[["n",0,0]],"types":[0],"attrs":{"alpha":0.5},"loc":"Leaky_1"}],
    "outputs":[["n",1,0],["n",0,0],["i",0],["c",0]],
    "functions":[{"name":"p_0","pattern":"json.add_relu",
      "captures":{"add":[["n",0]],"b":[["i",1]],"post":[["n",1]]},
      "inputs":[{"name":"a","type":0},{"name":"b","type":1}],
      "nodes":[{"op":"add","version":1,"args":[["i",0],["i",1]],"types":[0]},
               {"op":"relu","version":1,"args":[["n",0,0]],"types":[0]}],
      "outputs":[["n",1,0]]}]})");
  expected["constants"][0]["key"] = module.constants.begin()->first.hex();
  EXPECT_EQ(*json, expected) << json->dump(1);
}

TEST(GraphConstants, AreThoseOfTheGraphInItsOrder) {
  IRModule module = parse(R"(
    fn main(%x: f32[1]) { %0 = const([1]) : f32[1]  %1 = const([2]) : f32[1]  %2 = const([1]) : f32[1]
      %3 = add(%0, %1)  %4 = @c(%2)  return %3, %4 }
    fn c(%x: f32[1]) {composite="p.c"} { %0 = const([3]) : f32[1]  %1 = add(%x, %0)  return %1 })");
  auto constants = graph_constants(module, module.function("main"));
  auto json = *parse_json(json_of(module));
  ASSERT_EQ(constants.size(), 4u);
  for (size_t k = 0; k < 4; ++k) EXPECT_EQ(json["constants"][k]["key"], constants[k].key.hex());
  EXPECT_EQ(json["functions"][0]["nodes"][0]["args"][1], Json::parse(R"(["c",3])"));
}

TEST(GraphJson, ReadsBackEqual) {
  IRModule module = parse(kComposite);
  auto again = read_graph_json(json_of(module), all_ops(), constants_of(module));
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  std::string why;
  EXPECT_TRUE(equal(module, *again, &why)) << why << print(*again);
}

TEST(GraphJson, KeepsAttributesOfEveryKind) {
  // No op of byoc has attributes of all kinds, so the test has its own registry.
  OpRegistry ops;
  OpDef op;
  op.name = "everything";
  AttrValue values[] = {int64_t{-5},
                        2.0,
                        NAN,
                        -INFINITY,
                        true,
                        std::string("a\"\x01\xc3\xa9"),
                        DType::kBF16,
                        Ints{1, -2},
                        Floats{1.0, NAN},
                        Strings{"x", ""},
                        Bools{true, false},
                        Ints{}};
  Attrs attrs;
  for (size_t k = 0; k < std::size(values); ++k) {
    op.attrs.push_back({cat("a", k), values[k], "", AttrSpec::kRequired});
    attrs.set(cat("a", k), values[k]);
  }
  op.infer = [](Types, const Attrs&) -> Result<std::vector<TensorType>> {
    return std::vector<TensorType>{{}};
  };
  ops.add(std::move(op));
  IRModule module;
  Function f;
  f.results = {{f.add_call(ops.find("everything"), intern(attrs), {}, TypeId()), 0}};
  module.functions.emplace("main", std::move(f));
  auto again = read_graph_json(json_of(module), ops, constants_of(module));
  ASSERT_TRUE(again.ok()) << again.status().to_string() << json_of(module);
  std::string why;
  EXPECT_TRUE(equal(module, *again, &why)) << why;
}

TEST(GraphJson, ReplacesBytesThatAreNoText) {
  IRModule module =
      parse("fn main(%\"a\\xffb\\xe2\\x82\": f32[]) { return %\"a\\xffb\\xe2\\x82\" }");
  auto json = parse_json(json_of(module));
  ASSERT_TRUE(json.ok()) << json.status().to_string();
  EXPECT_EQ((*json)["inputs"][0]["name"], "a\uFFFDb\uFFFD\uFFFD");
}

TEST(ReadGraphJson, MakesConstantsParametersWhenTheyAreNotAtHand) {
  IRModule module =
      parse("fn main(%x: f32[2]) { %0 = const(1) : f32[100,2]  %1 = add(%x, %0) return %1 }");
  auto judged = read_graph_json(json_of(module), all_ops(), nullptr);
  ASSERT_TRUE(judged.ok()) << judged.status().to_string();
  EXPECT_EQ(print(judged->function("main"), "main"),
            "fn main(%x: f32[2], %c0: f32[100,2]) {\n  %0 = add(%x, %c0)\n  return %0\n}\n");
}

TEST(ReadGraphJson, IgnoresUnknownMembers) {
  auto module = read_graph_json(
      R"({"format":"byoc.graph","new":{"a":[1]},"version":1,"requires":[],"symbol":"f",
    "types":[{"dtype":"f32","shape":[],"new":1}],"inputs":[{"name":"x","type":0,"new":[]}],"constants":[],
    "nodes":[{"op":"relu","args":[["i",0]],"types":[0],"new":{"nodes":[1]}}],"outputs":[["n",0,0]],"more":[[]]})",
      all_ops(), nullptr);
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  EXPECT_EQ(module->function("f").nodes.size(), 2u);
}

// Returns the error for a graph of one relu after one of its members was changed.
std::string refusal(const std::string& member, const std::string& value) {
  Json graph = Json::parse(R"({"format":"byoc.graph","version":1,"requires":[],"symbol":"f",
    "types":[{"dtype":"f32","shape":[2]}],"inputs":[{"name":"x","type":0}],"constants":[],
    "nodes":[{"op":"relu","args":[["i",0]],"types":[0]}],"outputs":[["n",0,0]],"functions":[]})");
  graph[member] = Json::parse(value);
  auto module = read_graph_json(graph.dump(), all_ops(), nullptr);
  if (module.ok()) return "accepted";
  EXPECT_EQ(module.status().code(), Code::kBadGraph);
  EXPECT_EQ(module.status().slug(), "bad-graph");
  return module.status().message();
}

TEST(ReadGraphJson, SaysWhatIsWrong) {
  EXPECT_EQ(refusal("format", "\"other\""), "graph JSON: \"format\" is not \"byoc.graph\"");
  EXPECT_EQ(refusal("version", "2"), "graph JSON: version 2, this build reads 1");
  EXPECT_EQ(refusal("requires", "[\"loans\"]"),
            "graph JSON: it requires \"loans\", which this build does not support");
  EXPECT_EQ(refusal("symbol", "\"\""), "graph JSON: it has no symbol");
  EXPECT_EQ(refusal("types", R"([{"dtype":"f31","shape":[2]}])"), "graph JSON: dtype \"f31\"");
  EXPECT_EQ(refusal("types", R"([{"dtype":"f32","shape":[-2]}])"), "graph JSON: dim -2");
  EXPECT_EQ(refusal("types", R"([{"dtype":"f32","shape":[{"symbol":"N","min":3,"max":2}]}])"),
            "graph JSON: dim {\"symbol\":\"N\",\"min\":3,\"max\":2}");
  EXPECT_EQ(refusal("types", R"([{"dtype":"f32","shape":[9223372036854775807,2]}])").substr(0, 36),
            "graph JSON: the size of a tensor of ");
  EXPECT_EQ(refusal("inputs", R"([{"name":"x","type":1}])"), "graph JSON: type 1 of 1");
  EXPECT_EQ(refusal("nodes", R"([{"op":"relu","args":[["i",1]],"types":[0]}])"),
            "graph JSON: node 0: input 1 is read, 1 come before");
  EXPECT_EQ(refusal("nodes", R"([{"op":"relu","args":[["n",0,0]],"types":[0]}])"),
            "graph JSON: node 0: node 0 is read, 0 come before");
  EXPECT_EQ(refusal("nodes", R"([{"op":"relu","args":[["q",0]],"types":[0]}])"),
            "graph JSON: node 0: an operand of kind q");
  EXPECT_EQ(refusal("nodes", R"([{"op":"relu","version":2,"args":[["i",0]],"types":[0]}])"),
            "graph JSON: node 0: relu of version 2, this build has 1");
  EXPECT_EQ(refusal("nodes", R"([{"op":"relu","args":[["i",0]],"types":[]}])"),
            "graph JSON: output 0 of node 0 does not exist");
  EXPECT_EQ(refusal("nodes", R"([{"call":0,"args":[["i",0]],"types":[0]}])"),
            "graph JSON: functions[0] is called, there are 0");
  EXPECT_NE(refusal("nodes", R"([{"op":"relu","args":7,"types":[0]}])"), "accepted");
  EXPECT_NE(refusal("nodes", R"([{"types":[0]}])"), "accepted");
  EXPECT_NE(refusal("nodes", "[[[]]]"), "accepted");
  EXPECT_EQ(refusal("outputs", R"([["n",0,1]])"), "graph JSON: output 1 of node 0 does not exist");
  EXPECT_EQ(refusal("outputs", "[]"), "graph JSON: it has no outputs");
}

TEST(ReadGraphJson, WantsInputsAndConstantsBeforeNodes) {
  auto refuse = [](const std::string& members) {
    return read_graph_json(R"({"format":"byoc.graph","version":1,"requires":[],"symbol":"f",
        "types":[{"dtype":"f32","shape":[2]}],)" +
                               members + "}",
                           all_ops(), nullptr)
        .status()
        .message();
  };
  const std::string inputs = R"("inputs":[{"name":"x","type":0}])",
                    constants = R"("constants":[{"name":"c0","type":0,"key":")" +
                                std::string(32, '0') + R"("}])",
                    nodes = R"("nodes":[{"extern":"f0","args":[],"types":[0]}])",
                    outputs = R"("outputs":[["n",0,0]])";
  EXPECT_EQ(refuse(cat(nodes, ",", inputs, ",", outputs)),
            "graph JSON: \"inputs\" comes after the nodes");
  EXPECT_EQ(refuse(cat(nodes, ",", constants, ",", outputs)),
            "graph JSON: \"constants\" comes after the nodes");
  EXPECT_EQ(refuse(cat(nodes, R"(,"functions":[{"name":"g",)", nodes, ",", inputs, "}]")),
            "graph JSON: \"inputs\" comes after the nodes");
}

TEST(ReadGraphJson, ChecksTypesAgainstInference) {
  EXPECT_EQ(
      refusal("nodes", R"([{"op":"relu","args":[["i",0],["i",0]],"types":[0]}])").substr(0, 17),
      "@f: %0 (relu): re");
  EXPECT_EQ(refusal("nodes", R"([{"op":"relu","args":[["i",0]],"types":[0,0]}])"),
            "@f: %0 (relu): its type is f32[2], f32[2], inference gives f32[2]");
}

TEST(ReadGraphJson, RefusesWhatIsNoJson) {
  auto refuse = [](std::string_view text) {
    return read_graph_json(text, all_ops(), nullptr).status().code();
  };
  EXPECT_EQ(refuse(""), Code::kBadGraph);
  EXPECT_EQ(refuse("{"), Code::kBadGraph);
  EXPECT_EQ(refuse("[]"), Code::kBadGraph);
  EXPECT_EQ(refuse(std::string(100000, '[')), Code::kBadGraph);
}

TEST(ReadGraphJson, SurvivesTruncationAndChangedBytes) {
  IRModule module = parse(kComposite);
  std::string text = json_of(module);
  for (size_t n = 0; n + 2 < text.size(); n += 3) {
    EXPECT_FALSE(read_graph_json(text.substr(0, n), all_ops(), constants_of(module)).ok());
  }
  uint64_t state = 11;
  for (int k = 0; k < 2000; ++k) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    std::string changed = text;
    changed[(state >> 33) % text.size()] = static_cast<char>(state >> 24);
    (void)read_graph_json(changed, all_ops(), constants_of(module)).ok();
  }
}

}  // namespace
}  // namespace byoc
