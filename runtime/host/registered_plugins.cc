// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/registered_plugins.h"

#include <dlfcn.h>

#include <algorithm>
#include <mutex>

#include "byoc/host/register.h"
#include "byoc/plugin/manifest.h"
#include "runtime/host/host.h"
#include "runtime/host/plugin_loader.h"

namespace byoc {
namespace {

// Never destroyed: threads may still run when the program ends.
std::mutex& mutex = *new std::mutex;
std::vector<RegisteredPlugin>& plugins = *new std::vector<RegisteredPlugin>;

/// Returns the file of the plugin's code. Functions that were made at run time are in no file.
std::string file_of(const byoc_plugin& table) {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(table.open), &info) != 0 && info.dli_fname != nullptr &&
      info.dli_fname[0] == '/')
    return info.dli_fname;
  return "/proc/self/exe";
}

}  // namespace

std::vector<RegisteredPlugin> registered_plugins() {
  std::lock_guard lock(mutex);
  return plugins;
}

Status register_plugin(const byoc_plugin* raw) {
  BYOC_TRY_STATUS(check_table_header(raw));
  const byoc_plugin table = copy_table(*raw);
  const PluginManifest manifest{text_of(table.id), text_of(table.version), BYOC_MANIFEST_ARCH};
  if (!is_plugin_id(manifest.id)) {
    return invalid(cat("its table has the id \"", manifest.id, "\""))
        .with_help("an id has small letters, digits, - and _, and begins with a letter");
  }
  BYOC_TRY_STATUS(check_table_abi(table, manifest));
  BYOC_TRY_STATUS(check_table_slots(table));
  std::lock_guard lock(mutex);
  if (std::ranges::count(plugins, manifest.id, &RegisteredPlugin::id) > 0) {
    return Status(Code::kAlreadyExists,
                  cat("a plugin with the id \"", manifest.id, "\" is registered"))
        .with_help("register each plugin once");
  }
  plugins.push_back({table, manifest.id, manifest.version, file_of(table)});
  return {};
}

}  // namespace byoc
