#include "core/tools/measure/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/tools/model/execute.h"

namespace byoc::driver {
namespace {

// A clock read costs some 20 ns, so a sample of 20 us is right to a thousandth; more than this many
// samples tell nothing new.
constexpr double kShortestSampleNs = 20'000, kMostSamples = 10'000;
constexpr uint64_t kMostProfiledRuns = 200;
constexpr double kMostProfiledTimes = 2e6;  // steps times runs: 16 MB

double now_ns() {
  return std::chrono::duration<double, std::nano>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double percentile(const std::vector<double>& sorted, double part) {
  double at = part * static_cast<double>(sorted.size() - 1);
  auto low = static_cast<size_t>(at);
  size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

Status interrupted() {
  return Status(Code::kCancelled, "interrupted while measuring").with_slug("interrupted");
}

}  // namespace

Spread spread_of(std::vector<double> ns) {
  if (ns.empty()) return {};
  std::sort(ns.begin(), ns.end());
  return {percentile(ns, 0.5), percentile(ns, 0.05), percentile(ns, 0.95), ns.front()};
}

Result<std::unique_ptr<Subject>> Subject::make(std::unique_ptr<Session> session,
                                               std::span<const Tensor> inputs) {
  std::unique_ptr<Subject> out(new Subject);
  out->session_ = std::move(session);
  BYOC_TRY(out->context_, out->session_->make_context());
  for (const Tensor& input : inputs) {
    BYOC_TRY(Tensor copy, input.copy());
    out->inputs_.push_back(std::move(copy));
  }
  BYOC_TRY(out->outputs_, make_tensors(out->session_->outputs()));
  for (const Tensor& tensor : out->inputs_) out->in_.push_back(tensor.view());
  for (const Tensor& tensor : out->outputs_) out->out_.push_back(tensor.view());
  double begin = now_ns();
  BYOC_TRY_STATUS(out->run());
  out->first_run_ns_ = now_ns() - begin;
  return out;
}

/// The phases of measuring one subject.
class Stopwatch {
 public:
  Stopwatch(Subject& subject, const TimingPlan& plan, const Watch& watch)
      : subject_(subject), plan_(plan), watch_(watch) {}

  Status warm_up() {
    double begin = now_ns(), runs = 0, spent = 0;
    do {
      BYOC_TRY_STATUS(run("warming up"));
      ++runs;
      spent = now_ns() - begin;
    } while (spent < plan_.warmup_s * 1e9);
    double sample_ns = std::max(kShortestSampleNs, plan_.min_time_s * 1e9 / kMostSamples);
    subject_.samples.runs_per_sample =
        static_cast<uint64_t>(std::max(1.0, std::ceil(sample_ns * runs / spent)));
    return {};
  }

  /// At least one sample. The run before them is not counted: another subject's turn was before.
  Status take_turn() {
    BYOC_TRY_STATUS(run("measuring"));
    double end = now_ns() + plan_.min_time_s * 1e9 / std::max(plan_.rounds, 1u);
    do {
      double begin = now_ns();
      for (uint64_t k = 0; k < subject_.samples.runs_per_sample; ++k)
        BYOC_TRY_STATUS(subject_.run());
      double spent = now_ns() - begin;
      subject_.samples.ns.push_back(spent / static_cast<double>(subject_.samples.runs_per_sample));
      if (!watch_("measuring", done_, total_)) return interrupted();
    } while (now_ns() < end);
    return {};
  }

  Status profile_steps() {
    const Session& session = *subject_.session_;
    size_t steps = session.program().steps.size();
    subject_.steps.assign(steps, {});
    session.set_profiling(*subject_.context_, true);
    std::vector<uint64_t> before(steps);
    double end = now_ns() + plan_.min_time_s * 1e9;
    uint64_t most =
        static_cast<uint64_t>(std::clamp(kMostProfiledTimes / static_cast<double>(steps + 1), 1.0,
                                         static_cast<double>(kMostProfiledRuns)));
    for (uint64_t runs = 0; runs < most && (runs == 0 || now_ns() < end); ++runs) {
      BYOC_TRY_STATUS(run("timing steps"));
      for (size_t k = 0; k < steps; ++k) {
        uint64_t total = session.profile(*subject_.context_)[k].total_ns;
        subject_.steps[k].ns.push_back(static_cast<double>(total - before[k]));
        before[k] = total;
      }
    }
    session.set_profiling(*subject_.context_, false);
    return {};
  }

  void set_progress(uint64_t done, uint64_t total) { done_ = done, total_ = total; }

 private:
  Status run(std::string_view what) {
    if (!watch_(what, done_, total_)) return interrupted();
    return subject_.run();
  }

  Subject& subject_;
  const TimingPlan& plan_;
  const Watch& watch_;
  uint64_t done_ = 0, total_ = 0;
};

Status measure(std::span<Subject* const> subjects, const TimingPlan& plan, const Watch& watch) {
  std::vector<Stopwatch> watches;
  for (Subject* subject : subjects) watches.emplace_back(*subject, plan, watch);
  uint64_t done = 0, total = subjects.size() * (plan.rounds + uint64_t{2});
  auto each = [&](auto&& phase) -> Status {
    for (Stopwatch& stopwatch : watches) {
      stopwatch.set_progress(done++, total);
      BYOC_TRY_STATUS(phase(stopwatch));
    }
    return {};
  };
  BYOC_TRY_STATUS(each([](Stopwatch& s) { return s.warm_up(); }));
  for (uint32_t round = 0; round < plan.rounds; ++round)
    BYOC_TRY_STATUS(each([](Stopwatch& s) { return s.take_turn(); }));
  return each([](Stopwatch& s) { return s.profile_steps(); });
}

}  // namespace byoc::driver
