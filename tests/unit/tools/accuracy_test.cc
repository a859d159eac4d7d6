// SPDX-License-Identifier: Apache-2.0
// The report of `byoc verify --vs-float`. Expected values are computed by hand.
#include "core/tools/verify/accuracy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "byoc/base/json.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using driver::OutputAccuracy;
using testing::HasSubstr;

Tensor tensor(std::vector<int64_t> dims, const std::vector<float>& values) {
  Result<Tensor> out = Tensor::make({DType::kF32, std::move(dims)});
  EXPECT_TRUE(out.ok());
  std::memcpy(out->data(), values.data(), out->size_bytes());
  return *std::move(out);
}

TEST(Accuracy, HasErrorsAnglesAndTops) {
  // Errors 0, 1, 2, 0: sums of squares 5 and 1 + 4 + 16 + 9 = 30; the product is 1 + 2 * 3 + 4 * 2
  // + 9 = 24, the first has length^2 1 + 9 + 4 + 9 = 23.
  OutputAccuracy a =
      driver::accuracy_of("y", tensor({2, 2}, {1, 3, 2, 3}), tensor({2, 2}, {1, 2, 4, 3}));
  EXPECT_EQ(a.max_error, 2);
  EXPECT_EQ(a.mean_error, 0.75);
  EXPECT_EQ(a.largest, 4);
  EXPECT_NEAR(a.noise_db, 10 * std::log10(6.0), 1e-12);
  EXPECT_NEAR(a.cosine, 24 / std::sqrt(30.0 * 23.0), 1e-12);
  EXPECT_EQ(a.rows, 2);
  EXPECT_EQ(a.same_top, 1);
}

TEST(Accuracy, OfEqualOutputsHasNoNoise) {
  OutputAccuracy a = driver::accuracy_of("y", tensor({2}, {0, 0}), tensor({2}, {0, 0}));
  EXPECT_EQ(a.noise_db, INFINITY);
  EXPECT_EQ(a.cosine, 1);
  EXPECT_EQ(a.rows, 0);
  EXPECT_TRUE(driver::to_json(a)["noise_db"].is_null());
}

TEST(Accuracy, KeepsNaN) {
  OutputAccuracy a = driver::accuracy_of("y", tensor({3}, {1, NAN, 5}), tensor({3}, {1, 2, 3}));
  EXPECT_TRUE(std::isnan(a.max_error));
}

constexpr const char* kFloats = "fn main(%x: f32[1,3]) { %0 = tanh(%x)  return %0 }";

TEST(VerifyVsFloat, ReportsTheErrorsOfAQuantisedModel) {
  Byoc byoc;
  std::string floats = byoc.write("float.ir", kFloats);
  std::string steps = byoc.write("int8.ir", R"(fn main(%x: f32[1,3]) {
    %s = const(0.25) : f32[]
    %z = const(0) : i8[]
    %0 = tanh(%x)
    %1 = quantize(%0, %s, %z)
    %2 = dequantize(%1, %s)
    return %2 })");
  // tanh(1) = 0.76159, of which the nearest quarter is 0.75; tanh(0) = 0; tanh(-2) = -0.96403.
  Json json = byoc.json("verify " + steps + " --vs-float " + floats +
                        " --compiler json --input x=f32[1,3]=1,0,-2");
  const Json& output = json["outputs"][0];
  EXPECT_NEAR(output["max_error"].get<double>(), 0.0359724, 1e-6);
  EXPECT_NEAR(output["mean_error"].get<double>(), (0.0359724 + 0.0115942) / 3, 1e-6);
  EXPECT_EQ(output["same_top"], 1);
}

TEST(VerifyVsFloat, RefusesModelsOfOtherTypesAndVerdicts) {
  Byoc byoc;
  std::string floats = byoc.write("float.ir", kFloats);
  std::string other = byoc.write("other.ir", "fn main(%x: f32[1,4]) { %0 = tanh(%x)  return %0 }");
  Ran ran = byoc("verify " + other + " --vs-float " + floats + " --compiler json");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err,
              HasSubstr("the float model has other inputs: \"x\" f32[1,3] instead of \"x\" "
                        "f32[1,4]"));
  ran = byoc("verify " + floats + " --vs-float " + floats + " --against json");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--vs-float has no verdict"));
}

}  // namespace
}  // namespace byoc::test
