// SPDX-License-Identifier: Apache-2.0
// Measures compiling from an ONNX file to a Session, by the shipped plugins and without a cache:
// chains, ladders and random graphs of 1e3 to 1e5 nodes. What the session computes is compared with
// f64 arithmetic before anything is timed. Times are processor time of all threads; `wall_s` is the
// time by the clock of the run that is checked, `peak_mib` the memory of the process so far.
//
//   bench_compile_time --write random 100000 dag.onnx     writes such a model, and nothing else
#include <benchmark/benchmark.h>

#include <sys/resource.h>
#include <unistd.h>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "bench/support/onnx_graphs.h"
#include "byoc/base/check.h"
#include "byoc/compile.h"
#include "byoc/import.h"
#include "byoc/op/registry.h"
#include "byoc/runtime/session.h"
#include "support/paths.h"

namespace byoc::bench {
namespace {

constexpr double kX = 0.25;

std::shared_ptr<const PluginSet> plugins() {
  static auto set = [] {
    PluginSearch search;
    for (const char* id : {"json", "onednn", "llvm"})
      search.files.push_back(cat(BYOC_PLUGIN_DIR, "/libbyoc_", id, ".so"));
    search.options["llvm"] = {{"cache", "0"}};
    return PluginSet::load(search);
  }();
  return set;
}

struct Configuration {
  const char* name;
  std::vector<std::string> compilers;
};
const Configuration kConfigurations[] = {{"json", {"json"}},
                                         {"llvm", {"llvm"}},
                                         {"onednn,llvm", {"onednn", "llvm"}},
                                         {"onednn,json,llvm", {"onednn", "json", "llvm"}}};

Result<std::unique_ptr<Session>> ready(const std::string& path,
                                       const std::vector<std::string>& compilers) {
  BYOC_TRY(IRModule module, import_onnx(path, all_ops()));
  BuildOptions options;
  options.plugins = plugins();
  options.compilers = compilers;
  BYOC_TRY(Executable executable, build(std::move(module), options));
  return Session::load(std::move(executable), plugins());
}

// Returns the largest error of the session's outputs.
double error_of(const Session& session, double expected) {
  std::vector<float> x(64, static_cast<float>(kX)), y(64);
  int64_t dims[] = {1, 64};
  auto view = [&](std::vector<float>& values) {
    return DLTensor{values.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, dims, nullptr, 0};
  };
  DLTensor in = view(x), out = view(y);
  auto context = session.make_context();
  BYOC_CHECK(context.ok(), context.status().to_string());
  Status run = session.run(**context, {&in, 1}, {&out, 1});
  BYOC_CHECK(run.ok(), run.to_string());
  double worst = 0;
  for (float value : y) worst = std::max(worst, std::abs(value - expected));
  return worst;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void import_to_ready(benchmark::State& state, Shape shape, const Configuration& configuration) {
  auto path = std::filesystem::temp_directory_path() / cat("byoc_bench_", getpid(), ".onnx");
  double expected = write_onnx_graph(path, shape, static_cast<uint32_t>(state.range(0)), kX);
  {
    auto start = std::chrono::steady_clock::now();
    auto session = ready(path, configuration.compilers);
    state.counters["wall_s"] = seconds_since(start);
    BYOC_CHECK(session.ok(), session.status().to_string());
    double error = error_of(**session, expected);  // errors do not add up in any shape
    BYOC_CHECK(error < 1e-5, "outputs are off by ", error);
  }
  for (auto _ : state) {
    auto session = ready(path, configuration.compilers);
    benchmark::DoNotOptimize(session.ok());
    state.PauseTiming();
    session->reset();
    state.ResumeTiming();
  }
  state.counters["peak_mib"] = peak_mib();
  std::filesystem::remove(path);
}

int write(char** argv) {
  std::optional<Shape> shape = shape_of(argv[2]);
  if (!shape) {
    std::fprintf(stderr, "no shape \"%s\": chain, ladder or random\n", argv[2]);
    return 2;
  }
  double y = write_onnx_graph(argv[4], *shape, static_cast<uint32_t>(std::atol(argv[3])), kX);
  std::printf("wrote %s: y is %.7f where x is %.2f\n", argv[4], y, kX);
  return 0;
}

}  // namespace
}  // namespace byoc::bench

int main(int argc, char** argv) {
  using namespace byoc::bench;
  if (argc == 5 && std::strcmp(argv[1], "--write") == 0) return write(argv);
  for (const char* name : {"chain", "ladder", "random"}) {
    for (const Configuration& configuration : kConfigurations) {
      for (int64_t ops : {1000, 10000, 100000}) {
        benchmark::RegisterBenchmark(
            byoc::cat("import_to_ready/", name, "/", configuration.name).c_str(), import_to_ready,
            *shape_of(name), configuration)
            ->Arg(ops)
            ->MeasureProcessCPUTime()
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
