// SPDX-License-Identifier: Apache-2.0
// Group 10: functions as programs use them: of several ops, large, many in a model, by several
// threads, from a file in another process.
#include <algorithm>

#include "core/conform/checks/function_test.h"
#include "core/conform/context/check_context.h"
#include "core/conform/context/sweep_result.h"
#include "core/conform/examples/example_functions.h"
#include "core/conform/use/use_samples.h"
#include "core/process/faults.h"

namespace byoc::conform {
namespace {

using Findings = std::vector<std::string>;

constexpr size_t kLinked = 64;

/// The findings of group 5 are about single ops: with wrong ones nothing is learnt of their use.
bool has_findings(const CheckContext& context) {
  const SweepResult* sweep = context.finished_sweep();  // without group 5 there is none
  return sweep != nullptr && !sweep->findings.empty();
}
constexpr const char* kNeedsOps = "needs right results of single ops";

Answer found(CheckContext& context, std::string_view check) {
  if (has_findings(context)) return skip(kNeedsOps);
  const SweepResult& use = context.use();
  if (auto findings = use.findings.find(std::string(check)); findings != use.findings.end()) {
    Answer answer = judged_by(findings->second);
    answer.cure = use.cures.at(findings->first);
    return answer;
  }
  if (!use.gave_up.empty()) return skip(use.gave_up);
  const auto tried = use.tried.find(std::string(check));
  if (tried != use.tried.end()) return pass();
  if (check == "large_tensors" && use.findings.empty())
    return skip("takes no op of the kit's large samples");
  return skip(use.findings.empty() ? "nothing ran" : "an earlier check of this group failed");
}

Answer check_large(CheckContext& context) {
  Answer answer = found(context, "large_tensors");
  if (answer.outcome == Outcome::kPass)
    answer.reason = cat(context.use().tried.at("large_tensors"), " functions");
  return answer;
}
Answer check_one_model(CheckContext& context) { return found(context, "one_model"); }
Answer check_workers(CheckContext& context) { return found(context, "workers"); }
Answer check_at_once(CheckContext& context) { return found(context, "at_once"); }
Answer check_elsewhere(CheckContext& context) { return found(context, "elsewhere"); }

/// Returns the programs of f32 that the plugin takes, the first ones of each op.
std::vector<Program> small_programs(const LoadedPlugin& tested) {
  constexpr size_t kPerOp = 2;
  std::vector<Program> out;
  for (const OpDef* op : ops_to_check()) {
    size_t n = 0;
    for (const Program& program : kept_programs_of(*op, Level::kCore)) {
      if (program.dtype != DType::kF32 || n == kPerOp) continue;
      if (verdict_on(tested, program).accept == Verdict::kNo) continue;
      out.push_back(program);
      ++n;
    }
  }
  return out;
}

Answer check_linked(CheckContext& context) {
  constexpr const char* kHasNone = "takes no two ops in one function";
  constexpr const char* kHasGroups = "lists groups, whose kernels group 7 tries";
  if (has_findings(context)) return skip(kNeedsOps);
  Answer answer = context.judged_in_child([&]() -> Findings {
    process::name_faults();
    auto tested = load_plugin(context);
    if (!tested.ok()) return {sentence(tested.status())};
    if (tested->plugin->has_partition()) return {kHasGroups};
    Findings findings;
    size_t tried = 0;
    const uint64_t seed = context.options().seed;
    for (UseSample& sample : linked_samples(small_programs(*tested), seed, kLinked)) {
      process::doing(cat("partitioning the example ", sample.label));
      auto functions = example_functions(*tested, {sample.label, std::move(sample.module)}, 4);
      if (!functions.ok()) continue;  // the samples of one op have the finding
      for (ExampleFunction& one : *functions) {
        const Function& main = one.reference.function("main");
        if (main.nodes.size() < main.num_params() + 2) continue;  // of one op
        FunctionTest test{
            one.label, std::move(one.reference), std::move(one.compiled), {}, "linked"};
        test.domains.resize(test.reference.function("main").num_params());
        test.is_chain = true;
        test.special = Special::kNone;
        test.is_plain = !context.is_full();
        ++tried;
        run_function_test(*tested, test, seed, [&](const Finding& found) {
          if (!found.text.empty()) findings.push_back(found.text);
        });
      }
    }
    if (tried == 0) return {kHasNone};
    return findings;
  });
  const bool is_nothing = answer.reason == kHasNone || answer.reason == kHasGroups;
  return answer.outcome == Outcome::kFail && is_nothing ? skip(answer.reason) : answer;
}

const Check kUseChecks[] = {
    {10, "linked",
     "functions of several ops are right, also when a value is read twice or is a result",
     "instance", check_linked,
     "take operands by their kind and index: of a node, an input or a constant, also twice"},
    {10, "large_tensors", "results are right on tensors of ten thousand elements and more",
     "instance", check_large, "test the code for whole blocks, and what is left after them"},
    {10, "one_model", "functions that are compiled, loaded and run together are right", "instance",
     check_one_model, "keep what belongs to a kernel in the kernel, and find kernels by symbol"},
    {10, "workers", "results are the same when several workers share a run", "one_model",
     check_workers, "write each element by one worker: sums of several need memory per worker"},
    {10, "at_once", "runs of one kernel by several threads at once are right", "one_model",
     check_at_once, "keep what a run changes in its workspace, or set BYOC_KERNEL_SERIAL"},
    {10, "elsewhere", "an artifact runs in another process", "one_model", check_elsewhere,
     "save all that load needs: addresses and numbers of this process mean nothing there"},
};

}  // namespace

std::span<const Check> use_checks() { return kUseChecks; }

}  // namespace byoc::conform
