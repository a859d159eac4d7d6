// SPDX-License-Identifier: Apache-2.0
// Loops are split where conditions on indices are constant in a part of the iterations.
#include "plugins/llvm/analysis/loop_splitting.h"

#include <gmock/gmock.h>

#include "run_loops.h"

namespace byoc {
namespace {

using llvm_plugin::LoopRange;
using llvm_plugin::Range;
using llvm_plugin::Ranges;
using te::Expr;
using te::LoopKind;
using te::Stmt;
using te::Tensor;
using test::Data;

Expr inside(const Expr& at, int64_t extent) { return Expr(0) <= at && at < extent; }

// Returns y[i] = x[i + shift] where that is inside of x, else -1.
Stmt shifted(const Tensor& x, const Tensor& y, int64_t n, int64_t shift) {
  return te::loop("i", n, [&](const Expr& i) {
    Expr value = select(inside(i + shift, n), x(i + shift), te::constant(x.dtype(), -1));
    return te::make_store(y, {i}, value);
  });
}

std::vector<std::pair<int64_t, int64_t>> ranges(const Stmt& loop, int64_t copies = 1) {
  std::vector<std::pair<int64_t, int64_t>> out;
  for (const LoopRange& range :
       llvm_plugin::split_loop(std::get<te::For>(loop->kind), Ranges(), copies))
    out.emplace_back(range.first, range.last);
  return out;
}

TEST(SplitLoop, StartsARangeWhereAConditionChanges) {
  Tensor x("x", DType::kF32, {20}), y("y", DType::kF32, {20});
  using testing::ElementsAre;
  using testing::Pair;
  EXPECT_THAT(ranges(shifted(x, y, 20, 0)), ElementsAre(Pair(0, 20)));
  EXPECT_THAT(ranges(shifted(x, y, 20, -3)), ElementsAre(Pair(0, 3), Pair(3, 20)));
  EXPECT_THAT(ranges(shifted(x, y, 20, 1)), ElementsAre(Pair(0, 19), Pair(19, 20)));
  EXPECT_THAT(ranges(shifted(x, y, 20, -3), 1 << 12), ElementsAre(Pair(0, 20)))
      << "too many copies";
}

TEST(SplitLoop, KeepsTheLongestRangeAsBody) {
  Tensor x("x", DType::kF32, {8, 40}), y("y", DType::kF32, {40});
  // At 4 of the 40 cells the window of 5 exceeds the image, each time by a different amount.
  Stmt loop = te::loop("i", 40, [&](const Expr& i) {
    return te::loop("k", 5, [&](const Expr& k) {
      Expr value = select(inside(i + k - 2, 40), x(k, i + k - 2), te::constant(DType::kF32, 0));
      return te::make_store(y, {i}, y(i) + value);
    });
  });
  EXPECT_THAT(ranges(loop), testing::ElementsAre(testing::Pair(0, 2), testing::Pair(2, 38),
                                                 testing::Pair(38, 40)));
}

// Iterations of a long loop are not looked at one by one.
TEST(SplitLoop, FindsTheRangesOfALongLoop) {
  using testing::ElementsAre;
  using testing::Pair;
  Tensor x("x", DType::kF32, {1 << 20}), y("y", DType::kF32, {1 << 20});
  EXPECT_THAT(ranges(shifted(x, y, 1 << 20, -3)), ElementsAre(Pair(0, 3), Pair(3, 1 << 20)));
  EXPECT_THAT(ranges(shifted(x, y, 1 << 20, 77)),
              ElementsAre(Pair(0, (1 << 20) - 77), Pair((1 << 20) - 77, 1 << 20)));
  const te::Var other("other");
  Stmt loop = te::loop("i", 1 << 20, [&](const Expr& i) {  // a condition that no range decides
    return te::make_store(y, {i}, select(other < i, x(i), te::constant(DType::kF32, 0)));
  });
  EXPECT_THAT(ranges(loop), ElementsAre(Pair(0, 1 << 20)));
}

TEST(SplitLoop, KeepsALoopWholeWhoseConditionsReadMemory) {
  Tensor x("x", DType::kI64, {40}), y("y", DType::kI64, {40});
  Stmt loop = te::loop("i", 40, [&](const Expr& i) {
    return te::make_store(y, {i}, select(x(i) < i, x(i), Expr(0)));
  });
  EXPECT_THAT(ranges(loop), testing::ElementsAre(testing::Pair(0, 40)));
}

TEST(Conditions, AreDecidedByTheRangesOfTheirVariables) {
  te::Var i("i"), k("k");
  Ranges ranges;
  ranges.set(i, {2, 5});
  EXPECT_EQ(ranges.decide(Expr(i) < 6), true);
  EXPECT_EQ(ranges.decide(Expr(i) < 5), std::nullopt);
  EXPECT_EQ(ranges.decide(Expr(i) < 2), false);
  EXPECT_EQ(ranges.decide(Expr(2) <= i), true);
  EXPECT_EQ(ranges.decide(Expr(6) <= i), false);
  EXPECT_EQ(ranges.decide(Expr(i) == 7), false);
  EXPECT_EQ(ranges.decide(Expr(i) != 1), true);
  EXPECT_EQ(ranges.decide(Expr(i) == 3), std::nullopt);
  EXPECT_EQ(ranges.decide(Expr(i) < k), std::nullopt);
  EXPECT_EQ(ranges.decide(Expr(i) < k && Expr(i) < 2), false);
  EXPECT_EQ(ranges.decide(Expr(i) < k || Expr(i) < 6), true);
  EXPECT_EQ(ranges.decide(Expr(i) < k && Expr(i) < 6), std::nullopt);
}

template <class T>
void expect_shifted(DType dtype) {
  for (int64_t shift : {-4, -1, 0, 2, 13, 30, -30}) {
    SCOPED_TRACE(cat(dtype, " by ", shift));
    const int64_t n = 13;
    Tensor x("x", dtype, {n}), y("y", dtype, {n});
    std::vector<T> from, expected;
    for (int64_t i = 0; i < n; ++i) from.push_back(static_cast<T>(3 * i + 1));
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = i + shift;
      expected.push_back(at < 0 || at >= n ? static_cast<T>(-1) : from[static_cast<size_t>(at)]);
    }
    auto got = test::run_loops({"shift", {x}, {y}, shifted(x, y, n, shift)},
                               {Data::of(dtype, from)});  // between guard pages
    EXPECT_EQ(got[0].template as<T>(), expected);
  }
}

TEST(SplitLoop, ComputesWhatTheWholeLoopDoes) {
  expect_shifted<float>(DType::kF32);
  expect_shifted<double>(DType::kF64);
  expect_shifted<int8_t>(DType::kI8);
  expect_shifted<int64_t>(DType::kI64);
}

// Splitting does not change conditions on values in memory: elements outside are not read.
template <class T>
void expect_guarded(DType dtype) {
  const int64_t n = 64;
  Tensor at("at", DType::kI64, {n}), x("x", dtype, {8}), y("y", dtype, {n});
  for (LoopKind kind : {LoopKind::kSerial, LoopKind::kUnrolled, LoopKind::kVectorized}) {
    auto body = te::loop(
        "i", n,
        [&](const Expr& i) {
          return te::make_store(y, {i}, select(inside(at(i), 8), x(at(i)), te::constant(dtype, 9)));
        },
        kind);
    std::vector<int64_t> places;
    std::vector<T> from, expected;
    for (int64_t k = 0; k < 8; ++k) from.push_back(static_cast<T>(k + 20));
    for (int64_t i = 0; i < n; ++i) {
      places.push_back(i % 3 == 0 ? i % 8 : (i % 3 == 1 ? -1 : 1) * i * 1000003);
      const bool is_inside = places.back() >= 0 && places.back() < 8;
      expected.push_back(is_inside ? from[static_cast<size_t>(places.back())] : static_cast<T>(9));
    }
    auto got = test::run_loops({"guarded", {at, x}, {y}, body},
                               {Data::of(DType::kI64, places), Data::of(dtype, from)});
    EXPECT_EQ(got[0].template as<T>(), expected) << cat(dtype);
  }
}

TEST(GuardedLoads, ReadNothingOutside) {
  expect_guarded<float>(DType::kF32);
  expect_guarded<double>(DType::kF64);
  expect_guarded<uint8_t>(DType::kU8);
  expect_guarded<int32_t>(DType::kI32);
}

}  // namespace
}  // namespace byoc
