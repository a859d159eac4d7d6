// SPDX-License-Identifier: Apache-2.0
#pragma once
// The work of `byoc plugins` and `byoc doctor`.
#include <nlohmann/json_fwd.hpp>

#include "core/machine/this_machine.h"
#include "core/tools/doctor/examination.h"
#include "core/tools/doctor/origin.h"
#include "core/tools/model/model_options.h"

namespace byoc::driver {

/// A flag of plugins, as the commands print it.
struct PluginFlagName {
  uint32_t flag;
  std::string_view name;
};
/// Returns the names of all flags.
std::span<const PluginFlagName> plugin_flag_names();

struct ListedPlugins {
  std::shared_ptr<const PluginSet> set;
  std::vector<std::string> compilers;  // that are offered ops, in order
  std::vector<std::string> defaults;   // the default codegens
  std::vector<AbsentPlugin> absent;
  std::vector<PluginDevices> devices;
  std::vector<std::pair<std::string, std::string>> left_out;  // patterns, "id.name", and why
};

/// Searches for plugins. Options of plugins are not checked: PluginSet::check_options does that.
Result<ListedPlugins> list_plugins(const PluginFlags& flags);
/// Returns the members of byoc.plugins/1.
nlohmann::ordered_json json_of(const ListedPlugins& listed);

struct Examined {
  std::shared_ptr<const PluginSet> plugins;
  Machine machine;
  std::shared_ptr<const machine::Machine> speed;  // null: its file cannot be read
  std::vector<OpenMpRuntime> openmp;
  std::vector<PluginDevices> devices;
  std::vector<CacheFolder> caches;
  std::vector<Volume> volumes;
  std::vector<SetVariable> environment;
  std::vector<Finding> findings;
};

/// Examines everything. Errors: those of find_plugins, and of options that plugins do not have.
Result<Examined> examine(const PluginFlags& flags, uint64_t min_free_mib);
/// Returns the members of byoc.doctor/1.
nlohmann::ordered_json json_of(const Examined& examined);

}  // namespace byoc::driver
