// SPDX-License-Identifier: Apache-2.0
// A broken invariant of the onednn plugin becomes a status, and the process goes on.
#include "plugins/onednn/library/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace byoc::onednn {
namespace {

TEST(OnednnCheck, ThrowsAnErrorThatNamesThePlaceAndTheCondition) {
  int operands = 1;
  const int line = __LINE__ + 2;
  try {
    BYOC_ONEDNN_CHECK(operands == 2, "gather reads " + std::to_string(2) + " operands");
    FAIL() << "nothing was thrown";
  } catch (const sdk::Error& error) {
    EXPECT_EQ(error.code, static_cast<uint32_t>(BYOC_INTERNAL));
    EXPECT_EQ(error.message(), "check_test.cc:" + std::to_string(line) +
                                   ": broken invariant: gather reads 2 operands (operands == 2)");
    EXPECT_THAT(error.file, testing::EndsWith("check_test.cc"));
    EXPECT_EQ(error.line, static_cast<uint32_t>(line));
  }
}

TEST(OnednnCheck, EvaluatesNoMessageWhenTheInvariantHolds) {
  int evaluated = 0;
  auto message = [&] {
    ++evaluated;
    return std::string("never read");
  };
  BYOC_ONEDNN_CHECK(evaluated == 0, message());
  EXPECT_EQ(evaluated, 0);
}

}  // namespace
}  // namespace byoc::onednn
