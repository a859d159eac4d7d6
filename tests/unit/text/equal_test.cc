// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "byoc/text/text.h"
#include "unit/ir/support.h"

namespace byoc {
namespace {

// Returns the difference that `equal` reports between a small module and a copy after `change`.
std::string difference(const std::function<void(IRModule&, Function&)>& change,
                       bool ignore_loc = false) {
  IRModule a = small_module(), b = small_module();
  change(b, b.function("main"));
  std::string why;
  return equal(a, b, &why, ignore_loc) ? "" : why;
}

TEST(Equal, HoldsForModulesBuiltApart) {
  EXPECT_EQ(difference([](IRModule&, Function&) {}), "");
}

TEST(Equal, SeesEveryPartOfANode) {
  EXPECT_EQ(difference([](IRModule&, Function& f) { std::get<Param>(f.nodes[0].kind).name = "y"; }),
            "@main: node %x (parameter): parameter x and y");
  EXPECT_EQ(difference([](IRModule& m, Function& f) {
              std::get<Constant>(f.nodes[1].kind).data = m.add_constant(f32_buffer({1.5f, 2}));
            }),
            "@main: node %0 (const): values differ");
  EXPECT_EQ(difference([](IRModule&, Function& f) {
              std::get<Call>(f.nodes[2].kind).op = test_op("tanh");
            }),
            "@main: node %1 (relu \"Relu_0\"): relu and tanh");
  EXPECT_EQ(difference(
                [](IRModule&, Function& f) { std::get<Call>(f.nodes[3].kind).attrs = intern({}); }),
            "@main: node %2 (add): attributes {k=1} and ");
  EXPECT_EQ(difference([](IRModule&, Function& f) {
              f.operands[1] = {0, 0};
            }),
            "@main: node %2 (add): operand 0 is output 0 of %1 (relu \"Relu_0\") and output 0 of "
            "%x (parameter)");
  EXPECT_EQ(difference([](IRModule&, Function& f) { f.nodes[3].types = TypeIds(TypeId()); }),
            "@main: node %2 (add): types f32[2] and f32[]");
}

TEST(Equal, SeesNodesResultsAttributesFunctionsEntry) {
  EXPECT_EQ(difference([](IRModule&, Function& f) { f.add_extern("e", {}, {}); }),
            "@main: 4 and 5 nodes");
  EXPECT_EQ(difference([](IRModule&, Function& f) { f.results.clear(); }),
            "@main: the returned values differ");
  EXPECT_EQ(difference([](IRModule&, Function& f) { f.attrs.set("a", int64_t{1}); }),
            "@main: function attributes  and {a=1}");
  EXPECT_EQ(difference([](IRModule& m, Function&) { m.functions["g"]; }),
            "only the second module has @g");
  EXPECT_EQ(difference([](IRModule& m, Function&) { m.entry = "g"; }), "entry @main and @g");
  EXPECT_EQ(difference([](IRModule& m, Function&) { m.external_mods.emplace_back(); }),
            "0 and 1 external modules");
}

TEST(Equal, IgnoresLocationsWhenAsked) {
  auto move = [](IRModule&, Function& f) { f.nodes[2].loc = "Relu_1"; };
  EXPECT_EQ(difference(move),
            "@main: node %1 (relu \"Relu_0\"): locations \"Relu_0\" and \"Relu_1\"");
  EXPECT_EQ(difference(move, true), "");
}

TEST(Equal, IgnoresHowOperandsAreStored) {
  auto move = [](IRModule&, Function& f) {
    f.operands.insert(f.operands.begin(), ValueId{0, 0});  // an unused entry
    std::get<Call>(f.nodes[2].kind).args.begin += 1;
    std::get<Call>(f.nodes[3].kind).args.begin += 1;
  };
  EXPECT_EQ(difference(move), "");
}

}  // namespace
}  // namespace byoc
