// SPDX-License-Identifier: Apache-2.0
// The ops that samples of ONNX operators become.
#include "byoc/import.h"
#include "rows.h"

namespace byoc::test {
namespace {

TEST(OperatorSamples, ExistForEveryOperator) {
  for (const ImportedOp& op : imported_ops()) {
    auto ops = ops_of_operator(op.op_type, op.domain);
    EXPECT_TRUE(ops.ok()) << op.domain << " " << op.op_type << ": " << ops.status().to_string();
  }
}

TEST(OperatorSamples, BecomeTheOpsOfTheirRows) {
  EXPECT_EQ(*ops_of_operator("Conv"), (std::vector<std::string>{"add", "conv2d", "reshape"}));
  EXPECT_EQ(*ops_of_operator("Relu"), std::vector<std::string>{"relu"});
  EXPECT_EQ(*ops_of_operator("Range"), std::vector<std::string>{});
  EXPECT_EQ(*ops_of_operator("NonZero"), std::vector<std::string>{"nonzero"});
  EXPECT_EQ(*ops_of_operator("If"), std::vector<std::string>{});
  EXPECT_THAT(*ops_of_operator("QLinearMatMul"), ::testing::Contains("matmul"));
  EXPECT_THAT(ops_of_operator("Frobnicate").status().message(),
              ::testing::HasSubstr("no operator Frobnicate"));
}

}  // namespace
}  // namespace byoc::test
