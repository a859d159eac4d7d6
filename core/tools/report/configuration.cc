// SPDX-License-Identifier: Apache-2.0
#include "core/tools/report/configuration.h"

#include "byoc/base/clock.h"
#include "byoc/base/json.h"
#include "core/machine/this_machine.h"
#include "core/process/machine_load.h"
#include "core/tools/diff/explanation_diff.h"
#include "core/tools/measure/report.h"
#include "core/tools/model/tuning.h"
#include "core/tools/report/graph_json.h"
#include "core/tools/report/machine_json.h"
#include "core/tools/report/memory_json.h"
#include "core/tools/show/explanation_json.h"
#include "runtime/cli/span_report.h"

namespace byoc::driver {
namespace {

/// Keeps the module that a pass leaves in the run of explain().
class Capture {
 public:
  Instrument instrument() {
    return {.before = nullptr,
            .after = [this](const Pass& pass, const IRModule&, const IRModule& after,
                            uint64_t) -> Status {
              if (pass.name == "partition_graph" || pass.name == "fuse_ops") module_ = after;
              return {};
            }};
  }
  const IRModule& module() const { return module_; }

 private:
  IRModule module_;
};

Status interrupted() { return Status(Code::kCancelled, "interrupted").with_slug("interrupted"); }

std::string names_of(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += cat(out.empty() ? "" : ", ", word);
  return out;
}

class Configuration {
 public:
  Configuration(SubjectRequest request, const ReportPlan& plan)
      : request_(std::move(request)), plan_(plan) {}

  /// Explains the model, and compiles it when it compiles.
  Status prepare(const measure::Watch& watch);
  void set_load(const process::OtherLoad& load) { bench_.load = load; }
  Benched* benched() { return bench_.all.empty() ? nullptr : &bench_.all[0]; }
  const PluginSet& plugins() const { return *build_.plugins; }
  const Json& explained() const { return explained_; }
  Result<Json> json() const;

 private:
  Status explain_model();
  Status load(const measure::Watch& watch);

  SubjectRequest request_;
  const ReportPlan& plan_;
  IRModule module_;
  BuildOptions build_;
  Explanation explanation_;
  Json explained_, graph_;  // null until the model is explained
  BenchReport bench_;
};

Status Configuration::prepare(const measure::Watch& watch) {
  request_.model.tuning = std::make_shared<TuningUse>();
  BYOC_TRY(module_, load_model(request_.model));
  BYOC_TRY(build_, build_options(request_.model));
  if (!watch("explaining", 0, 0)) return interrupted();
  BYOC_TRY_STATUS(explain_model());
  bool is_complete = watch("explaining", 0, 0) || explanation_.uncompiled.empty();
  if (!is_complete) explained_ = Json();  // the build in it was interrupted
  if (!is_complete) return interrupted();
  bool is_run = !plan_.no_run && explanation_.uncompiled.empty();
  return is_run ? load(watch) : Status();
}

Status Configuration::explain_model() {
  Capture capture;
  BuildOptions options = build_;
  options.instruments.push_back(capture.instrument());
  BYOC_TRY(explanation_, explain(module_, options));
  graph_ = graph_json(make_drawing(capture.module()), explanation_);
  explained_ = explanation_json(explanation_, request_.model, facts_of(module_));
  add_tuning_json(request_.model, explained_);
  return {};
}

Status Configuration::load(const measure::Watch& watch) {
  request_.model.tuning = std::make_shared<TuningUse>();  // of this compilation alone
  bool is_wanted = true;
  auto doing = [&](const std::string& what) { is_wanted = watch(what, 0, 0) && is_wanted; };
  BYOC_TRY(Subject subject, make_subject(request_, plan_.warn, doing));
  doing("compiling");
  if (!is_wanted) return interrupted();
  BYOC_TRY(Compiled compiled, subject.compile(request_.model[option::kThreads]));
  Benched benched{.compile_ns = compiled.compile_ns};
  uint64_t begin_ns = now_ns();
  BYOC_TRY(auto session,
           Session::load(std::move(compiled.executable), subject.plugins,
                         SessionOptions{.threads = request_.model[option::kThreads]}));
  benched.load_ns = ns_since(begin_ns);
  BYOC_TRY_STATUS(session->check_externs());
  benched.threads = session->threads();
  BYOC_TRY(benched.timed, measure::TimedSession::make(std::move(session), subject.inputs));
  benched.memory = cli::memory_use(benched.timed->session(), benched.timed->context());
  BYOC_TRY(benched.outputs, compare_outputs(subject, *benched.timed, plan_.tolerance));
  bench_.model = subject.model;
  bench_.options_json = given_json(request_.model.values).dump();
  bench_.reference = subject.reference;
  bench_.why_no_check = subject.why_no_check;
  bench_.input_types = std::move(subject.input_types);
  bench_.inputs = std::move(subject.sources);
  bench_.plan = plan_.timing;
  bench_.all.push_back(std::move(benched));
  return {};
}

Result<Json> Configuration::json() const {
  Json json = {
      {"name", names_of(explanation_.plugins)}, {"explain", explained_}, {"graph", graph_}};
  for (const char* part : {"bench", "trace", "memory", "steps", "changes"}) json[part] = Json();
  bool is_timed = !bench_.all.empty() && !bench_.all[0].timed->samples.ns.empty();
  if (!is_timed) return json;  // not run, or interrupted before its first turn
  const measure::TimedSession& timed = *bench_.all[0].timed;
  json["bench"] = bench_json(bench_);
  add_tuning_json(request_.model, json["bench"]);
  json["trace"] = cli::trace_json(timed.session(), timed.context());
  json["memory"] = memory_json(timed.session().program());
  json["steps"] = steps_json(timed.session().executable());
  return json;
}

/// Explains, compiles and times the configurations until all is done or the user stops it.
class Work {
 public:
  Work(const ReportPlan& plan, const measure::Watch& watch) : plan_(plan), watch_(watch) {}

  void add(SubjectRequest request) { all_.emplace_back(std::move(request), plan_); }
  /// Errors: those of the work; an interruption is one when no model was explained before it.
  Status run() {
    Status done = prepare_all();
    if (done.ok()) done = time_all();
    is_interrupted_ = done.slug() == "interrupted";
    while (is_interrupted_ && !all_.empty() && all_.back().explained().is_null()) all_.pop_back();
    return is_interrupted_ && !all_.empty() ? Status() : done;
  }
  Result<Json> json(const std::string& model) const;

 private:
  Status prepare_all() {
    for (Configuration& configuration : all_) BYOC_TRY_STATUS(configuration.prepare(watch_));
    return {};
  }

  Status time_all() {
    std::vector<measure::TimedSession*> timed;
    for (Configuration& configuration : all_) {
      if (Benched* benched = configuration.benched()) timed.push_back(benched->timed.get());
    }
    if (timed.empty()) return {};
    const process::ProcessorTimes before = process::processor_times();
    const Status measured = measure::time_in_turns(timed, plan_.timing, watch_);
    if (measured.ok()) BYOC_TRY_STATUS(add_peaks());
    const process::OtherLoad load = process::load_between(before, process::processor_times());
    for (Configuration& configuration : all_) configuration.set_load(load);
    return measured;
  }

  Status add_peaks() {
    BYOC_TRY(const auto machine, machine::this_machine());
    for (Configuration& configuration : all_) {
      Benched* benched = configuration.benched();
      if (benched != nullptr) benched->peaks = machine::peaks_of(*machine, benched->threads);
    }
    return {};
  }

  const ReportPlan& plan_;
  const measure::Watch& watch_;
  std::vector<Configuration> all_;
  bool is_interrupted_ = false;
};

Result<Json> Work::json(const std::string& model) const {
  std::vector<const PluginSet*> sets;
  for (const Configuration& configuration : all_) sets.push_back(&configuration.plugins());
  Json json = {{"model", model},
               {"machine", machine_json()},
               {"plugins", plugins_json(sets)},
               {"interrupted", is_interrupted_},
               {"configurations", Json::array()}};
  for (const Configuration& configuration : all_) {
    BYOC_TRY(Json part, configuration.json());
    if (&configuration != &all_[0]) {
      BYOC_TRY(ExplanationDiff diff,
               explanation_diff(all_[0].explained(), configuration.explained()));
      part["changes"] = diff_json(diff);
    }
    json["configurations"].push_back(std::move(part));
  }
  return json;
}

}  // namespace

Result<Json> report_json(const SubjectRequest& request, const std::vector<std::string>& others,
                         const ReportPlan& plan, const measure::Watch& watch) {
  Work work(plan, watch);
  work.add(request);
  for (const std::string& text : others) {
    uint32_t threads = request.model[option::kThreads];
    BYOC_TRY(SubjectRequest other, other_request(request, text, threads));
    other.model[option::kThreads] = threads;
    work.add(std::move(other));
  }
  BYOC_TRY_STATUS(work.run());
  return work.json(request.model.model);
}

}  // namespace byoc::driver
