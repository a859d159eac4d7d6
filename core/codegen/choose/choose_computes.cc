// SPDX-License-Identifier: Apache-2.0
// Applies the policies that the program handed in to each function that a plugin is to compile.
// Where the selector chose one of the plugin's computes, run_codegen compiles that one:
//   before: fn llvm_main_0(%x, %w) {compiler="llvm"} { %0 = conv2d(%x, %w)  return %0 }
//   after:  fn llvm_main_0(%x, %w) {compiler="llvm", compute="direct"} { ... }
// Where it chose a compute of the program's own, or the provider has a schedule, the function
// becomes loops, with its constants as arguments:
//   after:  loops llvm_main_0(x: ..., w: ...) -> (...) { ... } {compiler="llvm", compute="mine"}
#include <algorithm>

#include "byoc/ir/visit.h"
#include "byoc/pass/codegen.h"
#include "byoc/te/module.h"
#include "byoc/translate/policies.h"
#include "core/codegen/choose/fit_weights.h"
#include "core/codegen/choose/loops_in_place.h"
#include "core/codegen/choose/plugin_computes.h"
#include "core/codegen/compile_input.h"
#include "core/codegen/request/input_of.h"
#include "core/codegen/tuned_points.h"
#include "core/region/function_key.h"

namespace byoc {
namespace {

constexpr const char* kDirect = "direct";
// Levels of a plugin's computes: its usual choice comes before OpDef::compute, others after it.
constexpr int kUsualLevel = 20, kOtherLevel = 5;

bool is_open(const Function& function) {
  return !std::ranges::all_of(function.nodes, [](const Node& node) {
    for (size_t k = 0; k < node.types.size(); ++k) {
      if (!is_static(node.types[k]->shape)) return false;
    }
    return true;
  });
}

/// The choices for one function, and the strategies that are offered to its selector.
class Offer {
 public:
  Offer(const Function& function, const te::Policies& policies, const PluginComputes& plugin,
        bool takes_own, te::SeenCalls& seen)
      : anchor_(te::find_anchor(function).node),
        function_(function),
        policies_(policies),
        plugin_(plugin),
        table_(takes_own && policies.strategies ? policies.strategies : te::direct_strategies()),
        seen_(seen) {}

  /// Translates with the computes of both, or with the program's alone.
  Result<te::Dag> translate(const IRModule& module, const te::Target& target, bool with_plugin) {
    of_plugin_.clear(), own_.clear();
    const te::StrategySelector selector =
        policies_.selector ? policies_.selector : te::from_history(te::by_level());
    auto choose = [&](const te::Site& site, std::span<const te::Strategy> all) -> Result<size_t> {
      te::Site full = site;
      if (is_anchor(site)) full.recorded = plugin_.recorded;
      Result<size_t> choice = selector(full, all);
      if (!choice.ok() || *choice >= all.size()) return choice;
      note(site, all, all[*choice].name, with_plugin);
      return choice;
    };
    return te::translate_to_te(module, function_, target, choose,
                               [&](const te::Site& site) { return strategies(site, with_plugin); });
  }
  const std::string& of_plugin() const { return of_plugin_; }  ///< the choice; "": none of its own
  const std::string& own() const { return own_; }  ///< the first compute of the program; "": none
  Symbol loc() const { return function_.nodes[anchor_].loc; }
  std::string op() const {
    const auto* call = std::get_if<Call>(&function_.nodes[anchor_].kind);
    return call == nullptr ? te::find_anchor(function_).name : std::string(call->op->name);
  }

 private:
  bool is_anchor(const te::Site& site) const {
    return site.function == &function_ && site.node == anchor_;
  }
  bool has_plugin(const std::string& name) const {
    return std::ranges::find(plugin_.names, name) != plugin_.names.end();
  }
  // A compute of the plugin has the direct expression in the Dag, which is not used for code then.
  std::vector<te::Strategy> strategies(const te::Site& site, bool with_plugin) const {
    std::vector<te::Strategy> out = table_(site);
    if (!with_plugin || !is_anchor(site) || plugin_.names.empty() || !site.op->compute) return out;
    if (!has_plugin(kDirect))
      std::erase_if(out, [](const te::Strategy& s) { return s.name == kDirect; });
    for (const std::string& name : plugin_.names) {
      auto cost = plugin_.cost_ns.find(name);
      auto known = std::ranges::find(out, name, &te::Strategy::name);
      if (known == out.end()) {
        out.push_back({.name = name,
                       .level = name == plugin_.usual ? kUsualLevel : kOtherLevel,
                       .compute = site.op->compute,
                       .has_generic_schedule = name == kDirect});
        known = out.end() - 1;
      }
      if (cost != plugin_.cost_ns.end())
        known->cost_ns = [ns = cost->second](const te::Site&) { return ns; };
    }
    return out;
  }
  void note(const te::Site& site, std::span<const te::Strategy> all, const std::string& name,
            bool with_plugin) {
    for (const te::Strategy& strategy : all) seen_.computes.insert(strategy.name);
    seen_.ops.insert(std::string(site.op->name));
    const Symbol loc = site.function->nodes[site.node].loc;
    if (!loc.empty()) seen_.nodes.insert(loc.str());
    if (with_plugin && is_anchor(site) && has_plugin(name)) of_plugin_ = name;
    else if (name != kDirect && own_.empty()) own_ = name;
  }

  uint32_t anchor_;
  const Function& function_;
  const te::Policies& policies_;
  const PluginComputes& plugin_;
  te::StrategyTable table_;
  te::SeenCalls& seen_;
  std::string of_plugin_, own_;
};

class Choosing {
 public:
  Choosing(IRModule module, const PassContext& context, te::Policies policies, te::Target target)
      : module_(std::move(module)),
        context_(context),
        policies_(std::move(policies)),
        target_(std::move(target)) {}

  Result<IRModule> run() {
    std::vector<Symbol> names;
    bool is_first = true;  // a run that sees all functions
    for (const auto& [name, function] : module_.functions) {
      if (function.attrs.has(kComputeKnob)) is_first = false;
      else if (is_region(module_, name, function) && !te::has_loops(function) && !is_open(function))
        names.push_back(name);
    }
    for (Symbol name : names) {
      Status status = choose(name);
      const std::string place = cat("@", name);
      if (!status.ok() && !status.where().starts_with(place)) status = std::move(status).at(place);
      BYOC_TRY_STATUS(std::move(status));
    }
    if (is_first && policies_.check) BYOC_TRY_STATUS(policies_.check(seen_));
    pass_constants(module_, lifted_);
    return std::move(module_);
  }

 private:
  Status choose(Symbol name) {
    const Function& function = module_.function(name);
    BYOC_TRY(const Plugin* plugin, context_.plugins->get(function.attr("compiler")));
    BYOC_TRY(const PluginComputes* computes, computes_of_function(*plugin, name));
    const bool takes_own = plugin->takes_loops() && (policies_.strategies || policies_.provider);
    if (!takes_own && computes->names.size() < 2) return {};
    Offer offer(function, policies_, *computes, takes_own, seen_);
    Result<te::Dag> dag = offer.translate(module_, target_, true);
    if (dag.ok() && !offer.own().empty() && is_special(offer)) {
      remark(*plugin, offer,
             cat("loops with the compute ", offer.own(), ", which excludes the compute ",
                 offer.of_plugin(), " of ", plugin->id()));
      dag = offer.translate(module_, target_, false);
    }
    if (dag.status().code() == Code::kUnimplemented) return {};  // the plugin may have a kernel
    BYOC_TRY_STATUS(dag.status());
    if (takes_own) {
      BYOC_TRY(std::optional<Made> made, schedule_of(*dag, offer));
      if (made) return replace(name, *plugin, offer, *made);
    }
    if (offer.of_plugin().empty()) return {};
    remark(*plugin, offer, cat("compute ", offer.of_plugin()));
    module_.function(name).attrs.set(kComputeKnob, offer.of_plugin());
    return {};
  }

  // Returns true when the plugin's compute has another expression than the op's own.
  static bool is_special(const Offer& offer) {
    return !offer.of_plugin().empty() && offer.of_plugin() != kDirect;
  }

  // Functions with equal graphs have equal spaces.
  Result<const PluginComputes*> computes_of_function(const Plugin& plugin, Symbol name) {
    const Function& function = module_.function(name);
    auto [at, is_new] = computes_.try_emplace(region_key(module_, function));
    if (is_new && (policies_.selector || policies_.strategies)) {
      BYOC_TRY(at->second, computes_of(plugin, input_of(module_, function, name), context_));
    }
    return &at->second;
  }

  struct Made {
    te::Schedule schedule;
    bool is_provided;  // false: the plain loops
  };
  // Returns nullopt when the plugin compiles the function in its own way.
  Result<std::optional<Made>> schedule_of(const te::Dag& dag, const Offer& offer) {
    if (policies_.provider && !is_special(offer)) {
      if (std::optional<Result<te::Schedule>> made = policies_.provider(dag)) {
        if (!made->ok()) return std::move(made->status()).at(cat("the schedule of ", dag.name));
        return std::optional(Made{**std::move(made), true});
      }
    }
    if (offer.own().empty()) return std::optional<Made>();
    return std::optional(Made{te::Schedule(dag), false});
  }

  Status replace(Symbol name, const Plugin& plugin, const Offer& offer, const Made& made) {
    BYOC_TRY(te::LoopFunction loops, te::lower(made.schedule));
    BYOC_TRY(Function function, loops_in_place_of(module_, name, loops));
    const std::string compute = offer.own().empty() ? kDirect : offer.own();
    remark(plugin, offer,
           cat("loops with the compute ", compute,
               made.is_provided ? ", scheduled by the program" : ""));
    function.attrs.set(kComputeKnob, compute);
    lifted_[name] = constants_of(module_, module_.function(name));
    module_.function(name) = std::move(function);
    return {};
  }

  void remark(const Plugin& plugin, const Offer& offer, std::string words) const {
    std::vector<Symbol> locs;
    if (!offer.loc().empty()) locs.push_back(offer.loc());
    context_.remark(
        {Report::Remark::kNote, plugin.id(), offer.op(), std::move(locs), std::move(words)});
  }

  IRModule module_;
  const PassContext& context_;
  te::Policies policies_;
  te::Target target_;
  te::SeenCalls seen_;
  LiftedConstants lifted_;
  std::map<std::string, PluginComputes> computes_;  // by region_key
};

Result<IRModule> choose(IRModule module, te::Policies policies, const PassContext& context) {
  const bool is_any = policies.selector || policies.strategies || policies.provider;
  if (!is_any || !context.plugins) return module;
  BYOC_TRY(te::Target target,
           te::parse_target(context.target_json == "{}" ? "native" : context.target_json));
  target.threads = std::max(context.threads, 1U);
  return Choosing(std::move(module), context, std::move(policies), std::move(target)).run();
}

}  // namespace

Result<IRModule> choose_computes(IRModule module, const std::vector<std::string>& rules,
                                 const PassContext& context) {
  std::vector<std::shared_ptr<const te::Policies>> all = context.policies;
  if (!rules.empty()) {
    BYOC_TRY(te::Policies parsed, te::parse_rules(rules, *context.ops));
    all.insert(all.begin(), std::make_shared<const te::Policies>(std::move(parsed)));
  }
  // Calls of compiled functions are gone, and rules about these are no error.
  if (!module.external_mods.empty()) all = te::unchecked(all);
  BYOC_TRY(module, choose(std::move(module), te::joined(all), context));
  BYOC_TRY_STATUS(fit_weights(module, context));
  return module;
}

}  // namespace byoc
