// SPDX-License-Identifier: Apache-2.0
// Measures the host's overhead of an external call: a chain of 1000 steps whose kernel writes one
// float, run by a Session, compared with bare calls of the same kernel through the plugin's table.
// Both write the same numbers, which is checked first. The row `overhead` alternates between the
// two and shows the difference per call_dps_packed, in the counter as a median.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>

#include "byoc/base/check.h"
#include "byoc/runtime/session.h"
#include "tests/support/faults.h"

namespace byoc::bench {
namespace {

constexpr uint32_t kSteps = 1000;
const TensorSpec kType{DType::kF32, {1}};

Executable chain(const Plugin& plugin) {
  CompileFunction relu{.symbol = "faulty_main_0", .graph_json = "{}", .n_in = 1, .n_out = 1};
  CompileResult compiled = plugin.compile({&relu, 1}, "{}", 1, 0);
  BYOC_CHECK(compiled.status.ok(), compiled.status.to_string());
  Executable executable;
  executable.modules = {std::move(compiled.module)};
  Program& program = executable.program;
  program.inputs = {{"x", kType}};
  program.outputs = {{"y", kType}};
  program.arena_bytes = 128;
  Place from{Place::kInput, 0, 0};
  for (uint32_t k = 0; k < kSteps; ++k) {
    Place to{Place::kArena, 0, k % 2 * 64};
    if (k + 1 == kSteps) to = {Place::kOutput, 0, 0};
    program.steps.push_back({.module = 0,
                             .symbol = "faulty_main_0",
                             .n_in = 1,
                             .args = {from, to},
                             .types = {kType, kType}});
    from = to;
  }
  return executable;
}

/// Runs the chain in two ways: as steps of a Session, and as calls through the table.
class Chain {
 public:
  Chain() : plugins_(test::load_fault("faulty_none")) {
    const Plugin& plugin = **plugins_->get("faulty");
    Executable executable = chain(plugin);
    auto module = plugin.load(executable.modules[0], {}, 1);
    BYOC_CHECK(module.ok(), module.status().to_string());
    module_ = *std::move(module);
    auto session = Session::load(std::move(executable), plugins_);
    BYOC_CHECK(session.ok(), session.status().to_string());
    session_ = *std::move(session);
    context_ = *session_->make_context();
    for (Tensor& tensor : tensors_) tensor = *Tensor::make(kType);
    in_ = tensors_[0].view();
    out_ = tensors_[1].view();
    call_ = {.h = {sizeof call_, BYOC_TAG_CALL, nullptr}, .args = args_, .n_args = 2};
    check();
  }

  void run_session() {
    benchmark::DoNotOptimize(session_->run(*context_, {&in_, 1}, {&out_, 1}).ok());
  }
  void call_bare() {
    for (uint32_t k = 0; k < kSteps; ++k)
      benchmark::DoNotOptimize(module_.table()->run(module_.kernel(0), &call_));
  }

 private:
  float& value(size_t k) { return *reinterpret_cast<float*>(tensors_[k].data()); }
  void check() {
    value(0) = 3;
    run_session();
    BYOC_CHECK(value(1) == 3, "the chain gave ", value(1));
    value(1) = 0;
    call_bare();
    BYOC_CHECK(value(1) == 3, "the bare kernel gave ", value(1));
  }

  std::shared_ptr<const PluginSet> plugins_;
  LoadedModule module_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Context> context_;
  Tensor tensors_[2];
  DLTensor in_, out_;
  const DLTensor* args_[2] = {&in_, &out_};
  byoc_call call_{};
};

void set_time_per_call(benchmark::State& state) {
  state.counters["per_call"] = benchmark::Counter(
      kSteps, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void session_steps(benchmark::State& state) {
  Chain chain;
  for (auto _ : state) chain.run_session();
  set_time_per_call(state);
}
BENCHMARK(session_steps)->Name("extern_call/call_dps_packed")->Unit(benchmark::kMicrosecond);

void bare_calls(benchmark::State& state) {
  Chain chain;
  for (auto _ : state) chain.call_bare();
  set_time_per_call(state);
}
BENCHMARK(bare_calls)->Name("extern_call/bare_vtable_call")->Unit(benchmark::kMicrosecond);

void overhead(benchmark::State& state) {
  Chain chain;
  auto time = [](auto&& f) {
    auto begin = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  std::vector<double> differences;  // the median: other work of the machine falls on single turns
  for (auto _ : state) {
    double session = time([&] { chain.run_session(); });
    differences.push_back(session - time([&] { chain.call_bare(); }));
    state.SetIterationTime(std::max(0.0, differences.back()));
  }
  auto middle = differences.begin() + static_cast<std::ptrdiff_t>(differences.size() / 2);
  std::nth_element(differences.begin(), middle, differences.end());
  state.counters["median_per_call"] = *middle / kSteps;
}
BENCHMARK(overhead)->Name("extern_call/overhead")->UseManualTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace byoc::bench

BENCHMARK_MAIN();
