// SPDX-License-Identifier: Apache-2.0
// Products of an open number of rows on several threads: each has columns to compute, however few
// the rows of a run are.
#include "byoc/te/evaluate.h"
#include "plugins/llvm/analysis/walk.h"
#include "plugins/llvm/families/calls.h"
#include "unit/llvm/open/open_sizes.h"

namespace byoc {
namespace {

// Returns the most iterations of a parallel loop, outermost ones, in a run of these sizes.
int64_t shares_of(const te::Stmt& stmt, const te::Bindings& sizes) {
  if (stmt.is_empty()) return 0;
  const auto* loop = std::get_if<te::For>(&stmt->kind);
  if (loop != nullptr && loop->kind == te::LoopKind::kParallel) {
    auto count = te::evaluate(loop->extent, sizes);
    EXPECT_TRUE(count.ok()) << count.status().to_string();
    return count.ok() ? *count : 0;
  }
  int64_t most = 0;
  llvm_plugin::for_each_inner(
      *stmt, [&](const te::Stmt& inner) { most = std::max(most, shares_of(inner, sizes)); });
  return most;
}

// The schedule is for many rows: the usual numbers of both sizes.
TEST(OpenProducts, DivideTheColumnsOfFewRowsAmongThreads) {
  for (const auto& [k, n] : {std::pair(768, 768), {768, 3072}, {3072, 768}, {256, 1024}}) {
    for (const uint32_t threads : {2u, 4u}) {
      const at_sizes::Sizes sizes = {{"B", 1, 64}, {"T", 1, 512}};
      IRModule module = at_sizes::module_of(
          [&, k = k, n = n](auto& d) {
            return cat("fn main(%x: f32[", d[0], ",", d[1], ",", k, "], %w: f32[", k, ",", n,
                       "]) {\n  %0 = matmul(%x, %w)\n  return %0\n}\n");
          },
          {sizes[0].text(), sizes[1].text()});
      module.function("main").attrs.set(llvm_plugin::kInputsAttr, int64_t{1});  // w: a constant
      te::Target target = llvm_plugin::host_target();
      target.threads = threads;
      auto dags = llvm_plugin::translate_open(module, target);
      ASSERT_TRUE(dags.ok()) << dags.status().to_string();
      auto kernel = llvm_plugin::lower_open(dags->open, dags->nominal, 1, target);
      ASSERT_TRUE(kernel.ok()) << kernel.status().to_string();
      ASSERT_TRUE(kernel->constants) << "the matrix is in panels";
      const std::vector<te::Var>& of_run = kernel->loops.sizes;
      ASSERT_EQ(of_run.size(), 2u);
      for (const int64_t rows : {2, 16, 64, 128})
        EXPECT_GE(shares_of(kernel->loops.body, {{of_run[0], 1}, {of_run[1], rows}}), threads)
            << rows << " rows of " << k << " by " << n << "\n"
            << te::print(kernel->loops);
    }
  }
}

}  // namespace
}  // namespace byoc
