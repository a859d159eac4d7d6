// SPDX-License-Identifier: Apache-2.0
// The work of every pass is linear in the modules that it reads and writes: counted in basic
// blocks, not in seconds, for chains, ladders and random graphs of 1e3 and 1e4 ops.
#include <gtest/gtest.h>

#include <algorithm>

#include "byoc/compile.h"
#include "graphs.h"
#include "slow_passes.h"
#include "support/flow.h"
#include "work.h"

namespace byoc::test {
namespace {

// Their ratio is a power of two, so that arrays that double are equally full.
constexpr uint32_t kSmall = 1250, kLarge = 10000;
// The most that the work may grow for modules that grow once. Sorts and searches by name, which
// grow by 1.3 between these sizes, have to be a small part of a pass. A random graph is not the
// same at both sizes.
double most_growth(Shape shape) { return shape == Shape::kRandom ? 1.1 : 1.05; }

// clang has other blocks than g++, and sanitizers add some.
#if defined(__clang__) || defined(BYOC_IS_SANITIZED)
constexpr bool kHasBounds = false;
#else
constexpr bool kHasBounds = true;
#endif

// Basic blocks per op of the graph, about half again as many as there are with g++ 12 and -O0.
struct Bound {
  std::string_view pass;
  double blocks;
};
constexpr Bound kBounds[] = {
    {"infer_types", 3000},
    {"inline_functions", 5800},
    {"bind_constant_arguments", 190},
    {"widen_floats", 130},
    {"fold_constants", 1700},
    {"merge_pads", 200},
    {"eliminate_dead_code", 1700},
    {"merge_equal_nodes", 3500},
    {"fold_batch_norm", 3000},
    {"round_weights", 10},
    {"prepare_quantized", 400},
    {"merge_composites", 20000},
    {"use_integers", 1},
    {"fold_weights", 400},
    {"annotate_target", 12000},
    {"merge_compiler_regions", 19000},
    {"make_added_loops", 60},
    {"partition_graph", 15000},
    {"assign_layouts", 1},
    {"share_layouts", 400},
    {"fuse_ops", 41000},
    {"choose_computes", 900},
    {"run_codegen", 15000},
    {"copy_to_devices", 10},
    {"plan_memory", 3000},
    {"make_executable", 3600},
};

const char* name_of(Shape shape) {
  return shape == Shape::kChain ? "chain" : shape == Shape::kLadder ? "ladder" : "random";
}

std::shared_ptr<const PluginSet> plugins() {
  constexpr const char* kConvRelu =
      R"([{"name":"conv_relu","priority":1,"dag":{"op":"relu","args":[{"optional":{"op":"add",
          "args":["$",{"const":true}]},"on":{"op":"conv2d"}}]}}])";
  constexpr const char* kSwish =
      R"([{"name":"gate","dag":{"op":"multiply","args":[{"op":"sigmoid"},{"any":true}]}}])";
  return selective_plugins({{"a", {{"ops", "relu,add,conv2d"}, {"patterns", kConvRelu}}},
                            {"b", {{"ops", "tanh,multiply"}, {"patterns", kSwish}}}});
}

struct PassWork {
  std::string pass;
  uint64_t blocks;
  uint64_t nodes;  // of the modules before and after; equal constants are one node
};

uint64_t count_nodes(const IRModule& module) {
  uint64_t out = 0;
  for (const auto& [name, function] : module.functions) {
    for (const Node& node : function.nodes) out += !std::holds_alternative<Constant>(node.kind);
  }
  return out;
}

/// Returns the work of each pass of the pipeline, and of make_executable.
std::vector<PassWork> work_of_passes(Shape shape, uint32_t ops) {
  IRModule module = make_graph(shape, ops);
  PassContext context = context_of(module, plugins(), {"a", "b"});
  std::vector<Pass> passes = Pipeline::whole(context);
  std::vector<PassWork> out;
  for (const Pass& pass : passes) {
    const uint64_t nodes = count_nodes(module), before = work_done();
    Result<IRModule> result = pass.run(std::move(module), context, pass.args);
    out.push_back({pass.name, work_done() - before, nodes});
    EXPECT_TRUE(result.ok()) << pass.name << ": " << result.status().to_string();
    if (!result.ok()) return {};
    module = *std::move(result);
    out.back().nodes += count_nodes(module);
  }
  const uint64_t before = work_done();
  Result<Executable> executable = make_executable(module);
  EXPECT_TRUE(executable.ok()) << executable.status().to_string();
  out.push_back({"make_executable", work_done() - before, count_nodes(module)});
  return out;
}

double growth(uint64_t small, uint64_t large) {
  return static_cast<double>(large) / static_cast<double>(std::max<uint64_t>(small, 1));
}

double most_blocks(std::string_view pass) {
  auto bound = std::ranges::find(kBounds, pass, &Bound::pass);
  EXPECT_NE(bound, std::end(kBounds)) << pass << " has no bound";
  return bound == std::end(kBounds) ? 0 : bound->blocks;
}

TEST(PassWork, IsLinearInTheGraph) {
  for (Shape shape : {Shape::kChain, Shape::kLadder, Shape::kRandom}) {
    auto small = work_of_passes(shape, kSmall), large = work_of_passes(shape, kLarge);
    ASSERT_EQ(small.size(), large.size());
    for (size_t k = 0; k < large.size(); ++k) {
      const double per_op = static_cast<double>(large[k].blocks) / kLarge;
      SCOPED_TRACE(cat(name_of(shape), ", pass ", k, " ", large[k].pass, ": ", per_op, " per op"));
      const double nodes = growth(small[k].nodes, large[k].nodes);
      EXPECT_LE(nodes, 1.1 * kLarge / kSmall);
      EXPECT_LE(growth(small[k].blocks, large[k].blocks), most_growth(shape) * nodes);
      if (kHasBounds) {
        EXPECT_LE(per_op, most_blocks(large[k].pass));
      }
    }
  }
}

// The counts show each way in which a pass becomes quadratic.
TEST(PassWork, OfAQuadraticPassGrowsTooFast) {
  using SlowPass = Result<IRModule> (*)(IRModule, const PassContext&);
  for (SlowPass pass : {&search_readers, &copy_per_node, &erase_from_front}) {
    uint64_t work[2] = {};
    for (int k = 0; k < 2; ++k) {
      IRModule module = make_graph(Shape::kChain, k == 0 ? 100 : 1000);
      const uint64_t before = work_done();
      ASSERT_TRUE(pass(std::move(module), PassContext()).ok());
      work[k] = work_done() - before;
    }
    EXPECT_GT(growth(work[0], work[1]), 2 * 10);
  }
}

}  // namespace
}  // namespace byoc::test
