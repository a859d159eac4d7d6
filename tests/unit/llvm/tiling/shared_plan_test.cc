// SPDX-License-Identifier: Apache-2.0
// Panels of convolutions that two threads share: the work of the slowest thread, as counts.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "plugins/llvm/tiling/rows.h"
#include "plugins/llvm/topi/points.h"

namespace byoc::llvm_plugin::topi {
namespace {

struct Layer {
  int64_t pixels, c, o;
};

// Pointwise convolutions of DenseNet-121, EfficientNet-B0, GoogLeNet, Inception v3, MobileNet v2
// and v3, ResNet-18 and 50, ShuffleNet v2 and SqueezeNet, and a product of ViT-B/16 in their form.
constexpr Layer kLayers[] = {
    {3136, 64, 128},  {3136, 224, 128}, {784, 128, 128},  {784, 480, 128},  {784, 512, 256},
    {196, 256, 128},  {196, 640, 128},  {196, 992, 128},  {196, 1024, 512}, {49, 512, 128},
    {49, 992, 128},   {12544, 32, 16},  {12544, 16, 96},  {3136, 96, 24},   {3136, 24, 144},
    {784, 144, 40},   {784, 40, 240},   {196, 240, 80},   {196, 80, 480},   {196, 480, 112},
    {196, 112, 672},  {196, 672, 112},  {49, 672, 192},   {49, 192, 1152},  {49, 1152, 192},
    {49, 1152, 320},  {49, 320, 1280},  {784, 192, 64},   {784, 192, 96},   {784, 256, 32},
    {196, 480, 192},  {196, 480, 96},   {196, 512, 160},  {196, 512, 24},   {196, 512, 144},
    {196, 528, 256},  {49, 832, 256},   {49, 832, 160},   {49, 832, 384},   {5329, 64, 80},
    {1225, 192, 48},  {1225, 288, 64},  {289, 768, 192},  {289, 768, 128},  {289, 768, 160},
    {64, 1280, 320},  {64, 1280, 448},  {64, 2048, 384},  {784, 144, 32},   {196, 384, 64},
    {196, 384, 96},   {196, 96, 576},   {49, 160, 960},   {49, 960, 160},   {49, 960, 320},
    {196, 80, 200},   {196, 184, 80},   {49, 672, 160},   {3136, 64, 256},  {784, 128, 512},
    {784, 512, 128},  {196, 256, 1024}, {196, 1024, 256}, {49, 512, 2048},  {49, 2048, 512},
    {49, 1024, 2048}, {784, 116, 116},  {196, 232, 232},  {49, 464, 1024},  {3025, 16, 64},
    {729, 256, 32},   {169, 384, 48},   {169, 512, 64},   {169, 512, 1000}, {197, 768, 3072},
};

Sums pointwise(const Layer& layer, int64_t lanes) {
  Sums out{.o = (layer.o + lanes - 1) / lanes, .units = layer.pixels};
  out.c = (layer.c + lanes - 1) / lanes, out.taps = out.lanes = lanes;
  out.block_bytes = lanes * 4;
  out.is_flat = out.is_strided = true;
  return out;
}

te::Target target_of(const char* cpu, uint32_t threads) {
  te::Target out = *te::parse_target(cpu);
  out.l1_bytes = 48 << 10, out.l2_bytes = 1 << 20, out.threads = threads;
  return out;
}

// Returns the sums of the slowest thread as a multiple of an equal share, when each thread takes
// the next panel as soon as it is ready.
double slowest_of(const Sums& sums, const Plan& plan, uint32_t threads) {
  std::multiset<int64_t> ends;
  for (uint32_t t = 0; t < threads; ++t) ends.insert(0);
  for (int64_t o = 0; o < sums.o; o += plan.o_panel) {
    for (int64_t u = 0; u < sums.units; u += plan.units) {
      const int64_t work =
          std::min(plan.o_panel, sums.o - o) * std::min(plan.units, sums.units - u);
      const int64_t end = *ends.begin() + work;
      ends.erase(ends.begin());
      ends.insert(end);
    }
  }
  return static_cast<double>(*ends.rbegin() * threads) / static_cast<double>(sums.o * sums.units);
}

// Records of tuning on one thread have one panel; whatever their tile is, threads share the work.
TEST(SharedPlan, GivesTwoThreadsHalfOfEachPointwiseConvOfTheNetworks) {
  for (const char* cpu : {"x86-64-v3", "x86-64-v4"}) {
    const te::Target target = target_of(cpu, 2);
    for (const Layer& layer : kLayers) {
      const Sums sums = pointwise(layer, target.lanes(4));
      SCOPED_TRACE(cat(cpu, ": ", layer.pixels, " pixels, ", layer.c, " to ", layer.o));
      EXPECT_LE(slowest_of(sums, best_plan(sums, target), 2), 1.1);
      const std::vector<Knob> knobs = plan_choices(sums, target).knobs;
      for (const std::string& tile : knobs.at(0).values) {
        const Point point = {
            {"tile", tile}, {"o_panels", "1"}, {"unit_panels", "1"}, {"chunks", "1"}};
        const Plan plan = shared_plan(sums, plan_at(sums, point), target);
        EXPECT_LE(slowest_of(sums, plan, 2), 1.15)
            << tile << " in panels of " << plan.o_panel << " by " << plan.units;
      }
    }
  }
}

TEST(SharedPlan, IsThePlanItselfOnOneThread) {
  const te::Target target = target_of("x86-64-v4", 1);
  for (const Layer& layer : kLayers) {
    const Sums sums = pointwise(layer, 16);
    const Plan plan = {{7, 2}, sums.c, sums.o, sums.units};
    const Plan shared = shared_plan(sums, plan, target);
    EXPECT_EQ(point_of(sums, shared), point_of(sums, plan));
  }
}

TEST(SharedPlan, LeavesShortSumsToOneThread) {
  const te::Target target = target_of("x86-64-v4", 2);
  const Sums sums = pointwise({49, 64, 32}, 16);
  const Plan plan = {{7, 2}, sums.c, sums.o, sums.units};
  EXPECT_EQ(point_of(sums, shared_plan(sums, plan, target)), point_of(sums, plan));
}

// Threads that get panels in order have the same rows of every image of one height.
TEST(SharedImagePlan, GivesEachThreadTheSameRowsWhereWeightsAreFew) {
  for (const char* cpu : {"x86-64-v3", "x86-64-v4"}) {
    const te::Target target = target_of(cpu, 2);
    int64_t by_rows = 0;
    for (const Layer& layer : kLayers) {
      const Sums sums = pointwise(layer, target.lanes(4));
      SCOPED_TRACE(cat(cpu, ": ", layer.pixels, " pixels, ", layer.c, " to ", layer.o));
      const Plan plan = shared_image_plan(sums, best_plan(sums, target), target);
      EXPECT_LE(slowest_of(sums, plan, 2), 1.1);
      const bool has_few_weights = sums.weight_bytes(sums.o, sums.c) <= 256 << 10;
      if (!has_few_weights || layer.pixels < 784) continue;
      ++by_rows;
      EXPECT_EQ(plan.o_panel, sums.o);
      const int64_t panels = (sums.units + plan.units - 1) / plan.units;
      const int64_t first = (panels + 1) / 2 * plan.units;  // pixels of the first thread
      EXPECT_NEAR(static_cast<double>(first), static_cast<double>(layer.pixels) / 2,
                  0.03 * static_cast<double>(layer.pixels));
    }
    EXPECT_GE(by_rows, 10);
  }
}

TEST(SharedImagePlan, IsThePlanItselfOnOneThreadAndForShortSums) {
  for (const auto& [layer, threads] :
       {std::pair(Layer{3136, 24, 144}, 1u), std::pair(Layer{49, 64, 32}, 2u)}) {
    const Sums sums = pointwise(layer, 16);
    const Plan plan = {{7, 2}, sums.c, sums.o, sums.units};
    const Plan shared = shared_image_plan(sums, plan, target_of("x86-64-v4", threads));
    EXPECT_EQ(point_of(sums, shared), point_of(sums, plan));
  }
}

// Products of BERT, GPT-2 and ViT, with constant matrices in panels of columns.
Sums product(int64_t rows, int64_t k, int64_t n, const te::Target& target) {
  const int64_t block = 2 * target.lanes(4);
  Sums out{.o = n / block, .units = rows, .c = k / 8, .taps = 8, .lanes = block, .registers = 2};
  out.block_bytes = out.taps * 4, out.row_bytes = k * 4;
  out.is_flat = true, out.may_join_blocks = false;
  return out;
}
constexpr std::pair<int64_t, int64_t> kMatrices[] = {
    {768, 768}, {768, 2304}, {768, 3072}, {3072, 768}, {1024, 256}};

// The plan is made for the usual sizes, and a run may have few rows: one panel of rows.
TEST(PlanOfSharedColumns, GivesEachThreadAsManyColumnsOfFewRows) {
  for (const char* cpu : {"x86-64-v3", "x86-64-v4"}) {
    for (const uint32_t threads : {2u, 4u}) {
      const te::Target target = target_of(cpu, threads);
      for (const auto& [k, n] : kMatrices) {
        const Sums sums = product(128 * 128, k, n, target);
        const Plan plan = plan_of_shared_columns(sums, best_plan(sums, target), target);
        for (const int64_t rows : {1, 16, 64, 128}) {
          EXPECT_LE(slowest_of(product(rows, k, n, target), plan, threads), 1.15)
              << cpu << ": " << rows << " rows, " << k << " by " << n << " on " << threads;
        }
      }
    }
  }
}

TEST(PlanOfSharedColumns, IsThePlanItselfOnOneThreadAndOfFewerTilesThanThreads) {
  for (const auto& [n, threads] : {std::pair(768, 1u), std::pair(64, 4u)}) {
    const te::Target target = target_of("x86-64-v4", threads);
    const Sums sums = product(128, 768, n, target);
    const Plan plan = {{7, 1}, sums.c, sums.o, sums.units};
    EXPECT_EQ(point_of(sums, plan_of_shared_columns(sums, plan, target)), point_of(sums, plan));
  }
}

TEST(SharedRowParts, AreTheFewestThatThreadsDivideEvenly) {
  EXPECT_EQ(shared_row_parts(24, 14, 1, 2), 2);  // each has 7 rows of all channels
  EXPECT_EQ(shared_row_parts(24, 56, 1, 4), 4);
  EXPECT_EQ(shared_row_parts(1, 112, 1, 2), 2);  // a stem of one tile of channels
  EXPECT_EQ(shared_row_parts(9, 14, 1, 2), 2);   // 5 to 4
  EXPECT_EQ(shared_row_parts(25, 7, 1, 2), 1);   // 13 to 12
  EXPECT_EQ(shared_row_parts(3, 28, 4, 4), 4);
  EXPECT_EQ(shared_row_parts(3, 7, 1, 2), 7);  // 11 to 10
}

}  // namespace
}  // namespace byoc::llvm_plugin::topi
