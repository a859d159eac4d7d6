// SPDX-License-Identifier: Apache-2.0
#include "core/tools/model/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "core/tools/model/value_scale.h"
#include "core/tools/verify/verification.h"
#include "support/paths.h"
#include "support/temp_folder.h"

namespace byoc::test {
namespace {

using driver::compare_each;
using driver::compare_to_largest;
using driver::value_scale;

template <class T>
Tensor tensor(DType dtype, const std::vector<T>& values) {
  auto out = Tensor::make({dtype, {static_cast<int64_t>(values.size())}});
  std::memcpy(out->data(), values.data(), out->size_bytes());
  return *std::move(out);
}

Tensor floats(const std::vector<float>& values) { return tensor(DType::kF32, values); }

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(CompareToLargest, MeasuresErrorsAgainstTheLargestValue) {
  EXPECT_TRUE(compare_to_largest(floats({0.009F, 100}), floats({0, 100}), 1e-4).is_equal);
  EXPECT_FALSE(compare_to_largest(floats({0.011F, 100}), floats({0, 100}), 1e-4).is_equal);
}

TEST(CompareToLargest, LetsSmallIntegersBeStepsApart) {
  auto bytes = [](std::vector<uint8_t> values) { return tensor(DType::kU8, values); };
  EXPECT_TRUE(compare_to_largest(bytes({7, 9}), bytes({8, 9}), 0, 1).is_equal);
  EXPECT_FALSE(compare_to_largest(bytes({7, 9}), bytes({8, 9}), 0).is_equal);
  EXPECT_FALSE(compare_to_largest(bytes({7, 8, 9}), bytes({8, 10, 9}), 0, 1).is_equal);
  EXPECT_FALSE(compare_to_largest(bytes({6, 8, 9}), bytes({8, 9, 9}), 0, 1).is_equal);
  auto words = [](std::vector<int32_t> values) { return tensor(DType::kI32, values); };
  EXPECT_FALSE(compare_to_largest(words({7}), words({8}), 0, 1).is_equal);
}

TEST(CompareToLargest, NamesTheWorstElement) {
  auto difference = compare_to_largest(floats({1, 2, 5}), floats({1, 2.5F, 4}), 1e-4);
  EXPECT_EQ(describe(difference, {DType::kF32, {3}}),
            "max error 1 (0.25 of max), worst [2] 5 instead of 4");
}

TEST(CompareToLargest, TakesNanForNanAndNothingElse) {
  EXPECT_TRUE(compare_to_largest(floats({kNan}), floats({kNan}), 1e-4).is_equal);
  EXPECT_FALSE(compare_to_largest(floats({kNan}), floats({1}), 1e-4).is_equal);
  EXPECT_FALSE(compare_to_largest(floats({1}), floats({kNan}), 1e-4).is_equal);
}

TEST(CompareToLargest, WantsTheSameInfinities) {
  EXPECT_TRUE(compare_to_largest(floats({kInf, 1}), floats({kInf, 1}), 1e-4).is_equal);
  EXPECT_FALSE(compare_to_largest(floats({-kInf, 1}), floats({kInf, 1}), 1e-4).is_equal);
  EXPECT_FALSE(compare_to_largest(floats({1e30F, 1}), floats({kInf, 1}), 1e-4).is_equal);
}

TEST(CompareToLargest, ComparesIntegersExactly) {
  auto large = tensor<int64_t>(DType::kI64, {INT64_MAX}),
       less = tensor<int64_t>(DType::kI64, {INT64_MAX - 1});
  EXPECT_TRUE(compare_to_largest(large, large, 1).is_equal);
  EXPECT_FALSE(compare_to_largest(large, less, 1).is_equal);
}

TEST(CompareToLargest, ComparesHalves) {
  // 0x3c00 is 1.0 in f16, 0x3c01 the next number, 1 + 2^-10.
  auto one = tensor<uint16_t>(DType::kF16, {0x3c00}),
       next = tensor<uint16_t>(DType::kF16, {0x3c01});
  EXPECT_TRUE(compare_to_largest(next, one, 1.1 / 1024).is_equal);
  EXPECT_FALSE(compare_to_largest(next, one, 0.9 / 1024).is_equal);
}

TEST(CompareToLargest, RefusesOtherTypes) {
  auto difference = compare_to_largest(floats({1}), floats({1, 2}), 1e-4);
  EXPECT_FALSE(difference.is_equal);
  EXPECT_EQ(describe(difference, {DType::kF32, {1}}), "it is f32[1], expected f32[2]");
}

TEST(CompareEach, MeasuresErrorsAgainstEachValue) {
  EXPECT_TRUE(compare_each(floats({1.0009F, 100}), floats({1, 100}), 1e-3, 1e-7).is_equal);
  EXPECT_FALSE(compare_each(floats({1.002F, 100}), floats({1, 100}), 1e-3, 1e-7).is_equal);
}

// The tolerance of an infinite value is infinite, and that of NaN is NaN. Neither makes a
// finite result acceptable.
TEST(CompareEach, TakesNanForNanAndNothingElse) {
  EXPECT_TRUE(compare_each(floats({kNan, 1}), floats({kNan, 1}), 1e-3, 1e-7).is_equal);
  EXPECT_FALSE(compare_each(floats({5, 1}), floats({kNan, 1}), 1e-3, 1e-7).is_equal);
  EXPECT_FALSE(compare_each(floats({kNan, 1}), floats({5, 1}), 1e-3, 1e-7).is_equal);
}

TEST(CompareEach, WantsTheSameInfinities) {
  EXPECT_TRUE(compare_each(floats({kInf, -kInf}), floats({kInf, -kInf}), 1e-3, 1e-7).is_equal);
  EXPECT_FALSE(compare_each(floats({5}), floats({kInf}), 1e-3, 1e-7).is_equal);
  EXPECT_FALSE(compare_each(floats({-kInf}), floats({kInf}), 1e-3, 1e-7).is_equal);
  EXPECT_FALSE(compare_each(floats({kNan}), floats({kInf}), 1e-3, 1e-7).is_equal);
  EXPECT_FALSE(compare_each(floats({kInf}), floats({5}), 1e-3, 1e-7).is_equal);
}

TEST(CompareEach, IsEqualForEmptyTensors) {
  EXPECT_TRUE(compare_each(floats({}), floats({}), 1e-3, 1e-7).is_equal);
}

// Tests of the scale that errors are relative to. Expected values follow from its definition.

constexpr float kLowest = std::numeric_limits<float>::lowest();
double scale_of(const std::vector<float>& values) { return value_scale(floats(values)); }

TEST(ValueScale, IsTheLargestMagnitudeOfOrdinaryValues) {
  EXPECT_EQ(scale_of({}), 0);
  EXPECT_EQ(scale_of({0, 0}), 0);
  EXPECT_EQ(scale_of({1e-30F, -3e-20F}), -static_cast<double>(-3e-20F));
  EXPECT_EQ(scale_of({1, -1e-9F}), 1);  // a probability near 1 is not a mask
  EXPECT_EQ(scale_of({0.5F, -100, 3}), 100);
  EXPECT_EQ(scale_of({0.5F, -1000, 3}), 1000);
}

TEST(ValueScale, LeavesMasksOut) {
  for (float mask : {kLowest, -1e30F, -1e9F, -65504.0F, -10000.0F, kInf, -kInf}) {
    EXPECT_EQ(scale_of({0.5F, -3, 12, mask}), 12) << mask;
    EXPECT_EQ(scale_of({mask, mask, mask, 12}), 12) << mask;
  }
  EXPECT_EQ(scale_of({kLowest, -1e9F, 12}), 12);
}

TEST(ValueScale, IsAtLeast1BesideMasks) {
  EXPECT_EQ(scale_of({0, -10000}), 1);
  EXPECT_EQ(scale_of({1e-3F, kLowest}), 1);
}

TEST(ValueScale, KeepsLargeValuesThatOthersLeadUpTo) {
  EXPECT_EQ(scale_of({2e5F, -3e4F, 700, 9}), 2e5);
  EXPECT_EQ(scale_of({63, 4000}), 4000);  // 4000 is less than 64 times 63
  EXPECT_EQ(scale_of({kLowest}), -static_cast<double>(kLowest));
  EXPECT_EQ(scale_of({5e4F, -6e4F}), 6e4);
}

TEST(ValueScale, MakesAWrongValueBesideAMaskADifference) {
  const std::vector<float> right = {0.5F, -3, 12, kLowest};
  EXPECT_TRUE(driver::compare_to_largest(floats({0.5F, -3, 12.0005F, kLowest}), floats(right), 1e-4)
                  .is_equal);
  auto difference =
      driver::compare_to_largest(floats({0.5F, -3, 12.01F, kLowest}), floats(right), 1e-4);
  EXPECT_FALSE(difference.is_equal);
  EXPECT_EQ(difference.worst, 2);
  EXPECT_EQ(difference.largest, 12);
}

/// For masks, the scale is the value of the mask.
TEST(ValueScale, MeasuresMasksAgainstThemselves) {
  const std::vector<float> right = {12, -1e9F};
  EXPECT_TRUE(driver::compare_to_largest(floats({12, -1.00005e9F}), floats(right), 1e-4).is_equal);
  auto difference = driver::compare_to_largest(floats({12, -1.001e9F}), floats(right), 1e-4);
  EXPECT_FALSE(difference.is_equal);
  EXPECT_EQ(difference.worst, 1);
}

std::shared_ptr<const PluginSet> load(const std::vector<std::string>& files) {
  PluginSearch search;
  search.files = files;
  return PluginSet::load(search);
}

// A default codegen with a lower priority, such as one that a user is writing, is not compared with
// itself, nor others with it.
TEST(ReferencePlugin, IsThatOfTheReferenceKernels) {
  const std::string kernels = cat(BYOC_BUILD_DIR, "/tests/support/plugins/libbyoc_kernels.so");
  const std::string json = cat(BYOC_PLUGIN_DIR, "/libbyoc_json.so");
  EXPECT_EQ(*driver::reference_plugin(*load({kernels, json})), "json");
  EXPECT_EQ(*driver::reference_plugin(*load({kernels})), "kernels");
  EXPECT_EQ(driver::reference_plugin(*load({})).status().slug(), "no-default-codegen");
}

// A folder of that name in the current one is data only when the user has named it.
TEST(ReferencePlugin, IsNoFolderOfItsName) {
  TempFolder folder;
  driver::VerifyRequest request;
  request.against = folder.path();
  EXPECT_TRUE(request.has_data_set());
  request.is_default = true;
  EXPECT_FALSE(request.has_data_set());
  request.against = "json";
  request.is_default = false;
  EXPECT_FALSE(request.has_data_set());
}

}  // namespace
}  // namespace byoc::test
