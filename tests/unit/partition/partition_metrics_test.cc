// SPDX-License-Identifier: Apache-2.0
#include "core/partition/partition_metrics.h"

#include <gtest/gtest.h>

#include "byoc/pass/partition.h"
#include "byoc/text/text.h"

namespace byoc {
namespace {

IRModule parsed(const char* text) {
  auto module = parse_module(text, all_ops());
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  return *std::move(module);
}

// There are two border tensors: that of relu, which tanh, exp and region 1 read, and that of exp,
// which region 1 reads. The results of tanh and add are outputs of the model only.
constexpr const char* kTwoRegions = R"(fn main(%x: f32[2]) {
  %0 = compiler_begin(%x) {compiler="a", region=0}
  %1 = relu(%0)
  %2 = compiler_end(%1) {compiler="a", region=0}
  %3 = tanh(%2)
  %4 = exp(%2)
  %5 = compiler_begin(%2) {compiler="b", region=1}
  %6 = compiler_begin(%4) {compiler="b", region=1}
  %7 = add(%5, %6)
  %8 = compiler_end(%7) {compiler="b", region=1}
  return %8, %2, %3
})";

TEST(CountBorders, ATensorReadInSeveralPlacesCountsOnce) {
  auto count = measure_partition(parsed(kTwoRegions));
  ASSERT_TRUE(count.ok()) << count.status().to_string();
  EXPECT_EQ(count->regions, 2u);
  EXPECT_EQ(count->tensors, 2u);
  EXPECT_EQ(count->bytes, 16u);
}

TEST(CountBorders, IsTheSameOnceRegionsAreCutOut) {
  auto cut = partition_graph(parsed(kTwoRegions), PassContext());
  ASSERT_TRUE(cut.ok()) << cut.status().to_string();
  auto count = measure_partition(*cut);
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(count->regions, 2u);
  EXPECT_EQ(count->tensors, 2u);
}

TEST(CountBorders, InputsConstantsAndOpsOutsideRegionsMakeNone) {
  auto count = measure_partition(parsed(R"(fn main(%x: f32[2]) {
    %c = const([1,2]) : f32[2]
    %0 = add(%x, %c)
    %1 = relu(%0)
    return %1
  })"));
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(count->regions, 0u);
  EXPECT_EQ(count->tensors, 0u);
}

// a0(A) -> h(rest) -> a2(A), and a1(A) -> a2. The waves take a1 into the first group,
// so it is cut from a2.
constexpr const char* kEager = R"(fn main(%x: f32[2]) {
  %0 = compiler_begin(%x) {compiler="a", region=0, open=true}
  %1 = relu(%0)
  %2 = compiler_end(%1) {compiler="a", region=0, open=true}
  %3 = tanh(%2)
  %4 = compiler_begin(%x) {compiler="a", region=1, open=true}
  %5 = exp(%4)
  %6 = compiler_end(%5) {compiler="a", region=1, open=true}
  %7 = compiler_begin(%3) {compiler="a", region=2, open=true}
  %8 = compiler_begin(%6) {compiler="a", region=2, open=true}
  %9 = add(%7, %8)
  %10 = compiler_end(%9) {compiler="a", region=2, open=true}
  return %10
})";

TEST(CountWaves, CountsWhatTheBaselineWouldMake) {
  IRModule module = parsed(kEager);
  auto apart = measure_waves(module, PassContext(), WaveRegions::kConnected);
  ASSERT_TRUE(apart.ok()) << apart.status().to_string();
  EXPECT_EQ(apart->regions, 3u);
  EXPECT_EQ(apart->tensors, 3u);  // relu, tanh, exp
  auto together = measure_waves(module, PassContext(), WaveRegions::kWhole);
  ASSERT_TRUE(together.ok());
  EXPECT_EQ(together->regions, 2u);  // relu and exp are in one group
  EXPECT_EQ(together->tensors, 3u);
}

TEST(CountWaves, MergingMakesNoMore) {
  auto merged = merge_compiler_regions(parsed(kEager), PassContext());
  ASSERT_TRUE(merged.ok());
  auto count = measure_partition(*merged);
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(count->regions, 2u);
  EXPECT_EQ(count->tensors, 2u);  // relu, tanh
}

}  // namespace
}  // namespace byoc
