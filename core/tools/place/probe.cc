// SPDX-License-Identifier: Apache-2.0
#include "core/tools/place/probe.h"

#include <algorithm>

#include "byoc/base/json.h"
#include "core/process/child.h"
#include "core/region/composites.h"
#include "core/tools/measure/measure.h"
#include "core/tools/model/compare.h"
#include "core/tools/model/execute.h"
#include "core/tools/model/region_probe.h"
#include "core/tools/rounding/limits.h"
#include "core/tools/verify/verification.h"
#include "runtime/session/profile.h"

namespace byoc::driver {
namespace {

constexpr size_t kBatch = 48;                // probes of one child
constexpr double kMostReferenceFlops = 3e7;  // that the reference computes per probe
constexpr uint64_t kSeed = 11;
constexpr double kMostReorder = 0.95;  // of a step

using Probes = std::span<const Probe>;

// Puts all probes into one module, whose entry calls each once.
IRModule joined(Probes probes, const std::string& plugin, std::vector<size_t>& first_output) {
  IRModule out;
  Function entry;
  struct Call {
    Symbol name;
    std::vector<ValueId> args;
    TypeIds types;
  };
  std::vector<Call> calls;
  for (size_t k = 0; k < probes.size(); ++k) {
    const Probe& probe = probes[k];
    Function body = probe.body;
    for (const auto& [key, buffer] : probe.module.constants) out.constants.emplace(key, buffer);
    for (Node& node : body.nodes) {
      auto* invoke = std::get_if<Invoke>(&node.kind);
      if (invoke == nullptr) continue;
      const Symbol renamed = cat("composite_", k);
      out.functions[renamed] = probe.module.function(invoke->function);
      invoke->function = renamed;
    }
    const Symbol name = cat("probe_", k);
    body.attrs.set("compiler", plugin);
    body.attrs.set("global_symbol", name.str());
    body.attrs.set("primitive", true);
    Call call{name, {}, {}};
    for (size_t p = 0; p < body.num_params(); ++p)
      call.args.push_back({entry.add_param(cat("p", k, "_", p), body.nodes[p].types[0]), 0});
    calls.push_back(std::move(call));
    out.functions[name] = std::move(body);
  }
  for (Call& call : calls) {
    const Function& body = out.function(call.name);
    const uint32_t node = entry.add_invoke(call.name, call.args, body.result_types());
    first_output.push_back(entry.results.size());
    for (uint32_t r = 0; r < body.results.size(); ++r) entry.results.push_back({node, r});
  }
  first_output.push_back(entry.results.size());
  out.functions[out.entry] = std::move(entry);
  return out;
}

// Puts the ops of all probes into the entry itself, each with the loc "probe_K".
IRModule side_by_side(Probes probes, std::vector<size_t>& first_output) {
  IRModule out;
  Function entry;
  std::vector<std::vector<uint32_t>> now(probes.size());
  for (size_t k = 0; k < probes.size(); ++k) {
    const Function& body = probes[k].body;
    for (size_t p = 0; p < body.num_params(); ++p)
      now[k].push_back(entry.add_param(cat("p", k, "_", p), body.nodes[p].types[0]));
  }
  std::vector<ValueId> args;
  for (size_t k = 0; k < probes.size(); ++k) {
    const Function& body = probes[k].body;
    for (const auto& [key, buffer] : probes[k].module.constants) out.constants.emplace(key, buffer);
    for (size_t n = body.num_params(); n < body.nodes.size(); ++n) {
      args.clear();
      for (ValueId arg : body.args(body.nodes[n])) args.push_back({now[k][arg.node], arg.output});
      now[k].push_back(entry.add_copy(body.nodes[n], args));
      entry.nodes.back().loc = cat("probe_", k);
    }
    first_output.push_back(entry.results.size());
    for (ValueId result : body.results)
      entry.results.push_back({now[k][result.node], result.output});
  }
  first_output.push_back(entry.results.size());
  out.functions[out.entry] = std::move(entry);
  return out;
}

// Random floats; integers are 0, which is an index of every tensor with elements.
Result<std::vector<Tensor>> make_inputs(const std::vector<NamedTensor>& types) {
  std::vector<Tensor> out;
  for (size_t k = 0; k < types.size(); ++k) {
    BYOC_TRY(Tensor tensor, Tensor::make(types[k].type));
    const DType dtype = types[k].type.dtype;
    const bool is_float = dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kF16 ||
                          dtype == DType::kBF16;
    if (is_float) fill_random(tensor, kSeed + k);
    out.push_back(std::move(tensor));
  }
  return out;
}

class Batch {
 public:
  Batch(Probes probes, const BuildOptions& build, const ProbePlan& plan)
      : probes_(probes), build_(build), plan_(plan) {}

  Result<Json> run() {
    const std::string what =
        cat("compiling and running ", probes_.size(), " ops by ", probes_[0].plugin);
    process::doing(what);
    alive_.set_progress([what](uint32_t, std::string_view) { process::doing(what); });
    std::vector<size_t> first_output;
    const bool is_rest = probes_[0].is_rest;
    IRModule module = is_rest ? side_by_side(probes_, first_output)
                              : joined(probes_, probes_[0].plugin, first_output);
    BYOC_TRY(Executable executable, is_rest ? compile_rest(module) : compile(module));
    for (const Step& step : executable.program.steps) {
      const std::string& plugin = executable.modules[step.module].plugin;
      if (plugin != probes_[0].plugin && probes_.size() > 1) return failed("declined");
      if (plugin != probes_[0].plugin)
        return unimplemented(cat("compile declined it: ", declined_)).with_slug("declined");
    }
    BYOC_TRY(std::vector<Tensor> inputs, make_inputs(executable.program.inputs));
    const std::vector<StepFacts> facts = facts_of(executable);
    BYOC_TRY(auto session,
             Session::load(std::move(executable), build_.plugins, {.threads = build_.threads}));
    BYOC_TRY(auto timed, TimedSession::make(std::move(session), inputs));
    const double seconds = plan_.min_time_s * static_cast<double>(probes_.size());
    TimedSession* one[] = {timed.get()};
    BYOC_TRY_STATUS(measure(one, {.warmup_s = 0, .min_time_s = seconds, .rounds = 1},
                            [](std::string_view, uint64_t, uint64_t) { return true; }));
    // Steps without arithmetic beside one that has some change layouts. In a network these are
    // paid at borders, if at all.
    const std::vector<double> reorders = reorders_of(*timed);
    std::vector<double> moves(probes_.size(), 0), work(probes_.size(), 0);
    std::vector<double> reordered(probes_.size(), 0);
    for (size_t s = 0; s < facts.size(); ++s) {
      if (facts[s].probe >= probes_.size()) continue;
      const double ns = spread_of(timed->steps[s].ns).p5;
      // A kernel's own clock may run ahead of the step's on a busy machine.
      const double reorder = std::min(reorders[s], kMostReorder * ns);
      reordered[facts[s].probe] += reorder;
      (facts[s].flops > 0 ? work : moves)[facts[s].probe] += ns - reorder;
    }
    const std::vector<std::string> faults = check(first_output, inputs, timed->outputs());
    Json out = Json::array();
    for (size_t k = 0; k < probes_.size(); ++k)
      out.push_back({{"ns", work[k] > 0 ? work[k] : moves[k]},
                     {"reorder_ns", reordered[k]},
                     {"error", faults[k]}});
    return out;
  }

 private:
  struct StepFacts {
    size_t probe = SIZE_MAX;
    double flops = 0;
  };

  // Returns the time of each step that its kernel spends on changes of layout beside its work, as
  // it reports them. A kernel that does nothing else has none: moving is its work.
  static std::vector<double> reorders_of(const TimedSession& timed) {
    std::vector<double> out(timed.steps.size(), 0);
    std::vector<uint8_t> has_work(timed.steps.size(), 0);
    for (const SpanRow& row : span_rows(timed.session(), timed.context())) {
      if (row.is_reorder()) out[row.label.step] += row.min_ns * row.calls_per_run;
      else has_work[row.label.step] = 1;
    }
    for (size_t s = 0; s < out.size(); ++s) out[s] = has_work[s] != 0 ? out[s] : 0;
    return out;
  }

  // Finds the probe of each step by its symbol or by its locs.
  static std::vector<StepFacts> facts_of(const Executable& executable) {
    constexpr std::string_view kPrefix = "probe_";
    std::vector<StepFacts> out;
    for (const Step& step : executable.program.steps) {
      const ExternalFunction& function = executable.modules[step.module].functions[step.function];
      std::vector<std::string> names = step.locs.empty() ? function.locs : step.locs;
      names.insert(names.begin(), step.symbol);
      StepFacts facts;
      facts.flops = function.flops;
      for (const std::string& name : names) {
        if (facts.probe == SIZE_MAX && name.starts_with(kPrefix))
          facts.probe = std::stoul(name.substr(kPrefix.size()));
      }
      out.push_back(facts);
    }
    return out;
  }

  // Costs are kept for all programs, those that are compiled without a log of tuning, too.
  BuildOptions options_of_probes() const {
    BuildOptions out = build_;
    out.history = nullptr;
    out.history_report = nullptr;
    out.require_tuned = false;
    out.cancel = &alive_;
    return out;
  }

  Result<Executable> compile_rest(const IRModule& module) const {
    BuildOptions options = options_of_probes();
    options.compilers = {probes_[0].plugin};
    options.default_codegen = probes_[0].plugin;
    return build(module, options);
  }

  Result<Executable> compile(const IRModule& module) {
    Report report;
    BuildOptions options = options_of_probes();
    options.report = &report;
    BYOC_TRY(PassContext context, make_context(module, options));
    Result<Executable> out = compile_regions(module, context);
    for (const Report::Remark& remark : report.remarks) {
      if (remark.kind == Report::Remark::kDeclined) declined_ = remark.reason;
    }
    return out;
  }

  // Compares with the reference plugin, which computes the quick probes only. Returns a fault per
  // probe, or nothing when there is no reference.
  std::vector<std::string> check(const std::vector<size_t>& first_output,
                                 const std::vector<Tensor>& inputs,
                                 const std::vector<Tensor>& outputs) {
    std::vector<std::string> faults(probes_.size());
    Result<std::string> reference = reference_plugin(*build_.plugins);
    if (!plan_.check || !reference.ok() || *reference == probes_[0].plugin) return faults;
    size_t input = 0;
    for (size_t k = 0; k < probes_.size(); ++k) {
      const size_t begin = input;
      input += probes_[k].body.num_params();
      if (probes_[k].work.flops > kMostReferenceFlops) continue;
      std::vector<size_t> all;
      const IRModule alone = joined(probes_.subspan(k, 1), *reference, all);
      Result<Executable> right = compile(alone);
      if (!right.ok()) continue;  // there is nothing to compare with
      Result<std::vector<Tensor>> expected =
          execute(*std::move(right), build_.plugins, 1,
                  std::span(inputs).subspan(begin, probes_[k].body.num_params()));
      const std::vector<Limit> limits = limits_of(alone, probes_[k].body);
      for (size_t r = 0; expected.ok() && r < expected->size(); ++r) {
        const ComparedValue value =
            compare_value("result", outputs[first_output[k] + r], (*expected)[r], limits[r]);
        if (!value.difference.is_equal)
          faults[k] = cat("differs from ", *reference, ": ", value_text(value));
      }
    }
    return faults;
  }

  // Returns the limits of a probe's results, whose operands are the same for both plugins.
  static std::vector<Limit> limits_of(const IRModule& module, const Function& body) {
    std::vector<Limit> out;
    for (const ValueSteps& steps : result_steps(module, body)) {
      const auto of_integers = static_cast<double>(allowed_steps(module));
      out.push_back(steps.has_size() ? limit_of(steps, {}, -1, "") : Limit{.steps = of_integers});
    }
    return out;
  }

  Probes probes_;
  const BuildOptions& build_;
  const ProbePlan& plan_;
  Cancellation alive_;  // a plugin that reports progress does not hang
  std::string declined_;
};

std::string run_batch(Probes probes, const BuildOptions& build, const ProbePlan& plan) {
  Result<Json> result = Batch(probes, build, plan).run();
  if (result.ok()) return result->dump();
  return Json{{"failed", result.status().message()}}.dump();
}

/// Returns the time of a child: by the number of its probes, and at least a sixth of a batch's.
uint32_t timeout_of(size_t probes, const ProbePlan& plan) {
  return std::max({1u, (plan.timeout_s + 5) / 6,
                   static_cast<uint32_t>(uint64_t{plan.timeout_s} * probes / kBatch)});
}

void measure_range(Probes probes, std::span<ProbeResult> results, const BuildOptions& build,
                   const ProbePlan& plan, uint32_t& hung) {
  if (hung >= kMostHung) {
    for (ProbeResult& result : results)
      result.error = cat("not measured: ", probes[0].plugin, " hung on ", hung, " others");
    return;
  }
  process::ChildLimits limits;
  limits.timeout_s = timeout_of(probes.size(), plan);
  const process::ChildResult child =
      process::run_in_child(limits, [&] { return run_batch(probes, build, plan); });
  Result<Json> json =
      child.finished ? parse_json(child.result) : Result<Json>(invalid(child.defect));
  if (json.ok() && json->is_array() && json->size() == probes.size()) {
    for (size_t k = 0; k < probes.size(); ++k)
      results[k] = {(*json)[k].at("ns"), (*json)[k].at("reorder_ns"), (*json)[k].at("error")};
    return;
  }
  if (probes.size() == 1) {
    results[0].error = json.ok() && json->is_object() ? json->value("failed", "failed")
                       : child.finished               ? "the child sent no result"
                                                      : child.defect;
    if (child.end.kind == process::End::kTimedOut) ++hung;
    return;
  }
  const size_t half = probes.size() / 2;
  measure_range(probes.first(half), results.first(half), build, plan, hung);
  measure_range(probes.subspan(half), results.subspan(half), build, plan, hung);
}

}  // namespace

Probe make_probe(IRModule& module, Symbol name, const placement::Candidates& candidates,
                 const placement::Candidate& candidate) {
  const Function& function = module.function(name);
  Probe out;
  out.plugin = candidates.plugins[candidate.plugin]->id();
  out.is_rest = candidate.is_rest;
  const auto nodes = candidates.nodes_of(candidate);
  out.work = nodes.size() == 1 ? placement::work_of(module, function, nodes[0])
                               : placement::work_of(function, nodes, candidate.root);
  Match match;
  match.root = candidate.root;
  match.nodes.assign(nodes.begin(), nodes.end());
  std::string composite = "probe.one";
  if (candidate.match != placement::kNone) {
    match = candidates.matches[candidate.match];
    const Plugin& plugin = *candidates.plugins[candidate.plugin];
    composite = composite_name(plugin, plugin.patterns()[candidate.pattern]);
  } else {
    for (ValueId arg : function.args(function.nodes[candidate.root])) {
      if (std::find(match.inputs.begin(), match.inputs.end(), arg) == match.inputs.end())
        match.inputs.push_back(arg);
    }
  }
  const Symbol callee = "probed";
  out.body = composite_call(function, match, callee);
  if (candidate.match != placement::kNone) {
    out.module.functions[callee] = composite_body(function, match, composite, out.plugin);
  } else {  // the op itself in the place of the call
    const Function call = std::move(out.body);
    out.body = Function();
    std::map<ValueId, ValueId> map;
    const std::span<const ValueId> args = call.args(call.nodes.back());
    for (uint32_t k = 0; k + 1 < call.nodes.size(); ++k) out.body.add_copy(call.nodes[k], {});
    for (size_t k = 0; k < args.size(); ++k) map[match.inputs[k]] = args[k];
    std::vector<ValueId> mapped;
    for (ValueId arg : function.args(function.nodes[candidate.root])) mapped.push_back(map.at(arg));
    out.body.add_copy(function.nodes[candidate.root], mapped);
    if (auto* invoke = std::get_if<Invoke>(&function.nodes[candidate.root].kind))
      out.module.functions[invoke->function] = module.function(invoke->function);
  }
  const auto last = static_cast<uint32_t>(out.body.nodes.size() - 1);
  const size_t results = out.body.nodes[last].types.size();
  std::vector<uint8_t> is_read(results, results == 1);
  if (results > 1) {  // unread results, such as the indices of a pool, are not measured
    const UseCounts uses(function);
    for (uint32_t k = 0; k < results; ++k) is_read[k] = uses({candidate.root, k}) > 0;
  }
  for (uint32_t k = 0; k < results; ++k) {
    if (is_read[k]) out.body.results.push_back({last, k});
  }
  for (const Node& node : out.body.nodes) {
    if (auto* constant = std::get_if<Constant>(&node.kind)) {
      if (auto at = module.constants.find(constant->data->key()); at != module.constants.end())
        out.module.constants.insert(*at);
    }
  }
  return out;
}

std::vector<ProbeResult> measure_probes(const std::vector<Probe>& probes, const BuildOptions& build,
                                        const ProbePlan& plan,
                                        const std::function<void(size_t)>& progress) {
  std::vector<ProbeResult> results(probes.size());
  uint32_t hung = 0;
  for (size_t begin = 0; begin < probes.size();) {
    size_t n = 1;  // probes of one batch are compiled in one way
    while (n < kBatch && begin + n < probes.size() &&
           probes[begin + n].is_rest == probes[begin].is_rest)
      ++n;
    measure_range(Probes(probes).subspan(begin, n), std::span(results).subspan(begin, n), build,
                  plan, hung);
    begin += n;
    if (progress) progress(begin);
  }
  return results;
}

}  // namespace byoc::driver
