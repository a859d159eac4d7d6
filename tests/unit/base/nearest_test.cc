// SPDX-License-Identifier: Apache-2.0
#include "byoc/base/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace byoc {
namespace {

const std::vector<std::string> kNames = {"fold_constants", "fold_batch_norm", "relu", "elu"};

TEST(Nearest, FindsAMisspeltName) {
  EXPECT_EQ(nearest_name("fold_constant", kNames), "fold_constants");
  EXPECT_EQ(nearest_name("fodl_constants", kNames), "fold_constants");
  EXPECT_EQ(nearest_name("relux", kNames), "relu");
}

TEST(Nearest, FindsNothingWhenNothingIsNear) {
  EXPECT_EQ(nearest_name("softmax", kNames), "");
  EXPECT_EQ(nearest_name("relu", {}), "");
}

TEST(Nearest, TakesTheFirstOfEquallyNearNames) { EXPECT_EQ(nearest_name("xelu", kNames), "relu"); }

TEST(DidYouMean, AsksOrIsSilent) {
  EXPECT_EQ(did_you_mean("rellu", kNames), "; did you mean \"relu\"?");
  EXPECT_EQ(did_you_mean("softmax", kNames), "");
}

}  // namespace
}  // namespace byoc
