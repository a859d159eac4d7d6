// SPDX-License-Identifier: Apache-2.0
// Measures labelling, the passes up to partition_graph, and code generation, through the ABI and at
// every size of graph. `partition` is the pipeline of the commands with the plugins that ship; the
// others have three test plugins that share a graph finely. The result is checked before it is
// timed: no op is lost, and calls of regions come after the values they read.
#include <benchmark/benchmark.h>

#include <sys/resource.h>
#include <chrono>

#include "bench/support/graphs.h"
#include "byoc/compile.h"
#include "byoc/pass/passes.h"
#include "core/partition/convex/regions.h"
#include "core/partition/partition_metrics.h"
#include "core/region/judge.h"
#include "support/paths.h"

namespace byoc::bench {
namespace {

constexpr const char* kUnary =
    R"([{"name":"tanh_relu","dag":{"op":"relu","args":[{"op":"tanh"}]}}])";

std::shared_ptr<const PluginSet> three_plugins() {
  static auto plugins = [] {
    PluginSearch search;
    for (const char* id : {"a", "b", "c"})
      search.files.push_back(cat(BYOC_BUILD_DIR, "/tests/support/plugins/libbyoc_", id, ".so"));
    search.options["a"] = {{"ops", "relu,tanh,add"}, {"refuse", "add"}};
    search.options["b"] = {{"ops", "add,exp"}};
    search.options["c"] = {{"ops", "multiply"}, {"patterns", kUnary}};
    return PluginSet::load(search);
  }();
  return plugins;
}

PassContext shipped_plugins() {
  static auto plugins = [] {
    PluginSearch search;
    for (const char* id : {"onednn", "llvm", "json"})
      search.files.push_back(cat(BYOC_PLUGIN_DIR "/libbyoc_", id, ".so"));
    return PluginSet::load(search);
  }();
  PassContext context;
  context.plugins = plugins;
  context.compilers = {"onednn", "llvm", "json"};
  context.judge_cache = std::make_shared<JudgeCache>();
  return context;
}

PassContext context_with(Report* report) {
  PassContext context;
  context.plugins = three_plugins();
  context.compilers = {"a", "b", "c"};
  context.report = report;
  context.judge_cache = std::make_shared<JudgeCache>();
  return context;
}

uint64_t count_ops(const IRModule& module) {
  uint64_t ops = 0;
  for (const auto& [name, function] : module.functions) {
    for (const Node& node : function.nodes) {
      auto* call = std::get_if<Call>(&node.kind);
      ops += call != nullptr && !call->op->is_annotation;
    }
  }
  return ops;
}

Result<IRModule> partition(IRModule module, const PassContext& context) {
  BYOC_TRY(module, annotate_target(std::move(module), context.compilers, context));
  BYOC_TRY(module, merge_compiler_regions(std::move(module), context));
  return partition_graph(std::move(module), context);
}

// Returns the graph alone, as merge_compiler_regions passes it to the labels.
RegionGraph region_graph(const IRModule& module) {
  const Function& f = module.function("main");
  RegionGraph g;
  g.first.push_back(0);
  for (uint32_t n = 1; n < f.nodes.size(); ++n) {
    const std::string& op = std::get<Call>(f.nodes[n].kind).op->name;
    g.color.push_back(op == "relu" || op == "tanh" ? 0 : op == "multiply" ? 2 : 1);
    g.alone.push_back(0);
    g.ops.push_back(1);
    g.bytes.push_back(256);
    for (ValueId arg : f.args(f.nodes[n])) {
      if (arg.node == 0) continue;
      g.source.push_back(arg.node - 1);
      g.weight.push_back(256);
    }
    g.first.push_back(static_cast<uint32_t>(g.source.size()));
  }
  return g;
}

void labels(benchmark::State& state, Family family) {
  RegionGraph graph = region_graph(make_graph(family, static_cast<uint32_t>(state.range(0))));
  std::vector<int32_t> label = label_nodes(graph, 4);
  for (uint32_t v = 0; v < graph.size(); ++v) {
    for (uint32_t e = graph.first[v]; e < graph.first[v + 1]; ++e) {
      if (label[graph.source[e]] > label[v])
        return state.SkipWithError("a label falls along an edge");
    }
  }
  for (auto _ : state) benchmark::DoNotOptimize(label_nodes(graph, 4));
  state.counters["ops/s"] = benchmark::Counter(static_cast<double>(graph.size()),
                                               benchmark::Counter::kIsIterationInvariantRate);
}

double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Counts regions and border tensors, and those of the baseline (core/partition/convex/waves.h) on
// the same annotations. Returns false, with an error, when byoc's are more of either.
bool count_against_waves(benchmark::State& state, const IRModule& model, IRModule out) {
  PassContext context = context_with(nullptr);
  Result<PartitionMetrics> ours = measure_partition(out), waves = PartitionMetrics();
  out = IRModule();  // keeps this below the memory of partitioning
  Result<IRModule> annotated = annotate_target(model, context.compilers, context);
  if (annotated.ok()) waves = measure_waves(*annotated, context, WaveRegions::kConnected);
  if (!ours.ok() || !annotated.ok() || !waves.ok()) return state.SkipWithError("no counts"), false;
  state.counters["regions"] = static_cast<double>(ours->regions);
  state.counters["border_tensors"] = static_cast<double>(ours->tensors);
  state.counters["waves_regions"] = static_cast<double>(waves->regions);
  state.counters["waves_border_tensors"] = static_cast<double>(waves->tensors);
  bool is_worse = ours->regions > waves->regions || ours->tensors > waves->tensors;
  if (is_worse) state.SkipWithError("more regions or border tensors than the waves");
  return !is_worse;
}

// Runs the passes. The first run of a graph creates all of its names and attributes in the process;
// `first_s` is its wall time. `peak_mib` is the peak of the process so far.
void passes(benchmark::State& state, Family family) {
  IRModule model = make_graph(family, static_cast<uint32_t>(state.range(0)));
  Report report;
  auto start = std::chrono::steady_clock::now();
  Result<IRModule> out = partition(model, context_with(&report));
  state.counters["first_s"] = seconds_since(start);
  if (!out.ok()) return state.SkipWithError(out.status().to_string().c_str());
  if (count_ops(*out) != count_ops(model)) return state.SkipWithError("ops were lost");
  state.counters["judge_calls"] = static_cast<double>(report.judge_calls);
  state.counters["peak_mib"] = peak_mib();
  state.counters["judge_distinct"] = static_cast<double>(report.judge_distinct);
  if (!count_against_waves(state, model, *std::move(out))) return;
  out = IRModule();
  for (auto _ : state) {
    PassContext context = context_with(nullptr);
    state.PauseTiming();
    IRModule copy = model;
    state.ResumeTiming();
    Result<IRModule> again = partition(std::move(copy), context);
    state.PauseTiming();
    benchmark::DoNotOptimize(again);
    again = IRModule();
    state.ResumeTiming();
  }
}

// Runs the pipeline from a typed module to its regions. `steps/op`: parts of patterns tried,
// `peak_mib`: the peak of the process so far.
void pipeline(benchmark::State& state, Family family) {
  IRModule model = make_graph(family, static_cast<uint32_t>(state.range(0)));
  const uint64_t ops = count_ops(model);
  for (auto _ : state) {
    state.PauseTiming();
    IRModule copy = model;
    PassContext context = shipped_plugins();
    std::vector<Pass> passes = partition_pipeline(context);
    state.ResumeTiming();
    Result<IRModule> out = run_passes(std::move(copy), passes, context);
    state.PauseTiming();
    if (!out.ok()) return state.SkipWithError(out.status().to_string().c_str());
    const uint64_t left = count_ops(*out);  // equal ops became one
    if (left > ops || left < ops / 2) return state.SkipWithError("ops were lost");
    state.counters["ops"] = static_cast<double>(left);
    state.counters["steps/op"] =
        static_cast<double>(context.judge_cache->pattern_steps) / static_cast<double>(left);
    state.counters["peak_mib"] = peak_mib();
    out = IRModule();
    state.ResumeTiming();
  }
}

// Compiles the regions by their plugins: fuse_ops, run_codegen, plan_memory. `peak_mib` is the peak
// of the process so far.
void codegen(benchmark::State& state, Family family) {
  PassContext context = context_with(nullptr);
  IRModule model = make_graph(family, static_cast<uint32_t>(state.range(0)));
  uint64_t ops = count_ops(model);
  Result<IRModule> cut = partition(std::move(model), context);
  if (!cut.ok()) return state.SkipWithError(cut.status().to_string().c_str());
  uint64_t compiled = 0;
  for (auto _ : state) {
    Result<IRModule> out = run_passes(*cut, codegen_pipeline(context), context);
    state.PauseTiming();
    if (!out.ok()) return state.SkipWithError(out.status().to_string().c_str());
    compiled = 0;
    for (const ExternalModule& module : out->external_mods) {
      for (const ExternalFunction& function : module.functions)
        compiled += function.ops * (1 + function.aliases.size());
    }
    out = IRModule();
    state.ResumeTiming();
  }
  if (compiled != ops) return state.SkipWithError("ops were lost");
  state.counters["functions"] = static_cast<double>(cut->functions.size() - 1);
  state.counters["peak_mib"] = peak_mib();
}

void register_all() {
  for (Family family : {Family::kTransformer, Family::kNas, Family::kRandom}) {
    for (int64_t ops : {1000, 10000, 100000, 1000000}) {
      benchmark::RegisterBenchmark(cat("labels/", family_name(family)).c_str(), labels, family)
          ->Arg(ops)
          ->Unit(benchmark::kMillisecond);
      benchmark::RegisterBenchmark(cat("annotate_merge_partition/", family_name(family)).c_str(),
                                   passes, family)
          ->Arg(ops)
          ->Unit(benchmark::kMillisecond);
      benchmark::RegisterBenchmark(cat("partition/", family_name(family)).c_str(), pipeline, family)
          ->Arg(ops)
          ->Unit(benchmark::kMillisecond);
      benchmark::RegisterBenchmark(cat("codegen/", family_name(family)).c_str(), codegen, family)
          ->Arg(ops)
          ->Unit(benchmark::kMillisecond);
    }
  }
}

}  // namespace
}  // namespace byoc::bench

int main(int argc, char** argv) {
  byoc::bench::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
