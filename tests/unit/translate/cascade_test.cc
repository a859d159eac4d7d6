// SPDX-License-Identifier: Apache-2.0
// A second scheduler for translated functions, which uses public headers only. It has no rules per
// op: it tiles the rows of the last stage and computes all other stages inside of the loop over
// tiles. So of two consecutive convolutions, the image between them is never in memory as a whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "byoc/ir/visit.h"
#include "byoc/op/registry.h"
#include "byoc/te/evaluate.h"
#include "byoc/te/schedule.h"
#include "byoc/text/text.h"
#include "byoc/translate/translate.h"

namespace byoc {
namespace {

constexpr std::string_view kCascade = R"(
  fn main(%x: f32[1,3,20,9], %w1: f32[4,3,3,3], %w2: f32[5,4,3,3]) {
    %0 = conv2d(%x, %w1) {pads=[1,1,1,1]}
    %1 = relu(%0)
    %2 = conv2d(%1, %w2) {pads=[1,1,1,1]}
    %3 = sigmoid(%2)
    return %3
  })";

Result<te::Dag> two_convs() {
  BYOC_TRY(IRModule module, parse_module(kCascade, all_ops()));
  BYOC_TRY(te::Target target, te::parse_target("x86-64-v3"));
  return te::translate_to_te(module, module.function("main"), target, te::by_level());
}

/// Tiles the last stage by `rows` and computes all stages before it inside of the loop over tiles.
Result<te::Schedule> cascade(te::Dag dag, int64_t rows) {
  std::vector<std::string> stages;
  for (const te::Stage& stage : dag.stages) {
    if (!std::holds_alternative<te::Placeholder>(stage.kind)) stages.push_back(stage.name);
  }
  te::Schedule schedule(std::move(dag));
  const std::string last = stages.back();
  BYOC_TRY_STATUS(schedule.split(last, "i2", rows));
  BYOC_TRY_STATUS(schedule.reorder(last, {"i2.o", "i1", "i2.i"}));
  stages.pop_back();
  for (size_t k = stages.size(); k-- > 0;)
    BYOC_TRY_STATUS(schedule.compute_at(stages[k], last, "i2.o"));
  return schedule;
}

// Adds the number of elements of every tensor that the statements allocate to `sizes`, by name.
void measure(const te::Stmt& stmt, std::map<std::string, int64_t>& sizes) {
  if (stmt.is_empty()) return;
  std::visit(overloaded{
                 [&](const te::For& loop) { measure(loop.body, sizes); },
                 [&](const te::Store&) {},
                 [&](const te::If& branch) {
                   measure(branch.yes, sizes);
                   measure(branch.no, sizes);
                 },
                 [&](const te::Let& let) { measure(let.body, sizes); },
                 [&](const te::Alloc& alloc) {
                   int64_t size = 1;
                   for (const te::Expr& extent : alloc.tensor.shape())
                     size *= te::as_int(extent).value_or(0);
                   int64_t& most = sizes[alloc.tensor.name()];
                   most = std::max(most, size);
                   measure(alloc.body, sizes);
                 },
                 [&](const te::Block& block) {
                   for (const te::Stmt& inner : block.stmts) measure(inner, sizes);
                 },
                 [&](const te::Intrinsic&) {},
             },
             stmt->kind);
}

std::map<std::string, int64_t> memory_of(const te::Schedule& schedule) {
  auto loops = te::lower(schedule);
  EXPECT_TRUE(loops.ok()) << loops.status().to_string();
  std::map<std::string, int64_t> sizes;
  if (loops.ok()) measure(loops->body, sizes);
  return sizes;
}

std::vector<float> run(const te::Schedule& schedule) {
  auto loops = te::lower(schedule);
  EXPECT_TRUE(loops.ok()) << loops.status().to_string();
  if (!loops.ok()) return {};
  std::mt19937 next(5);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<std::vector<float>> inputs;
  for (size_t elements : {3 * 20 * 9, 4 * 3 * 9, 5 * 4 * 9}) {
    inputs.emplace_back(elements);
    for (float& x : inputs.back()) x = uniform(next);
  }
  std::vector<float> y(5 * 20 * 9);
  const void* in[] = {inputs[0].data(), inputs[1].data(), inputs[2].data()};
  void* out[] = {y.data()};
  Status status = te::evaluate(*loops, in, out);
  EXPECT_TRUE(status.ok()) << status.to_string();
  return y;
}

TEST(Cascade, GivesWhatStageByStageGives) {
  auto dag = two_convs();
  ASSERT_TRUE(dag.ok()) << dag.status().to_string();
  for (int64_t rows : {1, 4, 7, 20}) {  // 20 rows in tiles of 7 leave a remainder
    auto schedule = cascade(*dag, rows);
    ASSERT_TRUE(schedule.ok()) << schedule.status().to_string();
    EXPECT_EQ(run(*schedule), run(te::Schedule(*dag))) << rows;
  }
}

TEST(Cascade, StoresTheRowsOfATileAndNotTheImageBetween) {
  auto dag = two_convs();
  ASSERT_TRUE(dag.ok());
  auto whole = memory_of(te::Schedule(*dag)), tiled = memory_of(*cascade(*dag, 4));
  EXPECT_EQ(whole["conv2d"], 4 * 20 * 9);
  EXPECT_EQ(whole["relu"], 4 * 20 * 9);
  // Four rows of the second convolution read six rows of the first.
  EXPECT_LE(tiled["conv2d"], 4 * 6 * 9);
  EXPECT_LE(tiled["relu"], 4 * 6 * 9);
  EXPECT_GT(tiled["relu"], 0);
  EXPECT_LE(tiled["conv2d_1"], 5 * 4 * 9);
}

TEST(Cascade, IsATraceThatReplays) {
  auto dag = two_convs();
  ASSERT_TRUE(dag.ok());
  auto schedule = cascade(*dag, 4);
  ASSERT_TRUE(schedule.ok());
  auto trace = te::parse_trace(te::print(schedule->trace()));
  ASSERT_TRUE(trace.ok()) << trace.status().to_string();
  auto again = te::replay(*two_convs(), *trace);
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_EQ(te::print(*te::lower(*again)), te::print(*te::lower(*schedule)));
}

}  // namespace
}  // namespace byoc
