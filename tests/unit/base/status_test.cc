// SPDX-License-Identifier: Apache-2.0
#include "byoc/base/status.h"

#include <gtest/gtest.h>

namespace byoc {
namespace {

Result<int> half(int n) {
  if (n % 2) return invalid(cat(n, " is odd")).with_slug("odd").with_help("give an even number");
  return n / 2;
}

Result<int> quarter(int n) {
  BYOC_TRY(int once, half(n));
  BYOC_TRY(int twice, half(once));
  return twice;
}

TEST(Status, TryPassesValuesAndErrorsOn) {
  EXPECT_EQ(*quarter(12), 3);
  Status status = quarter(6).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "3 is odd");
}

TEST(Status, PrintsMessagePlaceAndHelp) {
  Status status = std::move(half(3).status()).at("node \"a\"").at("model.onnx");
  EXPECT_EQ(status.to_string(),
            "error[odd]: 3 is odd\n  model.onnx: node \"a\"\n  help: give an even number");
}

TEST(Status, CopiesAreIndependent) {
  Status a = invalid("x");
  Status b = a;
  a = Status();
  EXPECT_TRUE(a.ok());
  EXPECT_EQ(b.message(), "x");
}

TEST(Cat, PrintsNumbersInTheShortestFormThatReadsBack) {
  EXPECT_EQ(cat(0.1, ' ', 1e300, ' ', int64_t{-5}, ' ', true, ' ', uint8_t{7}),
            "0.1 1e+300 -5 true 7");
}

}  // namespace
}  // namespace byoc
