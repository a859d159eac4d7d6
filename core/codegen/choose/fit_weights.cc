// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/choose/fit_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "byoc/ir/visit.h"
#include "byoc/te/module.h"
#include "core/codegen/choose/loops_in_place.h"
#include "core/codegen/choose/plugin_computes.h"
#include "core/codegen/compile_input.h"
#include "core/codegen/request/input_of.h"
#include "core/codegen/tuned_points.h"
#include "core/region/function_key.h"

namespace byoc {
namespace {

constexpr double kLeastBytes = 64 << 10;  // functions with smaller constants are not considered

constexpr double kNoLimit = std::numeric_limits<double>::infinity();
struct WeightLimit {
  std::string_view name;
  double share;  // the most bytes of constants per byte of the model's
  double loss;   // .. unless that takes longer by more than this share of the functions' time
};
constexpr WeightLimit kLimits[] = {{"size", 1.1, kNoLimit},
                                   {"balanced", 1.6, kNoLimit},
                                   {"gain", 1.65, 0.01},
                                   {"speed", kNoLimit, 0}};

/// A compute of a function.
struct WeightForm {
  std::string compute;
  double bytes = 0, ns = 0;
};

/// Functions that share a kernel.
struct WeightChoice {
  std::vector<Symbol> functions;
  std::vector<WeightForm> forms;  // the one at hand first, then smaller ones
  double runs = 0;                // of the kernel, in a run of the model
  size_t at = 0;                  // in `forms`
};

/// A change to a smaller form.
struct WeightStep {
  double ns_per_byte = 0;
  size_t choice = 0, to = 0;
  bool operator>(const WeightStep& other) const {  // equal ones in the order of the functions
    return std::pair(ns_per_byte, choice) > std::pair(other.ns_per_byte, other.choice);
  }
};

std::vector<WeightForm> forms_of(const PluginComputes& computes) {
  const std::string& first = computes.recorded.empty() ? computes.usual : computes.recorded;
  std::vector<WeightForm> out;
  for (const auto& [name, bytes] : computes.constant_bytes) {
    const auto cost = computes.cost_ns.find(name);
    if (cost != computes.cost_ns.end()) out.push_back({name, bytes, cost->second});
  }
  const auto usual = std::ranges::find(out, first, &WeightForm::compute);
  if (usual == out.end()) return {};
  std::iter_swap(out.begin(), usual);
  const double most = out.front().bytes;
  std::erase_if(out, [&](const WeightForm& f) { return f.compute != first && f.bytes >= most; });
  return out;
}

class Fitting {
 public:
  Fitting(IRModule& module, const PassContext& context) : module_(module), context_(context) {}

  Status run(const WeightLimit& limit) {
    count_runs();
    for (const auto& [name, function] : module_.functions) BYOC_TRY_STATUS(add(name, function));
    if (choices_.empty()) return {};
    measure();
    const double bytes_before = bytes_;
    make_smaller(limit.share * model_bytes_, limit.loss * ns_);
    apply();
    report(bytes_before);
    return {};
  }

 private:
  // A body of a loop counts once.
  void count_runs() {
    for (const auto& [name, function] : module_.functions) {
      for (const Node& node : function.nodes) {
        if (const auto* invoke = std::get_if<Invoke>(&node.kind)) ++runs_[invoke->function];
      }
    }
  }

  Status add(Symbol name, const Function& function) {
    if (!is_region(module_, name, function) || te::has_loops(function)) return {};
    const std::string plugin = function.attr("compiler");
    if (std::ranges::find(context_.defaults, plugin) == context_.defaults.end()) return {};
    double bytes = 0;
    for (const LiftedConstant& constant : constants_of(module_, function))
      bytes += static_cast<double>(constant.data->size());
    if (bytes < kLeastBytes || function.attrs.has(kComputeKnob)) return {};
    auto [at, is_new] = by_key_.try_emplace(region_key(module_, function), choices_.size());
    if (is_new) {
      BYOC_TRY(const Plugin* codegen, context_.plugins->get(plugin));
      BYOC_TRY(const PluginComputes computes,
               computes_of(*codegen, input_of(module_, function, name), context_));
      choices_.push_back({.functions = {}, .forms = forms_of(computes)});
    }
    WeightChoice& choice = choices_[at->second];
    choice.functions.push_back(name);
    choice.runs += runs_[name];
    return {};
  }

  // Sums up the model's weights, and the constants of its functions as they would be stored.
  void measure() {
    std::unordered_set<Symbol> have_choice;
    for (const WeightChoice& choice : choices_) {
      if (!choice.forms.empty())
        have_choice.insert(choice.functions.begin(), choice.functions.end());
    }
    std::map<ContentKey, bool> is_fixed;  // read by a function without a choice
    for (const auto& [name, function] : module_.functions) {
      for (const Node& node : function.nodes) {
        if (const auto* constant = std::get_if<Constant>(&node.kind))
          is_fixed[constant->data->key()] |= !have_choice.contains(name);
      }
    }
    for (const auto& [key, fixed] : is_fixed) {
      const auto size = static_cast<double>(module_.constants.at(key)->size());
      model_bytes_ += size;
      if (fixed) bytes_ += size;
    }
    for (const WeightChoice& choice : choices_) {
      if (choice.forms.empty()) continue;
      bytes_ += choice.forms[0].bytes;
      ns_ += choice.forms[0].ns * choice.runs;
    }
  }

  std::optional<WeightStep> next_step(size_t index) const {
    const WeightChoice& choice = choices_[index];
    if (choice.forms.empty()) return std::nullopt;
    const WeightForm& now = choice.forms[choice.at];
    std::optional<WeightStep> best;
    for (size_t to = 0; to < choice.forms.size(); ++to) {
      const WeightForm& form = choice.forms[to];
      if (form.bytes >= now.bytes) continue;
      const WeightStep step{
          std::max(form.ns - now.ns, 0.0) * choice.runs / (now.bytes - form.bytes), index, to};
      if (!best || step.ns_per_byte < best->ns_per_byte) best = step;
    }
    return best;
  }

  void make_smaller(double most_bytes, double most_ns) {
    double lost_ns = 0;
    std::priority_queue<WeightStep, std::vector<WeightStep>, std::greater<>> steps;
    auto push = [&](size_t index) {
      if (const std::optional<WeightStep> step = next_step(index)) steps.push(*step);
    };
    for (size_t k = 0; k < choices_.size(); ++k) push(k);
    while (bytes_ > most_bytes && !steps.empty()) {
      const WeightStep step = steps.top();
      steps.pop();
      WeightChoice& choice = choices_[step.choice];
      const WeightForm &now = choice.forms[choice.at], &next = choice.forms[step.to];
      const double lost_here = std::max(next.ns - now.ns, 0.0) * choice.runs;
      if (lost_ns + lost_here > most_ns) continue;  // others may lose less in all
      lost_ns += lost_here;
      bytes_ -= now.bytes - next.bytes;
      choice.at = step.to;
      push(step.choice);
    }
  }

  void apply() {
    for (const WeightChoice& choice : choices_) {
      if (choice.at == 0) continue;
      for (Symbol name : choice.functions)
        module_.function(name).attrs.set(kComputeKnob, choice.forms[choice.at].compute);
    }
  }

  void report(double bytes_before) const {
    if (context_.report == nullptr) return;
    Report::Weights& out = context_.report->weights;
    out = {.model_bytes = model_bytes_, .bytes = bytes_, .bytes_saved = bytes_before - bytes_};
    for (const WeightChoice& choice : choices_) {
      if (choice.forms.empty()) continue;
      const WeightForm &now = choice.forms[choice.at], &first = choice.forms[0];
      const WeightForm& least = *std::ranges::min_element(choice.forms, {}, &WeightForm::bytes);
      out.lost_ns += (now.ns - first.ns) * choice.runs;
      out.smaller += choice.at != 0 ? 1 : 0;
      if (now.bytes <= least.bytes) continue;
      ++out.larger;
      out.larger_bytes += now.bytes - least.bytes;
      out.gain_ns += (least.ns - now.ns) * choice.runs;
    }
  }

  IRModule& module_;
  const PassContext& context_;
  std::unordered_map<Symbol, double> runs_;
  std::map<std::string, size_t> by_key_;  // region_key: an index in choices_
  std::vector<WeightChoice> choices_;
  double model_bytes_ = 0, bytes_ = 0;
  double ns_ = 0;  // of a run of all functions with forms, in their first ones
};

}  // namespace

Status fit_weights(IRModule& module, const PassContext& context) {
  const std::string text = context.option("prefer");
  const auto* preference = std::ranges::find(kLimits, text, &WeightLimit::name);
  if (preference == std::end(kLimits))
    return invalid(cat("prefer is gain, size, balanced or speed, not \"", text, "\""))
        .with_slug("usage");
  // Forms of several sizes of a model are those that all sizes have.
  if (!context.plugins || (context.compile_flags & BYOC_SHARED_WEIGHTS) != 0) return {};
  const bool has_limit = std::isfinite(preference->share);
  if (!has_limit && context.report == nullptr)
    return {};  // no form changes, and no report has them
  return Fitting(module, context).run(*preference);
}

}  // namespace byoc
