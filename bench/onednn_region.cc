// SPDX-License-Identifier: Apache-2.0
// Measures the time that the onednn plugin adds to oneDNN's: ResNet-50 as one region, run by a
// Session, against a sequence of oneDNN's primitives written by hand (onednn_resnet50.h), in turns
// in one process; outputs are compared first. The ops that the plugin runs by its own loops are
// listed. Then the same with two threads, and the overhead of one call of a primitive. On a machine
// with AVX-512 the AVX2 figures come from a child with ONEDNN_MAX_CPU_ISA=AVX2.
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>

#include "bench/support/onednn_resnet50.h"
#include "byoc/base/check.h"
#include "byoc/base/clock.h"
#include "byoc/compile.h"
#include "byoc/runtime/tensor.h"
#include "byoc/text/builder.h"
#include "core/machine/peak_loops.h"
#include "core/measure/session/timed_session.h"
#include "support/paths.h"

namespace byoc::bench {
namespace {

struct Options {
  uint32_t rounds = 30;
  bool is_child = false;
};

template <class F>
double time_of(F&& f) {
  const uint64_t begin_ns = now_ns();
  f();
  return ns_since(begin_ns);
}

template <class T>
T must(Result<T> result) {
  BYOC_CHECK(result.ok(), result.status().to_string());
  return *std::move(result);
}

std::unique_ptr<measure::TimedSession> timed_session_of(const IRModule& module, uint32_t threads,
                                                        const Tensor& input) {
  PluginSearch search;
  search.folders = {BYOC_PLUGIN_DIR};
  static const auto plugins = PluginSet::load(search);
  BuildOptions options{.plugins = plugins, .compilers = {"onednn"}};
  options.threads = threads;
  Executable executable = must(build(module, options));
  BYOC_CHECK(executable.program.steps.size() == 1, "not one region but ",
             executable.program.steps.size());
  auto session = must(Session::load(std::move(executable), plugins, {.threads = threads}));
  return must(measure::TimedSession::make(std::move(session), {&input, 1}));
}

Tensor random_tensor(const TensorSpec& spec) {
  Tensor tensor = must(Tensor::make(spec));
  fill_random(tensor, 1);
  return tensor;
}
const float* floats(const Tensor& tensor) { return reinterpret_cast<const float*>(tensor.data()); }

/// Returns the largest error relative to the largest value.
double error_of(const float* got, const float* right, size_t n) {
  double error = 0, largest = 0;
  for (size_t k = 0; k < n; ++k) {
    error = std::max(error, std::abs(static_cast<double>(got[k]) - static_cast<double>(right[k])));
    largest = std::max(largest, std::abs(static_cast<double>(right[k])));
  }
  return largest > 0 ? error / largest : HUGE_VAL;
}

struct Pairs {
  std::vector<double> plugin, raw, ratio;
};
/// Runs both once per round; the order alternates.
template <class A, class B>
Pairs in_turns(uint32_t rounds, A&& plugin, B&& raw) {
  Pairs out;
  plugin(), raw();
  for (uint32_t k = 0; k < rounds; ++k) {
    double b = k % 2 == 1 ? time_of(raw) : 0;
    double a = time_of(plugin);
    if (k % 2 == 0) b = time_of(raw);
    out.plugin.push_back(a), out.raw.push_back(b), out.ratio.push_back(a / b);
  }
  return out;
}

double median(const std::vector<double>& values) { return measure::spread_of(values).median; }

void print_row(const char* what, const std::vector<double>& ns, double flops, double peak) {
  measure::Spread s = measure::spread_of(ns);
  std::printf("  %-22s %8.2f ms  [%.2f to %.2f, min %.2f]  %6.1f GFLOP/s", what, s.median / 1e6,
              s.p5 / 1e6, s.p95 / 1e6, s.min / 1e6, flops / s.median);
  if (peak > 0) std::printf("  %4.1f %% of the FMA peak", 100 * flops / s.median / peak);
  std::printf("\n");
}

void print_ratio(const char* what, const std::vector<double>& ratios) {
  measure::Spread s = measure::spread_of(ratios);
  std::printf("  %-22s %.3f  [%.3f to %.3f] over %zu rounds\n", what, s.median, s.p5, s.p95,
              ratios.size());
}

/// Compares with one number of threads; returns the medians.
std::pair<double, double> compare_resnet50(const std::vector<Layer>& layers, uint32_t threads,
                                           uint32_t rounds) {
  omp_set_num_threads(static_cast<int>(threads));
  Tensor input = random_tensor({DType::kF32, {1, 3, kImageSize, kImageSize}});
  OnednnSequence raw(layers);
  auto timed = timed_session_of(module_of(layers), threads, input);
  auto run_raw = [&] { raw.run(floats(input)); };
  auto run_plugin = [&] { BYOC_CHECK(timed->run().ok(), "a run failed"); };
  run_raw();
  double error = error_of(floats(timed->outputs()[0]), raw.output(), 1000);
  BYOC_CHECK(error < 1e-5, "the plugin's outputs differ by ", error, " of the largest");
  double flops = flops_of(layers), peak = threads == 1 ? machine::fma_peak(false) : 0;
  bool wide = machine::has_avx512() && std::getenv("ONEDNN_MAX_CPU_ISA") == nullptr;
  if (threads == 1 && wide) peak = machine::fma_peak(true);
  Pairs pairs = in_turns(rounds, run_plugin, run_raw);
  std::printf("ResNet-50, %u thread%s, %.2f GFLOP, %s; outputs agree, max error %.1e of max\n",
              threads, threads == 1 ? "" : "s", flops / 1e9, wide ? "AVX-512" : "AVX2", error);
  std::printf("  by hand: %zu primitives, %zu reorders; plugin: %s\n", raw.primitives(),
              raw.reorders(),
              timed->session().executable().modules[0].functions[0].implementation.c_str());
  if (peak > 0) std::printf("  f32 FMA peak measured now: %.1f GFLOP/s\n", peak);
  print_row("oneDNN by hand", pairs.raw, flops, peak);
  print_row("plugin, Session::run", pairs.plugin, flops, peak);
  print_ratio("plugin / by hand", pairs.ratio);
  std::printf("  %-22s %.3f\n", "of the shortest runs",
              measure::spread_of(pairs.plugin).min / measure::spread_of(pairs.raw).min);
  return {median(pairs.plugin), median(pairs.raw)};
}

/// Compares a chain of elementwise ops on a few numbers, whose time is almost all in the calls.
void compare_calls(uint32_t rounds) {
  constexpr int kCalls = 256;
  omp_set_num_threads(1);
  TensorSpec spec{DType::kF32, {1, 8}};
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId value = f.param("x", {DType::kF32, {1, 8}});
  for (int k = 0; k < kCalls; ++k) value = f.call(k % 2 == 0 ? "abs" : "tanh", {value});
  Status status = f.finish("main", {value});
  BYOC_CHECK(status.ok(), status.to_string());
  Tensor input = random_tensor(spec);
  auto timed = timed_session_of(module, 1, input);

  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  onednn::Desc desc({1, 8}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::ab);
  dnnl::memory memories[] = {
      {desc, engine, const_cast<float*>(floats(input))}, {desc, engine}, {desc, engine}};
  std::vector<dnnl::primitive> primitives;
  std::vector<std::vector<dnnl_exec_arg_t>> args;
  for (int k = 0; k < kCalls; ++k) {
    auto how = k % 2 == 0 ? dnnl::algorithm::eltwise_abs : dnnl::algorithm::eltwise_tanh;
    primitives.push_back(dnnl::eltwise_forward(onednn::describe<dnnl::eltwise_forward>(
        engine, dnnl::primitive_attr(), dnnl::prop_kind::forward_inference, how, desc,
        onednn::result(desc), 0.f, 0.f)));
    args.push_back({{DNNL_ARG_SRC, memories[k == 0 ? 0 : 1 + (k - 1) % 2].get()},
                    {DNNL_ARG_DST, memories[1 + k % 2].get()}});
  }
  auto run_raw = [&] {
    for (size_t k = 0; k < primitives.size(); ++k)
      dnnl_primitive_execute(primitives[k].get(), stream.get(), static_cast<int>(args[k].size()),
                             args[k].data());
    stream.wait();
  };
  auto run_plugin = [&] { BYOC_CHECK(timed->run().ok(), "a run failed"); };
  run_raw();
  auto* last = static_cast<float*>(memories[1 + (kCalls - 1) % 2].get_data_handle());
  double error = error_of(floats(timed->outputs()[0]), last, 8);
  BYOC_CHECK(error < 1e-5, "the chain differs by ", error);
  Pairs pairs = in_turns(std::max(rounds, 30u) * 20, run_plugin, run_raw);
  std::vector<double> extra;
  for (size_t k = 0; k < pairs.raw.size(); ++k)
    extra.push_back((pairs.plugin[k] - pairs.raw[k]) / kCalls);
  measure::Spread s = measure::spread_of(extra);
  std::printf(
      "a chain of %d calls on 8 numbers: by hand %.0f ns a call; the plugin and the Session add "
      "%.1f ns a call [%.1f to %.1f]\n",
      kCalls, median(pairs.raw) / kCalls, s.median, s.p5, s.p95);
}

void run(const Options& options) {
  std::vector<Layer> layers = resnet50(0);
  auto [plugin_1, raw_1] = compare_resnet50(layers, 1, options.rounds);
  auto [plugin_2, raw_2] = compare_resnet50(layers, 2, options.rounds);
  std::printf("2 threads / 1 thread: by hand %.3f, plugin %.3f%s\n", raw_2 / raw_1,
              plugin_2 / plugin_1, omp_get_num_procs() < 2 ? " (this machine has one core)" : "");
  compare_calls(options.rounds);
}

/// Starts a child for the AVX2 figures of a machine with AVX-512: oneDNN reads the variable once,
/// at its first call.
int run_child(const char* self, uint32_t rounds) {
  std::fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
    std::string count = std::to_string(rounds);
    execl("/proc/self/exe", self, "--child", "--rounds", count.c_str(), nullptr);
    _exit(127);
  }
  int status = 1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace
}  // namespace byoc::bench

int main(int argc, char** argv) {
  byoc::bench::Options options;
  for (int k = 1; k < argc; ++k) {
    if (std::strcmp(argv[k], "--child") == 0) {
      options.is_child = true;
    } else if (std::strcmp(argv[k], "--rounds") == 0 && k + 1 < argc &&
               std::atoi(argv[k + 1]) > 0) {
      options.rounds = static_cast<uint32_t>(std::atoi(argv[++k]));
    } else {
      std::fprintf(stderr, "usage: bench_onednn_region [--rounds N]\n");
      return std::strcmp(argv[k], "--help") == 0 ? 0 : 2;
    }
  }
  std::printf("oneDNN %s\n", byoc::onednn::dnnl_version_text().c_str());
  byoc::bench::run(options);
  if (options.is_child) return 0;
  if (byoc::machine::has_avx512()) return byoc::bench::run_child(argv[0], options.rounds);
  std::printf("this machine has no AVX-512: these are the AVX2 figures, and the only ones\n");
  return 0;
}
