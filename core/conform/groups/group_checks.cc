// SPDX-License-Identifier: Apache-2.0
// Group 7: the groups of default codegens, and the kernels that are made of them.
#include <algorithm>
#include <set>

#include "byoc/base/json.h"
#include "byoc/pass/codegen.h"
#include "core/conform/checks/function_test.h"
#include "core/conform/context/sweep_result.h"
#include "core/conform/groups/group_samples.h"

namespace byoc::conform {
namespace {

using Findings = std::vector<std::string>;

constexpr const char* kHasNoSlot = "has no slot `partition`, or is no default codegen";
constexpr const char* kHasNone = "lists no group for ";  // the kit's graphs, with their number
constexpr const char* kNote = "tried ";                  // the number of groups, after the findings

/// A graph that the plugin takes whole, and the groups that it lists.
struct Grouped {
  GroupSample sample;
  CompileFunction function;
  std::vector<PluginGroup> groups;
  IRModule fused;                     // by fuse_ops
  std::vector<std::string> refusals;  // of groups, by the host
};

uint64_t count_nodes(const IRModule& module) {
  const Function& main = module.function("main");
  return static_cast<uint64_t>(std::ranges::count_if(
      main.nodes, [](const Node& node) { return std::holds_alternative<Call>(node.kind); }));
}

Result<std::vector<PluginGroup>> groups_of(const LoadedPlugin& tested, const Grouped& of,
                                           const CompileFunction& function) {
  return tested.plugin->partition(function, count_nodes(of.sample.module), {"{}", 1, 0});
}

/// Fills in the rest for a sample. Returns false when the plugin takes only parts of the graph. An
/// error of the slot is a finding.
bool complete(const LoadedPlugin& tested, Grouped& out, Findings& findings) {
  PassContext context = pass_context(tested);
  Report report;
  context.defaults = {tested.plugin->id()};
  context.report = &report;
  process::doing(cat("partition, ", out.sample.label));
  Result<IRModule> fused = fuse_ops(out.sample.module, context);
  if (!fused.ok()) {
    if (fused.status().slug() != "no-codegen")
      findings.push_back(cat(out.sample.label, ": ", fused.status().message()));
    return false;
  }
  out.fused = *std::move(fused);
  for (const Report::Remark& remark : report.remarks) {
    if (remark.op == "group") out.refusals.push_back(remark.reason);
  }
  out.function = compile_function(out.sample.module, "conform_0");
  Result<std::vector<PluginGroup>> groups = groups_of(tested, out, out.function);
  if (groups.ok()) out.groups = *std::move(groups);
  else findings.push_back(cat(out.sample.label, ": ", groups.status().message()));
  return groups.ok();
}

/// The programs of f32 that the plugin takes: of each op one per type of its first operand.
std::vector<Program> taken_programs(const LoadedPlugin& tested) {
  std::vector<Program> out;
  for (const OpDef* op : ops_to_check()) {
    std::vector<TypeId> seen;
    for (const Program& program : kept_programs_of(*op, Level::kCore)) {
      const Function& main = program.module.function("main");
      if (program.dtype != DType::kF32 || main.num_params() == 0) continue;
      if (std::ranges::find(seen, main.nodes[0].types[0]) != seen.end()) continue;
      seen.push_back(main.nodes[0].types[0]);
      if (verdict_on(tested, program).accept != Verdict::kNo) out.push_back(program);
    }
  }
  return out;
}

/// Calls `use` for the written graphs, and for pairs of ops that the plugin takes, one per pair.
void for_samples(const LoadedPlugin& tested, const std::function<void(GroupSample)>& use) {
  for (GroupSample& sample : written_samples()) use(std::move(sample));
  const std::vector<Program> programs = taken_programs(tested);
  for (size_t a = 0; a < programs.size(); ++a) {
    std::set<const OpDef*> seen;
    for (const Program& b : programs) {
      if (seen.contains(b.op)) continue;
      std::optional<GroupSample> pair = chained(programs[a], b);
      if (!pair) continue;
      seen.insert(b.op);
      use(*std::move(pair));
    }
  }
}

/// Tries the groups of a graph, and returns how many it tried.
using UseGroups = std::function<size_t(const LoadedPlugin&, const Grouped&, Findings&)>;

Findings used_groups(const LoadedPlugin& tested, size_t most, const UseGroups& use) {
  if (!tested.plugin->has_partition()) return {kHasNoSlot};
  Findings findings;
  size_t graphs = 0, used = 0, tried = 0;
  for_samples(tested, [&](GroupSample sample) {
    Grouped grouped{std::move(sample), {}, {}, {}, {}};
    if (used == most || !complete(tested, grouped, findings)) return;
    ++graphs;
    if (grouped.groups.empty()) return;
    ++used;
    tried += use(tested, grouped, findings);
  });
  if (used == 0 && findings.empty())
    return {cat(kHasNone, graphs, " graphs of the kit that it takes")};
  findings.push_back(cat(kNote, tried, tried == 1 ? " group of " : " groups of ", used,
                         used == 1 ? " graph" : " graphs"));
  return findings;
}

/// Calls `use` in a child for the graphs with groups, at most `most` of them. Skips a plugin that
/// has no slot, lists no group for any graph, or of whose groups none was tried: nothing is learnt.
Answer with_groups(CheckContext& context, size_t most, const UseGroups& use) {
  Answer answer = context.judged_in_child([&]() -> Findings {
    auto tested = load_plugin(context);
    if (!tested.ok()) return {sentence(tested.status())};
    return used_groups(*tested, most, use);
  });
  if (answer.outcome != Outcome::kFail) return answer;
  if (answer.reason == kHasNoSlot || answer.reason.starts_with(kHasNone))
    return skip(answer.reason);
  std::string note;
  if (answer.findings.back().starts_with(kNote)) {
    note = answer.findings.back();
    answer.findings.pop_back();
  }
  const bool has_tried_none = answer.findings.empty() && note.starts_with(cat(kNote, "0 "));
  return has_tried_none ? skip(note) : judged_by(std::move(answer.findings), note);
}

constexpr size_t kAll = SIZE_MAX, kSome = 48;

Answer check_groups(CheckContext& context) {
  return with_groups(context, kAll, [](const LoadedPlugin&, const Grouped& grouped, Findings&) {
    return grouped.groups.size();
  });
}

Answer check_legal(CheckContext& context) {
  return with_groups(context, kAll,
                     [](const LoadedPlugin&, const Grouped& grouped, Findings& findings) {
                       for (const std::string& refusal : grouped.refusals)
                         findings.push_back(cat(grouped.sample.label, ": ", refusal));
                       return grouped.groups.size();
                     });
}

std::string text_of_groups(const std::vector<PluginGroup>& groups) {
  std::string out;
  for (const PluginGroup& group : groups) {
    out += cat(out.empty() ? "" : ", ", "\"", group.name, "\" of");
    for (uint32_t node : group.nodes) out += cat(" ", node);
  }
  return out;
}

Answer check_repeat(CheckContext& context) {
  std::optional<LoadedPlugin> other;  // in the child
  return with_groups(
      context, kAll,
      [&](const LoadedPlugin& tested, const Grouped& grouped, Findings& findings) -> size_t {
        auto compare = [&](const LoadedPlugin& by, const CompileFunction& function,
                           std::string_view when) {
          const auto groups = groups_of(by, grouped, function);
          const std::string now = groups.ok() ? text_of_groups(*groups) : groups.status().message();
          if (now == text_of_groups(grouped.groups)) return;
          findings.push_back(cat(grouped.sample.label, ": lists ", text_of_groups(grouped.groups),
                                 ", ", when, " ", now));
        };
        compare(tested, grouped.function, "called again");
        compare(tested, renamed(grouped.function), "under other names");
        if (!other) {
          auto loaded = load_plugin(context);
          if (!loaded.ok()) return 0;
          other = *std::move(loaded);
        }
        compare(*other, grouped.function, "on another instance");
        return grouped.groups.size();
      });
}

/// Returns the function of the fused module that has the op `loc`; null: it calls composites.
const Function* function_with(const IRModule& fused, Symbol loc) {
  for (const auto& [name, function] : fused.functions) {
    if (!function.attrs.has("compiler")) continue;
    const bool has_loc =
        std::ranges::any_of(function.nodes, [&](const Node& node) { return node.loc == loc; });
    const bool is_plain = std::ranges::none_of(
        function.nodes, [](const Node& node) { return std::holds_alternative<Invoke>(node.kind); });
    if (has_loc && is_plain) return &function;
  }
  return nullptr;
}

/// Returns the domains of the function's parameters: where a parameter of `main` is passed, its.
std::vector<Domain> domains_of(const Grouped& grouped, const Function& function) {
  std::vector<Domain> out(function.num_params());
  const Function& main = grouped.fused.function("main");
  for (const Node& node : main.nodes) {
    const auto* invoke = std::get_if<Invoke>(&node.kind);
    if (invoke == nullptr || &grouped.fused.function(invoke->function) != &function) continue;
    for (size_t k = 0; k < out.size(); ++k) {
      const uint32_t from = main.args(node)[k].node;
      if (from < grouped.sample.domains.size()) out[k] = grouped.sample.domains[from];
    }
  }
  return out;
}

/// Returns false for a group whose function calls composites, which group 5 tests.
bool test_group(const LoadedPlugin& tested, const Grouped& grouped, const PluginGroup& group,
                const CheckContext& context, Findings& findings) {
  const Function& whole = grouped.sample.module.function("main");
  std::vector<Symbol> locs;
  for (const Node& node : whole.nodes) {
    if (std::holds_alternative<Call>(node.kind)) locs.push_back(node.loc);
  }
  const Function* function = function_with(grouped.fused, locs[group.nodes[0]]);
  if (function == nullptr) return false;
  IRModule module = grouped.fused;
  module.functions = {{"main", *function}};
  module.functions["main"].attrs = {};
  FunctionTest test{cat("group \"", group.name, "\" of ", grouped.sample.label), module, module,
                    domains_of(grouped, *function), "group_kernels"};
  test.special = Special::kNone;
  test.is_plain = !context.is_full();
  const FunctionTestEnd end =
      run_function_test(tested, test, context.options().seed, [&](const Finding& finding) {
        if (!finding.text.empty()) findings.push_back(finding.text);
      });
  if (end == FunctionTestEnd::kDeclined)
    findings.push_back(cat(test.label, ": compile declines the function of its own group"));
  return true;
}

/// The findings of group 5 are about single ops: with wrong ones nothing is learnt of groups.
Answer check_kernels(CheckContext& context) {
  const SweepResult* sweep = context.finished_sweep();  // without group 5 there is none
  if (sweep != nullptr && !sweep->findings.empty())
    return skip("needs right results of single ops");
  return with_groups(context, context.is_full() ? kAll : kSome,
                     [&](const LoadedPlugin& tested, const Grouped& grouped, Findings& findings) {
                       size_t tried = 0;
                       for (const PluginGroup& group : grouped.groups)
                         tried += test_group(tested, grouped, group, context, findings);
                       return tried;
                     });
}

const Check kGroupChecks[] = {
    {7, "groups", "the groups of `partition` can be read, and there are some for the kit's graphs",
     "instance", check_groups,
     "write the members that docs/plugin-abi.md (Groups) lists, with indices of the graph's nodes"},
    {7, "legal_groups", "functions can be made of the groups", "groups", check_legal,
     "list an op once, and with two ops also those between them; keep to max_ops and max_bytes"},
    {7, "groups_repeat",
     "the groups are the same again, on another instance, and under other names", "groups",
     check_repeat, "choose groups by ops, attributes and types alone"},
    {7, "group_kernels", "functions that are made of groups compile, and their results are right",
     "legal_groups", check_kernels,
     "compile what partition lists: choose the kernel by the same code in both"},
};

}  // namespace

std::span<const Check> group_checks() { return kGroupChecks; }

}  // namespace byoc::conform
