// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <sys/auxv.h>

#include <algorithm>
#include <filesystem>

#include "byoc/base/env.h"
#include "byoc/base/nearest.h"
#include "byoc/host/plugins.h"
#include "runtime/host/plugin_collector.h"

namespace byoc {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> ids(const PluginSet& set) {
  std::vector<std::string> out;
  for (const auto& plugin : set.all()) out.push_back(plugin->id());
  for (const UnopenedPlugin& plugin : set.unopened()) out.push_back(plugin.id);
  std::sort(out.begin(), out.end());
  return out;
}

/// Orders by descending priority, then by id.
bool comes_before(int64_t priority, std::string_view id, int64_t other_priority,
                  std::string_view other_id) {
  return priority != other_priority ? priority > other_priority : id < other_id;
}

Status cannot_be_used(std::string_view id, const std::string& path, const std::string& reason,
                      const std::string& help) {
  return not_found(cat("plugin \"", id, "\" cannot be used: ", reason))
      .with_slug("unknown-plugin")
      .at(path)
      .with_help(help);
}

/// Returns the path of the library, or program, that has this code: libbyoc.so in a program of
/// another language, whose own path leads to no plugins.
fs::path own_library() {
  Dl_info info{};
  std::error_code error;
  if (::dladdr(reinterpret_cast<void*>(&default_plugin_search), &info) == 0) return {};
  return fs::canonical(info.dli_fname, error);
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out.empty() ? "none" : out;
}

}  // namespace

void add_isolated(std::string_view ids, Isolation& to) {
  while (!ids.empty()) {
    const std::string_view id = ids.substr(0, ids.find(','));
    if (!id.empty()) to.ids.emplace_back(id);
    ids.remove_prefix(std::min(ids.size(), id.size() + 1));
  }
}

PluginSearch default_plugin_search() {
  PluginSearch search;
  const std::string isolated = env_value("BYOC_ISOLATE");
  search.isolation.all = isolated == "1";
  if (isolated != "0" && isolated != "1") add_isolated(isolated, search.isolation);
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
  fs::path beside = own_library().parent_path() / "byoc/plugins";
  if (beside != installed && fs::is_directory(beside, error))
    search.folders.push_back(beside.string());
  return search;
}

std::shared_ptr<const PluginSet> PluginSet::load(const PluginSearch& search) {
  auto set = std::make_shared<PluginSet>();
  set->search_ = search;
  CollectedPlugins collected = collect_plugins(search);
  set->plugins_ = std::move(collected.plugins);
  set->refused_ = std::move(collected.refused);
  set->later_ = std::move(collected.later);
  std::stable_sort(set->plugins_.begin(), set->plugins_.end(), [](const auto& a, const auto& b) {
    return comes_before(a->priority(), a->id(), b->priority(), b->id());
  });
  std::stable_sort(set->later_.begin(), set->later_.end(), [](const auto& a, const auto& b) {
    return comes_before(a->facts().priority, a->id(), b->facts().priority, b->id());
  });
  return set;
}

std::vector<UnopenedPlugin> PluginSet::unopened() const {
  std::vector<UnopenedPlugin> out;
  for (const auto& plugin : later_) out.push_back(plugin->facts());
  return out;
}

const Plugin* PluginSet::find(std::string_view id) const {
  for (const auto& plugin : plugins_) {
    if (plugin->id() == id) return plugin.get();
  }
  for (const auto& later : later_) {
    if (later->id() != id) continue;
    auto plugin = later->open();
    return plugin.ok() ? *plugin : nullptr;
  }
  return nullptr;
}

Result<const Plugin*> PluginSet::get(std::string_view id) const {
  if (const Plugin* plugin = find(id)) return plugin;
  for (const auto& later : later_) {
    if (later->id() != id) continue;
    Status status = later->open().status();
    return cannot_be_used(id, later->path(), status.message(), status.help());
  }
  for (const RefusedPlugin& refused : refused_) {
    if (refused.id == id) return cannot_be_used(id, refused.path, refused.reason, refused.help);
  }
  std::vector<std::string> known = ids(*this);
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
