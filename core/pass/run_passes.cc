// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>

#include "byoc/base/check.h"
#include "byoc/base/defect.h"
#include "byoc/base/env.h"
#include "byoc/base/library_error.h"
#include "byoc/base/nearest.h"
#include "byoc/text/text.h"
#include "core/pass/instruments.h"
#include "core/pass/running_pass.h"

namespace byoc {
namespace {

#ifdef BYOC_VERIFY_PASSES
constexpr std::string_view kVerify = "1";
#else
constexpr std::string_view kVerify = "0";
#endif

constexpr PassOption kOptions[] = {
    {"verify", kVerify, "1: verify the module after every pass (the default of debug builds)"},
    {"fold_mib", "64",
     "MiB by which fold_constants may make a module larger, besides the size of its constants"},
    {"fold_mops", "100",
     "millions of element operations that fold_constants may compute, besides one per byte of the "
     "module's constants; other ops on constants are computed at run time"},
    {"placement", "priority",
     "\"priority\": an op goes to the first plugin that takes it; \"cost\": place_by_cost chooses; "
     "\"estimates\": the same, but by priority where no plugin before the default codegens "
     "estimates "
     "times"},
    {"slow", "taken",
     "\"avoided\": an op that its plugin calls slow goes to another one that takes it; \"taken\": "
     "it is like any other"},
    {"place", "", "rules for place_by_cost, relu!=example,#Conv_3=onednn"},
    {"plan", "", "a file of byoc place for place_by_cost; none: no plan is used"},
    {"prefer", "speed",
     "how much larger the weights of compiled functions may be than the model's: gain, size, "
     "balanced, speed"},
    {"precision", "f32",
     "how constant matrices of products are rounded and stored: f32, f16, bf16"},
    {"added_ops", "loops",
     "ops of libraries: \"loops\" for the ops that no plugin takes; \"reference\": the json plugin "
     "calls their reference kernels, which only the program that has the library can run"},
    {"costs", "", "the folder of calibrations, costs and plans; none: costs are estimated"},
};

Status check_options(const PassContext& context) {
  std::vector<std::string> known;
  for (const PassOption& option : kOptions) known.emplace_back(option.name);
  for (const auto& [name, value] : context.options) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return not_found(cat("no option \"", name, "\"", did_you_mean(name, known)))
        .with_slug("unknown-option");
  }
  return {};
}

std::set<std::string> skipped(const PassContext& context) {
  std::set<std::string> out = context.disabled;
  std::string text = env_value("BYOC_SKIP");
  for (size_t from = 0; from < text.size();) {
    size_t to = std::min(text.find(',', from), text.size());
    out.insert(text.substr(from, to - from));
    from = to + 1;
  }
  return out;
}

bool verifies(const PassContext& context) {
  return context.option("verify") == "1" || env_value("BYOC_VERIFY_PASSES") == "1";
}

std::vector<Instrument> instruments_of(const PassContext& context) {
  std::vector<Instrument> out = context.instruments;
  if (env_value("BYOC_TIME") == "1") out.push_back(print_times());
  if (std::string folder = env_value("BYOC_DUMP"); !folder.empty()) {
    out.push_back(dump_changes(folder));
  }
  if (verifies(context))
    out.push_back(verify_each());  // last, so that dumps show the module at fault
  return out;
}

/// Calls the pass. An exception other than a failed allocation is a defect.
Result<IRModule> call_pass(IRModule module, const Pass& pass, const PassContext& context) {
  try {
    plant_defect(pass);
    return pass.run(std::move(module), context, pass.args);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const LibraryError& e) {
    return e.status();
  } catch (const std::exception& e) {
    const std::string what = cat("pass ", pass.name, " threw: ", e.what());
    return Status(Code::kInternal, what).with_slug("bug").with_help(report_defect(what));
  }
}

Result<IRModule> run_pass(IRModule module, const Pass& pass, const PassContext& context,
                          std::span<const Instrument> instruments) {
  bool is_watched = false;
  for (const Instrument& instrument : instruments) {
    if (instrument.before) instrument.before(pass, module);
    is_watched |= instrument.after != nullptr;
  }
  IRModule before = is_watched ? module : IRModule();
  const RunningPassScope running(pass, context, module);
  auto start = std::chrono::steady_clock::now();
  Result<IRModule> result = call_pass(std::move(module), pass, context);
  auto took = std::chrono::steady_clock::now() - start;
  if (!result.ok()) return std::move(result.status()).at(cat("pass ", pass.name));
  plant_broken_module(pass, *result);
  auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(took).count();
  for (const Instrument& instrument : instruments) {
    if (!instrument.after) continue;
    BYOC_TRY_STATUS(instrument.after(pass, before, *result, static_cast<uint64_t>(ns)));
  }
  return result;
}

bool has_declined(const IRModule& module) {
  return std::ranges::any_of(module.functions,
                             [](const auto& item) { return item.second.attrs.has(kDeclinedAttr); });
}

/// Runs passes and, for functions that plugins declined, passes and that one again.
class PassRun {
 public:
  PassRun(IRModule module, const PassContext& context)
      : module_(std::move(module)),
        context_(context),
        skip_(skipped(context)),
        instruments_(instruments_of(context)),
        stop_after_(env_value("BYOC_STOP_AFTER")) {
    context_.memory = std::make_shared<std::any>();
  }

  Status run(std::span<const Pass> passes) {
    for (const Pass& pass : passes) {
      if (skip_.count(pass.name)) continue;
      BYOC_TRY_STATUS(run_until_placed(pass));
      is_stopped_ = is_stopped_ || pass.name == stop_after_;
      if (is_stopped_) return {};
    }
    return {};
  }
  IRModule take() && { return std::move(module_); }

 private:
  /// Ops of a declined function go to plugins after the one that declined, so that this ends.
  Status run_until_placed(const Pass& pass) {
    BYOC_TRY(module_, run_pass(std::move(module_), pass, context_, instruments_));
    while (!pass.on_declined.empty() && has_declined(module_)) {
      BYOC_TRY_STATUS(run(pass.on_declined));
      if (is_stopped_ || has_declined(module_)) return {};  // place_declined is skipped
      BYOC_TRY(module_, run_pass(std::move(module_), pass, context_, instruments_));
    }
    return {};
  }

  IRModule module_;
  PassContext context_;
  const std::set<std::string> skip_;
  const std::vector<Instrument> instruments_;
  const std::string stop_after_;
  bool is_stopped_ = false;
};

}  // namespace

std::span<const PassOption> pass_options() { return kOptions; }

std::string PassContext::option(std::string_view name) const {
  if (auto at = options.find(std::string(name)); at != options.end()) return at->second;
  for (const PassOption& option : kOptions) {
    if (option.name == name) return std::string(option.fallback);
  }
  BYOC_CHECK(false, "no pass option ", name, " in the table");
  return "";
}

Result<IRModule> run_passes(IRModule module, std::span<const Pass> passes,
                            const PassContext& context) {
  BYOC_TRY_STATUS(check_options(context));
  // Verifies the input, so that the first pass is not named for an error of its input.
  if (verifies(context)) BYOC_TRY_STATUS(verify(module));
  PassRun run(std::move(module), context);
  BYOC_TRY_STATUS(run.run(passes));
  return std::move(run).take();
}

}  // namespace byoc
