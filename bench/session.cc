// SPDX-License-Identifier: Apache-2.0
// Measures the time from an artifact on disk to the first outputs: load_artifact (mapped, its
// hashes checked), Session::load, a context, one run. The plugins are open in advance, as in a
// process that has run a model. The outputs are compared with json's before anything is timed.
#include <benchmark/benchmark.h>

#include <unistd.h>
#include <cstdio>
#include <filesystem>

#include "bench/support/models.h"
#include "byoc/base/check.h"
#include "core/tools/model/compare.h"
#include "core/tools/model/execute.h"

namespace byoc::bench {
namespace {

/// Artifacts of this process, removed at its end.
class Artifacts {
 public:
  Artifacts() : folder_(std::filesystem::temp_directory_path() / cat("byoc_bench_", getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~Artifacts() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

Executable built(const IRModule& module, const std::string& compilers_of) {
  BuildOptions options{.plugins = bench_plugins(), .compilers = {compilers_of}};
  auto executable = build(module, options);
  BYOC_CHECK(executable.ok(), executable.status().to_string());
  return *std::move(executable);
}

Result<std::vector<Tensor>> start(const std::string& path, std::span<const Tensor> inputs) {
  BYOC_TRY(Executable executable, load_artifact(path));
  return driver::execute(std::move(executable), bench_plugins(), 1, inputs);
}

void check(const std::vector<Tensor>& got, const std::vector<Tensor>& right) {
  for (size_t k = 0; k < right.size(); ++k) {
    auto compared = driver::compare_value(cat("output ", k), got[k], right[k], -1);
    BYOC_CHECK(compared.difference.is_equal, compared.name, " ", value_text(compared));
  }
}

void run(benchmark::State& state, const Model& model, const std::string& plugin) {
  static const Artifacts artifacts;
  LoadedModel loaded = load_bench_model(model);
  std::string path = artifacts.file("model.byoc");
  Executable reference = built(loaded.module, "json");
  BYOC_CHECK(save_artifact(built(loaded.module, plugin), path).ok(), path);
  auto right = driver::execute(std::move(reference), bench_plugins(), 1, loaded.inputs);
  auto got = start(path, loaded.inputs);
  BYOC_CHECK(right.ok() && got.ok(), right.status().to_string(), got.status().to_string());
  check(*got, *right);
  for (auto _ : state) benchmark::DoNotOptimize(start(path, loaded.inputs).ok());
  state.counters["artifact_bytes"] = static_cast<double>(std::filesystem::file_size(path));
}

}  // namespace
}  // namespace byoc::bench

int main(int argc, char** argv) {
  auto models = byoc::bench::bench_models(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  for (const auto& model : models) {
    for (const auto& plugin : byoc::bench::bench_plugins()->all()) {
      std::string name = byoc::cat("session_start/", model.name, "/", plugin->id());
      benchmark::RegisterBenchmark(name.c_str(), byoc::bench::run, model, plugin->id())
          ->Unit(benchmark::kMicrosecond);
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
