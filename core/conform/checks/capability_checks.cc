// SPDX-License-Identifier: Apache-2.0
// Group 4: the patterns of the plugin, its judge, and its refusal of graphs with unknown parts.
#include <thread>

#include "byoc/base/json.h"
#include "core/conform/checks/taken_sample.h"
#include "core/machine/machine.h"
#include "runtime/host/host.h"

namespace byoc::conform {
namespace {

using Findings = std::vector<std::string>;

/// Runs `work` on the loaded plugin, in a child process.
template <class Work>
Answer with_plugin(CheckContext& context, Work&& work) {
  return context.judged_in_child([&]() -> Findings {
    auto tested = load_plugin(context);
    if (!tested.ok()) return {sentence(tested.status())};
    return work(*tested);
  });
}

Answer check_patterns(CheckContext& context) {
  return with_plugin(context, [](LoadedPlugin& tested) {
    Findings findings;
    for (const PluginPattern& row : tested.plugin->patterns()) {
      auto pattern = Pattern::parse(row.dag_json);
      if (!pattern.ok()) {
        findings.push_back(cat("pattern \"", row.name, "\": ", pattern.status().message(), " at ",
                               pattern.status().where()));
        continue;
      }
      for (const std::string& op : unknown_ops(*pattern))
        findings.push_back(
            cat("pattern \"", row.name, "\" names the op ", op, ", which byoc lacks"));
    }
    return findings;
  });
}

Answer check_matchable(CheckContext& context) {
  return with_plugin(context, [&](LoadedPlugin& tested) {
    Findings findings;
    for (const PluginPattern& row : tested.plugin->patterns()) {
      process::doing(cat("making instances of pattern ", row.name));
      auto pattern = Pattern::parse(row.dag_json);
      if (!instances_of(*pattern, context.options().seed, kInstancesTried, 1).empty()) continue;
      findings.push_back(cat("pattern \"", row.name, "\": none of ", kInstancesTried,
                             " graphs made after it is matched by it"));
    }
    return findings;
  });
}

struct Candidate {
  std::string label, json;
  uint32_t pattern;
};

std::vector<Candidate> candidates(const CheckContext& context, const LoadedPlugin& tested) {
  std::vector<Candidate> out;
  for (const OpDef* op : ops_to_check()) {
    process::doing(cat("making candidates of ", op->name));
    for (const Program& program : kept_programs_of(*op, Level::kCore)) {
      auto pattern = pattern_of(tested, program.module);
      if (pattern) out.push_back({program.label, candidate_json(program.module), *pattern});
    }
  }
  constexpr size_t kPerPattern = 4;
  for (TakenSample& sample : taken_composites(tested, context.options().seed, kPerPattern))
    out.push_back({sample.label, candidate_json(sample.module), sample.pattern});
  return out;
}

/// Returns the verdict as text, which can be compared and shown.
std::string judged(const LoadedPlugin& tested, byoc_instance* instance, const Candidate& candidate,
                   const byoc_machine* machine) {
  auto io = with_header<byoc_verdict>(BYOC_TAG_VERDICT);
  io.machine = machine;
  Status status = call_plugin(tested.plugin->id(), "judge", [&] {
    return tested.table.judge(instance, candidate.pattern, to_str(candidate.json), &io);
  });
  if (!status.ok()) return cat("failed: ", status.message());
  constexpr std::string_view kAnswers[] = {"no", "yes", "slow"};
  return cat(io.accept < 3 ? kAnswers[io.accept] : "?", " ", io.est_ns, " ", io.workspace, " ",
             io.packed_bytes, " \"", text_of(io.reason), "\"");
}

/// Returns the verdicts without a machine and with one, whose estimate may differ.
std::string judged(const LoadedPlugin& tested, byoc_instance* instance,
                   const Candidate& candidate) {
  static const auto machine = machine::view_of(machine::assumed_machine(), 2);
  return cat(judged(tested, instance, candidate, nullptr), "; with a machine ",
             judged(tested, instance, candidate, machine.get()));
}

byoc_instance* opened(const LoadedPlugin& tested) {
  byoc_instance* instance = nullptr;
  (void)call_plugin(tested.plugin->id(), "open", [&] {
    return tested.table.open(host_table(), to_str(tested.options_json), &instance);
  });
  return instance;
}

Findings differing(const std::vector<Candidate>& all, const std::vector<std::string>& a,
                   const std::vector<std::string>& b, std::string_view when) {
  Findings findings;
  for (size_t k = 0; k < all.size(); ++k) {
    if (a[k] != b[k])
      findings.push_back(cat("judge of ", all[k].label, " returns ", a[k], ", ", when, " ", b[k]));
  }
  return findings;
}

std::vector<std::string> judged_all(const LoadedPlugin& tested, byoc_instance* instance,
                                    const std::vector<Candidate>& all, bool backwards) {
  std::vector<std::string> out(all.size());
  for (size_t n = 0; n < all.size(); ++n) {
    size_t k = backwards ? all.size() - 1 - n : n;
    process::doing(cat("judge, ", all[k].label));
    out[k] = judged(tested, instance, all[k]);
  }
  return out;
}

Answer check_repeatable(CheckContext& context) {
  return with_plugin(context, [&](LoadedPlugin& tested) -> Findings {
    if (!tested.table.judge) return {};
    auto all = candidates(context, tested);
    byoc_instance *one = opened(tested), *other = opened(tested);
    auto first = judged_all(tested, one, all, false);
    auto again = differing(all, first, judged_all(tested, one, all, true), "called again");
    auto elsewhere =
        differing(all, first, judged_all(tested, other, all, false), "on another instance");
    again.insert(again.end(), elsewhere.begin(), elsewhere.end());
    return again;
  });
}

Answer check_concurrent(CheckContext& context) {
  return with_plugin(context, [&](LoadedPlugin& tested) -> Findings {
    constexpr size_t kThreads = 4;
    if (!tested.table.judge) return {};
    auto all = candidates(context, tested);
    byoc_instance* instance = opened(tested);
    auto alone = judged_all(tested, instance, all, false);
    process::doing("judge, from four threads");
    std::vector<std::vector<std::string>> seen(kThreads, std::vector<std::string>(all.size()));
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (size_t n = 0; n < all.size(); ++n) {
          size_t k = (n + t * all.size() / kThreads) % all.size();
          seen[t][k] = judged(tested, instance, all[k]);
          process::activity().beats.fetch_add(1);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    Findings findings;
    for (const auto& answers : seen) {
      auto differ = differing(all, alone, answers, "with other threads running");
      findings.insert(findings.end(), differ.begin(), differ.end());
    }
    return findings;
  });
}

Answer check_reasons(CheckContext& context) {
  return with_plugin(context, [&](LoadedPlugin& tested) {
    Findings findings;
    if (!tested.table.judge) return findings;
    auto all = candidates(context, tested);
    auto answers = judged_all(tested, opened(tested), all, false);
    for (size_t k = 0; k < all.size(); ++k) {
      bool mute = !answers[k].starts_with("yes") && answers[k].ends_with(" \"\"");
      if (mute) findings.push_back(cat("judge of ", all[k].label, " gives no reason for its no"));
    }
    return findings;
  });
}

using Change = void (*)(Json& graph);

/// Changes the graph of a program that the plugin takes into one with an unknown part, named
/// `what`. The judge of a plugin without patterns must refuse it, other judges must only return.
/// In every case compile must refuse it.
Answer check_unknown(CheckContext& context, std::string_view what, Change change) {
  return skipped_without_sample(with_plugin(context, [&](LoadedPlugin& tested) -> Findings {
    auto sample = first_taken(tested, context.options().seed);
    if (!sample) return {kTakesNothing};
    CompileFunction function = compile_function(sample->module, "conform_0");
    auto graph = parse_json(function.graph_json);
    change(*graph);
    function.graph_json = graph->dump();
    process::doing(cat("judge, ", sample->label, " with ", what));
    auto verdict = tested.plugin->judge(sample->pattern, function.graph_json);
    bool asked_about_all = tested.plugin->patterns().empty() && tested.plugin->has_judge();
    if (asked_about_all && verdict.ok() && verdict->accept != Verdict::kNo)
      return {cat("judge accepts ", sample->label, " with ", what)};
    process::doing(cat("compile, ", sample->label, " with ", what));
    if (!tested.plugin->compile({&function, 1}, "{}", 1, 0).status.ok()) return {};
    return {cat("compile accepts ", sample->label, " with ", what)};
  }));
}

/// Returns the first op: the graph's node, or the first of the composite that the node calls.
Json& first_op(Json& graph) {
  Json& node = graph["nodes"][0];
  if (!node.contains("call")) return node;
  return graph["functions"][node["call"].get<size_t>()]["nodes"][0];
}

Answer check_unknown_op(CheckContext& context) {
  return check_unknown(context, "an unknown op", [](Json& graph) {
    Json& node = graph["nodes"][0];
    node.erase("call");  // of a composite
    node["op"] = "conform_unknown";
    node["version"] = 1;
  });
}
Answer check_unknown_dtype(CheckContext& context) {
  return check_unknown(context, "an unknown dtype", [](Json& graph) {
    for (Json& type : graph["types"]) type["dtype"] = "f7";
  });
}
Answer check_unknown_attribute(CheckContext& context) {
  return check_unknown(context, "an unknown attribute",
                       [](Json& graph) { first_op(graph)["attrs"]["conform_unknown"] = 1; });
}
Answer check_unknown_requires(CheckContext& context) {
  return check_unknown(context, "an unknown requirement",
                       [](Json& graph) { graph["requires"] = {"conform.unknown"}; });
}

const Check kCapabilityChecks[] = {
    {4, "patterns", "patterns can be read, and name ops that exist", "instance", check_patterns,
     "correct the pattern as docs/patterns.md has it; `byoc ops` lists the ops"},
    {4, "matchable", "graphs made from a pattern match it", "patterns", check_matchable,
     "correct operands, attributes, dtypes and ranks of the pattern, which contradict each other"},
    {4, "repeatable", "judge gives the same verdict again, and on another instance", "instance",
     check_repeatable, "compute the verdict from the candidate alone, without state between calls"},
    {4, "concurrent", "judge gives the same verdict to four threads at once", "repeatable",
     check_concurrent, "protect or remove state that judge writes; any number of threads call it"},
    {4, "reasons", "a verdict of no, or of slow, has a reason", "instance", check_reasons,
     "return Verdict::no(\"why\"), in C a text in `reason`"},
    {4, "unknown_op", "an unknown op is refused", "instance", check_unknown_op,
     "in compile, decline a node whose op or pattern it does not implement"},
    {4, "unknown_dtype", "an unknown dtype is refused", "instance", check_unknown_dtype,
     "in compile, decline types whose dtype it does not implement"},
    {4, "unknown_attr", "an unknown attribute is refused", "instance", check_unknown_attribute,
     "decline when node.attrs.unknown({...}) is not empty; judge and compile both"},
    {4, "requires", "an unknown requirement of the graph is refused", "instance",
     check_unknown_requires,
     "decline a graph whose `requires` has an unknown name; the C++ SDK does"},
};

}  // namespace

std::span<const Check> capability_checks() { return kCapabilityChecks; }

}  // namespace byoc::conform
