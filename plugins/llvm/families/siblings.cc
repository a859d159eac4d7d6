// SPDX-License-Identifier: Apache-2.0
//   before: low[i] = min over r of x[i, r]; high[i] = max over r of x[i, r]
//   after:  low[i], high[i] = (min, max) over r of (x[i, r], x[i, r])
#include "plugins/llvm/families/siblings.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "byoc/op/op.h"
#include "byoc/te/rewrite.h"
#include "plugins/llvm/tiling/access.h"
#include "plugins/llvm/tiling/staged_schedule.h"

namespace byoc::llvm_plugin {
namespace {

constexpr int64_t kLeastBytes = 1 << 17;  // of a value that one kernel reads from further caches
constexpr int64_t kLeastTerms = 256;      // of a sum, which lanes share

// Returns the axes of a reduction over the last dims of a large value, outer first; else none.
Ints last_axes(const Function& function, const Node& node) {
  const auto* call = std::get_if<Call>(&node.kind);
  if (call == nullptr || call->op->kind != FusionKind::kReduction || node.types.size() != 1 ||
      !call->attrs->has("axes") || !call->attrs->has("keepdims"))
    return {};
  const auto args = function.args(node);
  if (args.size() != 1 || !is_static(function.type(args[0])->shape)) return {};
  const TensorType& x = *function.type(args[0]);
  const auto rank = static_cast<int64_t>(x.shape.size());
  Ints axes = call->attrs->ints("axes");
  for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  if (axes.empty() && !call->attrs->b("noop_with_empty_axes", false)) {
    axes.resize(x.shape.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  std::ranges::sort(axes);
  int64_t terms = 1;
  for (size_t k = axes.size(); k-- > 0;) {
    if (axes[k] != rank - static_cast<int64_t>(axes.size() - k)) return {};
    terms *= x.shape[static_cast<size_t>(axes[k])].extent();
  }
  const Result<int64_t> bytes = size_bytes(x);
  return bytes.ok() && *bytes >= kLeastBytes && terms >= kLeastTerms ? axes : Ints();
}

bool have_equal_extents(const std::vector<te::Axis>& a, const std::vector<te::Axis>& b) {
  return std::ranges::equal(a, b, [](const te::Axis& x, const te::Axis& y) {
    return te::structural_equal(x.extent, y.extent);
  });
}

// Returns true when both read the same tensors, and are loops of the same extents.
bool are_siblings(const te::Compute& a, const te::Compute& b) {
  const auto tensors = [](const te::Compute& of) {
    std::vector<const void*> out;
    for (const te::Load* load : topi::loads_of(of)) out.push_back(load->tensor.id());
    std::ranges::sort(out);
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  };
  return have_equal_extents(a.axes, b.axes) && have_equal_extents(a.reduce, b.reduce) &&
         tensors(a) == tensors(b);
}

// Appends the results of `from` to `to`.
void join(te::Stage& to, const te::Stage& from) {
  auto& own = std::get<te::Compute>(to.kind);
  const auto& other = std::get<te::Compute>(from.kind);
  te::VarMap vars;
  for (size_t k = 0; k < own.axes.size(); ++k)
    vars[other.axes[k].var.id()] = te::Expr(own.axes[k].var);
  for (size_t k = 0; k < own.reduce.size(); ++k)
    vars[other.reduce[k].var.id()] = te::Expr(own.reduce[k].var);
  te::Substitution renamed(std::move(vars));
  for (const te::Expr& value : other.values) own.values.push_back(renamed(value));
  const auto append = [](auto& all, const auto& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  append(own.combiner.lhs, other.combiner.lhs);
  append(own.combiner.rhs, other.combiner.rhs);
  append(own.combiner.identity, other.combiner.identity);
  append(own.combiner.result, other.combiner.result);
  append(to.outputs, from.outputs);
}

}  // namespace

std::vector<std::vector<uint32_t>> sibling_reductions(const Function& function) {
  std::map<std::pair<uint64_t, Ints>, std::vector<uint32_t>> of_value;
  for (uint32_t node = 0; node < function.nodes.size(); ++node) {
    Ints axes = last_axes(function, function.nodes[node]);
    if (axes.empty()) continue;
    const ValueId x = function.args(function.nodes[node])[0];
    axes.push_back(std::get<Call>(function.nodes[node].kind).attrs->b("keepdims", false));
    of_value[{uint64_t{x.node} << 32 | x.output, std::move(axes)}].push_back(node);
  }
  std::vector<std::vector<uint32_t>> out;
  for (auto& [value, nodes] : of_value) {
    if (nodes.size() > 1) out.push_back(std::move(nodes));
  }
  return out;
}

void join_siblings(te::Dag& dag) {
  std::vector<te::Stage> kept;
  std::vector<size_t> firsts;  // of `kept`: reductions of inputs
  const auto is_of_inputs = [&](const te::Compute& compute) {
    return std::ranges::all_of(topi::loads_of(compute), [&](const te::Load* load) {
      return std::ranges::find(dag.inputs, load->tensor) != dag.inputs.end();
    });
  };
  for (te::Stage& stage : dag.stages) {
    const auto* own = std::get_if<te::Compute>(&stage.kind);
    const bool may_join = own != nullptr && !own->reduce.empty() && is_of_inputs(*own);
    const auto first = std::ranges::find_if(firsts, [&](size_t k) {
      return may_join && are_siblings(std::get<te::Compute>(kept[k].kind), *own);
    });
    if (first != firsts.end()) {
      join(kept[*first], stage);
      continue;
    }
    if (may_join) firsts.push_back(kept.size());
    kept.push_back(std::move(stage));
  }
  dag.stages = std::move(kept);
}

}  // namespace byoc::llvm_plugin
