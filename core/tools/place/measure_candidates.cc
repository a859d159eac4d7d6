// SPDX-License-Identifier: Apache-2.0
#include "core/tools/place/measure_candidates.h"

#include <set>

#include "byoc/base/rank_correlation.h"
#include "core/tools/probe/known_probes.h"

namespace byoc::driver {
namespace {

using namespace placement;

class Measurement {
 public:
  Measurement(IRModule& placed, const BuildOptions& build, const PlaceRequest& request,
              const PassContext& context, Costs& costs, PlaceOutcome& out)
      : placed_(placed),
        build_(build),
        request_(request),
        context_(context),
        costs_(costs),
        out_(out) {}

  // Measures the candidates that the store does not have, and puts them there.
  Status run() {
    BYOC_TRY_STATUS(gather());
    find_known_tasks();
    const size_t results = measure_rest();
    find_agreement();
    return results == 0 ? Status() : costs_.store.save();
  }

 private:
  struct Wanted {
    measure::Key key;
    bool is_rest = false;
    ProbeTask task = {};
  };

  // Lists the distinct candidates, and makes probes of those that the store does not have.
  Status gather() {
    const measure::Scope scope = scope_of();
    out_.observations = measure::use_of(costs_.store, scope);
    std::set<std::pair<std::string, std::string>> seen;
    BYOC_TRY(std::vector<Symbol> names, placed_functions(placed_));
    for (Symbol name : names) {
      BYOC_TRY(Candidates candidates,
               find_candidates(placed_, name, context_.compilers, costs_, context_));
      for (const Candidate& one : candidates.all) {
        const Plugin* plugin = candidates.plugins[one.plugin];
        if (!seen.emplace(plugin->id(), one.text).second) continue;
        ++out_.candidates;
        estimates_[plugin->id()].emplace_back(one.text, estimate_of(name, candidates, one));
        const measure::Key key = costs_.key_of(*plugin, one.text);
        const auto known = costs_.store.find(key);
        if (known) out_.observations.add_known(*known);
        if (known || one.cost.source == CandidateCost::kForbiddenByRule) continue;
        probes_[plugin->id()].push_back(make_probe(placed_, name, candidates, one));
        wanted_[plugin->id()].push_back({key, one.is_rest});
      }
    }
    return {};
  }

  measure::Scope scope_of() const {
    measure::Scope out{costs_.machine_here, costs_.machine.threads, {}, costs_.code};
    for (const auto& plugin : context_.plugins->all())
      out.builds[plugin->id()] = version_and_options(*plugin);
    return out;
  }

  // Takes the times of probes that are tasks of the tuner with observations.
  void find_known_tasks() {
    for (auto& [id, list] : probes_) {
      std::vector<Wanted>& wanted = wanted_[id];
      show(cat("looking for known candidates of ", id), 0, list.size());
      const std::vector<ProbeTask> tasks = tasks_of(list, build_, request_.probes);
      std::vector<Probe> left;
      std::vector<Wanted> still_wanted;
      for (size_t k = 0; k < list.size(); ++k) {
        wanted[k].task = tasks[k];
        if (auto known = find_task(costs_.store, wanted[k].key, tasks[k])) {
          out_.observations.add_known(*known);
          costs_.store.put(wanted[k].key, {known->ns, "", known->reorder_ns, {}, known->by});
          continue;
        }
        left.push_back(std::move(list[k]));
        still_wanted.push_back(std::move(wanted[k]));
      }
      list = std::move(left);
      wanted = std::move(still_wanted);
    }
  }

  // Measures the probes that are left. Returns their number.
  size_t measure_rest() {
    size_t total = 0, done = 0;
    for (const auto& [id, list] : probes_) total += list.size();
    std::set<std::string> rest_errors;  // texts
    std::vector<std::pair<Wanted, ProbeResult>> results;
    for (const auto& [id, list] : probes_) {
      if (list.empty()) continue;
      show(cat("measuring candidates of ", id), done, total);
      std::vector<ProbeResult> times = measure_probes(list, build_, request_.probes, [&](size_t n) {
        show(cat("measuring candidates of ", id), done + n, total);
      });
      done += list.size();
      for (size_t k = 0; k < times.size(); ++k) {
        const Wanted& one = wanted_[id][k];
        if (one.is_rest && !times[k].error.empty()) rest_errors.insert(one.key.text);
        results.emplace_back(one, std::move(times[k]));
      }
    }
    for (auto& [one, result] : results) {
      const bool is_error = !result.error.empty();
      // A candidate that nothing runs has random inputs at fault, such as an index out of range.
      if (is_error && (one.is_rest || rest_errors.contains(one.key.text))) continue;
      ++(is_error ? out_.failed : out_.measured);
      ++out_.observations.measured;
      put_probe(costs_.store, one.key, one.task, result);
    }
    return results.size() + out_.observations.known;
  }

  void show(std::string_view what, uint64_t done, uint64_t total) const {
    if (request_.progress) request_.progress(what, done, total);
  }

  // Returns the cost that the candidate has without any measurement of it.
  double estimate_of(Symbol name, const Candidates& candidates, const Candidate& one) const {
    const Function& function = placed_.function(name);
    const auto nodes = candidates.nodes_of(one);
    const Work work = nodes.size() == 1 ? work_of(placed_, function, nodes[0])
                                        : work_of(function, nodes, one.root);
    return costs_.estimate(*candidates.plugins[one.plugin], one.verdict, work).ns;
  }

  void find_agreement() {
    for (const auto& [id, rows] : estimates_) {
      const Plugin* plugin = context_.plugins->find(id);
      std::vector<double> estimated, measured;
      for (const auto& [text, ns] : rows) {
        const auto cost = costs_.store.find(costs_.key_of(*plugin, text));
        if (!cost || !cost->error.empty()) continue;
        estimated.push_back(ns);
        measured.push_back(cost->ns);
      }
      if (estimated.size() < 2) continue;
      out_.agreement[id] = {estimated.size(), rank_correlation(estimated, measured)};
    }
  }

  IRModule& placed_;
  const BuildOptions& build_;
  const PlaceRequest& request_;
  const PassContext& context_;
  Costs& costs_;
  PlaceOutcome& out_;
  std::map<std::string, std::vector<Probe>> probes_;  // by plugin
  std::map<std::string, std::vector<Wanted>> wanted_;
  std::map<std::string, std::vector<std::pair<std::string, double>>>
      estimates_;  // by plugin: text, ns
};

}  // namespace

Status measure_candidates(IRModule& placed, const BuildOptions& build, const PlaceRequest& request,
                          const PassContext& context, Costs& costs, PlaceOutcome& out) {
  return Measurement(placed, build, request, context, costs, out).run();
}

}  // namespace byoc::driver
