// SPDX-License-Identifier: Apache-2.0
#include <sys/auxv.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "byoc/base/env.h"
#include "byoc/base/json.h"
#include "byoc/base/nearest.h"
#include "byoc/host/plugins.h"
#include "runtime/host/plugin_loader.h"

namespace byoc {
namespace {

namespace fs = std::filesystem;

/// Returns the .so files of a folder, in order of name.
Result<std::vector<std::string>> plugin_files(const std::string& folder) {
  std::error_code error;
  fs::directory_iterator at(folder, error);
  if (error) {
    return not_found(cat("cannot read the folder: ", error.message()))
        .with_help("create it, or correct BYOC_PLUGIN_PATH");
  }
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : at) {
    if (entry.path().extension() == ".so") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string options_json(const PluginSearch& search, const std::string& id) {
  Json json = Json::object();
  if (auto found = search.options.find(id); found != search.options.end()) {
    for (const auto& [name, value] : found->second) json[name] = value;
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<std::string> ids(std::span<const std::unique_ptr<Plugin>> plugins) {
  std::vector<std::string> out;
  for (const auto& plugin : plugins) out.push_back(plugin->id());
  std::sort(out.begin(), out.end());
  return out;
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out.empty() ? "none" : out;
}

}  // namespace

PluginSearch default_plugin_search() {
  PluginSearch search;
  std::string path = ::getauxval(AT_SECURE) ? "" : env_value("BYOC_PLUGIN_PATH");
  for (size_t at = 0; at < path.size();) {
    size_t end = std::min(path.find(':', at), path.size());
    if (end > at) search.folders.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  fs::path installed = self.parent_path().parent_path() / "lib/byoc/plugins";
  if (!error && fs::is_directory(installed, error)) search.folders.push_back(installed.string());
  return search;
}

/// Collects usable plugins and refused files, in the order of the search.
class PluginCollector {
 public:
  PluginCollector(const PluginSearch& search, std::vector<std::unique_ptr<Plugin>>& plugins,
                  std::vector<RefusedPlugin>& refused)
      : search_(search), plugins_(plugins), refused_(refused) {}

  void add_folder(const std::string& folder) {
    auto files = plugin_files(folder);
    if (!files.ok()) return refuse(folder, {}, files.status());
    for (const std::string& file : *files) add_file(file);
  }

  void add_file(const std::string& path) {
    std::error_code error;
    std::string real = fs::canonical(path, error).string();
    if (error) {
      return refuse(
          path, {},
          not_found(cat("cannot be read: ", error.message())).with_help("check the path"));
    }
    if (!seen_.insert(real).second) return;  // the same file under another name
    PluginManifest manifest;
    Status inspected = inspect_plugin(real, manifest).status();
    if (inspected.ok() && search_.ids && !search_.ids->contains(manifest.id)) return;
    if (!inspected.ok()) return refuse(real, manifest, inspected);
    auto plugin = make(real, manifest);
    if (!plugin.ok()) return refuse(real, manifest, plugin.status());
    plugins_.push_back(*std::move(plugin));
  }

 private:
  Result<std::unique_ptr<Plugin>> make(const std::string& path, const PluginManifest& manifest) {
    for (const auto& other : plugins_) {
      if (other->id() != manifest.id) continue;
      return Status(Code::kAlreadyExists,
                    cat("id \"", manifest.id, "\" is taken by ", other->path()))
          .with_help("remove one of the two files");
    }
    BYOC_TRY(byoc_plugin table, load_plugin_table(path, manifest));
    return Plugin::open(path, table, options_json(search_, manifest.id));
  }
  void refuse(const std::string& path, const PluginManifest& manifest, const Status& status) {
    refused_.push_back({path, manifest.id, manifest.version, status.message(), status.help()});
  }

  const PluginSearch& search_;
  std::vector<std::unique_ptr<Plugin>>& plugins_;
  std::vector<RefusedPlugin>& refused_;
  std::set<std::string> seen_;
};

std::shared_ptr<const PluginSet> PluginSet::load(const PluginSearch& search) {
  auto set = std::make_shared<PluginSet>();
  set->search_ = search;
  PluginCollector collector(search, set->plugins_, set->refused_);
  for (const std::string& file : search.files) collector.add_file(file);
  for (const std::string& folder : search.folders) collector.add_folder(folder);
  std::stable_sort(set->plugins_.begin(), set->plugins_.end(), [](const auto& a, const auto& b) {
    return a->priority() != b->priority() ? a->priority() > b->priority() : a->id() < b->id();
  });
  return set;
}

const Plugin* PluginSet::find(std::string_view id) const {
  for (const auto& plugin : plugins_) {
    if (plugin->id() == id) return plugin.get();
  }
  return nullptr;
}

Result<const Plugin*> PluginSet::get(std::string_view id) const {
  if (const Plugin* plugin = find(id)) return plugin;
  for (const RefusedPlugin& refused : refused_) {
    if (refused.id != id) continue;
    return not_found(cat("plugin \"", id, "\" cannot be used: ", refused.reason))
        .with_slug("unknown-plugin")
        .at(refused.path)
        .with_help(refused.help);
  }
  std::vector<std::string> known = ids(plugins_);
  return not_found(cat("no plugin \"", id, "\"", did_you_mean(id, known)))
      .with_slug("unknown-plugin")
      .at(cat("found: ", joined(known)))
      .with_help("byoc plugins");
}

Status PluginSet::check_options() const {
  for (const auto& [id, options] : search_.options) {
    if (auto plugin = get(id); !plugin.ok())
      return std::move(plugin.status()).at(cat("--plugin-option ", id));
  }
  return {};
}

}  // namespace byoc
