// SPDX-License-Identifier: Apache-2.0
#include "core/tools/place/measure_candidates.h"

#include <set>

#include "byoc/base/rank_correlation.h"

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

  // Measures the candidates that the cache does not have, and puts them there.
  Status run() {
    struct Wanted {
      const Plugin* plugin;
      std::string text;
      bool is_rest;
    };
    std::map<std::string, std::vector<Probe>> probes;  // by plugin
    std::map<std::string, std::vector<Wanted>> wanted;
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
        const bool known = costs_.cache.find(costs_.key_of(*plugin, one.text)).has_value();
        if (known || one.cost.source == CandidateCost::kForbiddenByRule) continue;
        probes[plugin->id()].push_back(make_probe(placed_, name, candidates, one));
        wanted[plugin->id()].push_back({plugin, one.text, one.is_rest});
      }
    }
    size_t total = 0, done = 0;
    for (const auto& [id, list] : probes) total += list.size();
    std::map<std::string, std::string> rest_errors;  // by text
    std::vector<std::pair<Wanted, ProbeResult>> results;
    for (const auto& [id, list] : probes) {
      show(cat("measuring candidates of ", id), done, total);
      std::vector<ProbeResult> times = measure_probes(list, build_, request_.probes, [&](size_t n) {
        show(cat("measuring candidates of ", id), done + n, total);
      });
      done += list.size();
      for (size_t k = 0; k < times.size(); ++k) {
        const Wanted& one = wanted[id][k];
        if (one.is_rest && !times[k].error.empty()) rest_errors[one.text] = times[k].error;
        results.emplace_back(one, std::move(times[k]));
      }
    }
    for (auto& [one, result] : results) {
      const bool is_error = !result.error.empty();
      // A candidate that nothing runs has random inputs at fault, such as an index out of range.
      if (is_error && (one.is_rest || rest_errors.contains(one.text))) continue;
      ++(is_error ? out_.failed : out_.measured);
      costs_.cache.put(costs_.key_of(*one.plugin, one.text), {result.ns, result.error});
    }
    find_agreement();
    return results.empty() ? Status() : costs_.cache.write(cat(request_.folder, "/", kCostFile));
  }

 private:
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
        const auto cost = costs_.cache.find(costs_.key_of(*plugin, text));
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
  std::map<std::string, std::vector<std::pair<std::string, double>>>
      estimates_;  // by plugin: text, ns
};

}  // namespace

Status measure_candidates(IRModule& placed, const BuildOptions& build, const PlaceRequest& request,
                          const PassContext& context, Costs& costs, PlaceOutcome& out) {
  return Measurement(placed, build, request, context, costs, out).run();
}

}  // namespace byoc::driver
