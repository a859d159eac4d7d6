// Cuts every region, by its number, into a function of its own.
//   before: fn main(%x) { ... %3 = compiler_end(relu(conv2d(compiler_begin(%x), %w))) ... } region
//   0 of onednn after:  fn main(%x) { %0 = @onednn_main_0(%x)  return %0 }
//           fn onednn_main_0(%i0) {compiler="onednn", global_symbol="onednn_main_0",
//           primitive=true} { ... }
#include <algorithm>
#include <set>

#include "byoc/base/check.h"
#include "byoc/pass/passes.h"
#include "core/partition/quotient.h"

namespace byoc {
namespace {

class Cutter {
 public:
  Cutter(IRModule& module, const std::set<std::string_view>& externals, const Function& function,
         Symbol name)
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
  Function body(uint32_t item, const std::vector<ValueId>& outputs);
  Symbol add_function(const Region& region, Function body);
  void emit_region(uint32_t item);
  void emit_op(uint32_t node);
  ValueId outside(ValueId old) const { return outside_[slot(through_annotations(function_, old))]; }
  Symbol input_name(size_t k) {
    while (input_names_.size() <= k) input_names_.push_back(cat("i", input_names_.size()));
    return input_names_[k];
  }

  IRModule& module_;
  const std::set<std::string_view>& externals_;  // names already compiled under
  const Function& function_;
  Symbol name_;
  std::vector<uint32_t> first_;  // of each node, into the arrays by value
  Annotations annotations_;
  Quotient quotient_;
  std::vector<std::vector<ValueId>> leaving_;  // per region, ascending
  std::vector<ValueId> outside_;               // per value: in the function that is left
  std::vector<ValueId> inside_;                // per value: in the body of the item below
  std::vector<uint32_t> inside_of_;
  std::vector<ValueId> inputs_;  // of the region being cut
  std::vector<Symbol> input_names_;
  Function out_;
};

// First the values from outside, in order of first use; then copies of the constants and the ops.
Function Cutter::body(uint32_t item, const std::vector<ValueId>& outputs) {
  Function out;
  inputs_.clear();
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
  std::vector<ValueId> args;
  for (uint32_t node : members(item)) {
    args.clear();
    for (ValueId arg : function_.args(function_.nodes[node])) {
      ValueId value = through_annotations(function_, arg);
      if (const Constant* c = constant(value); c && !is_known(value, item)) {
        set_inside(
            value, item,
            {out.add_constant(c->data, function_.type(value), function_.nodes[value.node].loc), 0});
      }
      args.push_back(inside_[slot(value)]);
    }
    uint32_t now = out.add_copy(function_.nodes[node], args);
    for (uint32_t k = 0; k < function_.nodes[node].types.size(); ++k)
      set_inside({node, k}, item, {now, k});
  }
  for (ValueId value : outputs) out.results.push_back(inside_[slot(value)]);
  return out;
}

// <plugin>_<function>_<number>, with a further number where that is taken.
Symbol Cutter::add_function(const Region& region, Function body) {
  static const Symbol kCompiler = "compiler", kGlobalSymbol = "global_symbol",
                      kPrimitive = "primitive";
  std::string base = cat(region.compiler, "_", name_, "_", region.number), text = base;
  for (int k = 1;; ++k) {
    auto [at, is_new] = module_.functions.try_emplace(text);
    if (is_new && !externals_.contains(text)) {
      body.attrs = {{kCompiler, region.compiler}, {kGlobalSymbol, text}, {kPrimitive, true}};
      at->second = std::move(body);
      return at->first;
    }
    if (is_new) module_.functions.erase(at);
    text = cat(base, "_", k);
  }
}

void Cutter::emit_region(uint32_t item) {
  uint32_t region = quotient_.region[item];
  const std::vector<ValueId>& outputs = leaving_[region];
  Function cut = body(item, outputs);
  std::vector<ValueId> args;
  for (ValueId value : inputs_) args.push_back(outside(value));
  std::vector<TypeId> types = cut.result_types();
  Symbol symbol = add_function(annotations_.regions[region], std::move(cut));
  uint32_t call = out_.add_invoke(symbol, args, types);
  for (uint32_t k = 0; k < outputs.size(); ++k) outside_[slot(outputs[k])] = {call, k};
}

void Cutter::emit_op(uint32_t node) {
  std::vector<ValueId> args;
  for (ValueId arg : function_.args(function_.nodes[node])) args.push_back(outside(arg));
  uint32_t now = out_.add_copy(function_.nodes[node], args);
  for (uint32_t k = 0; k < function_.nodes[node].types.size(); ++k)
    outside_[slot({node, k})] = {now, k};
}

Result<Function> Cutter::run() {
  BYOC_TRY(annotations_, read_annotations(function_, name_));
  if (annotations_.is_empty()) return function_;
  BYOC_TRY(quotient_, contract_regions(function_, annotations_, true, name_));
  leaving_.resize(annotations_.regions.size());
  for (const Node& node : function_.nodes) {
    if (!is_end(node)) continue;
    ValueId value = function_.args(node)[0];
    leaving_[annotations_.region_of[value.node]].push_back(value);
  }
  for (auto& list : leaving_) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  out_.attrs = function_.attrs;
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

// A function whose attribute `compiler` was set by the user and that is taken whole becomes the
// region itself.
void mark_whole(Function& function, Symbol name) {
  function.attrs.set("global_symbol", name.str());
  function.attrs.set("primitive", true);
}

Function without_unread_constants(const Function& function) {
  UseCounts uses(function);
  Rewriter rewriter(function);
  for (uint32_t node = 0; node < function.nodes.size(); ++node) {
    bool unread =
        std::holds_alternative<Constant>(function.nodes[node].kind) && uses.of_node(node) == 0;
    if (!unread) rewriter.copy(node);
  }
  return std::move(rewriter).finish();
}

}  // namespace

Result<IRModule> partition_graph(IRModule module, const PassContext&) {
  BYOC_TRY(std::vector<Symbol> order, callees_first(module, module.entry));
  std::set<std::string_view> externals;
  for (const ExternalModule& compiled : module.external_mods) {
    for (const ExternalFunction& function : compiled.functions) externals.insert(function.symbol);
  }
  for (Symbol name : order) {
    const Function& function = module.function(name);
    if (function.attrs.has("composite") || function.attrs.has("primitive")) continue;
    if (function.attrs.has("compiler") && name != module.entry) {
      mark_whole(module.function(name), name);
      continue;
    }
    Function old = function;
    BYOC_TRY(Function cut, Cutter(module, externals, old, name).run());
    module.functions[name] = without_unread_constants(cut);
  }
  return module;
}

}  // namespace byoc
