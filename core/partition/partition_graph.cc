// Cuts every region, by its number, into a function of its own.
//   before: fn main(%x) { ... %3 = compiler_end(relu(conv2d(compiler_begin(%x), %w))) ... }   region 0 of onednn
//   after:  fn main(%x) { %0 = @onednn_main_0(%x)  return %0 }
//           fn onednn_main_0(%i0) {compiler="onednn", global_symbol="onednn_main_0", primitive=true} { ... }
#include <algorithm>
#include <set>
#include <unordered_map>

#include "byoc/base/check.h"
#include "byoc/pass/passes.h"
#include "core/partition/quotient.h"

namespace byoc {
namespace {

// What a region reads and gives, and its body, node by node.
struct Cut {
  Function body;
  std::vector<ValueId> inputs;                              // values of the old function
  std::vector<ValueId> outputs;                             // likewise
};

class Cutter {
 public:
  Cutter(IRModule& module, const std::set<std::string_view>& externals, const Function& function, Symbol name)
      : module_(module), externals_(externals), function_(function), name_(name) {}
  Result<Function> run();

 private:
  Cut cut(uint32_t item);
  Function body(uint32_t item, Cut& cut);
  void emit_region(uint32_t item);
  void emit_op(uint32_t node);
  ValueId outside(ValueId old) {
    ValueId value = through_annotations(function_, old);
    return rewritten_.at(uint64_t{value.node} << 32 | value.output);
  }
  void put(ValueId old, ValueId now) { rewritten_[uint64_t{old.node} << 32 | old.output] = now; }

  IRModule& module_;
  const std::set<std::string_view>& externals_;             // names already compiled under
  const Function& function_;
  Symbol name_;
  Annotations annotations_;
  Quotient quotient_;
  std::vector<std::vector<ValueId>> leaving_;               // per region, ascending
  std::unordered_map<uint64_t, ValueId> rewritten_;
  Function out_;
};

// First the values from outside, in order of first use; then copies of the constants and the ops.
Function Cutter::body(uint32_t item, Cut& cut) {
  Function out;
  std::unordered_map<uint64_t, ValueId> map;
  auto key = [](ValueId v) { return uint64_t{v.node} << 32 | v.output; };
  auto members = std::span(quotient_.member).subspan(quotient_.first_member[item], quotient_.first_member[item + 1] - quotient_.first_member[item]);
  auto is_inside = [&](ValueId v) { return quotient_.item_of[v.node] == item; };
  auto constant = [&](ValueId v) { return std::get_if<Constant>(&function_.nodes[v.node].kind); };
  for (uint32_t node : members) {
    for (ValueId arg : function_.args(function_.nodes[node])) {
      ValueId value = through_annotations(function_, arg);
      if (is_inside(value) || constant(value) || map.contains(key(value))) continue;
      map[key(value)] = {out.add_param(cat("i", cut.inputs.size()), function_.type(value)), 0};
      cut.inputs.push_back(value);
    }
  }
  std::vector<ValueId> args;
  for (uint32_t node : members) {
    args.clear();
    for (ValueId arg : function_.args(function_.nodes[node])) {
      ValueId value = through_annotations(function_, arg);
      if (const Constant* c = constant(value); c && !map.contains(key(value))) {
        map[key(value)] = {out.add_constant(c->data, function_.type(value), function_.nodes[value.node].loc), 0};
      }
      args.push_back(map.at(key(value)));
    }
    uint32_t now = out.add_copy(function_.nodes[node], args);
    for (uint32_t k = 0; k < function_.nodes[node].types.size(); ++k) map[key({node, k})] = {now, k};
  }
  for (ValueId value : cut.outputs) out.results.push_back(map.at(key(value)));
  return out;
}

Cut Cutter::cut(uint32_t item) {
  Cut out;
  out.outputs = leaving_[quotient_.region[item]];
  out.body = body(item, out);
  return out;
}

void Cutter::emit_region(uint32_t item) {
  const Region& region = annotations_.regions[quotient_.region[item]];
  Cut now = cut(item);
  std::string base = cat(region.compiler, "_", name_, "_", region.number);
  Symbol symbol = base;
  for (int k = 1; module_.find(symbol) || externals_.contains(symbol.text()); ++k) symbol = cat(base, "_", k);
  now.body.attrs = {{"compiler", region.compiler}, {"global_symbol", symbol.str()}, {"primitive", true}};
  std::vector<ValueId> args;
  for (ValueId value : now.inputs) args.push_back(outside(value));
  std::vector<TypeId> types = now.body.result_types();
  uint32_t call = out_.add_invoke(symbol, args, types);
  for (uint32_t k = 0; k < now.outputs.size(); ++k) put(now.outputs[k], {call, k});
  module_.functions.emplace(symbol, std::move(now.body));
}

void Cutter::emit_op(uint32_t node) {
  std::vector<ValueId> args;
  for (ValueId arg : function_.args(function_.nodes[node])) args.push_back(outside(arg));
  uint32_t now = out_.add_copy(function_.nodes[node], args);
  for (uint32_t k = 0; k < function_.nodes[node].types.size(); ++k) put({node, k}, {now, k});
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
  for (uint32_t node = 0; node < function_.nodes.size(); ++node) {  // parameters first, then constants
    const Kind& kind = function_.nodes[node].kind;
    if (std::holds_alternative<Param>(kind) || std::holds_alternative<Constant>(kind)) emit_op(node);
  }
  for (uint32_t item = 0; item < quotient_.size(); ++item) {
    if (quotient_.region[item] != kOutside) emit_region(item);
    else emit_op(quotient_.member[quotient_.first_member[item]]);
  }
  for (ValueId result : function_.results) out_.results.push_back(outside(result));
  return std::move(out_);
}

// A function whose attribute `compiler` was set by the user and that is taken whole becomes the region itself.
void mark_whole(Function& function, Symbol name) {
  function.attrs.set("global_symbol", name.str());
  function.attrs.set("primitive", true);
}

Function without_unread_constants(const Function& function) {
  UseCounts uses(function);
  Rewriter rewriter(function);
  for (uint32_t node = 0; node < function.nodes.size(); ++node) {
    bool unread = std::holds_alternative<Constant>(function.nodes[node].kind) && uses.of_node(node) == 0;
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
