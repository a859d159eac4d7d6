// SPDX-License-Identifier: Apache-2.0
#include <link.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/conform/process/elf.h"
#include "core/tools/doctor/examination.h"

namespace byoc::driver {
namespace {

std::string name_of(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

/// Returns true for GNU's, LLVM's and Intel's runtime, also for a copy with a hash in its name.
bool is_openmp(const std::string& library) {
  for (std::string_view prefix : {"libgomp.so", "libgomp-", "libomp.so", "libomp-", "libiomp5"}) {
    if (library.starts_with(prefix)) return true;
  }
  return false;
}

/// Returns the paths of all libraries in this process, in the order of loading.
std::vector<std::string> loaded_libraries() {
  std::vector<std::string> out;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* to) {
        if (info->dlpi_name && *info->dlpi_name)
          static_cast<std::vector<std::string>*>(to)->push_back(info->dlpi_name);
        return 0;
      },
      &out);
  return out;
}

/// Returns the names of the libraries that a file needs, and those that these need, as far as they
/// are loaded.
std::set<std::string> needed_by(const std::string& path, const std::vector<std::string>& loaded) {
  std::set<std::string> seen;
  std::vector<std::string> open = {path};
  while (!open.empty()) {
    auto elf = conform::read_elf(open.back());
    open.pop_back();
    if (!elf.ok()) continue;
    for (const std::string& library : elf->needed) {
      if (!seen.insert(library).second) continue;
      auto found = std::find_if(loaded.begin(), loaded.end(),
                                [&](const std::string& one) { return name_of(one) == library; });
      if (found != loaded.end()) open.push_back(*found);
    }
  }
  return seen;
}

std::string owners_text(const OpenMpRuntime& runtime) {
  std::string out;
  for (const std::string& id : runtime.brought_by) out += cat(out.empty() ? "" : ", ", id);
  return out.empty() ? "byoc itself" : out;
}

/// Adds a plugin to the runtimes that it needs; one that is not loaded gets an entry.
void add_plugin(const std::string& id, const std::string& path,
                const std::vector<std::string>& loaded, std::vector<OpenMpRuntime>& runtimes) {
  for (const std::string& library : needed_by(path, loaded)) {
    if (!is_openmp(library)) continue;
    auto found = std::find_if(runtimes.begin(), runtimes.end(),
                              [&](const OpenMpRuntime& one) { return one.library == library; });
    if (found == runtimes.end()) found = runtimes.insert(found, OpenMpRuntime{library, "", {}});
    found->brought_by.push_back(id);
  }
}

}  // namespace

std::vector<OpenMpRuntime> examine_openmp(const PluginSet& plugins,
                                          std::vector<Finding>& findings) {
  std::vector<std::string> loaded = loaded_libraries();
  std::vector<OpenMpRuntime> runtimes;
  for (const std::string& path : loaded) {
    if (is_openmp(name_of(path))) runtimes.push_back({name_of(path), path, {}});
  }
  for (const auto& plugin : plugins.all())
    add_plugin(plugin->id(), plugin->path(), loaded, runtimes);
  for (const RefusedPlugin& refused : plugins.refused())
    add_plugin(refused.id.empty() ? refused.path : refused.id, refused.path, loaded, runtimes);
  if (runtimes.size() < 2) return runtimes;
  std::string list;
  for (const OpenMpRuntime& one : runtimes)
    list += cat(list.empty() ? "" : "; ", one.library, " of ", owners_text(one));
  findings.push_back(
      {Finding::kWarning, "openmp",
       cat(runtimes.size(), " OpenMP runtimes, whose threads compete for the cores: ", list),
       "build all plugins with one of them, libgomp, or without: the host has "
       "parallel_for"});
  return runtimes;
}

}  // namespace byoc::driver
