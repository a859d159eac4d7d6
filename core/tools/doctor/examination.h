// SPDX-License-Identifier: Apache-2.0
#pragma once
// The state of an installation: what byoc runs on, what it found, and what is wrong with it.
#include <string>
#include <vector>

#include "byoc/host/plugins.h"
#include "byoc/te/target.h"

namespace byoc::driver {

struct Finding {
  enum Level { kWarning, kProblem };  // kProblem: something does not work
  Level level = kWarning;
  std::string topic;  // "plugins", "openmp", "caches", "space", "environment"
  std::string what, cure;
};

/// A name that --target takes, and the features that this machine lacks for it.
struct AllowedTarget {
  std::string name;
  bool allowed = false;
  std::string why_not;  // empty when allowed
};
struct Machine {
  te::Target native;
  std::string processor, system, libc;  // "AMD EPYC", "Linux 6.1.0", "glibc 2.36"
  uint32_t cores = 1;                   // that this process may use
  std::vector<AllowedTarget> targets;
};
Machine examine_machine();

/// A library that is an OpenMP runtime.
struct OpenMpRuntime {
  std::string library;                  // "libgomp.so.1"
  std::string path;                     // of the file in this process; empty: not loaded
  std::vector<std::string> brought_by;  // plugins that need it, directly or not
};
/// Returns the runtimes in this process, in the order of loading, and those that refused plugins
/// would bring. Two different ones are a finding.
std::vector<OpenMpRuntime> examine_openmp(const PluginSet& plugins, std::vector<Finding>& findings);

/// A folder of files that only save time: it may be deleted.
struct CacheFolder {
  std::string path;
  bool exists = false, usable = false;
  std::string why_not;  // empty when usable
  uint64_t files = 0, bytes = 0;
};
/// Returns byoc's cache folder and the folders in it, sorted. None when the environment names none.
std::vector<CacheFolder> examine_caches(std::vector<Finding>& findings);

/// The file system of a folder that byoc writes to.
struct Volume {
  std::string folder;
  uint64_t free_bytes = 0;
};
/// Returns one entry per file system of the cache, the temporary folder and the current folder.
/// Less than `min_free_bytes` is a warning, less than 1 MiB a problem.
std::vector<Volume> examine_space(uint64_t min_free_bytes, std::vector<Finding>& findings);

/// A variable of the environment that byoc reads and that is set.
struct SetVariable {
  std::string name, value, doc;
};
std::vector<SetVariable> examine_environment(std::vector<Finding>& findings);

/// A plugin that was not built, as a library was missing.
struct AbsentPlugin {
  std::string id, reason, help;
};
/// Returns the plugins that files ID.absent in the searched folders name, sorted by id. One that is
/// found in another place is not absent. A file that cannot be read is listed with that reason.
std::vector<AbsentPlugin> absent_plugins(const PluginSet& plugins);

/// A plugin with devices of its own.
struct PluginDevices {
  std::string id;
  std::vector<DeviceInfo> devices;
  std::string why_none;  // with the cure; empty where there are devices
};
/// Returns the devices of all plugins that have such. Opens those among them that are not open yet.
std::vector<PluginDevices> examine_devices(const PluginSet& plugins);
/// Returns them as lines after a heading; empty for none.
std::string devices_text(const std::vector<PluginDevices>& plugins);

/// Appends the findings on the plugins: refused ones, and roles that no plugin fills.
void examine_plugins(const PluginSet& plugins, std::vector<Finding>& findings);

/// Returns the folder itself, or the nearest one above it that exists.
std::string nearest_folder(const std::string& path);

}  // namespace byoc::driver
