// SPDX-License-Identifier: Apache-2.0
// Measures what profiling costs: pairs of a plain and a profiled run, every second pair in the
// opposite order. Prints the medians, the median of the ratios within the pairs, the same for pairs
// of two plain runs as a control, and the sum of the steps' times as a share of the profiled runs.
#include <algorithm>
#include <cstring>
#include <iostream>

#include "byoc/base/clock.h"
#include "core/measure/session/timed_session.h"
#include "core/tools/measure/subject.h"
#include "core/tools/model/compare.h"
#include "runtime/cli/output.h"

namespace byoc::bench {
namespace {

struct Options {
  driver::SubjectRequest subject;
  uint32_t pairs = 200;
};

double median(std::vector<double> values) { return measure::spread_of(std::move(values)).median; }

/// A session that runs with profiling on or off, on tensors of its own.
class Runner {
 public:
  static Result<Runner> make(std::unique_ptr<Session> session, const std::vector<Tensor>& inputs) {
    Runner out;
    out.session_ = std::move(session);
    BYOC_TRY(out.context_, out.session_->make_context());
    for (const Tensor& input : inputs) out.in_.push_back(input.view());
    for (const NamedTensor& output : out.session_->outputs()) {
      BYOC_TRY(Tensor made, Tensor::make(output.type));
      out.outputs_.push_back(std::move(made));
    }
    for (const Tensor& output : out.outputs_) out.out_.push_back(output.view());
    return out;
  }

  /// Returns the time of one run in ns.
  Result<double> run(bool is_profiled) {
    session_->set_profiling(*context_, is_profiled);
    const uint64_t begin_ns = now_ns();
    BYOC_TRY_STATUS(session_->run(*context_, in_, out_));
    return ns_since(begin_ns);
  }
  /// Returns the sum of the steps' times in the last profiled run.
  double last_steps_ns() const {
    double sum = 0;
    for (const StepProfile& step : session_->profile(*context_))
      sum += static_cast<double>(step.last_ns);
    return sum;
  }
  const std::vector<Tensor>& outputs() const { return outputs_; }
  const Session& session() const { return *session_; }

 private:
  std::unique_ptr<Session> session_;
  std::unique_ptr<Context> context_;
  std::vector<Tensor> outputs_;
  std::vector<DLTensor> in_, out_;
};

Status check(const Runner& runner, const driver::Subject& subject) {
  for (size_t k = 0; k < subject.right.size(); ++k) {
    const std::string& name = runner.session().outputs()[k].name;
    driver::ComparedValue value =
        driver::compare_value(name, runner.outputs()[k], subject.right[k], -1);
    if (!value.difference.is_equal)
      return failed(cat("output ", name, " differs: ", driver::value_text(value)));
  }
  return {};
}

struct Pairs {
  std::vector<double> first, second, ratios, steps;
};

/// Runs pairs of a plain run and one that is profiled, or of two plain ones.
Result<Pairs> measure(Runner& runner, uint32_t pairs, bool is_profiled) {
  Pairs out;
  for (uint32_t k = 0; k < pairs; ++k) {
    double ns[2] = {0, 0};
    for (int turn : {0, 1}) {
      const int which = (turn + static_cast<int>(k % 2)) % 2;
      BYOC_TRY(ns[which], runner.run(is_profiled && which == 1));
      if (is_profiled && which == 1) out.steps.push_back(runner.last_steps_ns() / ns[1]);
    }
    out.first.push_back(ns[0]), out.second.push_back(ns[1]);
    out.ratios.push_back(ns[1] / ns[0]);
  }
  return out;
}

std::string percent(double share) { return cli::format_fixed(100 * share, 2) + " %"; }

Result<int> run(const Options& options, const cli::CommonOptions& common) {
  BYOC_TRY(driver::Subject subject, driver::make_subject(options.subject, driver::warn_to(common),
                                                         [](const std::string&) {}));
  BYOC_TRY(driver::Compiled compiled, subject.compile(options.subject.model[option::kThreads]));
  BYOC_TRY(auto session, Session::load(std::move(compiled.executable), subject.plugins,
                                       {.threads = options.subject.model[option::kThreads]}));
  BYOC_TRY(Runner runner, Runner::make(std::move(session), subject.inputs));
  for (bool is_profiled : {false, true, false, true})
    BYOC_TRY_STATUS(runner.run(is_profiled).status());
  BYOC_TRY_STATUS(check(runner, subject));
  BYOC_TRY(Pairs control, measure(runner, options.pairs, false));
  BYOC_TRY(Pairs pairs, measure(runner, options.pairs, true));
  std::cout << subject.model << ", " << runner.session().program().steps.size() << " steps, "
            << options.pairs << " pairs\nplain " << cli::format_time(median(pairs.first))
            << ", profiled " << cli::format_time(median(pairs.second)) << ", ratio "
            << cli::format_fixed(median(pairs.ratios), 4) << ", control "
            << cli::format_fixed(median(control.ratios), 4) << "\nthe steps are "
            << percent(median(pairs.steps)) << " of the profiled run, at least "
            << percent(*std::min_element(pairs.steps.begin(), pairs.steps.end())) << "\n";
  return cli::kDone;
}

}  // namespace
}  // namespace byoc::bench

int main(int argc, char** argv) {
  byoc::bench::Options options;
  byoc::cli::CommonOptions common;
  byoc::cli::Command root{.name = "bench_profile", .about = "measure what profiling costs"};
  root.examples = {{"bench_profile net.onnx --compiler onednn", "200 pairs of runs"}};
  byoc::driver::add_model_options(root, options.subject.model, "an .onnx or .ir file");
  root.options.push_back({"--pairs", "N", "pairs of runs (default 200)", &options.pairs});
  root.options.push_back({"--no-check", "", "do not compare the outputs with the reference's",
                          &options.subject.no_check});
  byoc::cli::add_common_options(root, common);
  root.run = [&] { return byoc::bench::run(options, common); };
  return byoc::cli::run_command_line(root, common, argc, argv);
}
