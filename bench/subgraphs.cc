// SPDX-License-Identifier: Apache-2.0
// Measures each region of digits, ResNet-50 and BERT as one benchmark per plugin that runs all of
// it: subgraph/<model>/<region>/<plugin>. Regions are those of the default partition; the plugin
// that owns a region gets its graph unchanged, another one its ops. Inputs are the values the
// region gets in the model; outputs are compared with json's before anything is timed.
#include <benchmark/benchmark.h>

#include <algorithm>

#include "bench/support/models.h"
#include "byoc/base/check.h"
#include "core/measure/session/timed_session.h"
#include "core/tools/measure/report.h"
#include "core/tools/replay/dump_region.h"
#include "core/tools/replay/run_replay.h"

namespace byoc::bench {
namespace {

constexpr const char* kReference = "json";
bool any_wrong = false;  // some outputs differ from json's: exit code 1

/// Returns the values of one model at a time: those of a large one take hundreds of megabytes.
const driver::RegionValues& values_of(const Model& model) {
  static std::string current;
  static std::optional<driver::RegionValues> values;
  if (current == model.name) return *values;
  values.reset();
  LoadedModel loaded = load_bench_model(model);
  auto computed = driver::RegionValues::compute(
      std::move(loaded.module), {.plugins = bench_plugins()}, kReference, std::move(loaded.inputs));
  BYOC_CHECK(computed.ok(), model.name, ": ", computed.status().to_string());
  values = *std::move(computed);
  current = model.name;
  return *values;
}

/// Returns the first output that differs, or "".
std::string first_mismatch(const measure::TimedSession& timed, const driver::ReplayCase& replay) {
  for (size_t k = 0; k < replay.outputs.size(); ++k) {
    auto compared = driver::compare_value(replay.outputs[k].name, timed.outputs()[k],
                                          replay.outputs[k].tensor, driver::limit_of(replay, k));
    if (!compared.difference.is_equal) return cat(compared.name, " ", value_text(compared));
  }
  return "";
}

Result<std::unique_ptr<measure::TimedSession>> make_timed_session(const driver::ReplayCase& replay,
                                                                  Executable executable) {
  std::vector<Tensor> inputs;
  for (const driver::ReplayTensor& input : replay.inputs) {
    BYOC_TRY(Tensor copy, input.tensor.copy());
    inputs.push_back(std::move(copy));
  }
  BYOC_TRY(auto session, Session::load(std::move(executable), bench_plugins(), {.threads = 1}));
  return measure::TimedSession::make(std::move(session), inputs);
}

void run(benchmark::State& state, const Model& model, const std::string& region,
         const std::string& plugin) {
  const driver::RegionValues& values = values_of(model);
  auto border = values.find(region);
  BYOC_CHECK(border.ok(), border.status().to_string());
  auto limits = driver::region_limits(values, -1);
  BYOC_CHECK(limits.ok(), limits.status().to_string());
  auto replay = driver::replay_case(values, **border, *limits);
  BYOC_CHECK(replay.ok(), replay.status().to_string());
  auto program = driver::compile_replay(*replay, **bench_plugins()->get(plugin), bench_plugins());
  if (!program.ok()) return state.SkipWithError(program.status().message().c_str());
  const driver::Replayed& facts = program->facts;
  if (!program->executable || facts.taken < facts.ops)
    return state.SkipWithError(
        cat("skipped: takes ", facts.taken, " of ", facts.ops, " ops").c_str());
  auto timed = make_timed_session(*replay, *std::move(program->executable));
  if (!timed.ok()) return state.SkipWithError(timed.status().message().c_str());
  if (std::string wrong = first_mismatch(**timed, *replay); !wrong.empty()) {
    any_wrong = true;
    return state.SkipWithError(cat("WRONG: ", wrong).c_str());
  }
  for (auto _ : state) BYOC_CHECK((*timed)->run().ok(), "a run failed");
  if (auto flops = driver::flops_of((*timed)->session()); flops && *flops > 0)
    state.counters["flops/s"] =
        benchmark::Counter(*flops, benchmark::Counter::kIsIterationInvariantRate);
}

/// Returns whether a plugin is measured. A default codegen runs the ops that the others refused, so
/// those others are not measured.
bool may_take(const Plugin& plugin, const std::string& owner) {
  return plugin.is_default_codegen() || !(*bench_plugins()->get(owner))->is_default_codegen();
}

/// Registers the benchmarks of a model. Names need the partition alone; values are computed when a
/// benchmark of the model runs.
void register_model(const Model& model) {
  LoadedModel loaded = load_bench_model(model);
  auto regions = driver::regions_of(std::move(loaded.module), {.plugins = bench_plugins()});
  BYOC_CHECK(regions.ok(), model.name, ": ", regions.status().to_string());
  for (const driver::RegionCall& region : *regions) {
    for (const auto& plugin : bench_plugins()->all()) {
      if (!may_take(*plugin, region.plugin)) continue;
      std::string name = cat("subgraph/", model.name, "/", region.function, "/", plugin->id());
      benchmark::RegisterBenchmark(name.c_str(), run, model, region.function.str(), plugin->id())
          ->Unit(benchmark::kMicrosecond);
    }
  }
}

}  // namespace
}  // namespace byoc::bench

int main(int argc, char** argv) {
  auto models = byoc::bench::bench_models(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  for (const auto& model : models) byoc::bench::register_model(model);
  benchmark::RunSpecifiedBenchmarks();
  return byoc::bench::any_wrong ? 1 : 0;
}
