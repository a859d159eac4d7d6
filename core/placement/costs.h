// SPDX-License-Identifier: Apache-2.0
#pragma once
// The cost of a candidate: measured if the store has it, otherwise the plugin's estimate, otherwise
// that of the analytic model.
#include <map>

#include "byoc/host/plugins.h"
#include "core/measure/store/store.h"
#include "core/placement/machine.h"
#include "core/placement/rules.h"

namespace byoc::placement {

using measure::version_and_build;
using measure::version_and_options;

struct CandidateCost {
  enum Source { kMeasured, kPlugin, kAnalytic, kForbiddenByError, kForbiddenByRule };
  Source source = kAnalytic;
  double ns = 0;     // infinity when forbidden
  std::string note;  // why it is forbidden
};
std::string_view source_name(CandidateCost::Source source);

/// Everything that the choice of plugins depends on besides the module.
struct Costs {
  Machine machine;
  measure::Store store;
  Rules rules;
  std::string machine_here;  // machine_name()
  std::string code = {};     // as in measure::Key
  /// Time in whole programs minus the cost, in ns, by plugin and canonical text of a candidate. A
  /// convolution with a cost of 900 that takes 1000 in the program has the correction 100.
  std::map<std::pair<std::string, std::string>, double> corrections;
  /// The ratio of a plugin's time in whole programs to the sum of its costs, for candidates without
  /// a correction of their own; 1 for plugins that are not listed.
  std::map<std::string, double> factors;
  double border_factor = 1;  // of the costs of edges between plugins
  /// True: place_functions chooses a base, the plugin that costs least alone.
  bool has_base = false;
  /// The plugin that runs an op unless another one's estimate is clearly less, as estimates err by
  /// some share; empty: estimates are compared as they are.
  std::string base;
  /// Times the analytic model, for plugins without estimates and samples beside others that have
  /// estimates: nothing is known about them.
  double unknown_factor = 1;
  /// True: the default codegens get only those ops that no plugin before them takes.
  bool avoids_rest = false;
  /// Returns the factor of a plugin.
  double factor_of(const std::string& plugin) const;
  /// Remarks about files that could not be used.
  std::vector<std::string> remarks;

  /// Reads what `folder` has for this machine. Files that cannot be used become remarks.
  static Costs read(const std::string& folder, uint32_t threads);
  measure::Key key_of(const Plugin& plugin, const std::string& text) const;
  /// Returns the plugin's estimate, or that of the analytic model.
  CandidateCost estimate(const Plugin& plugin, const Verdict& verdict, const Work& work) const;
  CandidateCost of(const Plugin& plugin, const Verdict& verdict, const Work& work,
                   const std::string& text) const;
};

}  // namespace byoc::placement
