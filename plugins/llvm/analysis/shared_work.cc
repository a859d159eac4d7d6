// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/analysis/shared_work.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "byoc/base/check.h"
#include "byoc/ir/visit.h"
#include "byoc/te/copy.h"
#include "plugins/llvm/analysis/walk.h"

namespace byoc::llvm_plugin {
namespace {

constexpr double kFmaTilePerVector = 2;  // units of a multiply-add of "fma_tile", with its loads
constexpr size_t kFmaTileArgs = 3;       // rows, columns, depth

bool is_function(te::UnaryOp op) {
  return op >= te::UnaryOp::kExp && op <= te::UnaryOp::kAtanh && op != te::UnaryOp::kSqrt;
}

/// Counts the units of statements. `ranges` has the variables outside of them.
class UnitCounter {
 public:
  UnitCounter(const WorkUnits& units, Ranges ranges) : units_(units), ranges_(std::move(ranges)) {}

  double of(const te::Stmt& stmt) {
    if (stmt.is_empty()) return 0;
    return std::visit(overloaded{
                          [&](const te::For& v) { return of_loop(v); },
                          [&](const te::Store& v) { return of_store(v); },
                          [&](const te::If& v) { return of_branch(v); },
                          [&](const te::Let& v) {
                            ranges_.set(v.var, ranges_.of(v.value));
                            return of_value(v.value) + of(v.body);
                          },
                          [&](const te::Alloc& v) {
                            if (v.scope == te::Scope::kStack) on_stack_.insert(v.tensor.id());
                            return of(v.body);
                          },
                          [&](const te::Block& v) {
                            double out = 0;
                            for (const te::Stmt& inner : v.stmts) out += of(inner);
                            return out;
                          },
                          [&](const te::Intrinsic& v) { return of_intrinsic(v); },
                      },
                      stmt->kind);
  }

  /// Returns the greatest number of iterations.
  int64_t extent_of(const te::Expr& extent) const {
    const Range range = ranges_.of(extent);
    return range.high >= Range::kUnknown ? 1 : std::max<int64_t>(range.high, 0);
  }

  void bind(const te::For& loop, int64_t first, int64_t count) {
    const Range begin = ranges_.of(loop.begin);
    ranges_.set(loop.var,
                {begin.low + first, begin.high + first + std::max<int64_t>(count, 1) - 1});
  }
  Ranges& ranges() { return ranges_; }
  const std::unordered_set<const void*>& on_stack() const { return on_stack_; }

 private:
  double of_loop(const te::For& loop) {
    const int64_t extent = extent_of(loop.extent);
    bind(loop, 0, extent);
    if (loop.kind != te::LoopKind::kVectorized) return static_cast<double>(extent) * of(loop.body);
    const int64_t outer = std::exchange(vector_extent_, extent);
    const double out = of(loop.body);
    vector_extent_ = outer;
    return out;
  }

  /// Returns the registers that one value of the type fills in each iteration.
  double registers(DType dtype) const {
    const auto lanes =
        std::max<int64_t>(units_.vector_bytes / static_cast<int64_t>(dtype_size(dtype)), 1);
    return std::ceil(static_cast<double>(vector_extent_) / static_cast<double>(lanes));
  }

  double of_store(const te::Store& store) {
    const double access = on_stack_.contains(store.tensor.id()) ? 0 : 1;
    return access * registers(store.tensor.dtype()) + of_value(store.value);
  }

  double of_branch(const te::If& branch) {
    const std::optional<bool> known = ranges_.decide(branch.condition);
    if (known) return of(*known ? branch.yes : branch.no);
    return std::max(of(branch.yes), of(branch.no));
  }

  /// Indices are part of addresses and cost nothing.
  double of_value(const te::Expr& x) {
    double out = 0;
    Seen seen;
    walk_values(x, seen,
                [&](const te::Expr& node) { out += of_node(node) * registers(node.dtype()); });
    return out;
  }

  double of_node(const te::Expr& node) const {
    if (const auto* one = std::get_if<te::Unary>(&node->kind))
      return is_function(one->op) ? WorkUnits::kFunction : 1;
    if (const auto* two = std::get_if<te::Binary>(&node->kind)) {
      if (two->op == te::BinaryOp::kPower) return 2 * WorkUnits::kFunction;
      return two->op == te::BinaryOp::kDivide ? WorkUnits::kDivision : 1;
    }
    if (const auto* load = std::get_if<std::shared_ptr<const te::Load>>(&node->kind))
      return on_stack_.contains((*load)->tensor.id()) ? 0 : 1;
    const bool is_leaf = std::holds_alternative<te::IntImm>(node->kind) ||
                         std::holds_alternative<te::FloatImm>(node->kind) ||
                         std::holds_alternative<te::VarRef>(node->kind);
    return is_leaf ? 0 : 1;
  }

  template <class Visit>
  static void walk_values(const te::Expr& x, Seen& seen, Visit&& visit) {
    if (x.is_empty() || !seen.insert(&*x).second) return;
    visit(x);
    auto into = [&](const te::Expr& inner) { walk_values(inner, seen, visit); };
    if (const auto* one = std::get_if<te::Unary>(&x->kind)) into(one->x);
    else if (const auto* two = std::get_if<te::Binary>(&x->kind)) into(two->a), into(two->b);
    else if (const auto* select = std::get_if<te::Select>(&x->kind))
      into(select->condition), into(select->yes), into(select->no);
    else if (const auto* cast = std::get_if<te::Cast>(&x->kind)) into(cast->x);
    else if (const auto* bits = std::get_if<te::Bitcast>(&x->kind)) into(bits->x);
  }

  double of_intrinsic(const te::Intrinsic& call) const {
    if (te::is_copy(call)) {
      const DType dtype = call.places.at(0).tensor.dtype();
      const double bytes = static_cast<double>(extent_of(call.args.at(0))) * dtype_size(dtype);
      return 2 * std::ceil(bytes / static_cast<double>(units_.vector_bytes));
    }
    if (call.declaration == nullptr || call.args.size() < kFmaTileArgs) return 1;
    double terms = 1;
    for (size_t k = 0; k < kFmaTileArgs; ++k) terms *= static_cast<double>(extent_of(call.args[k]));
    return kFmaTilePerVector * terms * sizeof(float) / static_cast<double>(units_.vector_bytes);
  }

  const WorkUnits& units_;
  Ranges ranges_;
  std::unordered_set<const void*> on_stack_;
  int64_t vector_extent_ = 1;
};

/// Adds up the bytes of tensors that a statement accesses, as boxes of indices.
class ByteCounter {
 public:
  ByteCounter(UnitCounter& counter) : counter_(counter) {}

  double of(const te::Stmt& stmt) {
    add(stmt);
    double out = 0;
    for (const auto& [id, box] : boxes_) {
      double elements = 1;
      for (const Range& range : box.ranges)
        elements *= static_cast<double>(range.high - range.low + 1);
      out += elements * static_cast<double>(dtype_size(box.dtype));
    }
    return out;
  }

 private:
  struct Box {
    DType dtype;
    std::vector<Range> ranges;
  };

  void add(const te::Stmt& stmt) {
    if (stmt.is_empty()) return;
    if (const auto* loop = std::get_if<te::For>(&stmt->kind))
      counter_.bind(*loop, 0, counter_.extent_of(loop->extent));
    if (const auto* let = std::get_if<te::Let>(&stmt->kind))
      counter_.ranges().set(let->var, counter_.ranges().of(let->value));
    if (const auto* alloc = std::get_if<te::Alloc>(&stmt->kind)) hidden_.insert(alloc->tensor.id());
    if (const auto* store = std::get_if<te::Store>(&stmt->kind)) add(store->tensor, store->indices);
    Seen seen;
    for_each_expr(*stmt, [&](const te::Expr& x) {
      walk_expr(x, seen, [&](const te::Expr& node) {
        if (const auto* load = std::get_if<std::shared_ptr<const te::Load>>(&node->kind))
          add((*load)->tensor, (*load)->indices);
      });
    });
    if (const auto* branch = std::get_if<te::If>(&stmt->kind)) {
      if (const std::optional<bool> known = counter_.ranges().decide(branch->condition))
        return add(*known ? branch->yes : branch->no);
    }
    for_each_inner(*stmt, [&](const te::Stmt& inner) { add(inner); });
  }

  void add(const te::Tensor& tensor, const te::Exprs& indices) {
    if (hidden_.contains(tensor.id())) return;
    auto [at, is_new] = boxes_.try_emplace(tensor.id(), Box{tensor.dtype(), {}});
    at->second.ranges.resize(indices.size(), {Range::kUnknown, 0});
    for (size_t k = 0; k < indices.size(); ++k) {
      Range range = counter_.ranges().of(indices[k]);
      const int64_t last = std::max<int64_t>(counter_.extent_of(tensor.shape()[k]), 1) - 1;
      range = {std::clamp<int64_t>(range.low, 0, last), std::clamp<int64_t>(range.high, 0, last)};
      Range& all = at->second.ranges[k];
      all = {std::min(all.low, range.low), std::max(all.high, range.high)};
    }
  }

  UnitCounter& counter_;
  std::unordered_set<const void*> hidden_;  // memory of the worker
  std::map<const void*, Box> boxes_;
};

/// Follows a function to its parallel loops.
class Sharing {
 public:
  Sharing(uint32_t workers, const WorkUnits& units)
      : workers_(std::max(workers, 1U)), units_(units), counter_(units, {}) {}

  SharedWork of(const te::LoopFunction& function) {
    for (const te::Var& size : function.sizes)
      counter_.ranges().set(size, {size.min(), size.max()});
    add(function.body, 1);
    return out_;
  }

 private:
  void add(const te::Stmt& stmt, double times) {
    if (stmt.is_empty()) return;
    if (const auto* loop = std::get_if<te::For>(&stmt->kind)) return add_loop(stmt, *loop, times);
    bool has_inner = false;
    for_each_inner(*stmt, [&](const te::Stmt&) { has_inner = true; });
    if (!has_inner) return add_serial(stmt, times);
    if (const auto* let = std::get_if<te::Let>(&stmt->kind))
      counter_.ranges().set(let->var, counter_.ranges().of(let->value));
    for_each_inner(*stmt, [&](const te::Stmt& inner) { add(inner, times); });
  }

  void add_serial(const te::Stmt& stmt, double times) {
    const double units = times * counter_.of(stmt);
    out_.units += units;
    out_.serial += units;
  }

  void add_loop(const te::Stmt& stmt, const te::For& loop, double times) {
    const int64_t extent = counter_.extent_of(loop.extent);
    if (loop.kind == te::LoopKind::kParallel && extent > 0) return add_shared(loop, extent, times);
    if (!has_parallel(loop.body)) return add_serial(stmt, times);
    counter_.bind(loop, 0, extent);
    add(loop.body, times * static_cast<double>(extent));
  }

  static bool has_parallel(const te::Stmt& stmt) {
    if (stmt.is_empty()) return false;
    const auto* loop = std::get_if<te::For>(&stmt->kind);
    bool found = loop != nullptr && loop->kind == te::LoopKind::kParallel;
    for_each_inner(*stmt, [&](const te::Stmt& inner) { found = found || has_parallel(inner); });
    return found;
  }

  void add_shared(const te::For& loop, int64_t extent, double times) {
    const auto n = static_cast<double>(extent);
    const double each = units_of_iteration(loop, 0, counter_.ranges(), units_);
    const double last = units_of_iteration(loop, extent - 1, counter_.ranges(), units_);
    const double total = each * (n - 1) + last;
    out_.units += times * total;
    const double most = workers_;
    double grain = std::max(std::floor(n / (most * kBlocksPerWorker)), 1.0);
    const double least = least_share(n, each, units_);
    if (least * most > n) grain = std::ceil(least);
    const double blocks = std::ceil(n / grain);
    const double own = std::min(std::ceil(blocks / most) * grain, n);
    if (workers_ == 1 || blocks < 2) {
      out_.serial += times * total;
      return;
    }
    out_.busiest += times * std::min(own * each, total);
    out_.barriers += times;
    counter_.bind(loop, 0, static_cast<int64_t>(own));
    out_.bytes += times * ByteCounter(counter_).of(loop.body);
  }

  const uint32_t workers_;
  const WorkUnits& units_;
  UnitCounter counter_;
  SharedWork out_;
};

}  // namespace

double units_of_iteration(const te::For& loop, int64_t at, const Ranges& ranges,
                          const WorkUnits& units) {
  UnitCounter counter(units, ranges);
  counter.bind(loop, at, 1);
  return counter.of(loop.body);
}

double least_share(double extent, double units_each, const WorkUnits& units) {
  if (units.shares_all) return 1;
  const double work = extent * units_each / WorkUnits::kPerCycle;
  const double workers = std::floor(std::sqrt(work / kSharedLoopWorkerCycles));
  if (workers < 2) return extent;
  const double shared = work / workers + kSharedLoopCycles + workers * kSharedLoopWorkerCycles;
  return shared < work ? extent / workers : extent;
}

SharedWork shared_work(const te::LoopFunction& function, uint32_t workers, const WorkUnits& units) {
  return Sharing(workers, units).of(function);
}

void add(SharedWork& to, const SharedWork& kernel, double times) {
  to.units += times * kernel.units;
  to.serial += times * kernel.serial;
  to.busiest += times * kernel.busiest;
  to.barriers += times * kernel.barriers;
  to.bytes += times * kernel.bytes;
}

std::string print(const SharedWork& work) {
  auto whole = [](double x) { return static_cast<int64_t>(std::llround(x)); };
  return cat("units ", whole(work.units), " serial ", whole(work.serial), " busiest ",
             whole(work.busiest), " barriers ", whole(work.barriers), " bytes ", whole(work.bytes),
             "\n");
}

}  // namespace byoc::llvm_plugin
