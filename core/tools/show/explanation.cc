// SPDX-License-Identifier: Apache-2.0
#include "core/tools/show/explanation.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "byoc/extend/loops.h"
#include "core/tools/show/op_trace.h"

namespace byoc::driver {
namespace {

std::vector<std::string> asked_plugins(const PassContext& context) {
  std::vector<std::string> out = context.compilers;
  for (const std::string& id : context.defaults) {
    if (std::find(out.begin(), out.end(), id) == out.end()) out.push_back(id);
  }
  return out;
}

/// Makes a row for each op of the model that runs, in the order of the functions that run them.
class Rows {
 public:
  explicit Rows(const OpTrace& trace)
      : trace_(trace), first_row_(trace.labels().ops().size(), OpLabels::kNone) {}

  std::vector<ExplainedOp> take(std::vector<RunOp>& added) && {
    for (const PlacedOp& op : trace_.placement().ops) {
      uint32_t label = trace_.labels().find(op.name);
      if (label != OpLabels::kNone && !is_helper(op, label)) add(op, label);
    }
    for (const PlacedOp& op : trace_.placement().ops) {
      uint32_t label = trace_.labels().find(op.name);
      if (label == OpLabels::kNone) added.push_back({op.op, op.plugin, op.function});
      else if (is_helper(op, label)) attach(op, label, added);
    }
    return std::move(rows_);
  }

 private:
  /// Returns true for a change of layout that a pass added around an op, with the loc of that op.
  bool is_helper(const PlacedOp& op, uint32_t label) const {
    return op.op.text() == "layout_transform" && trace_.labels().ops()[label].op != op.op;
  }

  void add(const PlacedOp& op, uint32_t label) {
    if (first_row_[label] == OpLabels::kNone)
      first_row_[label] = static_cast<uint32_t>(rows_.size());
    ExplainedOp& row = rows_.emplace_back();
    row.placed = op;
    row.placed.op = trace_.labels().ops()[label].op;
    row.runs.push_back({op.op, op.plugin, op.function});
  }

  void attach(const PlacedOp& op, uint32_t label, std::vector<RunOp>& added) {
    RunOp run{op.op, op.plugin, op.function};
    if (first_row_[label] == OpLabels::kNone) added.push_back(run);
    else rows_[first_row_[label]].runs.push_back(run);
  }

  const OpTrace& trace_;
  std::vector<uint32_t> first_row_;  // by label
  std::vector<ExplainedOp> rows_;
};

/// Adds how a plugin takes an op of a library: as loops, about which plugins make no remark.
void add_loops_opinion(const IRModule* partitioned, const ExplainedOp& op,
                       std::vector<Opinion>& opinions) {
  const Function* body = partitioned == nullptr ? nullptr : partitioned->find(op.placed.function);
  if (body == nullptr || !body->attrs.has(kLibraryOpAttr)) return;
  if (std::ranges::count(opinions, op.placed.plugin, &Opinion::plugin) > 0) return;
  opinions.push_back(
      {Opinion::kTaken, op.placed.plugin, "as loops, which `compute` of the library's op gives"});
}

/// Returns a region per function that runs, with the ops of the model in it.
std::vector<PlacedRegion> regions_of(const Explanation& explanation, const Placement& ran) {
  std::unordered_map<uint32_t, size_t> known;
  std::vector<PlacedRegion> regions;
  for (const PlacedOp& op : ran.ops) {
    if (op.function.empty()) continue;
    if (known.emplace(op.function.id(), regions.size()).second)
      regions.push_back({op.plugin, op.function});
  }
  for (const ExplainedOp& op : explanation.ops) {
    if (op.placed.function.empty()) continue;
    PlacedRegion& region = regions[known.at(op.placed.function.id())];
    ++region.ops;
    region.flops += op.placed.flops;
  }
  return regions;
}

RemovedOp removed_op(const OpTrace& trace, uint32_t label) {
  const OpTrace::Removal& removal = trace.removals()[label];
  const ModelOp& op = trace.labels().ops()[label];
  RemovedOp out{op.op, op.name, "removed", removal.pass, {}, "the pass replaced it"};
  if (removal.pass.text() == "fold_constants") {
    out.how = "folded";
    out.reason = "its value is known before the model runs";
  } else if (removal.pass.text() == "fold_batch_norm") {
    out.how = "folded";
    out.reason = "it is part of the weights and the bias of the op before it";
  } else if (removal.pass.text() == "merge_pads") {
    out.how = "merged";
    out.reason = "the ops that read it pad by themselves";
  } else if (removal.pass.text() == "merge_equal_nodes") {
    out.how = "merged";
    out.reason = "another op computes the same value";
    if (removal.into != OpLabels::kNone) {
      out.into = trace.labels().ops()[removal.into].name;
      out.reason = cat("\"", out.into, "\" computes the same value");
    }
  } else if (removal.pass.text() == "eliminate_dead_code") {
    out.reason = "no output of the model depends on it";
  }
  return out;
}

/// With open sizes each op fails by itself; the inputs are the cause.
std::string why_uncompiled(const IRModule& module, const Status& status) {
  Status inputs = check_static_inputs(module);
  if (inputs.ok()) return status.to_string();
  return cat(inputs.message(), "; ", inputs.help());
}

/// Partitions the model with these compilers. Returns by label the plugin that gets the op, "" for
/// none. The passes run outside of run_passes, so that dumps and times are those of the real run.
Result<std::vector<Symbol>> takers(IRModule module, BuildOptions options,
                                   std::vector<std::string> compilers) {
  options.report = nullptr;
  options.instruments.clear();
  options.compilers = std::move(compilers);
  OpTrace trace;
  BYOC_TRY(PassContext context, make_context(module, options));
  for (const Pass& pass : trace.with_labels(partition_pipeline(context))) {
    BYOC_TRY(module, pass.run(std::move(module), context, pass.args));
  }
  std::vector<Symbol> out(trace.labels().ops().size());
  for (const PlacedOp& op : placement_of(module).ops) {
    uint32_t label = trace.labels().find(op.name);
    if (label != OpLabels::kNone) out[label] = op.plugin;
  }
  return out;
}

bool is_by_cost(const PassContext& context) { return context.option("placement") != "priority"; }

/// Finds the plugins that would run an op if no other plugin came before them.
class Seconds {
 public:
  Seconds(const IRModule& module, const BuildOptions& options, const PassContext& context)
      : module_(module), options_(options), context_(context) {}

  /// Changes kNotReached to kAccepted where the plugin takes the op of that label.
  Status find(uint32_t label, const PlacedOp& placed, std::vector<Opinion>& opinions) {
    for (Opinion& opinion : opinions) {
      std::string id = opinion.plugin.str();
      bool is_offered = std::count(context_.compilers.begin(), context_.compilers.end(), id) > 0;
      if (opinion.kind != Opinion::kNotReached || !is_offered) continue;
      auto [at, is_new] = taken_.try_emplace(id);
      if (is_new) {
        BYOC_TRY(at->second, takers(module_, options_, {id}));
      }
      if (label >= at->second.size() || at->second[label].text() != id) continue;
      opinion.kind = Opinion::kAccepted;
      opinion.reason = reason(placed.plugin.str());
    }
    return {};
  }

 private:
  std::string reason(const std::string& first) const {
    if (is_by_cost(context_)) return chosen_by_cost(first);
    return cat(first, " comes before it in the order");
  }

  const IRModule& module_;
  const BuildOptions& options_;
  const PassContext& context_;
  std::map<std::string, std::vector<Symbol>> taken_;  // by plugin; by label
};

/// Adds to each op the plugin that would get it by priority, where plugins were chosen by cost. Ops
/// that no plugin before the default codegens takes go to the first of those.
Status add_priorities(const IRModule& module, const BuildOptions& options,
                      const PassContext& context, const OpTrace& trace, Explanation& out) {
  std::vector<std::string> order = context.compilers;
  if (!is_by_cost(context) || order.empty()) return {};
  if (!context.defaults.empty()) order.push_back(context.defaults.front());
  BYOC_TRY(const std::vector<Symbol> plugins, takers(module, options, order));
  for (ExplainedOp& op : out.ops) {
    const uint32_t label = trace.labels().find(op.label);
    if (label >= plugins.size()) continue;
    op.by_priority = plugins[label].empty() ? Symbol(order.back()) : plugins[label];
  }
  return {};
}

/// Keeps the modules that reasons are read from: before matches were sought, and with the regions.
class Snapshots {
 public:
  Instrument instrument() {
    return {.before =
                [this](const Pass& pass, const IRModule& module) {
                  const bool is_first =
                      pass.name == "merge_composites" || pass.name == "annotate_target";
                  if (is_first && !unmatched) unmatched = module;
                },
            .after = [this](const Pass& pass, const IRModule&, const IRModule& after,
                            uint64_t) -> Status {
              if (pass.name == "partition_graph" && !partitioned) partitioned = after;
              return {};
            }};
  }
  std::optional<IRModule> unmatched, partitioned;
};

std::string unjoined_text(const UnjoinedRegions& found) {
  const UnjoinedPair& pair = found.pair;
  std::string ops;
  for (const UnjoinedRegions::Between& op : found.through) {
    ops += cat(ops.empty() ? "" : ", ", op.op, op.op.empty() ? "" : " ", "\"", op.name, "\"");
    if (!op.reason.empty()) ops += cat(" (", pair.plugin, ": ", op.reason, ")");
  }
  switch (pair.why) {
    case UnjoinedPair::kBetween:
      return cat("between them: ", ops);
    case UnjoinedPair::kAround:
      return cat("a value leaves the first and comes back to the second through ", ops);
    case UnjoinedPair::kOps:
      return cat("together they have ", pair.has, " ops, at most ", pair.limit, " fit");
    case UnjoinedPair::kBytes:
      return cat("together they have ", pair.has, " bytes, at most ", pair.limit, " fit");
    case UnjoinedPair::kUnconnected:
      return cat("no value goes from one to the other, and ", pair.plugin,
                 " has no flag BYOC_PLUGIN_HORIZONTAL");
    case UnjoinedPair::kOptimisation:
      return "-O0 joins no regions";
    case UnjoinedPair::kSearch:
      break;
  }
  return "nothing forbids it: the search for regions has not joined them";
}

/// Returns the pairs with the ops between them as the model names them.
std::vector<UnjoinedRegions> unjoined_in(const IRModule& partitioned, const PassContext& context,
                                         const OpTrace& trace, const Explanation& explained) {
  std::unordered_map<uint32_t, const ExplainedOp*> by_loc;
  for (const ExplainedOp& op : explained.ops) by_loc.emplace(op.label.id(), &op);
  std::vector<UnjoinedRegions> out;
  for (UnjoinedPair& pair : unjoined_regions(partitioned, *context.plugins, context.level)) {
    UnjoinedRegions& row = out.emplace_back();
    row.pair = std::move(pair);
    for (Symbol loc : row.pair.through) {
      const uint32_t label = trace.labels().find(loc);
      if (label == OpLabels::kNone) {
        row.through.push_back({{}, loc, ""});
        continue;
      }
      UnjoinedRegions::Between op{trace.labels().ops()[label].op, trace.labels().ops()[label].name,
                                  ""};
      auto known = by_loc.find(loc.id());
      for (size_t k = 0; known != by_loc.end() && k < known->second->opinions.size(); ++k) {
        const Opinion& opinion = known->second->opinions[k];
        if (opinion.plugin == row.pair.plugin) op.reason = opinion.reason.str();
      }
      row.through.push_back(std::move(op));
    }
    row.reason = unjoined_text(row);
  }
  return out;
}

/// Adds the tests of patterns that failed to the opinions about the ops of that name.
void add_misses(const IRModule& unmatched, const PassContext& context, Symbol selected,
                Explanation& out) {
  std::map<Symbol, ExplainedOp*> wanted;  // by loc
  for (ExplainedOp& op : out.ops)
    if (op.placed.name == selected) wanted.emplace(op.label, &op);
  std::map<std::string, PatternTests> tests;
  for (const auto& [name, function] : unmatched.functions) {
    const UseCounts uses(function);
    for (uint32_t node = 0; node < function.nodes.size(); ++node) {
      auto op = wanted.find(function.nodes[node].loc);
      if (op == wanted.end()) continue;
      for (Opinion& opinion : op->second->opinions) {
        const Plugin* plugin = context.plugins->find(opinion.plugin.str());
        if (opinion.kind != Opinion::kRefused || plugin == nullptr) continue;
        auto& plugins_tests = tests.try_emplace(plugin->id(), *plugin).first->second;
        opinion.patterns = plugins_tests.first_failures(function, uses, node);
      }
    }
  }
}

void add_reasons(const Snapshots& from, const PassContext& context, const OpTrace& trace,
                 Symbol selected, Explanation& out) {
  if (!context.plugins) return;
  if (from.partitioned) out.unjoined = unjoined_in(*from.partitioned, context, trace, out);
  if (from.unmatched && !selected.empty()) add_misses(*from.unmatched, context, selected, out);
}

std::vector<std::string> choices_in(const Report& report) {
  std::vector<std::string> out;
  for (const Report::Remark& remark : report.remarks) {
    const bool is_choice = remark.op == "plan" || remark.op == "placement";
    if (remark.kind == Report::Remark::kNote && is_choice) out.push_back(remark.reason);
  }
  return out;
}

/// Returns plans, rules and symbols that could not be used, and groups of ops that are no kernels.
std::vector<std::string> warnings_in(const Report& report) {
  std::vector<std::string> out;
  for (const Report::Remark& remark : report.remarks) {
    const bool is_unused = remark.op == "plan" || remark.op == "symbol" || remark.op == "group";
    if (remark.kind == Report::Remark::kNote && is_unused &&
        std::find(out.begin(), out.end(), remark.reason) == out.end())
      out.push_back(remark.reason);
  }
  return out;
}

}  // namespace

Result<Explanation> explain(IRModule module, BuildOptions options, Symbol selected) {
  Report report;
  options.report = &report;
  OpTrace trace;
  Snapshots snapshots;
  options.instruments.push_back(trace.instrument());
  options.instruments.push_back(snapshots.instrument());
  module = with_names(std::move(module));
  BYOC_TRY(PassContext context, make_context(module, options));
  std::vector<Pass> passes = trace.with_labels(Pipeline::whole(context));
  Status compiled = run_passes(module, passes, context).status();
  if (!compiled.ok() && !trace.has_placement()) return compiled;
  Explanation out;
  out.placement = trace.placement();
  out.plugins = asked_plugins(context);
  out.choices = choices_in(report);
  out.warnings = warnings_in(report);
  if (!compiled.ok()) out.uncompiled = why_uncompiled(module, compiled);
  out.ops = Rows(trace).take(out.added);
  Opinions opinions(report, trace.labels(), *context.ops);
  Seconds seconds(module, options, context);
  out.placement.ops.clear();
  for (ExplainedOp& op : out.ops) {
    uint32_t label = trace.labels().find(op.placed.name);
    op.label = op.placed.name;
    op.placed.name = trace.labels().ops()[label].name;
    op.opinions = opinions.about(label, op.placed, op.runs[0].op, out.plugins, is_by_cost(context));
    BYOC_TRY_STATUS(seconds.find(label, op.placed, op.opinions));
    add_loops_opinion(snapshots.partitioned ? &*snapshots.partitioned : nullptr, op, op.opinions);
    out.placement.ops.push_back(op.placed);
  }
  BYOC_TRY_STATUS(add_priorities(module, options, context, trace, out));
  out.placement.regions = regions_of(out, trace.placement());
  for (uint32_t label = 0; label < trace.removals().size(); ++label) {
    if (!trace.removals()[label].pass.empty()) out.removed.push_back(removed_op(trace, label));
  }
  add_reasons(snapshots, context, trace, selected, out);
  return out;
}

}  // namespace byoc::driver
