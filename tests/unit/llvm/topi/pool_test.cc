// SPDX-License-Identifier: Apache-2.0
// Pooling of images in blocks of channels, compared with plain loops over the windows in this file.
#include "plugins/llvm/families/family.h"

#include <cmath>
#include <random>

#include "byoc/text/builder.h"
#include "byoc/translate/translate.h"
#include "unit/llvm/run_loops.h"

namespace byoc {
namespace {

struct PoolShape {
  int64_t blocks, h, w, kernel, stride, pad;
  int64_t oh() const { return (h + 2 * pad - kernel) / stride + 1; }
  int64_t ow() const { return (w + 2 * pad - kernel) / stride + 1; }
};

te::LoopFunction pool(const std::string& op, const PoolShape& s, DType dtype = DType::kF32) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId x = f.param("x", {dtype, {1, s.blocks, s.h, s.w, 8}});
  ValueId y = f.call(op, {x},
                     {{"kernel_shape", Ints{s.kernel, s.kernel, 1}},
                      {"strides", Ints{s.stride, s.stride, 1}},
                      {"pads", Ints{s.pad, s.pad, 0, s.pad, s.pad, 0}}});
  EXPECT_TRUE(f.finish("main", {y}).ok());
  te::Target target = llvm_plugin::host_target();
  target.features = {"avx", "avx2", "fma"};  // 8 lanes
  auto dag = te::translate_to_te(module, module.function("main"), target, te::by_level());
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  auto schedule =
      llvm_plugin::topi::first_schedules(llvm_plugin::family_named("pool").schedules, target)(*dag);
  EXPECT_TRUE(schedule.has_value());
  EXPECT_TRUE(schedule->ok()) << schedule->status().message();
  return *te::lower(**schedule);
}

// Returns the maximum, or the mean, of the part of each window that is inside of the image. NaN
// is the largest value.
std::vector<float> expected(const std::string& op, const PoolShape& s,
                            const std::vector<float>& x) {
  std::vector<float> out;
  for (int64_t n = 0; n < s.blocks * s.oh() * s.ow() * 8; ++n) {
    const int64_t cell = n / 8 % (s.oh() * s.ow()), block = n / 8 / (s.oh() * s.ow());
    float greatest = -INFINITY, sum = 0;
    int count = 0;
    for (int64_t tap = 0; tap < s.kernel * s.kernel; ++tap) {
      const int64_t h = cell / s.ow() * s.stride + tap / s.kernel - s.pad;
      const int64_t w = cell % s.ow() * s.stride + tap % s.kernel - s.pad;
      if (h < 0 || h >= s.h || w < 0 || w >= s.w) continue;
      const float value = x[static_cast<size_t>(((block * s.h + h) * s.w + w) * 8 + n % 8)];
      if (value > greatest || std::isnan(value)) greatest = std::isnan(greatest) ? greatest : value;
      sum += value, ++count;
    }
    out.push_back(op == "max_pool" ? greatest : sum / static_cast<float>(count));
  }
  return out;
}

constexpr PoolShape kShapes[] = {{2, 12, 14, 3, 2, 1},
                                 {1, 7, 7, 3, 1, 1},
                                 {9, 6, 29, 2, 2, 0},
                                 {1, 1, 1, 3, 1, 1},
                                 {3, 9, 20, 5, 3, 2}};

void expect_pooled(const std::string& op, bool with_nan) {
  std::minstd_rand random(5);
  for (const PoolShape& s : kShapes) {
    SCOPED_TRACE(cat(op, " ", s.kernel, " / ", s.stride, " of ", s.h, "x", s.w));
    std::vector<float> x(static_cast<size_t>(s.blocks * s.h * s.w * 8));
    for (float& value : x) value = static_cast<float>(static_cast<int>(random() % 64) - 70);
    if (with_nan) x[x.size() / 2] = x[x.size() / 3] = NAN;
    auto reference = expected(op, s, x);
    for (uint32_t threads : {1u, 3u}) {
      auto got = test::run_loops(pool(op, s), {test::f32(x)}, {threads, {}})[0].as<float>();
      ASSERT_EQ(got.size(), reference.size());
      for (size_t k = 0; k < got.size(); ++k) {
        if (std::isnan(reference[k])) EXPECT_TRUE(std::isnan(got[k])) << k;
        else EXPECT_FLOAT_EQ(got[k], reference[k]) << k;
      }
    }
  }
}

template <class T>
void expect_greatest(DType dtype) {
  std::minstd_rand random(7);
  for (const PoolShape& s : kShapes) {
    std::vector<T> x(static_cast<size_t>(s.blocks * s.h * s.w * 8)), want;
    for (T& value : x) value = static_cast<T>(random() >> 8);
    for (float value : expected("max_pool", s, {x.begin(), x.end()}))
      want.push_back(static_cast<T>(value));
    const std::vector<test::Data> got =
        test::run_loops(pool("max_pool", s, dtype), {test::Data::of(dtype, x)});
    EXPECT_EQ(got[0].template as<T>(), want) << s.kernel << " / " << s.stride;
  }
}

TEST(PoolInRows, FindsTheGreatestIntegersOfEightBits) {
  expect_greatest<uint8_t>(DType::kU8);
  expect_greatest<int8_t>(DType::kI8);
}

TEST(PoolInRows, FindsTheGreatest) { expect_pooled("max_pool", false); }
TEST(PoolInRows, FindsNaNs) { expect_pooled("max_pool", true); }
TEST(PoolInRows, MakesMeansOfWhatIsInside) { expect_pooled("average_pool", false); }

}  // namespace
}  // namespace byoc
