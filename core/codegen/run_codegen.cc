// SPDX-License-Identifier: Apache-2.0
// Compiles each function with the plugin that its attribute `compiler` names, and replaces calls
// of these functions by externs. Each compiled batch adds one entry to the module's external_mods.
// Equal functions are compiled once; the others become aliases of the first. lift_weights.h makes
// equal ones of those that differ in weights, where their plugin has weights as inputs. Plugins
// compile side by side, and functions that are kept on disk (kept/) are taken from there.
//   before: fn main(%x) {
//             %0 = @onednn_main_0(%x)
//             return %0
//           }
//   after:  fn main(%x) {
//             %0 = call_dps_packed(@onednn_main_0, %x) : f32[1,8]
//             return %0
//           }
#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "byoc/base/check.h"
#include "byoc/compile.h"
#include "byoc/ir/external_symbols.h"
#include "byoc/pass/codegen.h"
#include "byoc/te/module.h"
#include "core/codegen/batch.h"
#include "core/codegen/compile_input.h"
#include "core/codegen/count_work.h"
#include "core/codegen/decline.h"
#include "core/codegen/kernels/joins.h"
#include "core/codegen/lift_weights.h"
#include "core/codegen/request/input_of.h"
#include "core/region/function_key.h"
#include "core/region/judge.h"

namespace byoc {
namespace {

// The limits of one call of compile: host and plugin keep the JSON and the results in memory until
// the call returns, and after a decline the rest of the batch is compiled again.
constexpr size_t kBatchFunctions = 4096, kBatchBytes = size_t{64} << 20, kRetries = 8;

class CodegenRun {
  using Region = Batch::Region;
  struct Place {
    size_t module, function;  // in external_mods
  };

 public:
  CodegenRun(IRModule module, const PassContext& context)
      : module_(std::move(module)), context_(context), points_(context) {
    if (auto* before = std::any_cast<Compiled>(context.memory.get())) known_ = std::move(*before);
    for (std::string_view symbol : external_symbols(module_)) externals_.emplace(symbol);
  }
  /// Compiles all functions of those plugins; functions that they decline become plain ones with
  /// kDeclinedAttr. Returns whether there was a function to compile.
  Result<bool> run(const std::vector<std::string>& ids);
  IRModule take() && {
    if (context_.memory) *context_.memory = std::move(known_);
    return std::move(module_);
  }

 private:
  // The functions of one plugin, each of which is in one batch.
  struct Work {
    const Plugin* plugin;
    std::vector<Region> distinct;
    size_t next = 0;
  };
  std::vector<Region> regions_of(const std::string& id);
  Result<std::vector<Work>> works_of(const std::vector<std::string>& ids);
  Result<std::vector<Batch>> next_batches(Work& work);
  Status add_to(Batch& batch, Region region);
  CompileOptions options() const {
    return {context_.target_json, context_.threads, context_.compile_flags, context_.cancel};
  }
  Result<std::optional<TunedChoice>> choose(const Plugin& plugin, CompileFunction& input,
                                            Region region);
  Status compile(const Plugin& plugin, Batch whole);
  Result<bool> try_compile(const Plugin& plugin, Batch& batch);
  std::vector<Region> distinct_of(const std::vector<Region>& regions);
  void attach(CompileResult result, Batch& batch);
  void attach_equal(Symbol name, ExternalFunction& kernel);
  void attach_unnamed(Place place, ExternalFunction& kernel, Region region);
  void attach_alias(ExternalFunction& kernel, Region region);
  void remove(Region region);
  void replace_calls();
  Status check_region(const std::string& id, Region region) const;

  IRModule module_;
  const PassContext& context_;
  const KeptCompiles kept_;
  TunedPoints points_;
  std::unordered_map<Symbol, size_t> calls_;      // of functions, when there are points to choose
  std::set<std::string, std::less<>> externals_;  // external symbols of the input module
  std::unordered_set<Symbol> joins_;              // is_join: all that have been compiled
  std::unordered_set<Symbol> compiled_;  // by this plugin; their calls are still to be replaced
  // Compiled functions, also of earlier runs of this pass for the same module.
  struct Compiled {
    std::unordered_map<Symbol, Place> kernels;         // by compiled function
    std::unordered_map<std::string, Symbol> first_of;  // by region_key, which has the plugin in it
    std::unordered_map<std::string, Place> unnamed;    // by symbol that unnamed_input_of has made
  };
  Compiled known_;
  std::unordered_map<Symbol, std::vector<Region>> equal_;  // by the first: the others, not compiled
};

std::vector<Batch::Region> CodegenRun::regions_of(const std::string& id) {
  std::vector<Region> out;
  for (Region at = module_.functions.begin(); at != module_.functions.end(); ++at) {
    const auto& [name, function] = *at;
    if (is_region(module_, name, function) && function.attr("compiler") == id) out.push_back(at);
  }
  return out;
}

// Returns the first function of each key. The others wait for its kernel, or share it at once when
// it was compiled before.
std::vector<Batch::Region> CodegenRun::distinct_of(const std::vector<Region>& regions) {
  std::vector<Region> out;
  for (Region region : regions) {
    auto [at, is_new] =
        known_.first_of.try_emplace(region_key(module_, region->second), region->first);
    const Symbol first = at->second;
    if (is_new) {
      out.push_back(region);
    } else if (auto known = known_.kernels.find(first); known != known_.kernels.end()) {
      auto [module, function] = known->second;
      attach_alias(module_.external_mods[module].functions[function], region);
    } else {
      equal_[first].push_back(region);
    }
  }
  return out;
}

std::vector<std::string> texts_of(const std::vector<Symbol>& symbols) {
  std::vector<std::string> out;
  for (Symbol symbol : symbols) out.push_back(symbol.str());
  return out;
}

// "llvm" with the compute "direct" becomes "llvm: direct".
std::string with_compute(const std::string& implementation, const std::string& compute) {
  return implementation.empty() ? compute : cat(implementation, ": ", compute);
}

void CodegenRun::attach(CompileResult result, Batch& batch) {
  for (size_t k = 0; k < batch.regions.size(); ++k) {
    const Region region = batch.regions[k];
    const auto& [name, function] = *region;
    if (batch.choices[k]) points_.report(std::move(batch.choices[k]->entry));
    ExternalFunction& kernel = result.module.functions[k];
    count_work(module_, function, kernel);
    if (function.attrs.has(kComputeKnob))
      kernel.implementation = with_compute(kernel.implementation, function.attr(kComputeKnob));
    for (Dim size : open_sizes(module_, function)) kernel.sizes.push_back(size.name().str());
    const Place place{module_.external_mods.size(), k};
    if (name.text() == kernel.symbol) {
      known_.kernels[name] = place;
      kernel.locs = texts_of(all_locs(module_, function));
      attach_equal(name, kernel);
      remove(region);
    } else {
      known_.unnamed[kernel.symbol] = place;
      attach_unnamed(place, kernel, region);
    }
  }
  for (const auto& packed : result.packed) module_.add_constant(packed);
  module_.external_mods.push_back(std::move(result.module));
}

// Gives the kernel to the functions that are equal to `name` and wait for it.
void CodegenRun::attach_equal(Symbol name, ExternalFunction& kernel) {
  if (auto equal = equal_.extract(name); !equal.empty()) {
    for (Region other : equal.mapped()) attach_alias(kernel, other);
  }
}

// Gives a kernel whose symbol is no function's to a function.
void CodegenRun::attach_unnamed(Place place, ExternalFunction& kernel, Region region) {
  known_.kernels[region->first] = place;
  attach_equal(region->first, kernel);
  attach_alias(kernel, region);
}

void CodegenRun::attach_alias(ExternalFunction& kernel, Region region) {
  kernel.aliases.push_back({region->first.str(), texts_of(all_locs(module_, region->second))});
  remove(region);
}

void CodegenRun::remove(Region region) {
  if (is_join(region->second)) joins_.insert(region->first);
  compiled_.insert(region->first);
  module_.functions.erase(region);
}

void CodegenRun::replace_calls() {
  for (auto& [name, function] : module_.functions) {
    Strings joins = function.attrs.strings(kJoinsAttr);
    for (Node& node : function.nodes) {
      auto* invoke = std::get_if<Invoke>(&node.kind);
      if (invoke == nullptr || !compiled_.contains(invoke->function)) continue;
      if (joins_.contains(invoke->function)) joins.push_back(invoke->function.str());
      node.kind = Extern{invoke->function, invoke->args};
    }
    if (!joins.empty()) function.attrs.set(kJoinsAttr, std::move(joins));
  }
  compiled_.clear();
  drop_uncalled_composites(module_);
}

// Returns the tuned point of a function, of its attribute `compute` only: "direct" excludes points
// of Winograd. For loops the attribute records which compute made them. It is not a knob.
Result<std::optional<TunedChoice>> CodegenRun::choose(const Plugin& plugin, CompileFunction& input,
                                                      Region region) {
  const Function& function = region->second;
  const std::string compute = te::has_loops(function) ? "" : function.attr(kComputeKnob);
  if (!points_.is_active() && compute.empty()) {
    points_.report_own(plugin, input);
    return std::optional<TunedChoice>();
  }
  size_t calls = calls_[region->first];
  if (auto equal = equal_.find(region->first); equal != equal_.end()) {
    for (Region other : equal->second) calls += calls_[other->first];
  }
  return points_.choose(plugin, input, compute, calls);
}

Status CodegenRun::add_to(Batch& batch, Region region) {
  const auto& [name, function] = *region;
  const Plugin& plugin = *batch.job.plugin;
  BYOC_TRY_STATUS(check_static(function, name));
  CompileFunction input = input_of(module_, function, name);
  BYOC_TRY(auto choice, choose(plugin, input, region));
  if (!plugin.kept_as().empty())
    input = unnamed_input_of(module_, function, plugin.id(), input.point_json);
  batch.regions.push_back(region);
  batch.job.inputs.push_back(std::move(input));
  batch.choices.push_back(std::move(choice));
  return {};
}

// Returns a batch, or batches of one function each, within the limits.
Result<std::vector<Batch>> CodegenRun::next_batches(Work& work) {
  std::vector<Batch> out;
  const bool is_single = compiles_singly(*work.plugin);
  size_t bytes = 0;
  for (size_t n = 0; work.next < work.distinct.size() && n < kBatchFunctions && bytes < kBatchBytes;
       ++n) {
    if (is_single || out.empty()) out.emplace_back().job.plugin = work.plugin;
    BYOC_TRY_STATUS(add_to(out.back(), work.distinct[work.next++]));
    bytes += out.back().job.inputs.back().graph_json.size();
  }
  return out;
}

// Compiles a batch, or finds the functions in it that the plugin declines. After kRetries declines
// the rest is split in two halves: n functions cost O(n log n), even when all are declined.
Status CodegenRun::compile(const Plugin& plugin, Batch whole) {
  std::vector<Batch> waiting;
  waiting.push_back(std::move(whole));
  while (!waiting.empty()) {
    Batch batch = std::move(waiting.back());
    waiting.pop_back();
    for (size_t retry = 0; !batch.regions.empty(); ++retry) {
      if (retry > kRetries && batch.regions.size() > 1) {
        waiting.push_back(batch.split_off_half());
        waiting.push_back(std::move(batch));
        break;
      }
      BYOC_TRY(bool done, try_compile(plugin, batch));
      if (done) break;
    }
  }
  return {};
}

// Returns true when all functions were compiled, and false when the batch is to be tried again: one
// was declined and is removed from it, or the plugin refused its point.
Result<bool> CodegenRun::try_compile(const Plugin& plugin, Batch& batch) {
  auto& [_, inputs, first_result] = batch.job;
  if (known_.unnamed.contains(inputs[0].symbol)) {  // differs from an earlier one in its attributes
    const Place place = known_.unnamed[inputs[0].symbol];
    attach_unnamed(place, module_.external_mods[place.module].functions[place.function],
                   batch.regions[0]);
    return true;
  }
  CompileResult result =
      first_result ? *std::move(first_result) : compile_one(batch.job, kept_, options());
  first_result.reset();
  if (result.status.ok()) {
    attach(std::move(result), batch);
    return true;
  }
  const auto at = static_cast<size_t>(result.function);
  const Code code = result.status.code();
  if (result.function < 0 || at >= batch.regions.size())
    return std::move(result.status).at(cat("compiling for ", plugin.id()));
  if (code == Code::kInvalidArgument && !inputs[at].point_json.empty()) {
    BYOC_TRY_STATUS(points_.drop(plugin, inputs[at], *batch.choices[at], result.status));
    return false;
  }
  Region declined = batch.regions[at];
  if (code != Code::kDeclined) return std::move(result.status).at(cat("@", declined->first));
  batch.erase(at);
  const Decline decline{plugin, result.status, result.node};
  BYOC_TRY_STATUS(apply(decline, module_, declined->first, context_));
  if (auto equal = equal_.extract(declined->first); !equal.empty()) {
    for (Region region : equal.mapped())
      BYOC_TRY_STATUS(apply(decline, module_, region->first, context_));
  }
  return false;
}

// Checks that a function has results, and that no external function of the module has its name: one
// would be called in place of the other.
Status CodegenRun::check_region(const std::string& id, Region region) const {
  const auto& [name, function] = *region;
  if (function.results.empty()) {
    return invalid(cat("\"", id, "\" has to compile @", name, ", which returns nothing"))
        .with_slug("no-results")
        .with_help("remove its calls, as eliminate_dead_code does");
  }
  if (!externals_.contains(name.text())) return {};
  return invalid(cat("\"", id, "\" has to compile @", name,
                     ", and the module calls an external function of that name"))
      .with_slug("symbol-clash")
      .with_help("rename one of the two");
}

// Returns the plugins that have functions to compile.
Result<std::vector<CodegenRun::Work>> CodegenRun::works_of(const std::vector<std::string>& ids) {
  std::vector<Work> out;
  std::set<std::string_view> known;  // a default codegen may be listed as well
  for (const std::string& id : ids) {
    if (!known.insert(id).second) continue;
    const std::vector<Region> regions = regions_of(id);
    if (regions.empty()) continue;
    if (!context_.plugins)
      return not_found(cat("no plugins are loaded, so \"", id, "\" cannot compile"))
          .with_slug("unknown-plugin");
    BYOC_TRY(const Plugin* plugin, context_.plugins->get(id));
    for (Region region : regions) BYOC_TRY_STATUS(check_region(id, region));
    out.push_back({plugin, distinct_of(regions)});
  }
  return out;
}

Result<bool> CodegenRun::run(const std::vector<std::string>& ids) {
  BYOC_TRY(std::vector<Work> works, works_of(ids));
  if (points_.is_active()) calls_ = count_calls(module_);
  for (bool any = true; any;) {
    std::vector<Batch> batches;
    for (Work& work : works) {
      BYOC_TRY(std::vector<Batch> next, next_batches(work));
      std::move(next.begin(), next.end(), std::back_inserter(batches));
    }
    std::vector<CompileJob*> jobs;
    for (Batch& batch : batches) jobs.push_back(&batch.job);
    run_jobs(jobs, kept_, options());
    for (Batch& batch : batches) BYOC_TRY_STATUS(compile(*batch.job.plugin, std::move(batch)));
    any = !batches.empty();
  }
  std::erase_if(known_.first_of,
                [&](const auto& item) { return !known_.kernels.contains(item.second); });
  replace_calls();
  return !works.empty();
}

// Returns the plugins in the order of compilation: the listed ones in order of priority, then the
// default codegens. Each one comes before those that take what it declines.
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
  lift_weights(module, context);
  CodegenRun run(std::move(module), context);
  // Repeats until nothing is left: a plugin may come before one whose declined functions it takes.
  for (bool any = true; any;) {
    BYOC_TRY(any, run.run(order));
  }
  return std::move(run).take();
}

}  // namespace byoc
