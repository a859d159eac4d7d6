// SPDX-License-Identifier: Apache-2.0
// Group 5: the findings of the sweep, one check per promise.
#include "core/conform/context/check_context.h"
#include "core/conform/context/sweep_result.h"
#include "core/conform/samples/samples.h"

namespace byoc::conform {
namespace {

/// Returns the sweep's findings of one check; skips it, with the reason `why`, when the sweep has
/// tried nothing for it.
Answer found(CheckContext& context, std::string_view check, std::string_view why) {
  const SweepResult& sweep = context.sweep();
  auto findings = sweep.findings.find(std::string(check));
  if (findings != sweep.findings.end()) {
    Answer answer = judged_by(findings->second);
    if (auto cure = sweep.cures.find(findings->first); cure != sweep.cures.end())
      answer.cure = cure->second;
    return answer;
  }
  auto tried = sweep.tried.find(std::string(check));
  if (tried == sweep.tried.end()) return skip(std::string(why));
  return pass(cat(tried->second, tried->second == 1 ? " function" : " functions"));
}

Answer check_compiles(CheckContext& context) {
  Answer answer = found(context, "compiles", "takes no op of the kit's samples");
  uint64_t declined = context.sweep().declined;
  if (answer.outcome == Outcome::kPass && declined > 0)
    answer.reason += cat(", ", declined, " declined after a yes");
  return answer;
}

Answer check_values(CheckContext& context) {
  Answer answer = found(context, "values", "takes no op of the kit's samples");
  if (answer.outcome != Outcome::kPass) return answer;
  size_t ops = 0;
  for (const auto& [op, row] : context.sweep().ops) ops += row.accepted > 0;
  return pass(cat(answer.reason, " of ", ops, ops == 1 ? " op" : " ops"));
}

Answer check_empty(CheckContext& context) {
  const bool are_wrong = context.sweep().findings.contains("values");
  return found(
      context, "empty",
      are_wrong ? "single ops are wrong: values" : "takes no op alone on tensors without elements");
}
Answer check_special(CheckContext& context) { return found(context, "special", "takes no floats"); }
Answer check_misaligned(CheckContext& context) {
  return found(context, "misaligned", "nothing ran");
}
Answer check_offset(CheckContext& context) { return found(context, "offset", "nothing ran"); }
Answer check_strided(CheckContext& context) { return found(context, "strided", "nothing ran"); }
Answer check_outputs(CheckContext& context) { return found(context, "outputs", "nothing ran"); }
Answer check_inputs(CheckContext& context) { return found(context, "inputs", "nothing ran"); }
Answer check_constants(CheckContext& context) {
  return found(context, "constants", "takes no constant operand");
}
Answer check_guards(CheckContext& context) { return found(context, "guards", "nothing ran"); }
Answer check_workspace(CheckContext& context) {
  return found(context, "workspace", "requests no workspace");
}
Answer check_in_place(CheckContext& context) {
  return found(context, "in_place", "declares no in-place pair");
}
Answer check_spans(CheckContext& context) { return found(context, "spans", "records no spans"); }
Answer check_surroundings(CheckContext& context) {
  Answer answer = found(context, "surroundings", "nothing ran");
  return answer.outcome == Outcome::kPass ? pass() : answer;
}
// Reports an error of a single op once: not again in composites.
Answer check_composites(CheckContext& context) {
  if (check_values(context).outcome == Outcome::kFail) return skip("single ops are wrong: values");
  return found(context, "composites", "takes no match of several ops");
}

Answer check_examples(CheckContext& context) {
  if (context.options().examples.empty()) return skip("no --example was given");
  return found(context, "examples", "no function of the examples is the plugin's");
}
Answer check_other_values(CheckContext& context) {
  return found(context, "other_values", "nothing ran");
}
Answer check_large_values(CheckContext& context) {
  return found(context, "large_values", "takes no operand that may have any values");
}
Answer check_memory(CheckContext& context) { return found(context, "memory", "nothing ran"); }
Answer check_time(CheckContext& context) { return found(context, "time", "nothing ran"); }

Answer check_coverage(CheckContext& context) {
  if (!context.sweep().gave_up.empty()) return skip(context.sweep().gave_up);  // others failed
  auto ops = ops_without_samples();
  if (ops.empty()) return pass(cat(ops_to_check().size(), " ops have samples"));
  std::string list;
  for (const std::string& op : ops) list += " " + op;
  return skip(cat("no sample for", list));
}

const Check kCorrectnessChecks[] = {
    {5, "compiles", "compile, save and load accept what judge accepts", "instance", check_compiles,
     "refuse in judge what compile refuses"},
    {5, "values", "results are those of the reference kernels", "instance", check_values,
     "correct the kernel: `byoc ops OP` has the definition, -v lists every wrong case"},
    {5, "empty", "results are right on tensors without elements", "instance", check_empty,
     "return before the loop when a tensor has no elements; its data may be null"},
    {5, "special", "results are right on NaN, infinities and denormals", "instance", check_special,
     "keep NaN and infinities: compare as `x < 0 ? 0 : x`, and compile without -ffast-math"},
    {5, "misaligned", "results are right on tensors aligned to their elements alone", "instance",
     check_misaligned, "use unaligned loads, or copy; tensors are aligned to their elements alone"},
    {5, "offset", "byte_offset is applied", "instance", check_offset,
     "add byte_offset to data; the SDK's in_data and out_data do"},
    {5, "strided", "strides are applied, or refused", "instance", check_strided,
     "step by strides, or return an error for them; the SDK's in_data and out_data do"},
    {5, "outputs", "every element of every output is written", "instance", check_outputs,
     "write every element, also zeros"},
    {5, "inputs", "inputs are not written to", "instance", check_inputs,
     "copy an input before changing it; in place needs a declared pair"},
    {5, "constants", "constants are not written to", "instance", check_constants,
     "copy a constant before changing it, or use packed memory"},
    {5, "guards", "nothing outside of tensors is touched", "instance", check_guards,
     "end loops, also of vectors, at the number of elements"},
    {5, "workspace", "nothing outside of the workspace is touched", "instance", check_workspace,
     "set workspace_bytes in info to all that run uses"},
    {5, "in_place", "declared in-place pairs may share memory", "instance", check_in_place,
     "remove the pair from info, or read each element before writing it"},
    {5, "composites", "graphs made from the patterns, run as composites", "instance",
     check_composites, "compute every op of the body, in its order and with its rounding"},
    {5, "examples", "functions of the examples give the reference's results", "instance",
     check_examples, "`byoc dump` writes the function as a folder, `byoc replay` runs it again"},
    {5, "other_values", "a later run with other values has their results", "instance",
     check_other_values, "keep nothing of a run: neither results nor what was made of an input"},
    {5, "large_values", "results are right for values far from 0", "instance", check_large_values,
     "subtract the maximum before exp, and compute integers in their own width"},
    {5, "memory", "runs keep no memory", "instance", check_memory,
     "free what run allocates, or request it as workspace in info"},
    {5, "time", "a run takes no far longer than the reference kernels", "instance", check_time,
     "do work that does not depend on the inputs in compile or load; wait by no sleep"},
    {5, "spans", "spans lie in their run, nest, and are recorded only on request", "instance",
     check_spans,
     "record spans that have a name, lie within the run, and nest; none without BYOC_CALL_SPANS"},
    {5, "surroundings", "compiling and running print nothing and leave the process as it was",
     "instance quiet floats", check_surroundings,
     "print through the host's log, and restore what compile and run change"},
    {5, "coverage", "the kit has a sample of every op", "instance", check_coverage,
     "correct the finding before it: the samples after it were not tried"},
};

}  // namespace

std::span<const Check> correctness_checks() { return kCorrectnessChecks; }

}  // namespace byoc::conform
