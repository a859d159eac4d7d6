// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "support.h"

namespace byoc {
namespace {

const TypeId kType = TensorType{DType::kF32, {2}};

TEST(Function, KeepsOperandsOfEachNodeInOneList) {
  IRModule module = small_module();
  const Function& f = module.function("main");
  EXPECT_EQ(f.num_params(), 1u);
  EXPECT_TRUE(f.args(f.nodes[0]).empty());
  EXPECT_TRUE(f.args(f.nodes[1]).empty());
  auto args = f.args(f.nodes[3]);
  EXPECT_EQ((std::vector<ValueId>(args.begin(), args.end())),
            (std::vector<ValueId>{{2, 0}, {1, 0}}));
  EXPECT_EQ(f.result_types(), std::vector<TypeId>{kType});
}

TEST(Function, RefusesAnOperandThatDoesNotExist) {
  Function f;
  f.add_param("x", kType);
  ValueId later[] = {{1, 0}}, second_output[] = {{0, 1}};
  EXPECT_DEATH(f.add_call(test_op("relu"), intern({}), later, kType),
               "operand 1#0 does not exist yet");
  EXPECT_DEATH(f.add_call(test_op("relu"), intern({}), second_output, kType), "operand 0#1");
}

TEST(Function, RefusesAParameterBehindOtherNodes) {
  Function f = small_module().function("main");
  EXPECT_DEATH(f.add_param("y", kType), "parameter y after other nodes");
}

TEST(Function, CopiesNodesOfItself) {
  IRModule module = small_module();
  Function& f = module.function("main");
  for (int k = 0; k < 100; ++k)
    f.add_copy(f.nodes[3], f.args(f.nodes[3]));  // slices of the growing list
  auto args = f.args(f.nodes.back());
  EXPECT_EQ((std::vector<ValueId>(args.begin(), args.end())),
            (std::vector<ValueId>{{2, 0}, {1, 0}}));
}

TEST(Function, HasASignature) {
  FunctionSignature s = signature(small_module().function("main"));
  EXPECT_EQ(s.params, std::vector<TypeId>{kType});
  EXPECT_EQ(s.results, std::vector<TypeId>{kType});
}

}  // namespace
}  // namespace byoc
