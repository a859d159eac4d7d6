// SPDX-License-Identifier: Apache-2.0
#pragma once
// The plugin under test, loaded in a child: as the host represents it, and its table.
#include <optional>

#include "byoc/host/plugins.h"
#include "core/conform/context/check_context.h"
#include "core/conform/samples/samples.h"
#include "core/region/judge.h"
#include "runtime/device/device_constants.h"

namespace byoc::conform {

/// Constants on the device of a module.
struct DeviceConstants {
  std::vector<std::shared_ptr<const DeviceConstant>> held;
  DeviceAddresses addresses;
};

struct LoadedPlugin {
  std::shared_ptr<const PluginSet> set;
  const Plugin* plugin = nullptr;
  byoc_plugin table{};
  std::string options_json;
  /// Its parsed patterns, and verdicts of equal candidates.
  std::shared_ptr<JudgeCache> judges = std::make_shared<JudgeCache>();
  /// The constants of loaded functions on devices, which live as long as the plugin.
  std::shared_ptr<std::vector<DeviceConstants>> on_devices =
      std::make_shared<std::vector<DeviceConstants>>();
};
/// Loads the plugin of the context. Errors: the reason why the host refuses it.
Result<LoadedPlugin> load_plugin(const CheckContext& context);

/// Returns a context for passes in which this plugin is the only compiler.
PassContext pass_context(const LoadedPlugin& tested);
/// Returns the plugin's verdict on the program's op, as a match of a pattern or, when the plugin
/// has no patterns, alone.
Verdict verdict_on(const LoadedPlugin& tested, const Program& program);
/// Returns `main` of the module as the host passes it to compile, under the name `symbol`.
CompileFunction compile_function(const IRModule& module, const std::string& symbol);
/// Returns the function with other names of symbol, inputs and nodes.
CompileFunction renamed(const CompileFunction& function);
TensorSpec spec_of(TypeId type);
/// Returns the graph JSON that judge gets for the module's `main`, a function of one node.
std::string candidate_json(const IRModule& module);
/// Returns the index of the pattern that the op of `main` matches alone; BYOC_NO_PATTERN when the
/// plugin has no patterns, nothing when none matches.
std::optional<uint32_t> pattern_of(const LoadedPlugin& tested, const IRModule& module);

}  // namespace byoc::conform
