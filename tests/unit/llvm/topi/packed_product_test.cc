// SPDX-License-Identifier: Apache-2.0
// Products with a constant matrix whose columns do not divide into panels: the panels are made
// once, the last one is filled up. Compared with loops in this file.
#include <cmath>
#include <random>
#include <tuple>

#include "byoc/text/builder.h"
#include "plugins/llvm/constants/kernel_loops.h"
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/native.h"
#include "unit/llvm/assembly.h"
#include "unit/llvm/run_loops.h"
#include "unit/llvm/small_integers.h"

namespace byoc {
namespace {

struct Product {
  int64_t m, n, k;
  bool is_transposed = false;
};

// Returns the loops of a b + bias, or of a function of them, of which the first `inputs` operands
// are no constants. The bias is the second operand.
llvm_plugin::KernelLoops loops_of(const Product& p, int64_t inputs, const std::string& last = "add",
                                  const te::Target& target = llvm_plugin::host_target()) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId a = f.param("a", {DType::kF32, {p.m, p.k}});
  ValueId bias = f.param("bias", {DType::kF32, {p.n}});
  const int64_t rows = p.is_transposed ? p.n : p.k, columns = p.is_transposed ? p.k : p.n;
  ValueId b = f.param("b", {DType::kF32, {rows, columns}});
  ValueId y =
      p.is_transposed ? f.call("gemm", {a, b}, {{"trans_b", true}}) : f.call("matmul", {a, b});
  y = f.call("add", {y, bias});
  EXPECT_TRUE(f.finish("main", {last == "add" ? y : f.call(last, {y})}).ok());
  Function& function = module.function("main");
  function.attrs.set(llvm_plugin::kInputsAttr, inputs);
  auto dag =
      te::translate_to_te(module, function, target, te::by_level(), llvm_plugin::strategies());
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  auto out = llvm_plugin::lower_with_constants(*dag, static_cast<size_t>(inputs), target);
  EXPECT_TRUE(out.ok()) << out.status().message();
  return *std::move(out);
}

std::vector<float> expected(const Product& p, const std::vector<float>& a,
                            const std::vector<float>& b, const std::vector<float>& bias) {
  std::vector<float> out;
  for (int64_t at = 0; at < p.m * p.n; ++at) {
    const int64_t i = at / p.n, j = at % p.n;
    float sum = bias[static_cast<size_t>(j)];
    for (int64_t k = 0; k < p.k; ++k)
      sum += a[static_cast<size_t>(i * p.k + k)] *
             b[static_cast<size_t>(p.is_transposed ? j * p.k + k : k * p.n + j)];
    out.push_back(sum);
  }
  return out;
}

TEST(PackedProduct, ComputesTheSumsOfPanelsMadeOnce) {
  for (const Product& p : {Product{1, 37, 5},
                           {1, 333, 24},
                           {5, 67, 19, true},
                           {13, 50, 8},
                           {30, 131, 40, true},
                           {31, 32, 3},
                           {70, 201, 130},
                           {1, 1000, 9, true}}) {
    SCOPED_TRACE(cat(p.m, " x ", p.n, " x ", p.k));
    const llvm_plugin::KernelLoops kernel = loops_of(p, 2);
    ASSERT_TRUE(kernel.constants.has_value());
    EXPECT_EQ(kernel.constants->is_kept, std::vector<bool>{false});
    auto a = small_integers(p.m * p.k, 1), b = small_integers(p.n * p.k, 2);
    auto bias = small_integers(p.n, 3);
    auto panels = test::run_loops(kernel.constants->loops, {test::f32(b)})[0];
    for (uint32_t threads : {1u, 3u}) {
      auto y =
          test::run_loops(kernel.loops, {test::f32(a), test::f32(bias), panels}, {threads, {}});
      EXPECT_EQ(y[0].as<float>(), expected(p, a, b, bias));
    }
  }
}

// Returns the number of statements that load parts of the next panel.
size_t prefetches_of(const te::LoopFunction& loops) {
  const std::string text = te::print(loops);
  size_t out = 0;
  for (size_t at = text.find("prefetch("); at != std::string::npos;
       at = text.find("prefetch(", at + 1))
    ++out;
  return out;
}

TEST(PackedProduct, FetchesTheNextPanelWhileTilesReadThisOne) {
  const llvm_plugin::KernelLoops kernel = loops_of({70, 200, 130}, 2);
  EXPECT_GE(prefetches_of(kernel.loops), 1u) << te::print(kernel.loops);
  EXPECT_EQ(prefetches_of(kernel.constants->loops), 0u);
  // One tile reads each panel once, and fetches all of the next one.
  EXPECT_GE(prefetches_of(loops_of({5, 200, 130}, 2).loops), 1u);
  // Too few terms to be worth it.
  EXPECT_EQ(prefetches_of(loops_of({70, 200, 8}, 2).loops), 0u);
}

// Vectors of columns are in one panel, the last ones of a row too: those across panels would be
// gathered, element by element.
TEST(PackedProduct, LoadsVectorsOfTheLastColumns) {
  te::Target target;
  target.cpu = "x86-64-v3", target.features = {"avx", "avx2", "bmi", "bmi2", "fma"};
  auto machine = llvm_plugin::machine_of(target);
  ASSERT_TRUE(machine.ok());
  for (int64_t columns : {100, 333, 1000, 1001}) {
    for (int threads : {1, 2}) {
      SCOPED_TRACE(cat(columns, " columns, ", threads, " threads"));
      target.threads = threads;
      const llvm_plugin::KernelLoops kernel = loops_of({1, columns, 64}, 2, "relu", target);
      auto listed = llvm_plugin::list_kernel(kernel.loops, *machine, {});
      ASSERT_TRUE(listed.ok()) << listed.status().message();
      size_t sums = 0;
      for (const auto& loop : test::innermost_loops(listed->assembly)) {
        if (test::count(loop, "vfmadd") == 0) continue;
        ++sums;
        EXPECT_EQ(test::count(loop, "vinsert|vgather|vmovss"), 0u) << test::joined(loop);
      }
      EXPECT_GT(sums, 0u);
    }
  }
}

// Written out for a tile of sums, functions spill.
TEST(PackedProduct, HasALoopOverTheRowsOfATileThatEndsWithAFunction) {
  const std::string plain = te::print(loops_of({70, 200, 130}, 2).loops);
  EXPECT_NE(plain.find("unrolled i0.i"), std::string::npos) << plain;
  const std::string erf = te::print(loops_of({70, 200, 130}, 2, "erf").loops);
  EXPECT_EQ(erf.find("unrolled i0.i"), std::string::npos) << erf;
}

TEST(PackedProduct, AppliesAFunctionToEachSum) {
  for (const Product& p : {Product{70, 201, 130}, {13, 50, 8}, {2, 32, 1}, {1, 37, 5}}) {
    SCOPED_TRACE(cat(p.m, " x ", p.n, " x ", p.k));
    const llvm_plugin::KernelLoops kernel = loops_of(p, 2, "erf");
    auto a = small_integers(p.m * p.k, 1), b = small_integers(p.n * p.k, 2);
    std::vector<float> bias(static_cast<size_t>(p.n));
    for (size_t k = 0; k < bias.size(); ++k) bias[k] = 0.25f * static_cast<float>(k % 7) - 0.75f;
    auto panels = test::run_loops(kernel.constants->loops, {test::f32(b)})[0];
    auto y = test::run_loops(kernel.loops, {test::f32(a), test::f32(bias), panels})[0].as<float>();
    const std::vector<float> sums = expected(p, a, b, bias);  // exact
    for (size_t k = 0; k < sums.size(); ++k)
      ASSERT_NEAR(y[k], std::erf(static_cast<double>(sums[k])), 2.5e-7) << sums[k];  // 2 ulp of 1
  }
}

TEST(PackedProduct, IsForConstantsOfSeveralVectors) {
  EXPECT_FALSE(loops_of({5, 67, 19}, 3).constants.has_value());
  EXPECT_FALSE(loops_of({5, 7, 19}, 2).constants.has_value());
  EXPECT_FALSE(loops_of({5, 67, 0}, 2).constants.has_value());
}

// Neither has a tile, whose costs would be numbers divided by the terms.
TEST(PackedProduct, MayHaveNoTerms) {
  const std::tuple<const char*, TensorType, TensorType> cases[] = {
      {"matmul_packed", {DType::kF32, {4, 0}}, {DType::kF32, {4, 0, 16}}},
      {"conv2d_nchwc", {DType::kF32, {1, 0, 6, 6, 8}}, {DType::kF32, {1, 0, 3, 3, 8, 16}}},
  };
  for (const auto& [op, left, right] : cases) {
    SCOPED_TRACE(op);
    IRModule module;
    FunctionBuilder f(module, all_ops());
    ValueId a = f.param("a", left), b = f.param("b", right);
    ASSERT_TRUE(f.finish("main", {f.call(op, {a, b})}).ok());
    const te::Target target = llvm_plugin::host_target();
    auto dag = te::translate_to_te(module, module.function("main"), target, te::by_level(),
                                   llvm_plugin::strategies());
    ASSERT_TRUE(dag.ok()) << dag.status().message();
    EXPECT_TRUE(llvm_plugin::lower_with_constants(*dag, 2, target).ok());
  }
}

}  // namespace
}  // namespace byoc
