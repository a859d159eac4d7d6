// SPDX-License-Identifier: Apache-2.0
#include "core/tools/ops_bench/ops_bench.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <thread>

#include "byoc/base/nearest.h"
#include "core/measure/sampler.h"
#include "core/tools/measure/subject.h"
#include "core/tools/ops_bench/op_model.h"
#include "core/tools/ops_bench/peer.h"
#include "core/tools/ops_bench/work_folder.h"

namespace byoc::driver {
namespace {

constexpr double kLongestTurn = 1;                     // seconds; Ctrl-C is seen between turns
constexpr auto kIdle = std::chrono::milliseconds(20);  // after which waiting threads sleep

/// One case: its files, what byoc makes of them, and its outputs by another runtime.
struct Contest {
  const OpCase& one;
  CaseFiles files;
  Subject subject;
  std::string why_refused;
};

class Bench {
 public:
  Bench(const ModelOptions& model, const OpsBenchOptions& options, const Warn& warn,
        const measure::Watch& watch)
      : model_(model), options_(options), warn_(warn), watch_(watch) {}

  Result<OpsBench> run() {
    const std::string& table = options_.table;
    BYOC_TRY(out_.table, read_op_table(table.empty() ? installed_ops_file("cases.json") : table));
    BYOC_TRY(const std::vector<const OpCase*> cases, chosen());
    BYOC_TRY(folder_, WorkFolder::make());
    start_peer();
    for (size_t k = 0; k < cases.size() && out_.end.ok(); ++k) {
      if (!watch_(label(*cases[k]), k, cases.size())) out_.end = measure::interrupted();
      else out_.end = measure_case(*cases[k], k, cases.size());
    }
    if (!out_.end.ok() && out_.end.slug() != "interrupted") return std::move(out_.end);
    return std::move(out_);
  }

 private:
  static std::string label(const OpCase& one) { return cat(one.op, " ", one.shapes); }

  /// Returns the cases of the operators that are named, or all.
  Result<std::vector<const OpCase*>> chosen() const {
    std::set<std::string> known;
    std::vector<const OpCase*> out;
    for (const OpCase& one : out_.table.cases) {
      known.insert(one.op);
      if (options_.ops.empty() || std::ranges::count(options_.ops, one.op)) out.push_back(&one);
    }
    for (const std::string& op : options_.ops) {
      if (known.contains(op)) continue;
      if (auto found = out_.table.without.find(op); found != out_.table.without.end())
        return cli::usage_error(cat("--ops: ", op, " has no case: ", found->second));
      return cli::usage_error(
          cat("--ops: the table has no operator \"", op, "\"",
              did_you_mean(op, std::vector<std::string>(known.begin(), known.end()))));
    }
    return out;
  }

  void start_peer() {
    const std::string& script = options_.script;
    auto peer =
        Peer::start(options_.python, script.empty() ? installed_ops_file("peer.py") : script);
    if (peer.ok()) peer_ = *std::move(peer), out_.peer_version = peer_->version();
    else out_.why_no_peer = peer.status().message();
  }

  Status measure_case(const OpCase& one, size_t done, size_t total) {
    BYOC_TRY(CaseFiles files, write_case(one, folder_->path(), options_.seed));
    Contest contest{one, std::move(files), {}, ""};
    auto subject = subject_of(contest, true);
    if (subject.ok()) contest.subject = *std::move(subject);
    else contest.why_refused = subject.status().message();
    for (uint32_t threads : options_.threads) {
      OpTime time;
      time.one = &one;
      time.threads = threads;
      Status measured = measure_on(contest, time, done, total);
      const bool is_interrupted = measured.slug() == "interrupted";
      if (!measured.ok() && !is_interrupted)
        (measured.slug() == "ops-peer" ? time.peer_refused : time.refused) = measured.message();
      out_.times.push_back(std::move(time));
      if (is_interrupted) return measured;
    }
    return {};
  }

  Result<Subject> subject_of(const Contest& contest, bool no_check) const {
    SubjectRequest request;
    request.model = model_;
    request.model.model = contest.files.model;
    request.inputs = contest.files.inputs;
    request.no_check = no_check;
    return make_subject(request, warn_, [](const std::string&) {});
  }

  Status measure_on(Contest& contest, OpTime& time, size_t done, size_t total) {
    Status loaded = failed(out_.why_no_peer);
    if (peer_) loaded = peer_->load(contest.files, time.threads);
    if (!loaded.ok() && peer_) time.peer_refused = loaded.message();
    time.refused = contest.why_refused;
    std::unique_ptr<measure::TimedSession> timed;
    if (time.refused.empty()) {
      auto made = load(contest.subject, time);
      if (made.ok()) timed = *std::move(made);
      else time.refused = made.status().message();
    }
    if (timed && !options_.no_check) BYOC_TRY_STATUS(check(contest, *timed, loaded.ok(), time));
    return take_turns(timed.get(), loaded.ok(), time, label(contest.one), done, total);
  }

  static Result<std::unique_ptr<measure::TimedSession>> load(const Subject& subject, OpTime& time) {
    BYOC_TRY(Compiled compiled, subject.compile(time.threads));
    std::set<std::string> plugins;
    for (const ExternalModule& module : compiled.executable.modules) plugins.insert(module.plugin);
    time.plugins.assign(plugins.begin(), plugins.end());
    BYOC_TRY(auto session, Session::load(std::move(compiled.executable), subject.plugins,
                                         {.threads = time.threads}));
    return measure::TimedSession::make(std::move(session), subject.inputs);
  }

  /// Compares with the peer's outputs, or with the reference's where there is none.
  Status check(Contest& contest, const measure::TimedSession& timed, bool has_peer, OpTime& time) {
    if (has_peer) {
      BYOC_TRY(contest.subject.right, peer_->outputs(folder_->path()));
      contest.subject.limits.assign(contest.subject.right.size(),
                                    {.steps = contest.one.steps, .why = "rounding of the table"});
      time.compared_with = "onnxruntime";
    } else if (contest.subject.right.empty()) {
      BYOC_TRY(Subject checked, subject_of(contest, false));
      contest.subject.right = std::move(checked.right);
      contest.subject.limits = std::move(checked.limits);
      contest.subject.reference = checked.reference;
    }
    if (!has_peer) time.compared_with = contest.subject.reference;
    BYOC_TRY(const std::vector<ComparedValue> values,
             compare_outputs(contest.subject, timed,
                             options_.tolerance >= 0 ? options_.tolerance : contest.one.tolerance));
    for (const ComparedValue& value : values) {
      if (value.difference.is_equal) continue;
      time.wrong = cat(value.name, " ", value_text(value));
      break;
    }
    return {};
  }

  Status take_turns(measure::TimedSession* timed, bool has_peer, OpTime& time,
                    const std::string& what, size_t done, size_t total) {
    measure::SamplerOptions with;
    with.counts_thread_time = time.threads == 1;
    std::unique_ptr<measure::Sampler> sampler;
    if (timed) {
      sampler = std::make_unique<measure::Sampler>([timed] { return timed->run(); }, with);
      BYOC_TRY_STATUS(sampler->calibrate());
      time.ours.runs_per_sample = sampler->runs_per_sample();
    }
    const double rounds = std::max<double>(options_.rounds, options_.min_time_s / kLongestTurn);
    const double turn_s = options_.min_time_s / rounds;
    for (uint32_t turn = 0; turn < 2 * std::ceil(rounds); ++turn) {
      if (!watch_(what, done, total)) return measure::interrupted();
      if (time.threads > 1) std::this_thread::sleep_for(kIdle);
      if ((turn / 2 + turn) % 2 == 0) {  // A B B A
        if (sampler) BYOC_TRY_STATUS(own_turn(*sampler, turn_s, time.ours));
      } else if (has_peer) {
        BYOC_TRY(const std::vector<double> ns, peer_->run(turn_s));
        time.peers.turns.push_back(time.peers.ns.size());
        time.peers.ns.insert(time.peers.ns.end(), ns.begin(), ns.end());
      }
    }
    return {};
  }

  static Status own_turn(measure::Sampler& sampler, double turn_s, measure::Samples& samples) {
    samples.turns.push_back(samples.ns.size());
    BYOC_TRY_STATUS(sampler.sample().status());  // the other side has used the caches
    const double begin_ns = sampler.wall_ns();
    do {
      BYOC_TRY(const double ns, sampler.sample());
      samples.ns.push_back(ns);
    } while (sampler.wall_ns() - begin_ns < turn_s * 1e9);
    return {};
  }

  const ModelOptions& model_;
  const OpsBenchOptions& options_;
  const Warn& warn_;
  const measure::Watch& watch_;
  std::unique_ptr<WorkFolder> folder_;
  std::unique_ptr<Peer> peer_;
  OpsBench out_;
};

}  // namespace

bool OpsBench::is_wrong() const {
  return std::ranges::any_of(times, [](const OpTime& time) { return !time.wrong.empty(); });
}

double geometric_mean(const OpsBench& bench, uint32_t threads) {
  double sum = 0, count = 0;
  for (const OpTime& time : bench.times) {
    if (time.threads != threads || !time.has_ratio()) continue;
    sum += std::log(time.ratio());
    ++count;
  }
  return count == 0 ? 0 : std::exp(sum / count);
}

Result<OpsBench> bench_ops(const ModelOptions& model, const OpsBenchOptions& options,
                           const Warn& warn, const measure::Watch& watch) {
  return Bench(model, options, warn, watch).run();
}

}  // namespace byoc::driver
