// SPDX-License-Identifier: Apache-2.0
// Group 8: functions with open sizes, compiled once and run at several sizes.
#include <algorithm>
#include <cstring>
#include <thread>

#include "byoc/runtime/tensor.h"
#include "core/conform/context/sweep_result.h"
#include "core/conform/open/open_samples.h"
#include "core/process/faults.h"
#include "runtime/host/host.h"

namespace byoc::conform {
namespace {

using Findings = std::vector<std::string>;

constexpr const char* kHasNoFlag = "has not the flag BYOC_PLUGIN_OPEN_SIZES";
constexpr const char* kTakesNone = "takes no function of the kit with open sizes";
constexpr const char* kTriedNote = "tried ";  // the number of functions, after the findings

// Returns whether the plugin takes each op of the sample alone, and may get all in one function.
bool is_taken(const LoadedPlugin& tested, const OpenSample& sample) {
  const PassContext context = pass_context(tested);
  Judge judge(sample.module, context);
  const Function& main = sample.module.function("main");
  const UseCounts uses(main);
  if (sample.is_chain && (tested.table.flags & BYOC_PLUGIN_ONE_ANCHOR) != 0) return false;
  process::doing(cat("judge, ", sample.label));
  for (uint32_t n = 0; n < main.nodes.size(); ++n) {
    if (!std::holds_alternative<Call>(main.nodes[n].kind)) continue;
    if (judge.takes(*tested.plugin, main, uses, n).accept == Verdict::kNo) return false;
  }
  return true;
}

/// Calls `use` for samples that the plugin takes: of each op at most `most`. Returns how many.
size_t for_samples(const CheckContext& context, const LoadedPlugin& tested, size_t most,
                   const std::function<void(const OpenSample&)>& use) {
  size_t tried = 0;
  auto try_one = [&](const OpenSample& sample) {
    if (!is_taken(tested, sample)) return false;
    use(sample);
    ++tried;
    return true;
  };
  for (const OpenSample& sample : written_open_samples()) try_one(sample);
  for (const OpDef* op : ops_to_check()) {
    size_t of_op = 0;
    for (const Program& program : kept_programs_of(*op, context.options().level)) {
      if (of_op >= most) break;
      if (program.domains.empty()) continue;
      const bool has_others = program.domains.size() > 1;
      for (const OpenSample& sample :
           opened(has_others && of_op % 2 == 0 ? with_constants(program, context.options().seed)
                                               : program)) {
        if (of_op < most) of_op += try_one(sample);
      }
    }
  }
  return tried;
}

Answer with_samples(
    CheckContext& context, size_t most,
    const std::function<void(const LoadedPlugin&, const OpenSample&, Findings&)>& use) {
  Answer answer = context.judged_in_child([&]() -> Findings {
    process::name_faults();
    auto tested = load_plugin(context);
    if (!tested.ok()) return {sentence(tested.status())};
    if ((tested->table.flags & BYOC_PLUGIN_OPEN_SIZES) == 0) return {kHasNoFlag};
    Findings findings;
    const size_t tried = for_samples(
        context, *tested, most, [&](const OpenSample& sample) { use(*tested, sample, findings); });
    if (tried == 0) return {kTakesNone};
    findings.push_back(cat(kTriedNote, tried, tried == 1 ? " function" : " functions"));
    return findings;
  });
  if (answer.outcome != Outcome::kFail) return answer;
  if (answer.reason == kHasNoFlag || answer.reason == kTakesNone) return skip(answer.reason);
  std::string note;
  if (answer.findings.back().starts_with(kTriedNote)) {
    note = answer.findings.back();
    answer.findings.pop_back();
  }
  return judged_by(std::move(answer.findings), note);
}

constexpr size_t kOnce = 1, kPerOp = 3, kEach = SIZE_MAX;

Answer check_compiles(CheckContext& context) {
  return with_samples(context, context.is_full() ? kEach : kOnce,
                      [](const LoadedPlugin& tested, const OpenSample& sample, Findings& out) {
                        auto loaded = load_function(tested, sample.label, sample.module);
                        if (!loaded.ok() && loaded.status().code() != Code::kDeclined)
                          out.push_back(cat(sample.label, ": ", loaded.status().message()));
                      });
}

FunctionTest test_of(const OpenSample& sample) {
  FunctionTest test{sample.label, sample.module, sample.module, sample.domains, "open_values"};
  test.special = Special::kNone;
  test.is_plain = true;
  test.is_chain = sample.is_chain;
  test.runs = sample.runs;
  return test;
}

/// The findings of group 5 are about numbers: with wrong ones nothing is learnt of open sizes.
Answer check_values(CheckContext& context) {
  const SweepResult* sweep = context.finished_sweep();  // without group 5 there is none
  if (sweep != nullptr && !sweep->findings.empty())
    return skip("needs right results of single ops");
  return with_samples(context, context.is_full() ? kEach : kPerOp,
                      [&](const LoadedPlugin& tested, const OpenSample& sample, Findings& out) {
                        run_function_test(tested, test_of(sample), context.options().seed,
                                          [&](const Finding& finding) {
                                            if (!finding.text.empty()) out.push_back(finding.text);
                                          });
                      });
}

/// The tensors of one run in memory of their own.
struct Tensors {
  Tensors(const OpenRun& run, const std::vector<Domain>& domains, uint64_t seed) {
    const Function& main = run.reference.function("main");
    for (size_t k = 0; k < main.num_params(); ++k) {
      add(main.nodes[k].types[0]);
      fill(bytes.back().data(), *main.nodes[k].types[0], domains[k], seed + k);
    }
    first_output = bytes.size();
    for (TypeId type : main.result_types()) add(type);
    for (size_t k = 0; k < bytes.size(); ++k) {
      DLTensor view{};
      view.data = bytes[k].data();
      view.device = {kDLCPU, 0};
      view.dtype = to_dlpack(specs[k].dtype);
      view.ndim = static_cast<int32_t>(specs[k].dims.size());
      view.shape = specs[k].dims.data();
      views.push_back(view);
    }
    for (const DLTensor& view : views) pointers.push_back(&view);
  }
  void add(TypeId type) {
    specs.push_back(spec_of(type));
    bytes.emplace_back(static_cast<size_t>(*size_bytes(*type)));
  }
  std::vector<TensorSpec> specs;
  std::vector<std::vector<std::byte>> bytes;
  std::vector<DLTensor> views;
  std::vector<const DLTensor*> pointers;
  size_t first_output = 0;
};

/// Runs one size; returns the error.
std::string run_once(const LoadedPlugin& tested, const LoadedModule& module, const OpenRun& run,
                     Tensors& tensors) {
  const auto& kernel = module.kernels()[0];
  const uint64_t bytes = workspace_bytes(kernel, &run);
  std::vector<std::byte> workspace(bytes + kernel.workspace_align);
  auto address = reinterpret_cast<uintptr_t>(workspace.data());
  address =
      (address + kernel.workspace_align - 1) / kernel.workspace_align * kernel.workspace_align;
  auto call = with_header<byoc_call>(BYOC_TAG_CALL);
  call.args = tensors.pointers.data();
  call.n_args = static_cast<uint32_t>(tensors.pointers.size());
  call.workspace = reinterpret_cast<void*>(address);
  call.workspace_bytes = bytes;
  call.sizes = run.sizes.data();
  const Status status = call_plugin(tested.plugin->id(), "run",
                                    [&] { return tested.table.run(module.kernel(0), &call); });
  return status.ok() ? "" : status.message();
}

/// Runs all sizes on several threads, each in another order, and compares with runs one by one.
/// Sizes that have errors by themselves are left out: an index may be outside of the least size.
std::string run_in_threads(const LoadedPlugin& tested, const OpenSample& sample,
                           const LoadedModule& module, uint64_t seed) {
  constexpr size_t kThreads = 4, kTurns = 3;
  std::vector<const OpenRun*> runs;
  std::vector<Tensors> right;
  for (const OpenRun& run : sample.runs) {
    Tensors tensors(run, sample.domains, seed);
    if (!run_once(tested, module, run, tensors).empty()) continue;
    runs.push_back(&run);
    right.push_back(std::move(tensors));
  }
  std::vector<std::string> found(kThreads);
  auto work = [&](size_t thread) {
    for (size_t turn = 0; turn < kTurns * runs.size() && found[thread].empty(); ++turn) {
      const size_t k = (turn + thread) % runs.size();
      Tensors tensors(*runs[k], sample.domains, seed);
      found[thread] = run_once(tested, module, *runs[k], tensors);
      if (found[thread].empty() && tensors.bytes != right[k].bytes)
        found[thread] =
            cat("at ", runs[k]->text, " another result while other threads run other sizes");
    }
  };
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < kThreads; ++thread) threads.emplace_back(work, thread);
  for (std::thread& thread : threads) thread.join();
  const auto first = std::ranges::find_if(found, [](const auto& text) { return !text.empty(); });
  return first == found.end() ? "" : *first;
}

Answer check_threads(CheckContext& context) {
  return with_samples(
      context, kOnce, [&](const LoadedPlugin& tested, const OpenSample& sample, Findings& out) {
        auto loaded = load_function(tested, sample.label, sample.module);
        if (!loaded.ok() || (loaded->kernels()[0].flags & BYOC_KERNEL_SERIAL) != 0) return;
        process::doing(cat("run on several threads, ", sample.label));
        const std::string found = run_in_threads(tested, sample, *loaded, context.options().seed);
        if (!found.empty()) out.push_back(cat(sample.label, ": ", found));
      });
}

const Check kOpenChecks[] = {
    {8, "open_compiles",
     "compile, save and load accept functions with open sizes that judge accepts", "instance",
     check_compiles, "refuse in judge what compile refuses at some of the sizes"},
    {8, "open_values", "results are right at each size, in any order of sizes", "open_compiles",
     check_values,
     "take extents from byoc_call.sizes or the views of the run, and keep nothing of other runs"},
    {8, "open_threads", "runs of several sizes at a time have the results of runs one by one",
     "open_values", check_threads, "keep what a run changes in its workspace, or guard it"},
};

}  // namespace

std::span<const Check> open_checks() { return kOpenChecks; }

}  // namespace byoc::conform
