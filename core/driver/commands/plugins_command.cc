// SPDX-License-Identifier: Apache-2.0
// byoc plugins: lists the plugins that were found, with folders and patterns, and those refused.
#include "byoc/base/json.h"
#include "core/driver/commands/commands.h"
#include "core/library/installed.h"
#include "runtime/cli/named_plugins.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

struct PluginsFlags {
  PluginFlags plugins;
};

std::string flags_text(const Plugin& plugin) {
  std::string out;
  for (const PluginFlagName& row : plugin_flag_names()) {
    if (plugin.flags() & row.flag) out += cat(out.empty() ? "" : ", ", row.name);
  }
  if (plugin.has_partition()) out += cat(out.empty() ? "" : ", ", "groups");
  return out;
}

std::string ids_or(const std::vector<std::string>& ids, std::string_view none) {
  std::string out;
  for (const std::string& id : ids) out += cat(out.empty() ? "" : ", ", id);
  return out.empty() ? std::string(none) : out;
}

std::string order_text(const ListedPlugins& listed) {
  return cat("order: ", ids_or(listed.compilers, "none"),
             " (highest priority first; --compiler A,B sets another order)\n",
             "rest:  ", ids_or(listed.defaults, "none"),
             " (plugins with the flag default; --default ID sets the first)\n");
}

std::string usable_text(const PluginSet& set) {
  cli::Table table({"id", "version", ">priority", "flags", ">patterns", "library"});
  for (const auto& plugin : set.all()) {
    table.add({plugin->id(), plugin->version(), cat(plugin->priority()), flags_text(*plugin),
               cat(plugin->patterns().size()), plugin->path()});
  }
  return table.empty() ? "no usable plugin was found\n" : table.text();
}

std::string unopened_text(const PluginSet& set) {
  cli::Table table({"id", "version", ">priority", "library"});
  for (const UnopenedPlugin& one : set.unopened())
    table.add({one.id, one.version, cat(one.priority), one.path});
  if (table.empty()) return "";
  return cat("not opened (a plugin with a priority below 0 is opened when it is named)\n",
             table.text());
}

std::string refused_text(const PluginSet& set) {
  if (set.refused().empty()) return "";
  std::string out = cat("refused (", set.refused().size(), ")\n");
  for (const RefusedPlugin& r : set.refused()) {
    std::string name = r.id.empty() ? "" : cat(r.id, " ", r.version, "  ");
    out += cat("  ", name, r.path, "\n    ", r.reason, "\n");
    if (!r.help.empty()) out += cat("    cure: ", r.help, "\n");
  }
  return out;
}

std::string left_out_text(const ListedPlugins& listed) {
  if (listed.left_out.empty()) return "";
  std::string out = cat("patterns left out (", listed.left_out.size(), ")\n");
  for (const auto& [name, why] : listed.left_out) out += cat("  ", name, "\n    ", why, "\n");
  return out;
}

std::string absent_text(const std::vector<AbsentPlugin>& absent) {
  if (absent.empty()) return "";
  std::string out = cat("not built (", absent.size(), ")\n");
  for (const AbsentPlugin& one : absent)
    out += cat("  ", one.id, "\n    ", one.reason, "\n    cure: ", one.help, "\n");
  return out;
}

std::string searched_text(const PluginSearch& search) {
  std::string out = cat("searched: --plugin (", search.files.size(), ")");
  for (const std::string& folder : search.folders) out += cat(", ", folder);
  return out + "\n";
}

Result<int> run_plugins(const PluginsFlags& options, const cli::CommonOptions& common) {
  BYOC_TRY(ListedPlugins listed, list_plugins(options.plugins));
  const PluginSet& set = *listed.set;
  cli::print_text(cat(usable_text(set), unopened_text(set), order_text(listed),
                      left_out_text(listed), refused_text(set), absent_text(listed.absent),
                      devices_text(listed.devices), searched_text(set.search())),
                  common);
  BYOC_TRY_STATUS(cli::print_json(common, "plugins", json_of(listed)));
  BYOC_TRY_STATUS(set.check_options());
  Status named = cli::check_named_plugins(set, options.plugins.files);
  if (!named.ok()) cli::print_warning(named.message(), common);
  return named.ok() ? cli::kDone : cli::kFailed;
}

}  // namespace

cli::Command plugins_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<PluginsFlags>();
  cli::Command command;
  command.name = "plugins";
  command.about = "what plugins were found, from where, and why others were refused";
  command.examples = {
      {"byoc plugins", "all plugins of the search path"},
      {"byoc plugins --plugin build/libmychip.so", "one more, before it is installed"}};
  command.notes =
      "A plugin with a priority below 0 is not opened unless --plugin or --plugin-option names "
      "it,\n"
      "or it has devices: these are listed, or the reason why there are none.\n"
      "A file whose code crashes, ends the process or does not return within 5 s is refused: each\n"
      "file is tried once in a process of its own, and the result is kept in the cache folder.";
  add_plugin_options(command, options->plugins);
  command.run = [options, &common] { return run_plugins(*options, common); };
  return command;
}

}  // namespace byoc::driver
