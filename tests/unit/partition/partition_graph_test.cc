// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "byoc/pass/partition.h"
#include "byoc/text/text.h"

namespace byoc {
namespace {

IRModule parse(std::string_view text) {
  Result<IRModule> module = parse_module(text, all_ops());
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  return module.ok() ? *std::move(module) : IRModule();
}

void expect_equal(const IRModule& got, std::string_view expected) {
  std::string why;
  EXPECT_TRUE(equal(got, parse(expected), &why)) << why << "\n" << print(got);
}

Result<IRModule> merge_and_partition(IRModule module) {
  PassContext context;
  BYOC_TRY(module, merge_compiler_regions(std::move(module), context));
  BYOC_TRY(IRModule again, merge_compiler_regions(module, context));
  EXPECT_TRUE(equal(module, again)) << print(module) << print(again);
  return partition_graph(std::move(module), context);
}

constexpr std::string_view kTwoOpen = R"(
fn main(%x: f32[2]) {
  %0 = compiler_begin(%x) {compiler="a", region=0, open=true}
  %1 = relu(%0)
  %2 = compiler_end(%1) {compiler="a", region=0, open=true}
  %3 = compiler_begin(%2) {compiler="a", region=1, open=true}
  %4 = tanh(%3)
  %5 = compiler_end(%4) {compiler="a", region=1, open=true}
  return %5
})";

TEST(MergeCompilerRegions, JoinsOpenRegionsAndDropsOpen) {
  PassContext context;
  Result<IRModule> merged = merge_compiler_regions(parse(kTwoOpen), context);
  ASSERT_TRUE(merged.ok()) << merged.status().to_string();
  expect_equal(*merged, R"(
fn main(%x: f32[2]) {
  %0 = compiler_begin(%x) {compiler="a", region=0}
  %1 = relu(%0)
  %2 = tanh(%1)
  %3 = compiler_end(%2) {compiler="a", region=0}
  return %3
})");
}

TEST(PartitionGraph, MakesAFunctionOfARegion) {
  Result<IRModule> cut = merge_and_partition(parse(kTwoOpen));
  ASSERT_TRUE(cut.ok()) << cut.status().to_string();
  expect_equal(*cut, R"(
fn a_main_0(%i0: f32[2]) {compiler="a", global_symbol="a_main_0", primitive=true} {
  %0 = relu(%i0)
  %1 = tanh(%0)
  return %1
}
fn main(%x: f32[2]) { %0 = @a_main_0(%x)  return %0 })");
}

TEST(PartitionGraph, TwoTouchingRegionsOfOnePluginOnACommonInputStayTwo) {
  Result<IRModule> cut = merge_and_partition(parse(R"(
fn main(%x: f32[2]) {
  %0 = compiler_begin(%x) {compiler="a", region=3}
  %1 = relu(%0)
  %2 = compiler_end(%1) {compiler="a", region=3}
  %3 = compiler_begin(%x) {compiler="a", region=7}
  %4 = compiler_begin(%2) {compiler="a", region=7}
  %5 = add(%3, %4)
  %6 = compiler_end(%5) {compiler="a", region=7}
  return %6
})"));
  ASSERT_TRUE(cut.ok()) << cut.status().to_string();
  EXPECT_EQ(cut->functions.size(), 3u) << print(*cut);
}

// Regions are defined by their number: two parts without an edge between them are one region.
TEST(PartitionGraph, CutsByNumberAndNotByConnectivity) {
  Result<IRModule> cut = merge_and_partition(parse(R"(
fn main(%x: f32[2], %y: f32[2]) {
  %0 = compiler_begin(%x) {compiler="a", region=0}
  %1 = relu(%0)
  %2 = compiler_end(%1) {compiler="a", region=0}
  %3 = compiler_begin(%y) {compiler="a", region=0}
  %4 = tanh(%3)
  %5 = compiler_end(%4) {compiler="a", region=0}
  return %2, %5, %2, %x
})"));
  ASSERT_TRUE(cut.ok()) << cut.status().to_string();
  expect_equal(*cut, R"(
fn a_main_0(%i0: f32[2], %i1: f32[2]) {compiler="a", global_symbol="a_main_0", primitive=true} {
  %0 = relu(%i0)
  %1 = tanh(%i1)
  return %0, %1
}
fn main(%x: f32[2], %y: f32[2]) { %0 = @a_main_0(%x, %y)  return %0#0, %0#1, %0#0, %x })");
}

struct Refusal {
  const char* name;
  const char* text;
  const char* message;
};
class RefusedAnnotations : public testing::TestWithParam<Refusal> {};
TEST_P(RefusedAnnotations, NamesWhatIsWrong) {
  Result<IRModule> cut = merge_and_partition(parse(GetParam().text));
  ASSERT_FALSE(cut.ok()) << print(*cut);
  EXPECT_EQ(cut.status().slug(), "annotation");
  EXPECT_NE(cut.status().to_string().find(GetParam().message), std::string::npos)
      << cut.status().to_string();
}
INSTANTIATE_TEST_SUITE_P(
    All, RefusedAnnotations,
    testing::Values(
        Refusal{"leaves_without_end", R"(fn main(%x: f32[2]) {
      %0 = compiler_begin(%x) {compiler="a", region=4}  %1 = relu(%0)  return %1 })",
                "unbalanced: a value of region 4 is returned without compiler_end"},
        Refusal{"enters_without_begin", R"(fn main(%x: f32[2], %y: f32[2]) {
      %0 = compiler_begin(%x) {compiler="a", region=4}  %1 = add(%0, %y)  %2 = compiler_end(%1) {compiler="a", region=4}  return %2 })",
                "unbalanced: region 4 reads parameter y without compiler_begin"},
        Refusal{"mixed", R"(fn main(%x: f32[2], %y: f32[2]) {
      %0 = compiler_begin(%x) {compiler="a", region=0}  %1 = compiler_begin(%y) {compiler="a", region=1}
      %2 = add(%0, %1)  %3 = compiler_end(%2) {compiler="a", region=0}  return %3 })",
                "mixed regions: this op is in region 0 and in region 1"},
        Refusal{"two_compilers", R"(fn main(%x: f32[2]) {
      %0 = compiler_begin(%x) {compiler="a", region=0}  %1 = relu(%0)  %2 = compiler_end(%1) {compiler="b", region=0}  return %2 })",
                "region 0 is of compiler \"a\" and of \"b\""},
        Refusal{"nested", R"(fn main(%x: f32[2]) {
      %0 = compiler_begin(%x) {compiler="a", region=0}  %1 = compiler_begin(%0) {compiler="a", region=1}
      %2 = relu(%1)  %3 = compiler_end(%2) {compiler="a", region=1}  return %3 })",
                "nested regions: compiler_begin of region 1 inside region 0"},
        Refusal{"empty", R"(fn main(%x: f32[2]) {
      %0 = compiler_begin(%x) {compiler="a", region=2}  %1 = relu(%x)  return %1 })",
                "region 2 has no op"},
        Refusal{
            "end_of_parameter",
            R"(fn main(%x: f32[2]) { %0 = compiler_end(%x) {compiler="a", region=2}  return %0 })",
            "compiler_end of region 2 on parameter x"},
        Refusal{"not_convex", R"(fn main(%x: f32[2]) {
      %0 = compiler_begin(%x) {compiler="a", region=5}  %1 = relu(%0)  %2 = compiler_end(%1) {compiler="a", region=5}
      %3 = tanh(%2)  %4 = compiler_begin(%3) {compiler="a", region=5}  %5 = add(%1, %4)
      %6 = compiler_end(%5) {compiler="a", region=5}  return %6 })",
                "a region is not convex, a value leaves it and comes back: region 5"},
        Refusal{"circle", R"(fn main(%p: f32[2]) {
      %0 = compiler_begin(%p) {compiler="a", region=0}  %a = relu(%0)  %a_end = compiler_end(%a) {compiler="a", region=0}
      %1 = compiler_begin(%p) {compiler="b", region=1}  %b = relu(%1)  %b_end = compiler_end(%b) {compiler="b", region=1}
      %2 = compiler_begin(%b_end) {compiler="a", region=0}  %c = tanh(%2)  %c_end = compiler_end(%c) {compiler="a", region=0}
      %3 = compiler_begin(%a_end) {compiler="b", region=1}  %d = tanh(%3)  %d_end = compiler_end(%d) {compiler="b", region=1}
      return %c_end, %d_end })",
                "regions depend on each other in a cycle: region 0"}),
    [](const auto& info) { return std::string(info.param.name); });

// The graph is a=A(p); b=A(p); h=host(a); k=host(b); c=A(b,h); d=A(k,a). The regions {a,d} and
// {b,c} would form a cycle. The result must be acyclic for every order of the nodes.
std::string in_order(const std::vector<std::string>& nodes, const std::vector<size_t>& order) {
  std::string body;
  for (size_t k : order) body += nodes[k];
  return body;
}

// Returns whether each node of the entry function reads only nodes before it. A region is one call,
// so the order of nodes is a topological order of the quotient.
bool is_acyclic_after_partition(const IRModule& module) {
  const Function& main = module.function(module.entry);
  for (uint32_t node = 0; node < main.nodes.size(); ++node) {
    for (ValueId arg : main.args(main.nodes[node])) {
      if (arg.node >= node) return false;
    }
  }
  return true;
}

std::string wrapped(const std::string& out, const std::string& op, const std::string& compiler,
                    int region, const std::vector<std::string>& args) {
  std::string at = cat(" {compiler=\"", compiler, "\", region=", region, ", open=true} "), text,
              list;
  for (const std::string& arg : args) {
    std::string in = cat("%", out, "_", list.empty() ? "i" : "j");
    text += cat(in, " = compiler_begin(", arg, ")", at);
    list += cat(list.empty() ? "" : ", ", in);
  }
  return cat(text, "%", out, "_raw = ", op, "(", list, ") %", out, " = compiler_end(%", out,
             "_raw)", at, "\n");
}

int check_all_orders(const std::vector<std::string>& nodes,
                     const std::vector<std::vector<size_t>>& needs, const std::string& results) {
  std::vector<size_t> order(nodes.size());
  for (size_t k = 0; k < order.size(); ++k) order[k] = k;
  int checked = 0;
  do {
    std::vector<size_t> place(order.size());
    for (size_t k = 0; k < order.size(); ++k) place[order[k]] = k;
    bool sorted = true;
    for (size_t v = 0; v < needs.size(); ++v) {
      for (size_t u : needs[v]) sorted &= place[u] < place[v];
    }
    if (!sorted) continue;
    IRModule module =
        parse(cat("fn main(%p: f32[2]) {\n", in_order(nodes, order), "return ", results, " }"));
    Result<IRModule> cut = merge_and_partition(module);
    EXPECT_TRUE(cut.ok()) << cut.status().to_string();
    if (!cut.ok()) continue;
    EXPECT_TRUE(is_acyclic_after_partition(*cut)) << print(*cut);
    ++checked;
  } while (std::next_permutation(order.begin(), order.end()));
  return checked;
}

TEST(MergeCompilerRegions, CyclicCaseWithOnePluginInAllOrders) {
  std::vector<std::string> nodes = {wrapped("a", "relu", "A", 0, {"%p"}),
                                    wrapped("b", "relu", "A", 1, {"%p"}),
                                    "%h = tanh(%a)\n",
                                    "%k = tanh(%b)\n",
                                    wrapped("c", "add", "A", 2, {"%b", "%h"}),
                                    wrapped("d", "add", "A", 3, {"%k", "%a"})};
  EXPECT_EQ(check_all_orders(nodes, {{}, {}, {0}, {1}, {1, 2}, {3, 0}}, "%c, %d"), 18);
}

TEST(MergeCompilerRegions, CyclicCaseWithTwoPluginsInAllOrders) {
  std::vector<std::string> nodes = {
      wrapped("a", "relu", "A", 0, {"%p"}), "%x = tanh(%a)\n", wrapped("y", "relu", "B", 1, {"%p"}),
      wrapped("n", "add", "A", 2, {"%a", "%y"}), wrapped("m", "add", "B", 3, {"%x", "%y"})};
  EXPECT_EQ(check_all_orders(nodes, {{}, {0}, {}, {0, 2}, {1, 2}}, "%n, %m"), 8);
}

}  // namespace
}  // namespace byoc
