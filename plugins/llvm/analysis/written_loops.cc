// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/analysis/written_loops.h"

#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/ir/visit.h"
#include "byoc/te/module.h"

namespace byoc::llvm_plugin {
namespace {

// The most statements once unrolled loops are written out and vectors are split into elements.
constexpr int64_t kMostStatements = 1 << 16, kMax = kMostStatements + 1;

struct Part {
  const te::Stmt* stmt;
  int64_t copies;
};

// Returns the number of statements of the code, or kMostStatements + 1 when there are more.
int64_t size_of(const te::Stmt& root) {
  std::vector<Part> rest = {{&root, 1}};
  int64_t size = 0;
  while (!rest.empty() && size <= kMostStatements) {
    const auto [stmt, copies] = rest.back();
    rest.pop_back();
    if (stmt->is_empty()) continue;
    BYOC_CHECK(0 <= copies && copies <= kMax, "a statement is written out ", copies, " times");
    size += copies;
    std::visit(
        overloaded{
            [&](const te::For& v) {
              const bool is_written_out =
                  v.kind == te::LoopKind::kUnrolled || v.kind == te::LoopKind::kVectorized;
              const int64_t n = is_written_out ? te::as_int(v.extent).value_or(1) : 1;
              rest.push_back({&v.body, std::min(copies * std::clamp<int64_t>(n, 0, kMax), kMax)});
            },
            [](const te::Store&) {},
            [&](const te::If& v) {
              rest.push_back({&v.yes, copies});
              rest.push_back({&v.no, copies});
            },
            [&](const te::Let& v) {
              rest.push_back({&v.body, copies});
            },
            [&](const te::Alloc& v) {
              rest.push_back({&v.body, copies});
            },
            [&](const te::Block& v) {
              for (const te::Stmt& inner : v.stmts) rest.push_back({&inner, copies});
            },
            [](const te::Intrinsic&) {},
        },
        (*stmt)->kind);
  }
  return size;
}

}  // namespace

Result<te::LoopFunction> written_loops(const IRModule& module) {
  BYOC_TRY(te::LoopFunction out, te::loops_of(module.function(module.entry), module.entry.text()));
  if (size_of(out.body) <= kMostStatements) return out;
  return unimplemented(cat("loops of more than ", kMostStatements,
                           " statements, as unrolled and vectorized loops are written out"));
}

}  // namespace byoc::llvm_plugin
