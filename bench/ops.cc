// SPDX-License-Identifier: Apache-2.0
// Measures single ops, each by every plugin that runs it: op/<op>/<operands>/<plugin>. Operands are
// f32 where no type is named. Weights are constants. Outputs are compared with json's before
// anything is timed.
#include <benchmark/benchmark.h>

#include <algorithm>

#include "byoc/base/check.h"
#include "core/measure/session/timed_session.h"
#include "core/tools/measure/report.h"
#include "core/tools/measure/subject.h"

namespace byoc::bench {
namespace {

using driver::SingleOp;

bool any_wrong = false;  // some outputs differ from json's: exit code 1

const std::vector<SingleOp>& cases() {
  static const std::vector<SingleOp> all = {
      {"conv2d", {"x=1x64x56x56", "weight=64x64x3x3"}, {"pads=[1,1,1,1]"}, {"weight"}},
      {"conv2d", {"x=1x256x14x14", "weight=1024x256x1x1"}, {}, {"weight"}},
      {"conv2d", {"x=f16[1,64,56,56]", "weight=f16[64,64,3,3]"}, {"pads=[1,1,1,1]"}, {"weight"}},
      {"conv2d",
       {"x=1x144x56x56", "weight=144x1x3x3"},
       {"pads=[1,1,1,1]", "group=144"},
       {"weight"}},
      {"matmul", {"a=128x768", "b=768x3072"}, {}, {"b"}},
      {"matmul", {"a=f16[128,768]", "b=f16[768,3072]"}, {}, {"b"}},
      {"matmul", {"a=bf16[128,768]", "b=bf16[768,3072]"}, {}, {"b"}},
      {"matmul", {"a=12x128x64", "b=12x64x128"}, {}, {}},
      {"max_pool",
       {"x=1x64x112x112"},
       {"kernel_shape=[3,3]", "strides=[2,2]", "pads=[1,1,1,1]"},
       {}},
      {"softmax", {"x=12x128x128"}, {}, {}},
      {"add", {"a=1x256x56x56", "b=1x256x56x56"}, {}, {}},
      {"add", {"a=f16[1,256,56,56]", "b=f16[1,256,56,56]"}, {}, {}},
      {"add", {"a=bf16[1,256,56,56]", "b=bf16[1,256,56,56]"}, {}, {}},
      {"sigmoid", {"x=1x256x56x56"}, {}, {}},
      {"transpose", {"x=1x128x12x64"}, {"perm=[0,2,1,3]"}, {}},
  };
  return all;
}

std::string name_of(const SingleOp& op, const std::string& plugin) {
  std::string operands;
  for (const std::string& shape : op.shapes)
    operands += (operands.empty() ? "" : ",") + shape.substr(shape.find('=') + 1);
  return cat("op/", op.op, "/", operands, "/", plugin);
}

/// Returns true when `plugin` runs every step.
bool is_run_by(const Executable& executable, const std::string& plugin) {
  return std::all_of(executable.modules.begin(), executable.modules.end(),
                     [&](const ExternalModule& module) { return module.plugin == plugin; });
}

/// Returns the first output that differs, or "".
std::string first_mismatch(const measure::TimedSession& timed, const std::vector<Tensor>& right) {
  for (size_t k = 0; k < right.size(); ++k) {
    auto compared = driver::compare_value(cat("output", k), timed.outputs()[k], right[k], -1);
    if (!compared.difference.is_equal) return cat(compared.name, " ", value_text(compared));
  }
  return "";
}

/// Compiles and runs once; null when the plugin does not run the op.
Result<std::unique_ptr<measure::TimedSession>> prepare(const driver::Subject& subject,
                                                       const std::string& plugin) {
  BYOC_TRY(driver::Compiled compiled, subject.compile(1));
  if (!is_run_by(compiled.executable, plugin)) return std::unique_ptr<measure::TimedSession>();
  BYOC_TRY(auto session,
           Session::load(std::move(compiled.executable), subject.plugins, {.threads = 1}));
  return measure::TimedSession::make(std::move(session), subject.inputs);
}

void run(benchmark::State& state, const SingleOp& op, const std::string& plugin) {
  driver::SubjectRequest request{.op = op};
  request.model[option::kCompiler] = {plugin};
  auto subject = driver::make_subject(request, nullptr, [](const std::string&) {});
  BYOC_CHECK(subject.ok(), name_of(op, plugin), ": ", subject.status().to_string());
  auto timed = prepare(*subject, plugin);
  BYOC_CHECK(timed.ok(), name_of(op, plugin), ": ", timed.status().to_string());
  if (!*timed) return state.SkipWithError("skipped: the plugin does not run it");
  if (std::string wrong = first_mismatch(**timed, subject->right); !wrong.empty()) {
    any_wrong = true;
    return state.SkipWithError(cat("WRONG: ", wrong).c_str());
  }
  for (auto _ : state) BYOC_CHECK((*timed)->run().ok(), "a run failed");
  if (auto flops = driver::flops_of((*timed)->session()); flops && *flops > 0)
    state.counters["flops/s"] =
        benchmark::Counter(*flops, benchmark::Counter::kIsIterationInvariantRate);
}

void register_all() {
  auto plugins = PluginSet::load(default_plugin_search());
  for (const SingleOp& op : cases()) {
    for (const auto& plugin : plugins->all()) {
      benchmark::RegisterBenchmark(name_of(op, plugin->id()).c_str(), run, op, plugin->id())
          ->Unit(benchmark::kMicrosecond);
    }
  }
}

}  // namespace
}  // namespace byoc::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  byoc::bench::register_all();
  benchmark::RunSpecifiedBenchmarks();
  return byoc::bench::any_wrong ? 1 : 0;
}
