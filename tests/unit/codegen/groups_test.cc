// SPDX-License-Identifier: Apache-2.0
// Groups that default codegens list in `partition`: what the plugin is given, which groups are
// refused, with which words, and that a model keeps its values. tests/golden/fuse_ops has the
// kernels that are formed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "byoc/pass/codegen.h"
#include "byoc/text/builder.h"
#include "byoc/text/text.h"
#include "core/codegen/kernels/legal_groups.h"
#include "core/codegen/kernels/strong_components.h"
#include "support/faults.h"
#include "support/flow.h"

namespace byoc::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kChain = R"(fn main(%x: f32[4,8], %w: f32[8,8]) {
  %0 = matmul(%x, %w) loc("MatMul_0")
  %1 = relu(%0) loc("Relu_1")
  %2 = softmax(%1) loc("Softmax_2")
  %3 = tanh(%2) loc("Tanh_3")
  %4 = add(%3, %0) loc("Add_4")
  return %4
})";
constexpr const char* kCross = R"(fn main(%x: f32[4,8]) {
  %0 = relu(%x) loc("a1")
  %1 = tanh(%x) loc("b1")
  %2 = exp(%0) loc("b2")
  %3 = sin(%1) loc("a2")
  return %2, %3
})";

std::string path_of(const std::string& id) {
  return id.starts_with("groups")
             ? fault_path(id)
             : cat(BYOC_BUILD_DIR "/tests/support/plugins/libbyoc_", id, ".so");
}

/// A flow with one default codegen.
struct Flow {
  Flow(const char* text, const std::string& file, std::map<std::string, std::string> options)
      : module(parse(text)) {
    const std::string id = file.starts_with("groups") ? "groups" : file;
    PluginSearch search;
    search.files = {path_of(file)};
    search.options[id] = std::move(options);
    plugins = PluginSet::load(search);
    EXPECT_THAT(plugins->refused(), IsEmpty());
    context = context_of(module, plugins, {id}, &report);
  }
  Result<IRModule> fused() { return fuse_ops(module, context); }
  std::vector<std::string> remarks() const {
    std::vector<std::string> out;
    for (const Report::Remark& remark : report.remarks) {
      if (remark.op == "group") out.push_back(remark.reason);
    }
    return out;
  }
  IRModule module;
  std::shared_ptr<const PluginSet> plugins;
  Report report;
  PassContext context;
};

struct Refusal {
  const char *text, *plugin, *groups, *remark;
};
class RefusedGroups : public testing::TestWithParam<Refusal> {};

// The module is then the one without groups.
TEST_P(RefusedGroups, AreNamedAndChangeNothing) {
  const Refusal& c = GetParam();
  Flow with(c.text, c.plugin, {{"groups", c.groups}}), without(c.text, c.plugin, {});
  Result<IRModule> got = with.fused(), expected = without.fused();
  ASSERT_TRUE(got.ok()) << got.status().to_string();
  EXPECT_THAT(with.remarks(), ElementsAre(c.remark));
  EXPECT_EQ(print(*got), print(*expected));
  EXPECT_THAT(without.remarks(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusedGroups,
    testing::Values(
        Refusal{
            kChain, "regions", "pair:MatMul_0+Softmax_2",
            R"(group "pair" of regions is refused: not convex: "Relu_1" lies between "MatMul_0")"
            R"( and "Softmax_2")"},
        Refusal{
            kChain, "kernels", "ends:MatMul_0+Add_4",
            R"(group "ends" of kernels is refused: not convex: "Relu_1" lies between "MatMul_0")"
            R"( and "Add_4")"},
        Refusal{
            kChain, "small", "all:Relu_1+Softmax_2+Tanh_3+Add_4+MatMul_0",
            R"(group "all" of small is refused: "MatMul_0", "Relu_1", "Softmax_2", "Tanh_3" and)"
            R"( 1 more are 5 ops, and a region of small has at most 3)"},
        Refusal{
            "fn main(%x: f32[512]) { %0 = relu(%x) loc(\"a\") %1 = tanh(%0) loc(\"b\") "
            "%2 = exp(%1) loc(\"c\") return %2 }",
            "small", "wide:a+b+c",
            R"(group "wide" of small is refused: "a", "b" and "c" have 6144 bytes, and a region)"
            R"( of small has at most 4096)"}));

TEST(Groups, OfAnOpThatHasAnOwnerAreRefused) {
  Flow one(kChain, "kernels", {{"groups", "one:MatMul_0+Relu_1,two:Relu_1+Softmax_2"}});
  ASSERT_TRUE(one.fused().ok());
  EXPECT_THAT(one.remarks(), ElementsAre(R"(group "two" of kernels is refused: "Relu_1" belongs )"
                                         R"(also to group "one")"));
  Flow two(kChain, "kernels", {{"groups", "one:MatMul_0+Relu_1,two:Softmax_2+MatMul_0+Relu_1"}});
  ASSERT_TRUE(two.fused().ok());
  EXPECT_THAT(two.remarks(), ElementsAre(R"(group "two" of kernels is refused: "MatMul_0" and )"
                                         R"("Relu_1" belong also to group "one")"));
}

TEST(Groups, ThatWouldReadEachOtherAreNotBothFormed) {
  Flow flow(kCross, "regions", {{"groups", "a:a1+a2,b:b1+b2"}});
  Result<IRModule> fused = flow.fused();
  ASSERT_TRUE(fused.ok()) << fused.status().to_string();
  EXPECT_THAT(flow.remarks(),
              ElementsAre(R"(group "a" of regions is refused: "a1" and "a2" and group "b" would )"
                          R"(each read a value of the other)"));
  Flow one(kCross, "regions", {{"groups", "b:b1+b2"}});
  EXPECT_EQ(print(*fused), print(*one.fused()));
}

TEST(Groups, InsideOfARefusedOneAreFormed) {
  Flow flow(kChain, "kernels", {{"groups", "outer:MatMul_0+Add_4,inner:Relu_1+Softmax_2"}});
  Result<IRModule> fused = flow.fused();
  ASSERT_TRUE(fused.ok()) << fused.status().to_string();
  ASSERT_EQ(flow.remarks().size(), 1u);
  EXPECT_THAT(flow.remarks()[0], HasSubstr("group \"outer\" of kernels is refused"));
  Flow inner(kChain, "kernels", {{"groups", "inner:Relu_1+Softmax_2"}});
  EXPECT_EQ(print(*fused), print(*inner.fused()));
}

// A chain of which each group has the ops before and after the next one: only the innermost is
// convex. A search of each would read the whole chain, 10^10 steps.
TEST(Groups, InsideOfEachOtherAreRefusedInLinearTime) {
  constexpr uint32_t kOps = 200000;
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId value = f.param("x", TensorType{DType::kF32, {2}});
  for (uint32_t k = 0; k < kOps; ++k) value = f.call(k % 2 ? "tanh" : "relu", {value});
  ASSERT_TRUE(f.finish("main", {value}).ok());
  const Function& function = module.function("main");
  const auto first = static_cast<uint32_t>(function.nodes.size()) - kOps;
  std::vector<KernelGroup> groups;
  for (uint32_t k = 0; k < kOps / 2; ++k)
    groups.push_back({"pair", "regions", {first + k, first + kOps - 1 - k}});
  Flow flow(kChain, "regions", {});
  const Annotations none{{}, std::vector<uint32_t>(function.nodes.size(), kOutside)};
  const size_t left = legal_groups(module, function, none, std::move(groups), flow.context).size();
  EXPECT_LE(left, 1u);
  EXPECT_EQ(flow.remarks().size(), kOps / 2 - left);
  EXPECT_THAT(flow.remarks()[0], HasSubstr("would each read a value of the other"));
}

TEST(Groups, AreNotRequestedAtLevel0) {
  Flow flow(kChain, "groups", {{"reply", "fail"}});
  flow.context.level = 0;
  EXPECT_TRUE(flow.fused().ok());
}

TEST(Groups, OfAPluginWithoutTheSlotAreNotRequested) {
  Flow older(kChain, "groups_minor_7", {{"reply", "fail"}});
  EXPECT_FALSE(older.plugins->find("groups")->has_partition());
  EXPECT_TRUE(older.fused().ok());
}

TEST(Groups, ThatCannotBeReadNamePluginAndFunction) {
  Flow flow(kChain, "groups", {{"reply", R"({"groups":[{"name":"pair","nodes":[0,5]}]})"}});
  Status status = flow.fused().status();
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_EQ(status.slug(), "bad-groups");
  EXPECT_EQ(status.message(),
            "groups: the groups of @main cannot be used: group \"pair\" has the "
            "node 5, and the graph has 5 nodes");
  Flow failing(kChain, "groups", {{"reply", "fail"}});
  status = failing.fused().status();
  EXPECT_EQ(status.message(), "groups: cannot decide today");
  EXPECT_THAT(status.to_string(), HasSubstr("@main"));
}

// Values of other plugins' ops are inputs, values that they read are outputs; a constant is given
// as compile has it.
TEST(Groups, AreRequestedForTheOpsOfThePlugin) {
  PluginSearch search;
  search.files = {path_of("groups"), path_of("a")};
  search.options = {{"groups", {{"reply", "request"}}}, {"a", {{"ops", "exp"}}}};
  IRModule module = parse(R"(fn main(%x: f32[4,8], %y: f32[8]) {
    %0 = relu(%x) loc("one")
    %1 = const([1,2,3,4,5,6,7,8]) : f32[8]
    %2 = add(%0, %1) loc("two")
    %3 = exp(%2)
    %4 = multiply(%3, %y)
    %5 = tanh(%4)
    return %5
  })");
  Report report;
  PassContext context = context_of(module, PluginSet::load(search), {"a", "groups"}, &report);
  context.threads = 3, context.compile_flags = BYOC_STRICT_FP;
  module =
      run(std::move(module), "annotate_target=a,merge_compiler_regions,partition_graph", context);
  run(std::move(module), "fuse_ops", context);
  ASSERT_FALSE(report.remarks.empty());
  EXPECT_EQ(report.remarks.back().reason,
            cat("group \"relu add multiply tanh 3 in 2 out 1 consts 1 functions 3 threads ",
                static_cast<int>(BYOC_STRICT_FP),
                " flags main\" of groups is refused: \"one\" and \"two\" belong also to group "
                "\"first\""));
}

TEST(Groups, KeepTheValuesOfAModel) {
  for (const char* id : {"kernels", "regions"}) {
    for (const char* groups : {"", "pair:Relu_1+Softmax_2", "all:MatMul_0+Relu_1+Softmax_2+Tanh_3",
                               "ends:Tanh_3+Add_4,begin:MatMul_0+Relu_1"}) {
      Flow flow(kChain, id, {{"groups", groups}}), plain(kChain, id, {});
      BuildOptions options;
      options.compilers = {id};
      options.plugins = flow.plugins;
      Result<Executable> grouped = build(flow.module, options);
      ASSERT_TRUE(grouped.ok()) << grouped.status().to_string();
      options.plugins = plain.plugins;
      Result<Executable> expected = build(plain.module, options);
      ASSERT_TRUE(expected.ok()) << expected.status().to_string();
      expect_close(execute(*grouped, flow.plugins), execute(*expected, plain.plugins));
    }
  }
}

// compile may decline the function of its own group: the next default codegen gets the ops.
TEST(Groups, ThatCompileDeclinesGoToTheNextDefaultCodegen) {
  PluginSearch search;
  search.files = {path_of("kernels"), BYOC_PLUGIN_DIR "/libbyoc_json.so"};
  search.options["kernels"] = {{"groups", "pair:MatMul_0+Relu_1"}, {"decline", "matmul"}};
  Report report;
  BuildOptions options;
  options.plugins = PluginSet::load(search);
  options.default_codegen = "kernels";
  options.compilers = {"kernels"};
  options.report = &report;
  Result<Executable> declined = build(parse(kChain), options);
  ASSERT_TRUE(declined.ok()) << declined.status().to_string();
  std::map<std::string, uint64_t> ops;
  for (const ExternalModule& module : declined->modules) {
    for (const ExternalFunction& function : module.functions) ops[module.plugin] += function.ops;
  }
  EXPECT_EQ(ops["json"], 2u) << "the group's";
  EXPECT_EQ(ops["kernels"], 3u);
  Flow plain(kChain, "kernels", {});
  options.plugins = plain.plugins;
  options.report = nullptr;
  Result<Executable> expected = build(parse(kChain), options);
  ASSERT_TRUE(expected.ok()) << expected.status().to_string();
  expect_close(execute(*declined, PluginSet::load(search)), execute(*expected, plain.plugins));
}

TEST(StrongComponents, AreTheCyclesOfAGraph) {
  // 0 -> 1 -> 2 -> 0, 2 -> 3, 3 -> 4 -> 3, 5 alone.
  const std::vector<uint32_t> of = strong_components({{0, 1, 2, 4, 5, 6, 6}, {1, 2, 0, 3, 4, 3}});
  ASSERT_EQ(of.size(), 6u);
  EXPECT_EQ(of[0], of[1]);
  EXPECT_EQ(of[1], of[2]);
  EXPECT_EQ(of[3], of[4]);
  EXPECT_NE(of[0], of[3]);
  EXPECT_NE(of[0], of[5]);
  EXPECT_NE(of[3], of[5]);
}

// On the default stack of a process.
TEST(StrongComponents, OfALongCycleAreOne) {
  constexpr uint32_t kSize = 1000000;
  Edges edges;
  for (uint32_t v = 0; v < kSize; ++v) {
    edges.first.push_back(v);
    edges.target.push_back((v + 1) % kSize);
  }
  edges.first.push_back(kSize);
  const std::vector<uint32_t> of = strong_components(edges);
  EXPECT_EQ(std::count(of.begin(), of.end(), of[0]), kSize);
}

}  // namespace
}  // namespace byoc::test
