// SPDX-License-Identifier: Apache-2.0
#include "byoc/ir/visit.h"

#include <map>
#include <unordered_map>

#include "byoc/base/check.h"
#include "byoc/ir/dim.h"

namespace byoc {

namespace {
std::vector<uint32_t> first_outputs(const Function& function) {
  std::vector<uint32_t> first(function.nodes.size() + 1, 0);
  for (size_t k = 0; k < function.nodes.size(); ++k) {
    first[k + 1] = first[k] + static_cast<uint32_t>(function.nodes[k].types.size());
  }
  return first;
}
constexpr ValueId kUnmapped{UINT32_MAX, UINT32_MAX};
}  // namespace

Rewriter::Rewriter(const Function& from) : from_(from), first_(first_outputs(from)) {
  map_.assign(first_.back(), kUnmapped);
  to_.attrs = from.attrs;
  to_.nodes.reserve(from.nodes.size());
  to_.operands.reserve(from.operands.size());
}

std::vector<ValueId> Rewriter::map(std::span<const ValueId> olds) const {
  std::vector<ValueId> out;
  out.reserve(olds.size());
  for (ValueId old : olds) {
    ValueId now = map(old);
    BYOC_CHECK(now != kUnmapped, "value ", old.node, "#", old.output, " was dropped but is used");
    out.push_back(now);
  }
  return out;
}

std::vector<ValueId> Rewriter::mapped_args(uint32_t old_node) const {
  return map(from_.args(from_.nodes[old_node]));
}

uint32_t Rewriter::copy(uint32_t index) {
  uint32_t now = to_.add_copy(from_.nodes[index], mapped_args(index));
  replace(index, now);
  return now;
}

void Rewriter::replace(uint32_t index, uint32_t now) {
  for (uint32_t k = 0; k < from_.nodes[index].types.size(); ++k) set({index, k}, {now, k});
}

Function Rewriter::finish() && {
  to_.results = map(from_.results);
  return std::move(to_);
}

UseCounts::UseCounts(const Function& function) : first_(first_outputs(function)) {
  counts_.assign(first_.back(), 0);
  for (const Node& node : function.nodes) {
    for (ValueId value : function.args(node)) ++counts_[first_[value.node] + value.output];
  }
  for (ValueId value : function.results) ++counts_[first_[value.node] + value.output];
}

uint32_t UseCounts::of_node(uint32_t node) const {
  uint32_t sum = 0;
  for (uint32_t k = first_[node]; k < first_[node + 1]; ++k) sum += counts_[k];
  return sum;
}

std::array<Symbol, 2> callees(const Node& node) {
  if (auto* invoke = std::get_if<Invoke>(&node.kind)) return {invoke->function, Symbol()};
  if (auto* control = std::get_if<Control>(&node.kind)) return {control->body, control->otherwise};
  return {};
}

namespace {

// Walks calls and bodies depth-first with a stack on the heap, because call chains may be long.
class CallOrder {
 public:
  explicit CallOrder(const IRModule& module) : module_(module) {}
  Status visit(Symbol root);
  std::vector<Symbol> take() { return std::move(order_); }

 private:
  struct Frame {
    Symbol name;
    const Function* function = nullptr;
    size_t next = 0;    // node
    size_t callee = 0;  // of that node
  };
  static Symbol next_callee(Frame& frame);
  const Function* find(Symbol name);
  Status push(Symbol name, Symbol caller);
  std::string chain(Symbol last) const;

  const IRModule& module_;
  size_t searches_ = 0;
  std::unordered_map<Symbol, const Function*> by_name_;  // filled after many searches
  std::unordered_map<Symbol, bool> done_;                // false: still open
  std::vector<Frame> stack_;
  std::vector<Symbol> order_;
};

std::string CallOrder::chain(Symbol last) const {
  std::string out;
  bool on = false;
  for (const Frame& frame : stack_) {
    on |= frame.name == last;
    if (on) out += cat("@", frame.name, " -> ");
  }
  return cat(out, "@", last);
}

// Searches the module until that has cost as much as hashing all its functions would.
const Function* CallOrder::find(Symbol name) {
  if (++searches_ * 8 < module_.functions.size()) return module_.find(name);
  if (by_name_.empty()) {
    by_name_.reserve(module_.functions.size());
    for (const auto& [known, function] : module_.functions) by_name_.emplace(known, &function);
  }
  auto at = by_name_.find(name);
  return at == by_name_.end() ? nullptr : at->second;
}

Status CallOrder::push(Symbol name, Symbol caller) {
  auto [state, is_new] = done_.try_emplace(name, false);
  if (!is_new && state->second) return {};
  if (!is_new) {
    return invalid(cat("functions call each other in a circle: ", chain(name)))
        .with_slug("recursion");
  }
  const Function* function = find(name);
  if (function == nullptr) {
    std::string missing =
        caller.empty() ? cat("the module has no function @", name)
                       : cat("@", caller, " calls @", name, ", which the module does not have");
    return invalid(std::move(missing)).with_slug("unknown-function");
  }
  stack_.push_back({name, function});
  return {};
}

// Returns the next function that the frame's function names; empty after the last.
Symbol CallOrder::next_callee(Frame& frame) {
  const std::vector<Node>& nodes = frame.function->nodes;
  for (; frame.next < nodes.size(); ++frame.next, frame.callee = 0) {
    const std::array<Symbol, 2> names = callees(nodes[frame.next]);
    while (frame.callee < names.size()) {
      if (Symbol name = names[frame.callee++]; !name.empty()) return name;
    }
  }
  return {};
}

Status CallOrder::visit(Symbol root) {
  auto known = done_.find(root);
  if (known != done_.end()) return {};
  BYOC_TRY_STATUS(push(root, {}));
  while (!stack_.empty()) {
    Frame& frame = stack_.back();
    if (Symbol callee = next_callee(frame); !callee.empty()) {
      BYOC_TRY_STATUS(push(callee, frame.name));
      continue;
    }
    done_[frame.name] = true;
    order_.push_back(frame.name);
    stack_.pop_back();
  }
  return {};
}

}  // namespace

Result<std::vector<Symbol>> callees_first(const IRModule& module, Symbol root) {
  CallOrder order(module);
  BYOC_TRY_STATUS(order.visit(root));
  return order.take();
}

std::vector<Dim> open_sizes(const IRModule& module, const Function& function) {
  std::map<Symbol, Dim> found;
  std::unordered_map<uint32_t, bool> seen;  // types
  auto take = [&](const Function& from) {
    for (const Node& node : from.nodes) {
      for (size_t k = 0; k < node.types.size(); ++k) {
        if (!seen.emplace(node.types[k].id(), true).second) continue;
        for (Dim dim : node.types[k]->shape) {
          if (!is_open(dim)) continue;
          for (Dim size : sizes_in(dim)) found.emplace(size.name(), size);
        }
      }
    }
  };
  take(function);
  for (const Node& node : function.nodes) {
    auto* invoke = std::get_if<Invoke>(&node.kind);
    const Function* callee = invoke ? module.find(invoke->function) : nullptr;
    if (callee != nullptr) take(*callee);
  }
  std::vector<Dim> out;
  for (const auto& [name, size] : found) out.push_back(size);
  return out;
}

Result<std::vector<Symbol>> callees_first(const IRModule& module) {
  CallOrder order(module);
  for (const auto& [name, function] : module.functions) BYOC_TRY_STATUS(order.visit(name));
  return order.take();
}

}  // namespace byoc
