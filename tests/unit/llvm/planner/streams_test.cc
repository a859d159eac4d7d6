// SPDX-License-Identifier: Apache-2.0
// Reads that take elements from several streams in turns, as shuffled pixels do: vectors of each
// stream, stored in turns. Results are compared with the definition, element by element.
#include <numeric>
#include <random>

#include "byoc/text/builder.h"
#include "plugins/llvm/constants/kernel_loops.h"
#include "plugins/llvm/families/family.h"
#include "unit/llvm/run_loops.h"

namespace byoc {
namespace {

struct Pixels {
  int64_t channels, rows, columns, block;
  std::string mode;
};

// Returns the loops of relu(depth_to_space(x)).
te::LoopFunction loops_of(const Pixels& p, uint32_t threads) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId x = f.param("x", {DType::kF32, {1, p.channels * p.block * p.block, p.rows, p.columns}});
  ValueId y = f.call("depth_to_space", {x}, {{"blocksize", p.block}, {"mode", p.mode}});
  const Status status = f.finish("main", {f.call("relu", {y})});
  EXPECT_TRUE(status.ok()) << status.to_string();
  te::Target target = llvm_plugin::host_target();
  target.threads = threads;
  auto dag = te::translate_to_te(module, module.function("main"), target, te::by_level(),
                                 llvm_plugin::strategies());
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  auto out = llvm_plugin::lower_with_constants(*dag, 1, target);
  EXPECT_TRUE(out.ok()) << out.status().message();
  return std::move(out->loops);
}

TEST(Streams, AreVectorsThatAreStoredInTurns) {
  const std::string text = te::print(loops_of({4, 12, 112, 3, "CRD"}, 1));
  const size_t written = text.find("unrolled i3.i"), vectors = text.find("vectorized i3.o");
  ASSERT_NE(written, text.npos) << text;
  ASSERT_NE(vectors, text.npos) << text;
  EXPECT_LT(written, vectors) << text;
}

TEST(Streams, GiveEveryElement) {
  std::mt19937 random(5);
  auto pick = [&](int64_t n) {
    return 1 + static_cast<int64_t>(random() % static_cast<uint32_t>(n));
  };
  for (int round = 0; round < 40; ++round) {
    const Pixels p{pick(3), pick(5), pick(round % 2 ? 40 : 90), pick(9), round % 3 ? "DCR" : "CRD"};
    std::vector<float> x(static_cast<size_t>(p.channels * p.block * p.block * p.rows * p.columns));
    std::iota(x.begin(), x.end(), -7.0f);
    const uint32_t threads = 1 + random() % 2;
    const auto y =
        test::run_loops(loops_of(p, threads), {test::f32(x)}, {.threads = threads})[0].as<float>();
    ASSERT_EQ(y.size(), x.size());
    for (int64_t at = 0; at < static_cast<int64_t>(x.size()); ++at) {
      const int64_t width = p.columns * p.block, height = p.rows * p.block;
      const int64_t j = at % width, i = at / width % height, c = at / width / height;
      const int64_t in_block = i % p.block * p.block + j % p.block;
      const int64_t channel =
          p.mode == "DCR" ? in_block * p.channels + c : c * p.block * p.block + in_block;
      const int64_t from = (channel * p.rows + i / p.block) * p.columns + j / p.block;
      ASSERT_EQ(y[static_cast<size_t>(at)], std::max(x[static_cast<size_t>(from)], 0.0f))
          << p.channels << " x " << p.rows << " x " << p.columns << " by " << p.block << ", at "
          << at;
    }
  }
}

}  // namespace
}  // namespace byoc
