// SPDX-License-Identifier: Apache-2.0
// Attention as one kernel against its definition.
#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "byoc/text/builder.h"
#include "plugins/llvm/analysis/memory_plan.h"
#include "plugins/llvm/constants/kernel_loops.h"
#include "plugins/llvm/families/attention/schedule.h"
#include "plugins/llvm/families/family.h"
#include "unit/llvm/relative_error.h"
#include "unit/llvm/run_loops.h"

namespace byoc {
namespace {

constexpr double kBound = 1e-5;  // of the largest output

/// One layer: queries [batch, heads, m, d], keys of [batch, shared, n, d] as matrices [d, n], and
/// values [batch, shared, n, e].
struct Layer {
  int64_t batch = 1, heads = 2, shared = 2;  // shared: heads of keys and values
  int64_t m = 20, n = 20, d = 8, e = 8;
  bool has_mask = false;     // added, [m, n]
  std::string between = {};  // an op of one operand on the scores
  bool moves_heads = false;  // the result is [batch, m, heads, e]
  std::string of_mask = {};  // an op of one operand on the mask
  std::string last = {};     // an op of one operand on the result, after adding the queries
  int64_t rows(int64_t of) const { return batch * heads * of; }
};

struct LayerData {
  std::vector<float> q, k, v, mask;
};

LayerData data_of(const Layer& layer, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> value(-2, 2);
  auto some = [&](int64_t count) {
    std::vector<float> out(static_cast<size_t>(count));
    for (float& x : out) x = value(random);
    return out;
  };
  const int64_t all = layer.batch * layer.shared;
  return {some(layer.rows(layer.m * layer.d)), some(all * layer.d * layer.n),
          some(all * layer.n * layer.e), some(layer.m * layer.n)};
}

IRModule module_of(const Layer& layer) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  auto param = [&](const char* name, Shape shape) {
    return f.param(name, {DType::kF32, std::move(shape)});
  };
  const ValueId q = param("q", {layer.batch, layer.heads, layer.m, layer.d});
  const ValueId k = param("k", {layer.batch, layer.shared, layer.d, layer.n});
  const ValueId v = param("v", {layer.batch, layer.shared, layer.n, layer.e});
  ValueId mask;
  if (layer.has_mask) mask = param("mask", {layer.m, layer.n});
  ValueId scores = f.call("matmul", {q, k});
  if (!layer.between.empty()) scores = f.call(layer.between, {scores});
  if (!layer.of_mask.empty()) mask = f.call(layer.of_mask, {mask});
  if (layer.has_mask) scores = f.call("add", {mask, scores});
  ValueId y = f.call("matmul", {f.call("softmax", {scores}), v});
  if (!layer.last.empty()) y = f.call(layer.last, {f.call("add", {q, y})});
  if (layer.moves_heads) y = f.call("transpose", {y}, {{"perm", Ints{0, 2, 1, 3}}});
  EXPECT_TRUE(f.finish("main", {y}).ok());
  return module;
}

double applied(const std::string& op, double x) {
  return op == "tanh" ? std::tanh(x) : op == "negative" ? -x : x;
}

// Returns the result of the definition.
std::vector<double> definition(const Layer& layer, const LayerData& data) {
  std::vector<double> out(static_cast<size_t>(layer.rows(layer.m * layer.e)), 0);
  for (int64_t head = 0; head < layer.batch * layer.heads; ++head) {
    const int64_t batch = head / layer.heads;
    const int64_t own = layer.shared == 1 ? batch : head;
    for (int64_t i = 0; i < layer.m; ++i) {
      std::vector<double> weights;
      double top = -INFINITY, total = 0;
      for (int64_t j = 0; j < layer.n; ++j) {
        double score = 0;
        for (int64_t c = 0; c < layer.d; ++c)
          score += double{data.q[static_cast<size_t>((head * layer.m + i) * layer.d + c)]} *
                   double{data.k[static_cast<size_t>((own * layer.d + c) * layer.n + j)]};
        score = applied(layer.between, score);
        if (layer.has_mask)
          score += applied(layer.of_mask, double{data.mask[static_cast<size_t>(i * layer.n + j)]});
        weights.push_back(score);
        top = std::max(top, score);
      }
      for (double& weight : weights) weight = std::exp(weight - top), total += weight;
      const int64_t row = layer.moves_heads
                              ? (batch * layer.m + i) * layer.heads + head % layer.heads
                              : head * layer.m + i;
      for (int64_t c = 0; c < layer.e; ++c) {
        double& y = out[static_cast<size_t>(row * layer.e + c)];
        for (int64_t j = 0; j < layer.n; ++j)
          y += weights[static_cast<size_t>(j)] / total *
               double{data.v[static_cast<size_t>((own * layer.n + j) * layer.e + c)]};
        const auto query = static_cast<size_t>((head * layer.m + i) * layer.d + c);
        if (!layer.last.empty()) y = applied(layer.last, y + double{data.q[query]});
      }
    }
  }
  return out;
}

te::Dag dag_of(const Layer& layer, const te::Target& target) {
  const IRModule module = module_of(layer);
  auto dag = te::translate_to_te(module, module.function("main"), target, te::by_level(),
                                 llvm_plugin::strategies());
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  return *std::move(dag);
}

std::vector<test::Data> inputs_of(const Layer& layer, const LayerData& data) {
  std::vector<test::Data> out = {test::f32(data.q), test::f32(data.k), test::f32(data.v)};
  if (layer.has_mask) out.push_back(test::f32(data.mask));
  return out;
}

// Returns true for a schedule that has the scores of a block inside of the block, and not for the
// default one, which is used when this one is refused.
bool has_blocks(const te::Schedule& schedule) {
  const std::string trace = te::print(schedule.trace());
  return trace.find("compute_at(attention.scores, ") != std::string::npos;
}

std::vector<float> run(const Layer& layer, const LayerData& data, uint32_t threads = 1) {
  te::Target target = llvm_plugin::host_target();
  target.threads = threads;
  const te::Dag dag = dag_of(layer, target);
  const auto schedules = llvm_plugin::family_template(dag, target);
  EXPECT_TRUE(schedules && has_blocks(*schedules->at(schedules->first)));
  auto kernel = llvm_plugin::lower_with_constants(dag, dag.inputs.size(), target);
  EXPECT_TRUE(kernel.ok()) << kernel.status().message();
  return test::run_loops(kernel->loops, inputs_of(layer, data), {threads, {}})[0].as<float>();
}

void expect_definition(const Layer& layer, uint32_t threads = 1) {
  SCOPED_TRACE(cat(layer.batch, " x ", layer.heads, " heads, ", layer.m, " queries, ", layer.n,
                   " keys of ", layer.d, ", values of ", layer.e, ", ", threads, " threads"));
  const LayerData data = data_of(layer);
  EXPECT_LE(test::relative_error(run(layer, data, threads), definition(layer, data)), kBound);
}

TEST(Attention, ComputesLengthsThatBlocksAndVectorsDoNotDivide) {
  for (int64_t m : {16, 17, 37}) {
    for (int64_t n : {16, 31, 53}) expect_definition({.m = m, .n = n});
  }
}

TEST(Attention, ComputesHeadsOfAnySize) {
  for (int64_t d : {1, 7, 64}) {
    for (int64_t e : {1, 5, 24, 40}) expect_definition({.heads = 1, .shared = 1, .d = d, .e = e});
  }
}

TEST(Attention, SharesKeysAndValuesAmongHeads) {
  expect_definition({.batch = 3, .heads = 4, .shared = 1});
  expect_definition({.batch = 2, .heads = 1, .shared = 1, .has_mask = true}, 2);
}

TEST(Attention, AppliesWhatIsBetweenScoresAndSoftmax) {
  for (const char* op : {"", "tanh", "negative"})
    expect_definition({.n = 45, .has_mask = true, .between = op});
}

// With few heads for the threads, panels are made before all of them.
TEST(Attention, DividesHeadsOrBlocksAmongThreads) {
  for (int64_t heads : {1, 2, 9}) {
    for (uint32_t threads : {1u, 2u, 3u})
      expect_definition({.heads = heads, .shared = heads, .m = 50, .n = 33, .e = 24}, threads);
  }
}

TEST(Attention, ComputesAMaskOnce) {
  const Layer layer{.has_mask = true, .of_mask = "tanh"};
  expect_definition(layer);
  const te::Dag dag = dag_of(layer, llvm_plugin::host_target());
  const auto schedules = llvm_plugin::family_template(dag, llvm_plugin::host_target());
  const std::string trace = te::print(schedules->at(schedules->first)->trace());
  EXPECT_THAT(trace, testing::HasSubstr("compute_inline(tanh)"));
  EXPECT_THAT(trace, testing::HasSubstr("compute_at(add,"));
}

TEST(Attention, EndsWithOpsOnTheResult) {
  for (const char* last : {"tanh", "negative"}) {
    for (uint32_t threads : {1u, 2u}) {
      expect_definition({.m = 29, .last = last}, threads);
      expect_definition({.m = 29, .d = 12, .e = 12, .moves_heads = true, .last = last}, threads);
    }
  }
}

// Panels of constants are made at compile.
TEST(Attention, PacksConstantKeysAndValuesAtCompile) {
  const Layer layer{.heads = 1, .shared = 1, .m = 33, .n = 37, .e = 21};
  const LayerData data = data_of(layer);
  const te::Target target = llvm_plugin::host_target();
  const te::Dag dag = dag_of(layer, target);
  auto kernel = llvm_plugin::lower_with_constants(dag, 1, target);
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  ASSERT_TRUE(kernel->constants);
  std::vector<test::Data> inputs = {test::f32(data.q)};
  for (test::Data& panels :
       test::run_loops(kernel->constants->loops, {test::f32(data.k), test::f32(data.v)}))
    inputs.push_back(std::move(panels));
  const auto y = test::run_loops(kernel->loops, inputs);
  EXPECT_LE(test::relative_error(y[0].as<float>(), definition(layer, data)), kBound);
}

// Functions with more sums than attention have the default schedule.
TEST(Attention, LeavesOtherFunctionsToTheDefaultSchedule) {
  const char* const more[] = {"softmax", "matmul"};
  for (const char* op : more) {
    SCOPED_TRACE(op);
    IRModule module;
    FunctionBuilder f(module, all_ops());
    const ValueId x = f.param("x", {DType::kF32, {20, 8}});
    const ValueId w = f.param("w", {DType::kF32, {8, 8}});
    const ValueId k = f.param("k", {DType::kF32, {8, 24}});
    const ValueId v = f.param("v", {DType::kF32, {24, 8}});
    const bool is_before = std::string_view(op) == "matmul";
    const ValueId q = is_before ? f.call("matmul", {x, w}) : x;
    ValueId y = f.call("matmul", {f.call("softmax", {f.call("matmul", {q, k})}), v});
    if (!is_before) y = f.call("softmax", {y});
    ASSERT_TRUE(f.finish("main", {y}).ok());
    const te::Target target = llvm_plugin::host_target();
    auto dag = te::translate_to_te(module, module.function("main"), target, te::by_level(),
                                   llvm_plugin::strategies());
    ASSERT_TRUE(dag.ok()) << dag.status().message();
    EXPECT_FALSE(llvm_plugin::attention::find_shape(*dag));
    auto kernel = llvm_plugin::lower_with_constants(*dag, dag->inputs.size(), target);
    EXPECT_TRUE(kernel.ok()) << kernel.status().message();
  }
}

TEST(Attention, MovesHeadsOfTheResult) {
  for (uint32_t threads : {1u, 2u})
    expect_definition({.batch = 2, .heads = 3, .shared = 3, .m = 29, .moves_heads = true}, threads);
}

// A hidden key has no weight, also where its value is the largest float. A row with all keys hidden
// by -inf has no maximum: NaN, as by the definition.
TEST(Attention, HidesKeysByMasks) {
  Layer layer{.heads = 1, .shared = 1, .has_mask = true};
  LayerData data = data_of(layer);
  for (int64_t i = 0; i < layer.m; ++i) {
    for (int64_t j = 0; j < layer.n; ++j)
      data.mask[static_cast<size_t>(i * layer.n + j)] = j > i ? -INFINITY : 0;
  }
  for (int64_t j = 0; j < layer.n; ++j) data.mask[static_cast<size_t>(3 * layer.n + j)] = -INFINITY;
  for (int64_t c = 0; c < layer.e; ++c)
    data.v[static_cast<size_t>((layer.n - 1) * layer.e + c)] = 3e38F;
  const std::vector<float> y = run(layer, data);
  const std::vector<double> expected = definition(layer, data);
  for (int64_t at = 0; at < layer.m * layer.e; ++at) {
    const int64_t row = at / layer.e;
    const double one = y[static_cast<size_t>(at)];
    if (row == 3) {
      EXPECT_TRUE(std::isnan(one)) << at;
    } else if (row < layer.m - 1) {
      EXPECT_NEAR(one, expected[static_cast<size_t>(at)], 1e-5) << at;
    }
  }
}

// NaN in a query reaches its row alone, NaN in a value its column of all rows.
TEST(Attention, KeepsNanInItsRowOrColumn) {
  const Layer layer{.heads = 1, .shared = 1, .m = 30, .n = 21};
  LayerData data = data_of(layer);
  data.q[static_cast<size_t>(4 * layer.d)] = NAN;
  data.v[static_cast<size_t>(20 * layer.e + 5)] = NAN;
  const std::vector<float> y = run(layer, data);
  for (int64_t at = 0; at < layer.m * layer.e; ++at)
    EXPECT_EQ(std::isnan(y[static_cast<size_t>(at)]), at / layer.e == 4 || at % layer.e == 5) << at;
}

TEST(Attention, ComputesAllTiles) {
  const Layer layer{.m = 41, .n = 70, .e = 40};
  const te::Target target = llvm_plugin::host_target();
  const te::Dag dag = dag_of(layer, target);
  const LayerData data = data_of(layer);
  const std::vector<double> expected = definition(layer, data);
  const auto schedules = llvm_plugin::family_template(dag, target);
  ASSERT_TRUE(schedules);
  EXPECT_EQ(schedules->kind, "attention");
  for (const char* rows : {"1", "7", "24", "99"}) {
    for (const char* tile : {"1x1", "5x3", "12x2", "40x1"}) {
      SCOPED_TRACE(cat(rows, " ", tile));
      auto schedule = schedules->at({{"rows", rows}, {"tile", tile}, {"values_tile", tile}});
      ASSERT_TRUE(schedule.ok()) << schedule.status().message();
      EXPECT_TRUE(has_blocks(*schedule));
      auto loops = te::lower(*schedule);
      ASSERT_TRUE(loops.ok()) << loops.status().message();
      const auto y = test::run_loops(*loops, inputs_of(layer, data));
      EXPECT_LE(test::relative_error(y[0].as<float>(), expected), kBound);
    }
  }
}

// Sums that do not fit the registers, and those of longer loops over lanes, are in memory.
TEST(Attention, PlansTilesWhoseSumsStayInRegisters) {
  for (const auto& [bits, registers] :
       {std::pair(128, 32), std::pair(256, 16), std::pair(512, 32)}) {
    te::Target target = llvm_plugin::host_target();
    target.vector_bits = bits, target.vector_registers = registers;
    for (int64_t rows : {1, 7, 12, 197}) {
      for (int64_t columns = 1; columns < 400; ++columns) {
        for (const auto& tile : llvm_plugin::attention::tiles_of(rows, columns, target)) {
          ASSERT_LE(tile.cells * tile.vectors + tile.vectors + 1, registers) << columns;
          ASSERT_LE(tile.vectors, 8) << columns;
          ASSERT_LE(tile.cells, rows) << columns;
        }
      }
    }
  }
}

// Scores are kept for a block of rows, and never for all of them.
TEST(Attention, StoresNoMatrixOfScores) {
  const Layer layer{.heads = 1, .shared = 1, .m = 512, .n = 512};
  const te::Target target = llvm_plugin::host_target();
  const te::Dag dag = dag_of(layer, target);
  auto kernel = llvm_plugin::lower_with_constants(dag, dag.inputs.size(), target);
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  auto memory = llvm_plugin::plan_memory(kernel->loops, 1);
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  EXPECT_LT(te::as_int(memory->workspace_bytes), int64_t{512 * 512 * sizeof(float) / 4});
}

}  // namespace
}  // namespace byoc
