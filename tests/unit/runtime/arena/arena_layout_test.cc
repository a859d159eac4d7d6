// SPDX-License-Identifier: Apache-2.0
#include "runtime/arena/arena_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "byoc/base/arena.h"
#include "runtime/arena/block_lives.h"
#include "unit/runtime/open_program.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;
using Range = std::pair<uint32_t, uint32_t>;

/// Returns a program that writes and reads each block at the ends of its range.
Program program_of(const std::vector<Range>& lives, std::vector<std::vector<uint32_t>> packing) {
  Program program;
  program.sizes = {{"T", 1, 1 << 20}};
  const TensorSpec type = spec_of("f32[T<=1048576]");
  uint32_t last = 0;
  for (const Range& life : lives) last = std::max(last, life.second);
  program.steps.resize(last + 1);
  for (uint32_t k = 0; k < lives.size(); ++k) {
    for (uint32_t at : {lives[k].first, lives[k].second}) {
      program.steps[at].args.push_back(block(k));
      program.steps[at].types.push_back(type);
    }
  }
  program.inputs = {{"x", type}};
  program.packing = std::move(packing);
  return program;
}

bool overlap(uint64_t a, uint64_t a_end, uint64_t b, uint64_t b_end) {
  return a < b_end && b < a_end;
}

// Any bytes in any order: values that live at the same time have memory of their own.
TEST(ArenaLayout, SeparatesWhatLivesAtTheSameTime) {
  std::mt19937 random(1);
  auto below = [&](size_t n) { return static_cast<uint32_t>(random() % n); };
  for (int turn = 0; turn < 200; ++turn) {
    std::vector<Range> lives(1 + below(40));
    for (Range& life : lives) {
      life.first = below(30);
      life.second = life.first + below(10);
    }
    std::vector<uint32_t> order(lives.size());
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), random);
    const Program program = program_of(lives, {order});
    const ArenaLayout layout(program, *OpenSizes::make(program));
    std::vector<uint64_t> bytes(lives.size()), offsets(lives.size());
    for (int sizes = 0; sizes < 5; ++sizes) {
      for (uint64_t& size : bytes) size = 64 * (1 + below(20));
      const uint64_t all = layout.place(bytes, offsets);
      for (size_t a = 0; a < lives.size(); ++a) {
        EXPECT_LE(offsets[a] + bytes[a], all);
        for (size_t b = 0; b < a; ++b) {
          const bool together =
              lives[a].first <= lives[b].second && lives[b].first <= lives[a].second;
          if (!together) continue;
          EXPECT_FALSE(
              overlap(offsets[a], offsets[a] + bytes[a], offsets[b], offsets[b] + bytes[b]))
              << a << " and " << b;
        }
      }
    }
  }
}

// An arena for some sizes is large enough for smaller ones.
TEST(ArenaLayout, NeedsNoMoreForLess) {
  std::mt19937 random(2);
  std::vector<Range> lives(30);
  for (Range& life : lives) {
    life.first = static_cast<uint32_t>(random() % 20);
    life.second = life.first + static_cast<uint32_t>(random() % 8);
  }
  std::vector<std::vector<uint32_t>> orders(3, std::vector<uint32_t>(lives.size()));
  for (auto& order : orders) {
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), random);
  }
  const Program program = program_of(lives, orders);
  const ArenaLayout layout(program, *OpenSizes::make(program));
  std::vector<uint64_t> bytes(lives.size(), 64), offsets(lives.size());
  uint64_t before = layout.place(bytes, offsets);
  for (int turn = 0; turn < 1000; ++turn) {
    bytes[random() % bytes.size()] += 64;
    const uint64_t now = layout.place(bytes, offsets);
    EXPECT_GE(now, before);
    before = now;
  }
}

// In the order of the offsets of a plan, the layout is as small as the plan.
TEST(ArenaLayout, IsAsSmallAsThePlanOfItsOrder) {
  std::mt19937 random(3);
  for (int turn = 0; turn < 50; ++turn) {
    std::vector<Range> lives(60);
    std::vector<uint64_t> bytes(lives.size()), offsets(lives.size());
    std::vector<Lifetime> planned(lives.size());
    for (size_t k = 0; k < lives.size(); ++k) {
      lives[k].first = static_cast<uint32_t>(random() % 50);
      lives[k].second = lives[k].first + static_cast<uint32_t>(random() % 6);
      bytes[k] = 64 * (1 + random() % 100);
      planned[k] = {bytes[k], lives[k].first, lives[k].second};
    }
    const ArenaPlan plan = plan_arena(planned);
    std::vector<uint32_t> order(lives.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return plan.offsets[a] < plan.offsets[b]; });
    const Program program = program_of(lives, {order});
    EXPECT_LE(ArenaLayout(program, *OpenSizes::make(program)).place(bytes, offsets), plan.bytes);
  }
}

TEST(ArenaLayout, TakesTheOrderThatNeedsLeast) {
  // b rests on a in the first order; in the second one c is below both, which do not meet.
  const std::vector<Range> lives = {{0, 1}, {2, 3}, {1, 2}};
  std::vector<uint64_t> bytes = {64, 640, 64}, offsets(3);
  for (auto orders : std::vector<std::vector<std::vector<uint32_t>>>{{{0, 2, 1}, {2, 0, 1}},
                                                                     {{2, 0, 1}, {0, 2, 1}}}) {
    const Program program = program_of(lives, orders);
    EXPECT_EQ(ArenaLayout(program, *OpenSizes::make(program)).place(bytes, offsets), 704u);
    EXPECT_EQ(offsets, (std::vector<uint64_t>{64, 64, 0}));
  }
}

TEST(ArenaLayout, MeasuresBlocksForSizes) {
  const Executable executable = sums_of_pairs();
  const OpenSizes sizes = *OpenSizes::make(executable.program);
  const ArenaLayout layout(executable.program, sizes);
  std::vector<int64_t> values(sizes.expressions());
  std::vector<uint64_t> bytes(3);
  ASSERT_TRUE(sizes.evaluate(std::vector<int64_t>{2, 100}, values).ok());
  ASSERT_TRUE(layout.measure(values, bytes).ok());
  EXPECT_EQ(bytes, (std::vector<uint64_t>{80000, 832, 832}));  // whole lines of 64 bytes
  const int64_t huge = int64_t{1} << 40;
  std::fill(values.begin(), values.end(), huge);
  const Status status = layout.measure(values, bytes);
  EXPECT_EQ(status.slug(), "size-overflow");
  EXPECT_THAT(status.message(), HasSubstr("f32[B<=100000,T<=100000,T<=100000]"));
}

TEST(BlockLives, ReachFromTheFirstUseToTheLast) {
  const Executable executable = sums_of_pairs();
  const std::vector<Lifetime> lives = block_lives(executable.program);
  ASSERT_EQ(lives.size(), 3u);
  const Range expected[] = {{0, 1}, {1, 2}, {2, 3}};
  for (size_t k = 0; k < 3; ++k) EXPECT_EQ(Range(lives[k].first, lives[k].last), expected[k]) << k;
}

// Block 0 is older than the loop, 1 and 2 are values of an iteration, 3 gets a row in each, 4 and
// 5 are the counter and the condition, 6 comes after the loop.
TEST(BlockLives, ReachOverLoopsThatUseOlderValues) {
  const TensorSpec value = spec_of("f32[T<=64]"), rows = spec_of("f32[3,T<=64]"),
                   count = spec_of("i64[]"), truth = spec_of("bool[]");
  Program program;
  program.sizes = {{"T", 1, 64}};
  program.inputs = {{"x", value}, {"n", count}, {"c", truth}};
  program.outputs = {{"y", value}};
  program.steps = {step_of("a", 1, {in(0), block(0)}, {value, value}),
                   step_of("b", 1, {block(0), block(1)}, {value, value}),
                   step_of("c", 1, {block(1), block(2)}, {value, value}),
                   step_of("d", 1, {block(3), block(6)}, {rows, value}),
                   step_of("e", 1, {block(6), out(0)}, {value, value})};
  using I = Instruction;
  program.code = {{I::kCall, 0, {}, {}},
                  {I::kCopy, 0, {in(2), block(5)}, {truth, truth}},
                  {I::kLoop, 0, {in(1), block(5), block(4)}, {count, truth, count}},
                  {I::kCall, 1, {}, {}},
                  {I::kIf, 0, {block(5)}, {truth}},
                  {I::kCall, 2, {}, {}},
                  {I::kElse, 0, {}, {}},
                  {I::kCall, 2, {}, {}},
                  {I::kEnd, 0, {}, {}},
                  {I::kAppend, 0, {block(2), block(3), block(4)}, {value, rows, count}},
                  {I::kEnd, 0, {}, {}},
                  {I::kCall, 3, {}, {}},
                  {I::kCall, 4, {}, {}}};
  program.packing = {{0, 1, 2, 3, 4, 5, 6}};
  const std::vector<Lifetime> lives = block_lives(program);
  const Range expected[] = {{0, 10}, {3, 7}, {5, 9}, {2, 11}, {2, 10}, {1, 10}, {11, 12}};
  ASSERT_EQ(lives.size(), std::size(expected));
  for (size_t k = 0; k < lives.size(); ++k)
    EXPECT_EQ(Range(lives[k].first, lives[k].last), expected[k]) << k;
}

}  // namespace
}  // namespace byoc::test
