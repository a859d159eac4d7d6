// SPDX-License-Identifier: Apache-2.0
// Before: fn(x: [N, k]) { tiles of rows }
// After:  fn(x: [N, k]) { if (N == 1) { tiles of one row } else { tiles of rows } }
#include "plugins/llvm/constants/least_sizes.h"

#include <unordered_map>

#include "byoc/te/rewrite.h"
#include "plugins/llvm/constants/hoist.h"
#include "plugins/llvm/sketch/sketch_template.h"
#include "plugins/llvm/topi/points.h"

namespace byoc::llvm_plugin {
namespace {

using te::Expr;
using te::Stmt;

/// Replaces tensors by others of the same rank.
class Renamed {
 public:
  /// Returns false where the tensors differ in number, dtype or rank.
  bool add(const std::vector<te::Tensor>& from, const std::vector<te::Tensor>& to) {
    if (from.size() != to.size()) return false;
    for (size_t k = 0; k < from.size(); ++k) {
      if (from[k].dtype() != to[k].dtype() || from[k].rank() != to[k].rank()) return false;
      tensors_.emplace(from[k].id(), to[k]);
    }
    return true;
  }

  Stmt operator()(const Stmt& stmt) {
    Stmt out = te::map_parts(
        stmt, [&](const Expr& x) { return (*this)(x); }, [&](const Stmt& s) { return (*this)(s); });
    if (out.is_empty()) return out;
    if (const auto* store = std::get_if<te::Store>(&out->kind))
      return te::make_store(now(store->tensor), store->indices, store->value);
    if (const auto* intrinsic = std::get_if<te::Intrinsic>(&out->kind)) {
      std::vector<te::Place> places;
      for (const te::Place& place : intrinsic->places)
        places.push_back({now(place.tensor), place.indices});
      return te::make_intrinsic(intrinsic->name, std::move(places), intrinsic->args,
                                intrinsic->declaration);
    }
    return out;
  }

 private:
  Expr operator()(const Expr& x) {
    const auto found = done_.find(&*x);
    if (found != done_.end()) return found->second.second;
    Expr out = te::map_operands(x, [&](const Expr& operand) { return (*this)(operand); });
    if (const auto* load = std::get_if<std::shared_ptr<const te::Load>>(&out->kind))
      out = now((*load)->tensor)((*load)->indices);
    done_.emplace(&*x, std::pair(x, out));
    return out;
  }
  te::Tensor now(const te::Tensor& tensor) const {
    const auto found = tensors_.find(tensor.id());
    return found == tensors_.end() ? tensor : found->second;
  }

  std::unordered_map<const void*, te::Tensor> tensors_;
  std::unordered_map<const void*, std::pair<Expr, Expr>> done_;  // by node, which is kept alive
};

bool is_same(const std::optional<ConstantLoops>& a, const std::optional<ConstantLoops>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return a->reads == b->reads && a->is_kept == b->is_kept &&
         te::print(a->loops) == te::print(b->loops);
}

}  // namespace

bool has_one_row(const te::Dag& dag, size_t inputs, const te::Target& target) {
  const std::optional<Hoisted> hoisted = hoist_constants(dag, inputs);
  return sketch::template_of(hoisted ? hoisted->rest : dag, target).is_one_row;
}

Result<KernelLoops> with_least_sizes(KernelLoops open, const te::Dag& least, size_t inputs,
                                     const Expr& holds, const te::Target& target) {
  BYOC_TRY(const KernelLoops exact, lower_with_constants(least, inputs, target));
  Renamed renamed;
  const bool fits = renamed.add(exact.loops.inputs, open.loops.inputs) &&
                    renamed.add(exact.loops.outputs, open.loops.outputs);
  if (!fits || !is_same(exact.constants, open.constants)) return open;
  open.loops.body = te::make_if(holds, renamed(exact.loops.body), open.loops.body);
  return open;
}

}  // namespace byoc::llvm_plugin
