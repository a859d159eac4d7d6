// SPDX-License-Identifier: Apache-2.0
#include "core/tools/measure/observed.h"

#include <algorithm>

#include "core/measure/store/this_machine.h"
#include "core/tools/measure/one_step.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

using measure::Key;
using measure::Observation;

constexpr size_t kKeptSamples = 30;  // as many as the tuner takes of a point

/// Returns at most kKeptSamples of the samples, at equal distances: sorted, so that their time is
/// that of all.
std::vector<double> few_of(std::vector<double> ns) {
  std::sort(ns.begin(), ns.end());
  if (ns.size() <= kKeptSamples) return ns;
  std::vector<double> out;
  for (size_t k = 0; k < kKeptSamples; ++k) out.push_back(ns[k * ns.size() / kKeptSamples]);
  return out;
}

class Observer {
 public:
  Observer(const PluginSet& plugins, const std::string& code, const std::string& folder)
      : store_(measure::Store::read(folder)) {
    scope_.code = code;
    scope_.machine = measure::machine_name();
    for (const auto& plugin : plugins.all())
      scope_.builds[plugin->id()] = measure::version_and_options(*plugin);
  }

  void begin(uint32_t threads) {
    scope_.threads = threads;
    out_.use = measure::use_of(store_, scope_);
  }

  void add(const ObservedProgram& program) {
    scope_.threads = program.timed->session().threads();
    const auto& steps = program.timed->session().program().steps;
    for (size_t k = 0; k < steps.size(); ++k) {
      const auto function = std::ranges::find(program.functions, steps[k].symbol,
                                              &tune::HistoryReport::Entry::symbol);
      if (function == program.functions.end() || !scope_.builds.contains(function->plugin))
        continue;
      const Key key{function->plugin, scope_.builds[function->plugin],
                    scope_.machine,   function->task,
                    scope_.threads,   function->point,
                    scope_.code};
      const bool is_alone = steps.size() == 1 && !runs_cold(program, k);
      look_up(key,
              k < program.timed->steps.size() ? program.timed->steps[k].ns : std::vector<double>());
      if (is_alone) keep(key, program.timed->samples.ns);
    }
  }

  Result<Observed> finish() {
    BYOC_TRY_STATUS(store_.save());
    return std::move(out_);
  }

 private:
  static bool runs_cold(const ObservedProgram& program, size_t step) {
    const Session& session = program.timed->session();
    return is_bound_by_weights(session.executable(), session.program().steps[step]);
  }

  void look_up(const Key& key, const std::vector<double>& ns) {
    const auto found = store_.find(key);
    if (!found || !found->error.empty()) return;
    out_.use.add_known(*found);
    if (ns.empty()) return;
    out_.stored_ns += found->ns + found->reorder_ns;
    out_.measured_ns += measure::time_of(ns);
  }

  void keep(const Key& key, const std::vector<double>& ns) {
    if (ns.empty()) return;
    ++out_.use.measured;
    store_.put(key, {measure::time_of(ns), "", 0, few_of(ns), "bench"});
  }

  measure::Store store_;
  measure::Scope scope_;
  Observed out_;
};

}  // namespace

Result<Observed> observe(std::span<const ObservedProgram> programs, const PluginSet& plugins,
                         const std::string& code, const std::string& folder) {
  Observer observer(plugins, code, folder);
  if (!programs.empty()) observer.begin(programs[0].timed->session().threads());
  for (const ObservedProgram& program : programs) observer.add(program);
  return observer.finish();
}

std::string text_of(const Observed& observed) {
  std::string out = measure::text_of(observed.use);
  if (observed.stored_ns > 0 && observed.measured_ns > 0) {
    out += cat("the known regions take ", cli::format_time(observed.measured_ns),
               " in this program, ", cli::format_time(observed.stored_ns), " alone\n");
  }
  return out;
}

}  // namespace byoc::driver
