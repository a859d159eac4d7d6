// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/named_plugins.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

namespace byoc::cli {

bool is_same_file(const std::string& path, const std::string& file) {
  std::error_code error;
  return path == file || std::filesystem::equivalent(path, file, error);
}

Status check_named_plugins(const PluginSet& plugins, const std::vector<std::string>& files) {
  for (const RefusedPlugin& refused : plugins.refused()) {
    for (const std::string& file : files) {
      if (!is_same_file(refused.path, file)) continue;
      return failed(cat("--plugin ", file, " cannot be used: ", refused.reason))
          .with_slug("plugin-refused")
          .with_help(refused.help.empty() ? cat("byoc check-plugin ", file) : refused.help);
    }
  }
  return {};
}

namespace {

/// Returns whether the search has found a plugin of that id, usable or not.
bool has_found(const PluginSet& plugins, const std::string& id) {
  const auto is_it = [&](const auto& one) { return one.id == id; };
  const std::vector<UnopenedPlugin> unopened = plugins.unopened();
  return std::ranges::any_of(unopened, is_it) || std::ranges::any_of(plugins.refused(), is_it) ||
         std::ranges::any_of(plugins.all(), [&](const auto& one) { return one->id() == id; });
}

}  // namespace

Status check_isolated_plugins(const PluginSet& plugins, const IsolationFlags& flags) {
  Isolation named;
  for (const std::string& list : flags.ids) add_isolated(list, named);
  for (const std::string& id : named.ids) {
    if (has_found(plugins, id)) continue;
    PluginSearch search = plugins.search();
    if (search.ids) {  // others are there, but not opened
      search.ids = {id};
      search.options.clear();
      if (has_found(*PluginSet::load(search), id)) continue;
    }
    return std::move(plugins.get(id).status()).at(cat("--isolate-plugin ", id));
  }
  return {};
}

Status add_plugin_option(const std::string& text, PluginSearch& search) {
  size_t dot = text.find('.'), equals = text.find('=');
  if (dot == 0 || dot == text.npos || equals == text.npos || equals <= dot + 1) {
    return usage_error(cat("--plugin-option expects PLUGIN.NAME=VALUE, not \"", text, "\""));
  }
  search.options[text.substr(0, dot)][text.substr(dot + 1, equals - dot - 1)] =
      text.substr(equals + 1);
  return {};
}

Result<uint64_t> parse_byte_size(const std::string& text, const char* flag) {
  Status wrong =
      usage_error(cat(flag, " expects a number of bytes such as 512M or 8G, not \"", text, "\""));
  if (text.empty()) return uint64_t{0};
  uint64_t number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc()) return wrong;
  std::string_view unit(end, static_cast<size_t>(last - end));
  constexpr std::string_view kUnits = "KMGT";
  int shift = 0;
  if (!unit.empty()) {
    const size_t at = kUnits.find(unit[0]);
    if (at == kUnits.npos) return wrong;
    shift = 10 * (static_cast<int>(at) + 1);
    unit.remove_prefix(1);
    if (!unit.empty() && unit != "iB" && unit != "B") return wrong;
  }
  if (number == 0 || number > UINT64_MAX >> shift) return wrong;
  return number << shift;
}

void add_isolation_options(Command& command, IsolationFlags& flags) {
  command.options.insert(
      command.options.end(),
      {{"--isolate", "",
        "plugins run in processes of their own: one that crashes or does not return is an error of "
        "its function",
        &flags.all},
       {"--isolate-plugin", "A,B", "only these plugins do", &flags.ids},
       {"--isolate-time", "SECONDS",
        "the longest that one of their slots may take without progress (default 60; 0: no limit)",
        &flags.seconds},
       {"--isolate-memory", "SIZE",
        "the most memory of such a process: 512M, 8G (default: three quarters of the machine's)",
        &flags.memory}});
}

Status read_isolation(const IsolationFlags& flags, Isolation& to) {
  to.all = to.all || flags.all;
  for (const std::string& list : flags.ids) add_isolated(list, to);
  to.limits.seconds = flags.seconds;
  BYOC_TRY(to.limits.memory_bytes, parse_byte_size(flags.memory, "--isolate-memory"));
  return {};
}

}  // namespace byoc::cli
