// SPDX-License-Identifier: Apache-2.0
#include "core/tools/report/machine_json.h"

#include <sys/utsname.h>

#include <fstream>
#include <map>
#include <thread>

#include "byoc/base/json.h"
#include "core/tools/show/palette.h"

namespace byoc::driver {
namespace {

/// Returns the name in /proc/cpuinfo; "unknown processor" where the system has none.
std::string processor_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != line.npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

std::string system_name() {
  utsname name{};
  return uname(&name) == 0 ? cat(name.sysname, " ", name.release, " ", name.machine) : "unknown";
}

}  // namespace

Json machine_json() {
  return {{"processor", processor_model()},
          {"cores", std::thread::hardware_concurrency()},
          {"system", system_name()}};
}

Json plugins_json(std::span<const PluginSet* const> sets) {
  std::map<std::string, const Plugin*> plugins;
  std::set<std::string> ids;
  for (const PluginSet* set : sets) {
    for (const auto& plugin : set->all()) plugins.emplace(plugin->id(), plugin.get());
  }
  for (const auto& [id, plugin] : plugins) ids.insert(id);
  Palette palette(ids);
  Json out = Json::array();
  for (const auto& [id, plugin] : plugins) {
    const Colour& colour = palette.colour(id);
    out.push_back({{"id", id},
                   {"version", plugin->version()},
                   {"library", plugin->path()},
                   {"colour", colour.strong},
                   {"text", colour.text},
                   {"is_dashed", palette.is_dashed(id)}});
  }
  return out;
}

}  // namespace byoc::driver
