// SPDX-License-Identifier: Apache-2.0
// Plugins compile the functions that carry their name; calls become externs.
//   before: fn main(%x) { %0 = @onednn_main_0(%x)  return %0 }
//   after:  fn main(%x) { %0 = call_dps_packed(@onednn_main_0, %x) : f32[1,8]  return %0 }
//           and external_mods of the module has one entry more
#include <algorithm>
#include <set>
#include <unordered_set>

#include "byoc/base/check.h"
#include "byoc/compile.h"
#include "byoc/ir/external_symbols.h"
#include "byoc/op/op.h"
#include "byoc/pass/codegen.h"
#include "byoc/text/graph_json.h"
#include "core/codegen/count_work.h"
#include "core/codegen/declined.h"
#include "core/codegen/fuse.h"
#include "core/region/inline_call.h"
#include "core/region/judge.h"

namespace byoc {

void count_work(const IRModule& module, const Function& function, ExternalFunction& out) {
  for (const Node& node : function.nodes) {
    if (auto* call = std::get_if<Call>(&node.kind)) {
      std::vector<TypeId> in, results;
      for (ValueId arg : function.args(node)) in.push_back(function.type(arg));
      for (size_t k = 0; k < node.types.size(); ++k) results.push_back(node.types[k]);
      out.flops += flops(*call->op, in, results, *call->attrs);
      ++out.ops;
    } else if (auto* invoke = std::get_if<Invoke>(&node.kind)) {
      count_work(module, module.function(invoke->function), out);  // composites do not nest
    }
  }
}

namespace {

TensorSpec spec_of(const TensorType& type) { return {type.dtype, static_extents(type.shape)}; }

}  // namespace

CompileFunction compile_input(const IRModule& module, Symbol name) {
  const Function& function = module.function(name);
  CompileFunction out;
  out.symbol = name.str();
  write_graph_json(module, function, name, out.graph_json);
  for (const ConstantRef& constant : graph_constants(module, function)) {
    out.constants.push_back(
        {cat("c", out.constants.size()), constant.key, spec_of(*constant.type)});
    out.buffers.push_back(module.constants.at(constant.key));
  }
  out.n_in = static_cast<uint32_t>(function.num_params());
  out.n_out = static_cast<uint32_t>(function.results.size());
  return out;
}

namespace {

Status check_static(const Function& function, Symbol name) {
  for (const Node& node : function.nodes) {
    for (size_t k = 0; k < node.types.size(); ++k) {
      if (is_static(node.types[k]->shape)) continue;
      return invalid(cat("@", name, " has a value of type ", node.types[k],
                         "; code generation needs numbers"))
          .with_slug("symbolic-shape")
          .with_help("bind the sizes, as in --shape N=1");
    }
  }
  return {};
}

// What goes to a plugin at a time: both sides hold the JSON and what they made of it until the call
// returns, and a decline compiles the rest of the batch again.
constexpr size_t kBatchFunctions = 4096, kBatchBytes = size_t{64} << 20, kRetries = 8;

class CodegenRun {
 public:
  CodegenRun(IRModule module, const PassContext& context)
      : module_(std::move(module)), context_(context) {
    for (std::string_view symbol : external_symbols(module_)) externals_.emplace(symbol);
  }
  /// Compiles everything of that plugin; functions it declines go to the plugins after it. True
  /// when there was anything to compile.
  Result<bool> run(const std::string& id);
  IRModule take() && { return std::move(module_); }

 private:
  struct Batch {
    std::vector<Symbol> names;
    std::vector<CompileFunction> inputs;
  };
  std::vector<Symbol> functions_of(const std::string& id) const;
  Result<Batch> next_batch(const std::vector<Symbol>& names, size_t& next) const;
  static Batch split_off_half(Batch& batch);
  Status compile(const Plugin& plugin, Batch whole);
  Result<bool> try_compile(const Plugin& plugin, Batch& batch);
  Status decline(const Plugin& plugin, Symbol name, const Status& why);
  void attach(CompileResult result, const std::vector<Symbol>& names);
  void replace_calls();
  Status check_name(const std::string& id, Symbol name) const;
  Status pass_on_declined(const Plugin& plugin);

  IRModule module_;
  const PassContext& context_;
  std::set<std::string, std::less<>> externals_;  // external symbols of the module as it came
  std::unordered_set<Symbol> compiled_;  // by this plugin; their calls are still to be replaced
  std::vector<Symbol> declined_;         // by this plugin
};

std::vector<Symbol> CodegenRun::functions_of(const std::string& id) const {
  std::vector<Symbol> out;
  for (const auto& [name, function] : module_.functions) {
    bool is_region =
        function.attrs.has("compiler") && name != module_.entry && !function.attrs.has("composite");
    if (is_region && function.attr("compiler") == id) out.push_back(name);
  }
  return out;
}

// Each once: one node of the user's may have become several ops.
std::vector<Symbol> all_locs(const IRModule& module, const Function& function) {
  std::vector<Symbol> out;
  std::unordered_set<uint32_t> seen;
  for (const Node& node : function.nodes) {
    if (std::holds_alternative<Param>(node.kind) || std::holds_alternative<Constant>(node.kind))
      continue;
    for (Symbol loc : op_locs(module, node)) {
      if (seen.insert(loc.id()).second) out.push_back(loc);
    }
  }
  return out;
}

// The function's composites are dissolved, and it becomes a plain function.
Status CodegenRun::decline(const Plugin& plugin, Symbol name, const Status& why) {
  Function& function = module_.function(name);
  context_.remark({Report::Remark::kDeclined, plugin.id(), name.str(), all_locs(module_, function),
                   why.message()});
  if (context_.strict) {
    return failed(cat("--strict: ", plugin.id(), " took @", name,
                      " and declined it in compile: ", why.message()))
        .with_slug("strict");
  }
  Function plain = inline_composites_in(module_, function, {});
  for (Symbol attr : {"compiler", "global_symbol", "primitive"}) plain.attrs.erase(attr);
  function = std::move(plain);
  declined_.push_back(name);
  return {};
}

// The listed plugins after this one take the ops of what it declined, then the default codegens
// after it. What none of them takes stays a plain function that the next inline_functions puts back
// into its caller.
Status CodegenRun::pass_on_declined(const Plugin& plugin) {
  const std::vector<Symbol> names = std::exchange(declined_, {});
  if (names.empty()) return {};
  BYOC_TRY(module_, offer_functions(std::move(module_), names, plugins_after(plugin.id(), context_),
                                    context_));
  if (context_.defaults.empty()) return {};
  std::vector<std::string> rest = context_.defaults;
  auto self = std::find(rest.begin(), rest.end(), plugin.id());
  if (self != rest.end()) rest.erase(rest.begin(), self + 1);
  PassContext lenient = context_;  // strictness was decided above
  lenient.strict = false;
  BYOC_TRY(module_, fuse_ops_with(std::move(module_), rest, lenient));
  return {};
}

void CodegenRun::attach(CompileResult result, const std::vector<Symbol>& names) {
  for (size_t k = 0; k < names.size(); ++k) {
    const Function& function = module_.function(names[k]);
    count_work(module_, function, result.module.functions[k]);
    for (Symbol loc : all_locs(module_, function))
      result.module.functions[k].locs.push_back(loc.str());
  }
  for (const auto& packed : result.packed) module_.add_constant(packed);
  module_.external_mods.push_back(std::move(result.module));
  for (Symbol name : names) module_.functions.erase(name);
  compiled_.insert(names.begin(), names.end());
}

void CodegenRun::replace_calls() {
  for (auto& [name, function] : module_.functions) {
    for (Node& node : function.nodes) {
      auto* invoke = std::get_if<Invoke>(&node.kind);
      if (invoke != nullptr && compiled_.contains(invoke->function))
        node.kind = Extern{invoke->function, invoke->args};
    }
  }
  compiled_.clear();
  drop_uncalled_composites(module_);
}

Result<CodegenRun::Batch> CodegenRun::next_batch(const std::vector<Symbol>& names,
                                                 size_t& next) const {
  Batch batch;
  size_t bytes = 0;
  while (next < names.size() && batch.names.size() < kBatchFunctions && bytes < kBatchBytes) {
    Symbol name = names[next++];
    BYOC_TRY_STATUS(check_static(module_.function(name), name));
    batch.names.push_back(name);
    batch.inputs.push_back(compile_input(module_, name));
    bytes += batch.inputs.back().graph_json.size();
  }
  return batch;
}

CodegenRun::Batch CodegenRun::split_off_half(Batch& batch) {
  Batch half;
  auto middle = static_cast<ptrdiff_t>(batch.names.size() / 2);
  half.names.assign(batch.names.begin() + middle, batch.names.end());
  half.inputs.assign(std::make_move_iterator(batch.inputs.begin() + middle),
                     std::make_move_iterator(batch.inputs.end()));
  batch.names.erase(batch.names.begin() + middle, batch.names.end());
  batch.inputs.erase(batch.inputs.begin() + middle, batch.inputs.end());
  return half;
}

// Compiles a batch, or finds the functions in it that the plugin declines. After kRetries of those
// the rest goes on as two halves: n functions cost O(n log n), even where all are declined.
Status CodegenRun::compile(const Plugin& plugin, Batch whole) {
  std::vector<Batch> waiting;
  waiting.push_back(std::move(whole));
  while (!waiting.empty()) {
    Batch batch = std::move(waiting.back());
    waiting.pop_back();
    for (size_t retry = 0; !batch.names.empty(); ++retry) {
      if (retry > kRetries && batch.names.size() > 1) {
        waiting.push_back(split_off_half(batch));
        waiting.push_back(std::move(batch));
        break;
      }
      BYOC_TRY(bool done, try_compile(plugin, batch));
      if (done) break;
    }
  }
  return {};
}

// True: all were compiled. False: one was declined, and is no longer in the batch.
Result<bool> CodegenRun::try_compile(const Plugin& plugin, Batch& batch) {
  CompileResult result = plugin.compile(batch.inputs, {context_.target_json, context_.threads,
                                                       context_.compile_flags, context_.cancel});
  if (result.status.ok()) {
    attach(std::move(result), batch.names);
    return true;
  }
  auto at = result.function;
  bool points = at >= 0 && static_cast<size_t>(at) < batch.names.size();
  if (result.status.code() != Code::kDeclined || !points) {
    return std::move(result.status)
        .at(points ? cat("@", batch.names[static_cast<size_t>(at)])
                   : cat("compiling for ", plugin.id()));
  }
  Symbol declined = batch.names[static_cast<size_t>(at)];
  batch.names.erase(batch.names.begin() + at);
  batch.inputs.erase(batch.inputs.begin() + at);
  BYOC_TRY_STATUS(decline(plugin, declined, result.status));
  return false;
}

// The host's function of that name would be called in place of the compiled one, or the reverse.
Status CodegenRun::check_name(const std::string& id, Symbol name) const {
  if (!externals_.contains(name.text())) return {};
  return invalid(cat("\"", id, "\" has to compile @", name,
                     ", and the module calls an external function of that name"))
      .with_slug("symbol-clash")
      .with_help("rename one of the two");
}

Result<bool> CodegenRun::run(const std::string& id) {
  std::vector<Symbol> names = functions_of(id);
  if (names.empty()) return false;
  if (!context_.plugins)
    return not_found(cat("no plugins are loaded, so \"", id, "\" cannot compile"))
        .with_slug("unknown-plugin");
  BYOC_TRY(const Plugin* plugin, context_.plugins->get(id));
  for (Symbol name : names) BYOC_TRY_STATUS(check_name(id, name));
  for (size_t next = 0; next < names.size();) {
    BYOC_TRY(Batch batch, next_batch(names, next));
    BYOC_TRY_STATUS(compile(*plugin, std::move(batch)));
  }
  replace_calls();
  BYOC_TRY_STATUS(pass_on_declined(*plugin));
  return true;
}

// Listed plugins come first, in order of priority, and default codegens last: each before those
// that take what it declines.
std::vector<std::string> plugin_order(const IRModule& module, const PassContext& context) {
  std::vector<std::string> order = context.compilers;
  std::set<std::string> others;
  for (const auto& [name, function] : module.functions) {
    if (function.attrs.has("compiler") && name != module.entry)
      others.insert(function.attr("compiler"));
  }
  for (const auto* known : {&context.compilers, &context.defaults}) {
    for (const std::string& id : *known) others.erase(id);
  }
  order.insert(order.begin(), others.begin(), others.end());
  order.insert(order.end(), context.defaults.begin(), context.defaults.end());
  return order;
}

}  // namespace

Result<IRModule> run_codegen(IRModule module, const std::vector<std::string>& plugins,
                             const PassContext& context) {
  const std::vector<std::string> order = plugins.empty() ? plugin_order(module, context) : plugins;
  CodegenRun run(std::move(module), context);
  // Again until nothing is left: `plugins` may list a plugin before one whose declines it takes.
  for (bool any = true; any;) {
    any = false;
    for (const std::string& id : order) {
      BYOC_TRY(bool had_work, run.run(id));
      any |= had_work;
    }
  }
  return std::move(run).take();
}

}  // namespace byoc
