// SPDX-License-Identifier: Apache-2.0
// byoc plugins: lists the plugins that were found, with folders and patterns, and those refused.
#include "byoc/base/json.h"
#include "core/driver/commands/commands.h"
#include "core/tools/model/model_options.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

struct Options {
  PluginFlags plugins;
};

std::string flags_text(const Plugin& plugin) {
  std::string out = plugin.is_default_codegen() ? "default" : "";
  if (plugin.is_horizontal()) out += out.empty() ? "horizontal" : ", horizontal";
  return out;
}

Json plugin_json(const Plugin& plugin) {
  Json patterns = Json::array();
  for (const PluginPattern& pattern : plugin.patterns()) {
    patterns.push_back({{"name", pattern.name}, {"priority", pattern.priority}});
  }
  return {{"id", plugin.id()},
          {"version", plugin.version()},
          {"priority", plugin.priority()},
          {"default", plugin.is_default_codegen()},
          {"horizontal", plugin.is_horizontal()},
          {"judges", plugin.has_judge()},
          {"max_ops", plugin.max_ops()},
          {"max_bytes", plugin.max_bytes()},
          {"library", plugin.path()},
          {"patterns", patterns}};
}

Json fields(const PluginSet& set) {
  Json plugins = Json::array(), refused = Json::array();
  for (const auto& plugin : set.all()) plugins.push_back(plugin_json(*plugin));
  for (const RefusedPlugin& r : set.refused()) {
    refused.push_back({{"id", r.id},
                       {"version", r.version},
                       {"library", r.path},
                       {"reason", r.reason},
                       {"help", r.help}});
  }
  return {{"plugins", plugins},
          {"refused", refused},
          {"searched", {{"files", set.search().files}, {"folders", set.search().folders}}}};
}

std::string usable_text(const PluginSet& set) {
  cli::Table table({"id", "version", ">priority", "flags", ">patterns", "library"});
  for (const auto& plugin : set.all()) {
    table.add({plugin->id(), plugin->version(), cat(plugin->priority()), flags_text(*plugin),
               cat(plugin->patterns().size()), plugin->path()});
  }
  return table.empty() ? "no usable plugin was found\n" : table.text();
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

std::string searched_text(const PluginSearch& search) {
  std::string out = cat("searched: --plugin (", search.files.size(), ")");
  for (const std::string& folder : search.folders) out += cat(", ", folder);
  return out + "\n";
}

Result<int> run(const Options& options, const cli::CommonOptions& common) {
  BYOC_TRY(auto set, load_plugins(options.plugins, common));
  cli::print_text(usable_text(*set) + refused_text(*set) + searched_text(set->search()), common);
  BYOC_TRY_STATUS(cli::print_json(common, "plugins", fields(*set)));
  return cli::kDone;
}

}  // namespace

cli::Command plugins_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<Options>();
  cli::Command command;
  command.name = "plugins";
  command.about = "what plugins were found, from where, and why others were refused";
  command.examples = {
      {"byoc plugins", "all plugins of the search path"},
      {"byoc plugins --plugin build/libmychip.so", "one more, before it is installed"}};
  add_plugin_options(command, options->plugins);
  command.run = [options, &common] { return run(*options, common); };
  return command;
}

}  // namespace byoc::driver
