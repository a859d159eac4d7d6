// SPDX-License-Identifier: Apache-2.0
#pragma once
// The computes that a plugin has for a function: the values of its knob `compute`.
#include "byoc/pass/pass.h"
#include "byoc/tune/history.h"

namespace byoc {

struct PluginComputes {
  std::vector<std::string> names;                // none: the plugin has no such knob there
  std::string usual;                             // compiled without a point
  std::string recorded;                          // of the best record in a history; "": no record
  std::map<std::string, double> cost_ns;         // the plugin's estimates; others are unknown
  std::map<std::string, double> constant_bytes;  // that a kernel reads; others are unknown
};
/// Returns the computes for a function. Errors: those of the plugin; slug "knob-space".
Result<PluginComputes> computes_of(const Plugin& plugin, const CompileFunction& input,
                                   const PassContext& context);

}  // namespace byoc
