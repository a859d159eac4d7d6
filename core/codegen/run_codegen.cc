// Plugins compile the functions that carry their name; calls become externs.
//   before: fn main(%x) { %0 = @onednn_main_0(%x)  return %0 }
//   after:  fn main(%x) { %0 = call_dps_packed(@onednn_main_0, %x) : f32[1,8]  return %0 }
//           and external_mods of the module has one entry more
#include <algorithm>
#include <set>
#include <unordered_set>

#include "byoc/base/check.h"
#include "byoc/compile.h"
#include "byoc/op/op.h"
#include "byoc/pass/codegen.h"
#include "byoc/text/graph_json.h"
#include "core/codegen/count_work.h"
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
      : module_(std::move(module)), context_(context) {}
  /// Compiles everything of that plugin; functions it declines stay in the module, dissolved into
  /// ops, for the default codegens behind it.
  Status run(const std::string& id);
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
  Status fuse_declined(const Plugin& plugin);

  IRModule module_;
  const PassContext& context_;
  std::unordered_set<Symbol> compiled_;  // by this plugin; their calls are still to be replaced
  size_t declined_ = 0;
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
  ++declined_;
  return {};
}

// The default codegens behind this plugin take the ops of what it declined; without any, it stays
// a plain function that the next inline_functions puts back into its caller.
Status CodegenRun::fuse_declined(const Plugin& plugin) {
  if (declined_ == 0 || context_.defaults.empty()) return {};
  declined_ = 0;
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

Status CodegenRun::run(const std::string& id) {
  std::vector<Symbol> names = functions_of(id);
  if (names.empty()) return {};
  if (!context_.plugins)
    return not_found(cat("no plugins are loaded, so \"", id, "\" cannot compile"))
        .with_slug("unknown-plugin");
  BYOC_TRY(const Plugin* plugin, context_.plugins->get(id));
  for (size_t next = 0; next < names.size();) {
    BYOC_TRY(Batch batch, next_batch(names, next));
    BYOC_TRY_STATUS(compile(*plugin, std::move(batch)));
  }
  replace_calls();
  return fuse_declined(*plugin);
}

}  // namespace

Result<IRModule> run_codegen(IRModule module, const std::vector<std::string>& plugins,
                             const PassContext& context) {
  std::vector<std::string> order = plugins;
  if (order.empty()) {
    // The default codegens come last: they take what others decline.
    std::set<std::string> ids;
    for (const auto& [name, function] : module.functions) {
      if (function.attrs.has("compiler") && name != module.entry)
        ids.insert(function.attr("compiler"));
    }
    for (const std::string& id : ids) {
      if (std::find(context.defaults.begin(), context.defaults.end(), id) == context.defaults.end())
        order.push_back(id);
    }
    order.insert(order.end(), context.defaults.begin(), context.defaults.end());
  }
  CodegenRun run(std::move(module), context);
  for (const std::string& id : order) BYOC_TRY_STATUS(run.run(id));
  return std::move(run).take();
}

}  // namespace byoc
