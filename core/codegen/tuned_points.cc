// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/tuned_points.h"

#include <algorithm>
#include <thread>

namespace byoc {

using tune::Choice;
using tune::Origin;
using Entry = tune::HistoryReport::Entry;
namespace {

// Returns the point for the value of the knob that `space` was narrowed to; "" where the plugin
// compiles that without a point.
std::string fallback_of(const tune::Space& whole, const tune::Space& narrow) {
  return whole.guesses[0] == narrow.guesses[0] ? "" : tune::print(narrow.guesses[0]);
}

}  // namespace

uint32_t threads_of_runs(const PassContext& context) {
  return context.threads > 0 ? context.threads : std::max(1U, std::thread::hardware_concurrency());
}

Result<std::optional<tune::Space>> knob_space(const Plugin& plugin, const CompileFunction& input,
                                              const PassContext& context) {
  Result<std::string> text = plugin.knobs(
      input, {context.target_json, context.threads, context.compile_flags, context.cancel});
  // A function that compile will decline has no choice.
  if (text.status().code() == Code::kDeclined) return std::optional<tune::Space>();
  const std::string place = cat("@", input.symbol);
  if (!text.ok()) return std::move(text.status()).at(place);
  if (text->empty()) return std::optional<tune::Space>();
  Result<tune::Space> space = tune::parse_space(*text);
  if (!space.ok())
    return std::move(space.status()).at(cat("the knobs of plugin \"", plugin.id(), "\"")).at(place);
  return std::optional(*std::move(space));
}

Choice best_choice(const PassContext& context, const tune::Query& query) {
  Choice best;
  for (const auto& history : context.histories) {
    Choice choice = history->find(query);
    if (choice.origin == Origin::kExact || choice.origin == Origin::kCompatible) return choice;
    if (best.origin == Origin::kMiss) best = std::move(choice);
  }
  return best;
}

Status TunedPoints::check_tuned(const Entry& entry, std::string_view why) const {
  if (!context_.require_tuned) return {};
  return failed(cat("@", entry.symbol, " (", entry.kind, ") of plugin \"", entry.plugin,
                    "\" has no tuned point: ", why))
      .with_slug("not-tuned")
      .with_help("byoc tune MODEL --log FILE with the same flags measures it");
}

Result<std::optional<TunedChoice>> TunedPoints::choose(const Plugin& plugin, CompileFunction& input,
                                                       const std::string& compute, size_t calls) {
  BYOC_TRY(std::optional<tune::Space> space, knob_space(plugin, input, context_));
  if (!space && compute.empty()) return std::optional<TunedChoice>();
  TunedChoice out;
  if (!compute.empty()) {
    Result<tune::Space> narrow =
        tune::narrowed(space ? *space : tune::Space(), kComputeKnob, compute);
    if (!narrow.ok())
      return std::move(narrow.status())
          .at(cat("@", input.symbol, " of plugin \"", plugin.id(), "\""));
    out.fallback_json = fallback_of(*space, *narrow);
    space = *std::move(narrow);
  }
  input.point_json = out.fallback_json;
  out.own_json = tune::print(space->guesses.at(0));
  out.entry = {input.symbol, plugin.id(), space->kind, {}};
  out.entry.task = space->task, out.entry.point = out.own_json;
  if (!is_active()) return std::optional(std::move(out));
  if (target_.empty()) {
    BYOC_TRY(target_, tune::record_target(context_.target_json));
  }
  Entry& entry = out.entry;
  entry.choice = best_choice(context_, {plugin.id(), *space, target_, threads_of_runs(context_)});
  const bool is_miss = entry.choice.origin == Origin::kMiss;
  const double ns = is_miss ? tune::estimated_ns(*space) : entry.choice.best_ns;
  entry.weight = static_cast<double>(calls) * ns;
  if (is_miss) BYOC_TRY_STATUS(check_tuned(entry, "no log has a record for it"));
  else input.point_json = entry.point = tune::print(entry.choice.point);
  return std::optional(std::move(out));
}

void TunedPoints::report_own(const Plugin& plugin, const CompileFunction& input) const {
  if (context_.history_report == nullptr) return;
  const Result<std::optional<tune::Space>> space = knob_space(plugin, input, context_);
  if (!space.ok() || !*space) return;  // compile needs no space
  Entry entry{input.symbol, plugin.id(), (*space)->kind, {}};
  entry.task = (*space)->task, entry.point = tune::print((*space)->guesses.at(0));
  report(std::move(entry));
}

void TunedPoints::report(Entry entry) const {
  if (context_.history_report != nullptr) context_.history_report->add(std::move(entry));
}

Status TunedPoints::drop(const Plugin& plugin, CompileFunction& input, TunedChoice& choice,
                         const Status& why) const {
  if (input.point_json == choice.fallback_json) {
    return Status(why).at(cat("@", input.symbol, " at the point ", input.point_json,
                              ", the first guess of plugin \"", plugin.id(), "\""));
  }
  Entry& entry = choice.entry;
  entry.note = cat("the point ", input.point_json, " of ", entry.choice.log,
                   " was refused: ", why.message());
  context_.remark({Report::Remark::kNote, plugin.id(), input.symbol, {}, entry.note});
  input.point_json = choice.fallback_json;
  entry.choice = {}, entry.point = choice.own_json;
  return check_tuned(entry, cat("the plugin refused the one of the log: ", why.message()));
}

}  // namespace byoc
