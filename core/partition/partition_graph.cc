// SPDX-License-Identifier: Apache-2.0
// Moves every region, in the order of their numbers, into a function of its own, and gives
// functions with loops their plugin.
//   before: fn main(%x) {
//             %0 = compiler_begin(%x) {compiler="onednn", region=0}
//             %1 = relu(%0)
//             %2 = compiler_end(%1) {compiler="onednn", region=0}
//             return %2
//           }
//   after:  fn main(%x) {
//             %0 = @onednn_main_0(%x)
//             return %0
//           }
//           fn onednn_main_0(%i0)
//               {compiler="onednn", global_symbol="onednn_main_0", primitive=true} {
//             %0 = relu(%i0)
//             return %0
//           }
// A region whose values nothing outside reads is dropped: its function would have no results.
#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_set>

#include "byoc/base/check.h"
#include "byoc/ir/external_symbols.h"
#include "byoc/ir/intern.h"
#include "byoc/pass/partition.h"
#include "core/region/assign_loops.h"
#include "core/region/quotient.h"

namespace byoc {
namespace {

class Cutter {
 public:
  Cutter(const IRModule& module, const std::set<std::string_view>& externals,
         const Function& function, Symbol name)
      : module_(module),
        externals_(externals),
        function_(function),
        name_(name),
        first_(function.nodes.size() + 1, 0) {
    for (size_t k = 0; k < function.nodes.size(); ++k)
      first_[k + 1] = first_[k] + static_cast<uint32_t>(function.nodes[k].types.size());
    outside_.resize(first_.back());
    inside_.resize(first_.back());
    inside_of_.assign(first_.back(), kNoItem);
  }
  Result<Function> run();
  /// Returns the functions of the regions. To be called after run().
  std::vector<std::pair<Symbol, Function>> take_regions() { return std::move(regions_); }

 private:
  size_t slot(ValueId v) const { return first_[v.node] + v.output; }
  std::span<const uint32_t> members(uint32_t item) const {
    return std::span(quotient_.member)
        .subspan(quotient_.first_member[item],
                 quotient_.first_member[item + 1] - quotient_.first_member[item]);
  }
  const Constant* constant(ValueId v) const {
    return std::get_if<Constant>(&function_.nodes[v.node].kind);
  }
  bool is_known(ValueId v, uint32_t item) const { return inside_of_[slot(v)] == item; }
  void set_inside(ValueId v, uint32_t item, ValueId now) {
    inside_of_[slot(v)] = item;
    inside_[slot(v)] = now;
  }
  size_t operand_count(uint32_t item) const;
  void find_leaving();
  Function body(uint32_t item, std::span<const ValueId> outputs);
  std::string base_name(const Region& region) const {
    return cat(region.compiler, "_", name_, "_", region.number);
  }
  bool is_free(Symbol name) const {
    return module_.find(name) == nullptr && !externals_.contains(name.text()) &&
           !renamed_.contains(name);
  }
  Symbol other_name(const std::string& base);
  Symbol add_function(const Region& region, Function body);
  void emit_region(uint32_t item);
  void emit_op(uint32_t node);
  ValueId outside(ValueId old) const { return outside_[slot(through_annotations(function_, old))]; }
  Symbol input_name(size_t k) {
    while (input_names_.size() <= k) input_names_.push_back(cat("i", input_names_.size()));
    return input_names_[k];
  }

  const IRModule& module_;
  const std::set<std::string_view>& externals_;  // names of compiled and of the host's functions
  const Function& function_;
  Symbol name_;
  std::vector<uint32_t> first_;  // of each node, into the arrays by value
  Annotations annotations_;
  Quotient quotient_;
  std::vector<ValueId> leaving_;  // those of region r: from leaving_first_[r] on
  std::vector<uint32_t> leaving_first_;
  std::vector<ValueId> outside_;  // per value: in the remaining function
  std::vector<ValueId> inside_;   // per value: in the body of the item below
  std::vector<uint32_t> inside_of_;
  std::vector<ValueId> inputs_;  // of the region being cut
  std::vector<ValueId> args_;    // of the node being made
  std::vector<Symbol> input_names_;
  std::unordered_set<Symbol> own_names_, renamed_;  // filled when the first own name is taken
  std::vector<std::pair<Symbol, Function>> regions_;
  Function out_;
};

size_t Cutter::operand_count(uint32_t item) const {
  size_t count = 0;
  for (uint32_t node : members(item)) count += function_.args(function_.nodes[node]).size();
  return count;
}

// Returns the function of a region: its parameters are the values from outside in order of first
// use; copies of the constants and of the ops follow.
Function Cutter::body(uint32_t item, std::span<const ValueId> outputs) {
  Function out;
  inputs_.clear();
  const size_t operands = operand_count(item);
  out.nodes.reserve(members(item).size() + operands);  // each may be a parameter or constant
  out.operands.reserve(operands);
  for (uint32_t node : members(item)) {
    for (ValueId arg : function_.args(function_.nodes[node])) {
      ValueId value = through_annotations(function_, arg);
      if (quotient_.item_of[value.node] == item || constant(value) || is_known(value, item))
        continue;
      set_inside(value, item,
                 {out.add_param(input_name(inputs_.size()), function_.type(value)), 0});
      inputs_.push_back(value);
    }
  }
  for (uint32_t node : members(item)) {
    args_.clear();
    for (ValueId arg : function_.args(function_.nodes[node])) {
      ValueId value = through_annotations(function_, arg);
      if (const Constant* c = constant(value); c && !is_known(value, item)) {
        set_inside(
            value, item,
            {out.add_constant(c->data, function_.type(value), function_.nodes[value.node].loc), 0});
      }
      BYOC_CHECK(is_known(value, item), "value ", value.node, "#", value.output,
                 " is read in a region before it is there");
      args_.push_back(inside_[slot(value)]);
    }
    uint32_t now = out.add_copy(function_.nodes[node], args_);
    for (uint32_t k = 0; k < function_.nodes[node].types.size(); ++k)
      set_inside({node, k}, item, {now, k});
  }
  out.results.reserve(outputs.size());
  for (ValueId value : outputs) {
    BYOC_CHECK(is_known(value, item), "a region does not compute its result ", value.node);
    out.results.push_back(inside_[slot(value)]);
  }
  return out;
}

// Returns `base` with a number after it that is neither in use nor another region's own name.
Symbol Cutter::other_name(const std::string& base) {
  if (own_names_.empty()) {
    for (const Region& region : annotations_.regions) own_names_.insert(base_name(region));
  }
  for (int k = 1;; ++k) {
    Symbol name = cat(base, "_", k);
    if (!is_free(name) || own_names_.contains(name)) continue;
    renamed_.insert(name);
    return name;
  }
}

// Adds the function of a region under the name <plugin>_<function>_<number>, which differs from
// region to region.
Symbol Cutter::add_function(const Region& region, Function body) {
  static const Symbol kCompiler = lasting_symbol("compiler"),
                      kGlobalSymbol = lasting_symbol("global_symbol"),
                      kPrimitive = lasting_symbol("primitive");
  std::string base = base_name(region);
  Symbol name = base;
  if (!is_free(name)) name = other_name(base);
  body.attrs = {
      {kCompiler, region.compiler.str()}, {kGlobalSymbol, name.str()}, {kPrimitive, true}};
  regions_.emplace_back(name, std::move(body));
  return name;
}

void Cutter::emit_region(uint32_t item) {
  uint32_t region = quotient_.region[item];
  BYOC_CHECK(region < annotations_.regions.size(), "region ", region, " of ",
             annotations_.regions.size());
  std::span<const ValueId> outputs(leaving_.data() + leaving_first_[region],
                                   leaving_.data() + leaving_first_[region + 1]);
  if (outputs.empty()) return;
  Function cut = body(item, outputs);
  args_.clear();
  for (ValueId value : inputs_) args_.push_back(outside(value));
  std::vector<TypeId> types = cut.result_types();
  Symbol symbol = add_function(annotations_.regions[region], std::move(cut));
  uint32_t call = out_.add_invoke(symbol, args_, types);
  for (uint32_t k = 0; k < outputs.size(); ++k) outside_[slot(outputs[k])] = {call, k};
}

void Cutter::emit_op(uint32_t node) {
  args_.clear();
  for (ValueId arg : function_.args(function_.nodes[node])) args_.push_back(outside(arg));
  uint32_t now = out_.add_copy(function_.nodes[node], args_);
  for (uint32_t k = 0; k < function_.nodes[node].types.size(); ++k)
    outside_[slot({node, k})] = {now, k};
}

// Collects the operands of compiler_end ops per region, each value once, ascending.
void Cutter::find_leaving() {
  std::vector<uint8_t> leaves(first_.back(), 0);
  for (const Node& node : function_.nodes) {
    if (is_end(node)) leaves[slot(function_.args(node)[0])] = 1;
  }
  auto for_each = [&](auto&& visit) {
    for (uint32_t node = 0; node < function_.nodes.size(); ++node) {
      for (uint32_t k = 0; k < function_.nodes[node].types.size(); ++k) {
        if (!leaves[first_[node] + k]) continue;
        const uint32_t region = annotations_.region_of[node];
        BYOC_CHECK(region < annotations_.regions.size(), "node ", node, " leaves region ", region,
                   " of ", annotations_.regions.size());
        visit(region, ValueId{node, k});
      }
    }
  };
  leaving_first_.assign(annotations_.regions.size() + 1, 0);
  for_each([&](uint32_t region, ValueId) { ++leaving_first_[region + 1]; });
  std::partial_sum(leaving_first_.begin(), leaving_first_.end(), leaving_first_.begin());
  leaving_.resize(leaving_first_.back());
  std::vector<uint32_t> next(leaving_first_.begin(), leaving_first_.end() - 1);
  for_each([&](uint32_t region, ValueId value) { leaving_[next[region]++] = value; });
}

Result<Function> Cutter::run() {
  BYOC_TRY(annotations_, read_annotations(function_, name_));
  if (annotations_.is_empty()) return function_;
  BYOC_TRY(quotient_, contract_regions(function_, annotations_, true, name_));
  find_leaving();
  out_.attrs = function_.attrs;
  out_.nodes.reserve(function_.nodes.size());
  regions_.reserve(annotations_.regions.size());
  for (uint32_t node = 0; node < function_.nodes.size();
       ++node) {  // parameters first, then constants
    const Kind& kind = function_.nodes[node].kind;
    if (std::holds_alternative<Param>(kind) || std::holds_alternative<Constant>(kind))
      emit_op(node);
  }
  for (uint32_t item = 0; item < quotient_.size(); ++item) {
    if (quotient_.region[item] != kOutside) emit_region(item);
    else emit_op(quotient_.member[quotient_.first_member[item]]);
  }
  for (ValueId result : function_.results) out_.results.push_back(outside(result));
  return std::move(out_);
}

// Turns a function whose attribute `compiler` the user has set into a region. Its plugin takes it
// whole, so no op is moved.
void mark_whole(Function& function, Symbol name) {
  function.attrs.set("global_symbol", name.str());
  function.attrs.set("primitive", true);
}

Function without_unread_constants(Function function) {
  UseCounts uses(function);
  auto is_unread = [&](uint32_t node) {
    return std::holds_alternative<Constant>(function.nodes[node].kind) && uses.of_node(node) == 0;
  };
  uint32_t first = 0;
  while (first < function.nodes.size() && !is_unread(first)) ++first;
  if (first == function.nodes.size()) return function;
  Rewriter rewriter(function);
  for (uint32_t node = 0; node < function.nodes.size(); ++node) {
    if (!is_unread(node)) rewriter.copy(node);
  }
  return std::move(rewriter).finish();
}

// Inserts the regions in order of their names, so that the position of one is the hint for the next
// and no search is necessary.
void insert(std::map<Symbol, Function>& functions,
            std::vector<std::pair<Symbol, Function>> regions) {
  std::vector<std::pair<std::string_view, size_t>> order;
  order.reserve(regions.size());
  for (size_t k = 0; k < regions.size(); ++k) order.emplace_back(regions[k].first.text(), k);
  std::sort(order.begin(), order.end());
  auto at = order.empty() ? functions.end() : functions.lower_bound(regions[order[0].second].first);
  for (const auto& [text, k] : order) {
    at = std::next(functions.emplace_hint(at, regions[k].first, std::move(regions[k].second)));
  }
}

}  // namespace

Result<IRModule> partition_graph(IRModule module, const PassContext& context) {
  BYOC_TRY_STATUS(name_by_symbols(module));
  BYOC_TRY_STATUS(assign_loops(module, context));
  BYOC_TRY(std::vector<Symbol> order, callees_first(module, module.entry));
  const std::set<std::string_view> externals = external_symbols(module);
  for (Symbol name : order) {
    const Function& function = module.function(name);
    if (function.attrs.has("composite") || function.attrs.has("primitive")) continue;
    if (function.attrs.has("compiler") && name != module.entry) {
      mark_whole(module.function(name), name);
      continue;
    }
    Cutter cutter(module, externals, function, name);
    BYOC_TRY(Function cut, cutter.run());
    module.function(name) = without_unread_constants(std::move(cut));
    insert(module.functions, cutter.take_regions());
  }
  return module;
}

}  // namespace byoc
