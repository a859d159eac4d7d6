// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "byoc/base/check.h"
#include "byoc/base/env.h"
#include "byoc/base/nearest.h"
#include "byoc/text/text.h"
#include "core/pass/instruments.h"

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
     "\"priority\": an op goes to the first plugin that takes it; \"cost\": place_by_cost chooses"},
    {"place", "", "rules for place_by_cost, relu!=example,#Conv_3=onednn"},
    {"plan", "", "a file of byoc place for place_by_cost; none: no plan is used"},
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

std::vector<Instrument> instruments_of(const PassContext& context) {
  std::vector<Instrument> out = context.instruments;
  if (env_value("BYOC_TIME") == "1") out.push_back(print_times());
  if (std::string folder = env_value("BYOC_DUMP"); !folder.empty()) {
    out.push_back(dump_changes(folder));
  }
  if (context.option("verify") == "1")
    out.push_back(verify_each());  // last, so that dumps show the module at fault
  return out;
}

Result<IRModule> run_pass(IRModule module, const Pass& pass, const PassContext& context,
                          std::span<const Instrument> instruments) {
  bool is_watched = false;
  for (const Instrument& instrument : instruments) {
    if (instrument.before) instrument.before(pass, module);
    is_watched |= instrument.after != nullptr;
  }
  IRModule before = is_watched ? module : IRModule();
  auto start = std::chrono::steady_clock::now();
  Result<IRModule> result = pass.run(std::move(module), context, pass.args);
  auto took = std::chrono::steady_clock::now() - start;
  if (!result.ok()) return std::move(result.status()).at(cat("pass ", pass.name));
  auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(took).count();
  for (const Instrument& instrument : instruments) {
    if (!instrument.after) continue;
    BYOC_TRY_STATUS(instrument.after(pass, before, *result, static_cast<uint64_t>(ns)));
  }
  return result;
}

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
  std::set<std::string> skip = skipped(context);
  std::vector<Instrument> instruments = instruments_of(context);
  std::string stop_after = env_value("BYOC_STOP_AFTER");
  // Verifies the input, so that the first pass is not named for an error of its input.
  if (context.option("verify") == "1") BYOC_TRY_STATUS(verify(module));
  for (const Pass& pass : passes) {
    if (skip.count(pass.name)) continue;
    BYOC_TRY(module, run_pass(std::move(module), pass, context, instruments));
    if (pass.name == stop_after) break;
  }
  return module;
}

}  // namespace byoc
