// SPDX-License-Identifier: Apache-2.0
// Workspaces by the sizes of a run.
#include "plugins/llvm/analysis/workspace.h"
#include "byoc/base/size_expression.h"
#include "plugins/llvm/analysis/memory_plan.h"
#include "plugins/llvm/fingerprint.h"
#include "unit/llvm/open/open_sizes.h"

namespace byoc {
namespace {

using llvm_plugin::with_names;

/// Returns the workspace with the names of the sizes.
Result<llvm_plugin::Workspace> workspace_of(const te::Expr& bytes,
                                            const std::vector<te::Var>& sizes) {
  std::vector<std::string> names;
  for (const te::Var& size : sizes) names.push_back(size.name());
  BYOC_TRY(llvm_plugin::Workspace out, llvm_plugin::workspace_of(bytes, sizes));
  return with_names(std::move(out), names);
}
Result<llvm_plugin::Workspace> workspace_of(const IRModule& module, uint32_t threads) {
  const te::LoopFunction loops = at_sizes::compiled_loops(module, threads);
  BYOC_TRY(const llvm_plugin::MemoryPlan plan, llvm_plugin::plan_memory(loops, threads));
  return workspace_of(plan.workspace_bytes, loops.sizes);
}

int64_t value_of(const std::string& text, const std::vector<std::pair<std::string, int64_t>>& of) {
  auto parsed = SizeExpression::parse(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status().to_string();
  std::vector<int64_t> sizes;
  for (const std::string& name : parsed->names())
    for (const auto& [known, value] : of)
      if (known == name) sizes.push_back(value);
  auto value = parsed->evaluate(sizes);
  EXPECT_TRUE(value.ok()) << text << ": " << value.status().to_string();
  return value.ok() ? *value : -1;
}

TEST(Workspaces, OfNumbersHaveNoText) {
  auto out = workspace_of(te::Expr(4096), {});
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->bytes, 4096u);
  EXPECT_EQ(out->by_sizes, "");
}

TEST(Workspaces, HaveTextsOfTheSameValue) {
  const te::Var batch = te::Var::size("B", 1, 9), length = te::Var::size("a size", 1, 50);
  const te::Expr b = batch, t = length;
  const te::Expr lines = te::floor_div((b * t + te::Expr(3)) * te::Expr(4) + te::Expr(63), 64);
  for (const auto& [x, at_2_and_7] :
       {std::pair(lines * te::Expr(64) + te::Expr(128), 256), std::pair(t - (b - te::Expr(1)), 6),
        std::pair(te::max(b, t) * (t - b), 35), std::pair(te::min(b, t) + b * t * te::Expr(2), 30),
        std::pair(te::floor_mod(b * t, 12) * te::Expr(64), 128)}) {
    auto out = workspace_of(x, {batch, length});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    EXPECT_EQ(out->bytes, 0u);
    EXPECT_EQ(value_of(out->by_sizes, {{"B", 2}, {"a size", 7}}), at_2_and_7) << out->by_sizes;
  }
}

TEST(Workspaces, OfOtherOperationsAreRefused) {
  const te::Var t = te::Var::size("T", 1, 50);
  auto out = workspace_of(te::binary(te::BinaryOp::kShiftLeft, te::Expr(t), 3), {t});
  EXPECT_EQ(out.status().code(), Code::kUnimplemented);
  EXPECT_NE(out.status().message().find("T"), std::string::npos);
}

TEST(Workspaces, HaveMemoryForTilesWhateverTheBoundsAre) {
  const at_sizes::Sizes sizes = {{"B", 1, 64}, {"T", 1, 100000}};
  const std::vector<std::string> dims = {sizes[0].text(), sizes[1].text()};
  const IRModule module = at_sizes::module_of(
      [](auto& d) {
        return cat("fn main(%x: f32[", d[0], ",", d[1],
                   ",64], %w: f32[64,256], %v: f32[256,64]) {\n",
                   "  %0 = matmul(%x, %w)\n  %1 = softmax(%0)\n  %2 = matmul(%1, %v)\n",
                   "  return %2\n}\n");
      },
      dims);
  for (const uint32_t threads : {1u, 4u}) {
    auto workspace = workspace_of(module, threads);
    ASSERT_TRUE(workspace.ok()) << workspace.status().to_string();
    if (workspace->by_sizes.empty()) {
      EXPECT_LE(workspace->bytes, uint64_t{64} << 20);  // tiles only
      continue;
    }
    const int64_t small = value_of(workspace->by_sizes, {{"B", 1}, {"T", 8}});
    const int64_t large = value_of(workspace->by_sizes, {{"B", 64}, {"T", 100000}});
    EXPECT_LE(small, int64_t{64} << 20) << workspace->by_sizes;
    EXPECT_LE(large, int64_t{64} << 20) << "rows are computed by blocks";
  }
}

// Rows of several images, as many as no tile divides or as one does; columns in several blocks. A
// tile whose rows are not known to be within the sums would hold those of all images.
TEST(Workspaces, OfProductsOfImagesAreTiles) {
  const at_sizes::Sizes sizes = {{"N", 0, 65536}};
  for (auto [side, k, n] :
       {std::tuple(28, 192, 768), std::tuple(28, 192, 512), std::tuple(28, 512, 128),
        std::tuple(28, 128, 768), std::tuple(56, 96, 384), std::tuple(27, 192, 768),
        std::tuple(14, 64, 2048), std::tuple(7, 768, 256)}) {
    const IRModule module = at_sizes::module_of(
        [&](auto& d) {
          return cat("fn main(%x: f32[", d[0], ",", side, ",", side, ",", k, "], %w: f32[", k, ",",
                     n, "]) {\n  %0 = matmul(%x, %w)\n  return %0\n}\n");
        },
        {sizes[0].text()});
    auto workspace = workspace_of(module, 1);
    ASSERT_TRUE(workspace.ok()) << workspace.status().to_string();
    const int64_t bytes = workspace->by_sizes.empty()
                              ? static_cast<int64_t>(workspace->bytes)
                              : value_of(workspace->by_sizes, {{"N", 1000}});
    EXPECT_LE(bytes, int64_t{4} << 20) << side << " " << k << " " << n;
  }
}

TEST(Workspaces, AreEnoughAtEverySize) {
  at_sizes::expect_all({{"B", 1, 3}, {"T", 1, 70}}, [](auto& d) {
    return cat("fn main(%x: f32[", d[0], ",", d[1],
               ",24], %w: f32[24,40], %v: f32[40,24], %s: f32[24]) {\n",
               "  %0 = matmul(%x, %w)\n  %1 = softmax(%0)\n  %2 = matmul(%1, %v)\n",
               "  %3 = layer_norm(%2, %s, %s)\n  return %3\n}\n");
  });
}

te::LoopFunction loops_over(const std::string& size, int64_t most) {
  const at_sizes::Sizes sizes = {{size, 1, most}};
  return at_sizes::compiled_loops(
      at_sizes::module_of(
          [](auto& d) {
            return cat("fn main(%x: f32[", d[0], ",64], %w: f32[64,64]) {\n",
                       "  %0 = matmul(%x, %w)\n  %1 = softmax(%0)\n  return %1\n}\n");
          },
          {sizes[0].text()}),
      1);
}

// Functions over sizes of other names share a kernel, each with a workspace by its own sizes.
TEST(Workspaces, OfEqualLoopsHaveTheNamesOfEachFunction) {
  using llvm_plugin::fingerprint;
  EXPECT_EQ(fingerprint(loops_over("B", 64)), fingerprint(loops_over("T", 64)));
  EXPECT_NE(fingerprint(loops_over("B", 64)), fingerprint(loops_over("B", 65)));
  const te::Var a = te::Var::size("A", 1, 9), t = te::Var::size("a size", 1, 9);
  auto out = llvm_plugin::workspace_of(te::Expr(a) * 64 + te::Expr(t), std::vector{a, t});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(with_names(*out, std::vector<std::string>{"N", "a b"}).by_sizes, "N*64+\"a b\"");
}

}  // namespace
}  // namespace byoc
