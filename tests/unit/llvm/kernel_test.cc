// SPDX-License-Identifier: Apache-2.0
// The machine code of micro-kernels: the innermost loop contains only
// loads, broadcasts and multiply-adds.
#include <gmock/gmock.h>

#include <random>

#include "assembly.h"
#include "byoc/te/schedule.h"
#include "kernel_loops.h"
#include "plugins/llvm/emit/micro_kernels.h"
#include "run_loops.h"

namespace byoc {
namespace {

using test::count;
using test::innermost_loops;
using test::joined;

TEST(MicroKernel, KeepsItsSumsInRegisters) {
  te::Target target = llvm_plugin::host_target();
  target.cpu = "x86-64-v3";
  target.features = {"avx", "avx2", "fma"};
  auto machine = llvm_plugin::machine_of(target);
  ASSERT_TRUE(machine.ok());
  auto listed = llvm_plugin::list_kernel(test::packed_gemm(48, 64, 128, 128), *machine, {});
  ASSERT_TRUE(listed.ok()) << listed.status().message();
  size_t kernels = 0;
  for (const auto& loop : innermost_loops(listed->assembly)) {
    if (count(loop, "vfmadd") == 0) continue;
    ++kernels;
    EXPECT_EQ(count(loop, "vfmadd.*ymm"), 12u) << joined(loop);
    EXPECT_EQ(count(loop, "vbroadcastss"), 6u) << joined(loop);
    EXPECT_EQ(count(loop, "%rsp|%rbp"), 0u) << joined(loop);
    EXPECT_LE(loop.size(), 32u) << joined(loop);
  }
  EXPECT_EQ(kernels, 1u) << listed->assembly;
}

TEST(MicroKernel, MultipliesPackedMatrices) {
  const int64_t m = 50, n = 48, k = 64;
  std::minstd_rand random(7);
  std::vector<float> a(static_cast<size_t>(54 * k)), b(static_cast<size_t>(k * n));
  for (auto* matrix : {&a, &b})
    for (float& x : *matrix) x = static_cast<float>(static_cast<int>(random() % 9) - 4);
  auto c =
      test::run_loops(test::packed_gemm(m, n, k, 32), {test::f32(a), test::f32(b)})[0].as<float>();
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t r = 0; r < k; ++r)
        sum += a[static_cast<size_t>((i / 6 * k + r) * 6 + i % 6)] *
               b[static_cast<size_t>((j / 16 * k + r) * 16 + j % 16)];
      ASSERT_EQ(c[static_cast<size_t>(i * n + j)], sum) << i << " " << j;
    }
  }
}

// Returns relu(a b) in tiles of 6 x 16 sums, which are on the stack.
te::LoopFunction tensorized_product(int64_t m, int64_t n, int64_t k) {
  te::Builder builder;
  te::Tensor a = builder.placeholder("a", DType::kF32, {m, k});
  te::Tensor b = builder.placeholder("b", DType::kF32, {k, n});
  te::Tensor y = builder.reduce(
      "y", {m, n}, {k}, te::sum_of(DType::kF32),
      [&](const te::Indices& i, const te::Indices& r) { return a(i[0], r[0]) * b(r[0], i[1]); });
  te::Tensor out = builder.compute("relu", {m, n}, [&](const te::Indices& i) {
    return max(y(i), te::constant(DType::kF32, 0));
  });
  const te::TensorIntrin kernel = llvm_plugin::fma_tile(test::kTileM, test::kTileN);
  auto trace = te::parse_trace(
      "tile(relu, i0, i1, 6, 16); split(relu, i1.i, 8); unroll(relu, i0.i); "
      "unroll(relu, i1.i.o); vectorize(relu, i1.i.i); compute_at(y, relu, i1.o); "
      "tensorize(y, i0, fma_tile_6x16); parallel(relu, i0.o)");
  EXPECT_TRUE(trace.ok()) << trace.status().message();
  auto schedule =
      te::replay(builder.finish("product", {a, b}, {out}), *trace, std::span(&kernel, 1));
  EXPECT_TRUE(schedule.ok()) << schedule.status().to_string();
  auto loops = te::lower(*schedule);
  EXPECT_TRUE(loops.ok()) << loops.status().to_string();
  return *std::move(loops);
}

TEST(FmaTile, MultipliesMatricesWithRests) {
  const int64_t m = 27, n = 53, k = 19;  // 4 tiles and 3 rows, 3 tiles and 5 columns
  EXPECT_NE(te::print(tensorized_product(m, n, k)).find("fma_tile_6x16("), std::string::npos);
  std::minstd_rand random(7);
  std::vector<float> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(k * n));
  for (auto* matrix : {&a, &b})
    for (float& x : *matrix) x = static_cast<float>(static_cast<int>(random() % 9) - 4);
  std::vector<float> expected;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t r = 0; r < k; ++r)
        sum += a[static_cast<size_t>(i * k + r)] * b[static_cast<size_t>(r * n + j)];
      expected.push_back(std::max(sum, 0.0f));
    }
  }
  const te::LoopFunction loops = tensorized_product(m, n, k);
  for (uint32_t threads : {1u, 3u}) {
    auto out = test::run_loops(loops, {test::f32(a), test::f32(b)}, {.threads = threads});
    EXPECT_EQ(out[0].as<float>(), expected) << threads << " threads";
  }
  for (const char* feature : {"fma", "avx"}) {
    auto out = test::run_loops(loops, {test::f32(a), test::f32(b)}, {.without = {feature}});
    EXPECT_EQ(out[0].as<float>(), expected) << "without " << feature;
  }
}

TEST(FmaTile, HasNothingButItsOwnInstructionsInTheLoop) {
  te::Target target = llvm_plugin::host_target();
  target.cpu = "x86-64-v3";
  target.features = {"avx", "avx2", "fma"};
  auto machine = llvm_plugin::machine_of(target);
  ASSERT_TRUE(machine.ok());
  auto listed = llvm_plugin::list_kernel(tensorized_product(48, 64, 128), *machine, {});
  ASSERT_TRUE(listed.ok()) << listed.status().message();
  size_t kernels = 0;
  for (const auto& loop : innermost_loops(listed->assembly)) {
    if (count(loop, "vfmadd") == 0) continue;
    ++kernels;
    EXPECT_EQ(count(loop, "vfmadd.*ymm"), 12u) << joined(loop);
    EXPECT_EQ(count(loop, "vbroadcastss"), 6u) << joined(loop);
    EXPECT_EQ(count(loop, "%rsp|%rbp"), 0u) << joined(loop);
    EXPECT_LE(loop.size(), 28u) << joined(loop);
  }
  EXPECT_EQ(kernels, 1u) << listed->assembly;
}

}  // namespace
}  // namespace byoc
