// SPDX-License-Identifier: Apache-2.0
#include "support/run_op.h"

namespace byoc::testing {
namespace {

using ::testing::HasSubstr;

Attrs raised(Strings dims, Ints most) {
  return {{"message", "no branch"}, {"dtype", DType::kI32}, {"dims", dims}, {"most", most}};
}

TEST(Raise, EndsTheRunWithItsMessage) {
  auto got = run_op("raise", {}, raised({""}, {2}));
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.status().message(), "no branch");
  EXPECT_EQ(got.status().slug(), "branch-misfit");
}

TEST(RaiseInfer, HasTheTypeOfItsAttributes) {
  EXPECT_EQ(infer("raise", {}, raised({"", "n"}, {2, 7})), "i32[2,?n<=7]");
  EXPECT_EQ(infer("raise", {}, raised({}, {})), "i32[]");
  EXPECT_THAT(infer("raise", {}, raised({""}, {})), HasSubstr("1 dims and 0 bounds"));
  EXPECT_THAT(infer("raise", {}, raised({""}, {-1})), HasSubstr("most holds -1"));
}

}  // namespace
}  // namespace byoc::testing
