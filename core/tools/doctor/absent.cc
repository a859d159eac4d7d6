// SPDX-License-Identifier: Apache-2.0
// Plugins that were not built: plugins/CMakeLists.txt writes a file ID.absent for each.
#include <algorithm>
#include <filesystem>
#include <map>

#include "byoc/base/file.h"
#include "byoc/base/json.h"
#include "core/tools/doctor/examination.h"

namespace byoc::driver {
namespace {

bool is_found(const PluginSet& plugins, const std::string& id) {
  auto has_id = [&](const auto& plugin) { return plugin->id() == id; };
  const std::vector<UnopenedPlugin> unopened = plugins.unopened();
  return std::any_of(plugins.all().begin(), plugins.all().end(), has_id) ||
         std::any_of(unopened.begin(), unopened.end(),
                     [&](const UnopenedPlugin& plugin) { return plugin.id == id; });
}

namespace fs = std::filesystem;

constexpr size_t kMostBytes = 4096;  // of a file of one line

AbsentPlugin read_absent(const fs::path& path) {
  AbsentPlugin out{path.stem().string(), "", ""};
  auto damaged = [&](const std::string& why) {
    out.reason = cat(path.string(), " cannot be read: ", why);
    out.help = "build and install byoc again";
    return out;
  };
  Result<std::string> text = read_file(path.string(), kMostBytes);
  if (!text.ok()) return damaged(text.status().message());
  Result<Json> json = parse_json(*text);
  if (!json.ok()) return damaged(json.status().message());
  for (const char* member : {"reason", "help"}) {
    if (!json->is_object() || !json->contains(member) || !(*json)[member].is_string())
      return damaged(cat("it has no text \"", member, "\""));
  }
  out.reason = (*json)["reason"].get<std::string>();
  out.help = (*json)["help"].get<std::string>();
  return out;
}

}  // namespace

std::vector<AbsentPlugin> absent_plugins(const PluginSet& plugins) {
  std::map<std::string, AbsentPlugin> found;  // by id
  for (const std::string& folder : plugins.search().folders) {
    std::error_code error;  // a folder that is not there has no files
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
      const std::string id = entry.path().stem().string();
      if (entry.path().extension() != ".absent" || is_found(plugins, id)) continue;
      found.emplace(id, read_absent(entry.path()));
    }
  }
  std::vector<AbsentPlugin> out;
  for (auto& [id, plugin] : found) out.push_back(std::move(plugin));
  return out;
}

}  // namespace byoc::driver
