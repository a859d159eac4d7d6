// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/analysis/loop_splitting.h"

#include <algorithm>
#include <functional>

#include "byoc/base/check.h"
#include "plugins/llvm/analysis/walk.h"

namespace byoc::llvm_plugin {
namespace {

constexpr int64_t kMostIterations = 1 << 12;  // that are analysed one by one; parts of others
constexpr int64_t kMostParts = 1 << 10;       // of a longer loop
constexpr int64_t kMostStores = 1 << 12;      // of all copies together, with loops unrolled

// Collects the comparisons of indices inside a loop, and decides them for ranges of its variables.
class Comparisons {
 public:
  explicit Comparisons(Ranges& ranges) : ranges_(ranges) {}
  void collect(const te::Stmt& stmt, int64_t times);
  bool fits() const { return fits_; }
  int64_t stores() const { return stores_; }
  bool is_empty() const { return found_.empty(); }
  void keep_undecided() {
    std::erase_if(found_, [&](const te::Expr& x) { return ranges_.decide(x).has_value(); });
  }
  std::vector<std::optional<bool>> decided() const {
    std::vector<std::optional<bool>> out;
    for (const te::Expr& x : found_) out.push_back(ranges_.decide(x));
    return out;
  }

 private:
  void enter(const te::For& loop);

  Ranges& ranges_;
  Seen seen_;
  std::vector<te::Expr> found_;
  bool fits_ = true;
  int64_t stores_ = 0;
};

void Comparisons::enter(const te::For& loop) {
  const Range begin = ranges_.of(loop.begin), extent = ranges_.of(loop.extent);
  const bool is_known = begin.high < Range::kUnknown && extent.high < Range::kUnknown;
  ranges_.set(loop.var, is_known
                            ? Range{begin.low, begin.high + std::max<int64_t>(extent.high, 1) - 1}
                            : Range{});
}

void Comparisons::collect(const te::Stmt& stmt, int64_t times) {
  for_each_expr(*stmt, [&](const te::Expr& x) {
    walk_expr(x, seen_, [&](const te::Expr& inner) {
      auto* binary = std::get_if<te::Binary>(&inner->kind);
      if (binary && binary->op >= te::BinaryOp::kEqual && binary->a.dtype() == DType::kI64)
        found_.push_back(inner);
    });
  });
  if (auto* loop = std::get_if<te::For>(&stmt->kind)) {
    enter(*loop);
    fits_ = fits_ && loop->kind != te::LoopKind::kParallel;
    if (loop->kind == te::LoopKind::kUnrolled)
      times *= std::max<int64_t>(*te::as_int(loop->extent), 1);
  }
  if (std::holds_alternative<te::Store>(stmt->kind)) stores_ += times;
  if (times > kMostStores) fits_ = false;
  if (!fits_) return;
  for_each_inner(*stmt, [&](const te::Stmt& inner) { collect(inner, times); });
}

// Merges the ranges before the longest into a prologue, and those after it into an epilogue.
std::vector<LoopRange> longest_as_body(const std::vector<LoopRange>& runs) {
  BYOC_CHECK(!runs.empty(), "a loop has a range");
  auto longest = std::max_element(
      runs.begin(), runs.end(),
      [](const LoopRange& a, const LoopRange& b) { return a.last - a.first < b.last - b.first; });
  std::vector<LoopRange> out;
  if (longest != runs.begin()) out.push_back({0, longest->first});
  out.push_back(*longest);
  if (longest->last < runs.back().last) out.push_back({longest->last, runs.back().last});
  return out;
}

using Decided = std::vector<std::optional<bool>>;

// Returns the runs of iterations that decide all conditions alike.
std::vector<LoopRange> runs_of(int64_t extent, const std::function<Decided(LoopRange)>& decide) {
  std::vector<LoopRange> runs;
  Decided before;
  for (int64_t k = 0; k < extent; ++k) {
    Decided now = decide({k, k + 1});
    if (!runs.empty() && now == before) ++runs.back().last;
    else runs.push_back({k, k + 1});
    before = std::move(now);
  }
  return runs;
}

// Returns the same for a long loop, halved until every part decides all of them; the whole loop
// where that takes too many parts, as with a condition on something else.
std::vector<LoopRange> runs_of_parts(int64_t extent,
                                     const std::function<Decided(LoopRange)>& decide) {
  std::vector<LoopRange> runs, open = {{0, extent}};
  Decided before;
  for (int64_t met = 0; !open.empty(); ++met) {
    if (met == kMostParts) return {{0, extent}};
    const LoopRange part = open.back();
    open.pop_back();
    Decided now = decide(part);
    const bool is_decided = std::ranges::all_of(now, [](auto& known) { return known.has_value(); });
    if (!is_decided && part.last - part.first > 1) {
      const int64_t middle = part.first + (part.last - part.first) / 2;
      open.push_back({middle, part.last});
      open.push_back({part.first, middle});
      continue;
    }
    if (!runs.empty() && now == before) runs.back().last = part.last;
    else runs.push_back(part);
    before = std::move(now);
  }
  return runs;
}

}  // namespace

std::vector<LoopRange> split_loop(const te::For& loop, Ranges ranges, int64_t copies) {
  const int64_t extent = te::as_int(loop.extent).value_or(0);
  std::vector<LoopRange> whole = {{0, extent}};
  const auto begin = te::as_int(loop.begin);
  if (!begin || extent < 2 || loop.body.is_empty()) return whole;
  ranges.set(loop.var, {*begin, *begin + extent - 1});
  Comparisons inside(ranges);
  inside.collect(loop.body, 1);
  if (!inside.fits() || inside.is_empty()) return whole;
  inside.keep_undecided();
  if (inside.is_empty()) return whole;
  auto decide = [&](LoopRange part) {
    ranges.set(loop.var, {*begin + part.first, *begin + part.last - 1});
    return inside.decided();
  };
  std::vector<LoopRange> runs =
      extent <= kMostIterations ? runs_of(extent, decide) : runs_of_parts(extent, decide);
  if (runs.size() > 3) runs = longest_as_body(runs);
  BYOC_CHECK(runs.front().first == 0 && runs.back().last == extent, "the ranges of loop ",
             loop.var.name(), " end at ", runs.back().last, " of ", extent);
  for (size_t k = 1; k < runs.size(); ++k)
    BYOC_CHECK(runs[k - 1].last == runs[k].first, "the ranges of loop ", loop.var.name(),
               " have a gap at ", runs[k].first);
  const auto count = static_cast<int64_t>(runs.size());
  return count * copies * inside.stores() <= kMostStores ? runs : whole;
}

}  // namespace byoc::llvm_plugin
