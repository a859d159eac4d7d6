// SPDX-License-Identifier: Apache-2.0
#include "core/library/installed.h"

#include <algorithm>

#include "byoc/base/json.h"
#include "byoc/pass/pattern.h"
#include "byoc/plugins.h"
#include "runtime/cli/output.h"

namespace byoc {

namespace driver {
namespace {

constexpr uint64_t kMostMib = UINT64_MAX >> 20;

constexpr PluginFlagName kFlags[] = {
    {BYOC_PLUGIN_DEFAULT, "default"},       {BYOC_PLUGIN_HORIZONTAL, "horizontal"},
    {BYOC_PLUGIN_ONE_ANCHOR, "one_anchor"}, {BYOC_PLUGIN_LOOPS, "loops"},
    {BYOC_PLUGIN_COUNTED, "counted"},       {BYOC_PLUGIN_ATTENTION, "attention"},
    {BYOC_PLUGIN_OPEN_SIZES, "open_sizes"}, {BYOC_PLUGIN_CHAINS, "chains"}};

Json origin_json(const PluginSet& set, const std::string& id, const std::string& path) {
  const PluginOrigin origin = origin_of(set, id, path);
  return {{"kind", kind_name(origin.kind)},    {"folder", origin.folder},
          {"package", origin.package},         {"version", origin.version},
          {"entry_point", origin.entry_point}, {"text", origin_text(origin)}};
}

Json plugin_json(const PluginSet& set, const Plugin& plugin) {
  Json patterns = Json::array();
  for (const PluginPattern& pattern : plugin.patterns()) {
    patterns.push_back(
        {{"name", pattern.name}, {"priority", pattern.priority}, {"left_out", nullptr}});
  }
  for (const LeftOutPattern& one : left_out_patterns(plugin))
    patterns[one.index]["left_out"] = one.why;
  Json json = {{"id", plugin.id()}, {"version", plugin.version()}, {"priority", plugin.priority()}};
  for (const PluginFlagName& row : kFlags)
    json[std::string(row.name)] = (plugin.flags() & row.flag) != 0;
  json["judges"] = plugin.has_judge();
  json["groups"] = plugin.has_partition();
  json["max_ops"] = plugin.max_ops();
  json["max_bytes"] = plugin.max_bytes();
  json["library"] = plugin.path();
  json["origin"] = origin_json(set, plugin.id(), plugin.path());
  json["patterns"] = patterns;
  return json;
}

Json machine_json(const Machine& machine) {
  Json targets = Json::array();
  for (const AllowedTarget& target : machine.targets)
    targets.push_back(
        {{"name", target.name}, {"allowed", target.allowed}, {"why_not", target.why_not}});
  return {{"processor", machine.processor},
          {"system", machine.system},
          {"libc", machine.libc},
          {"cores", machine.cores},
          {"arch", machine.native.arch},
          {"cpu", machine.native.cpu},
          {"features", machine.native.features},
          {"vector_bits", machine.native.vector_bits},
          {"l1_bytes", machine.native.l1_bytes},
          {"l2_bytes", machine.native.l2_bytes},
          {"targets", targets}};
}

Json plugins_json(const PluginSet& set) {
  Json plugins = Json::array();
  for (const auto& plugin : set.all()) {
    plugins.push_back({{"id", plugin->id()},
                       {"version", plugin->version()},
                       {"library", plugin->path()},
                       {"origin", origin_json(set, plugin->id(), plugin->path())}});
  }
  return plugins;
}

Json unopened_json(const PluginSet& set) {
  Json unopened = Json::array();
  for (const UnopenedPlugin& one : set.unopened())
    unopened.push_back({{"id", one.id},
                        {"version", one.version},
                        {"library", one.path},
                        {"origin", origin_json(set, one.id, one.path)}});
  return unopened;
}

Json refused_json(const PluginSet& set) {
  Json refused = Json::array();
  for (const RefusedPlugin& one : set.refused()) {
    refused.push_back({{"id", one.id},
                       {"library", one.path},
                       {"origin", origin_json(set, one.id, one.path)},
                       {"reason", one.reason},
                       {"help", one.help}});
  }
  return refused;
}

Json not_built_json(const PluginSet& set) {
  Json out = Json::array();
  for (const AbsentPlugin& one : absent_plugins(set))
    out.push_back({{"id", one.id}, {"reason", one.reason}, {"help", one.help}});
  return out;
}

Json devices_json(const std::vector<PluginDevices>& plugins) {
  Json out = Json::array();
  for (const PluginDevices& one : plugins) {
    Json devices = Json::array();
    for (const DeviceInfo& device : one.devices)
      devices.push_back({{"id", device.id},
                         {"type", device.type},
                         {"name", device.name},
                         {"bytes", device.bytes},
                         {"capabilities", device.capabilities}});
    out.push_back({{"plugin", one.id}, {"devices", devices}, {"why_none", one.why_none}});
  }
  return out;
}

}  // namespace

std::span<const PluginFlagName> plugin_flag_names() { return kFlags; }

Result<ListedPlugins> list_plugins(const PluginFlags& flags) {
  ListedPlugins out;
  BYOC_TRY(out.set, find_plugins(flags));
  for (const auto& plugin : out.set->all()) {  // by priority
    if (plugin->is_default_codegen()) out.defaults.push_back(plugin->id());
    else if (plugin->priority() >= 0) out.compilers.push_back(plugin->id());
    for (LeftOutPattern& one : left_out_patterns(*plugin))
      out.left_out.push_back({cat(plugin->id(), ".", one.name), std::move(one.why)});
  }
  out.absent = absent_plugins(*out.set);
  out.devices = examine_devices(*out.set);
  return out;
}

Json json_of(const ListedPlugins& listed) {
  const PluginSet& set = *listed.set;
  Json plugins = Json::array(), refused = Json::array(), not_built = Json::array(),
       unopened = Json::array();
  for (const AbsentPlugin& one : listed.absent)
    not_built.push_back({{"id", one.id}, {"reason", one.reason}, {"help", one.help}});
  for (const auto& plugin : set.all()) plugins.push_back(plugin_json(set, *plugin));
  for (const RefusedPlugin& r : set.refused()) {
    refused.push_back({{"id", r.id},
                       {"version", r.version},
                       {"library", r.path},
                       {"origin", origin_json(set, r.id, r.path)},
                       {"reason", r.reason},
                       {"help", r.help}});
  }
  for (const UnopenedPlugin& one : set.unopened()) {
    unopened.push_back({{"id", one.id},
                        {"version", one.version},
                        {"priority", one.priority},
                        {"library", one.path},
                        {"origin", origin_json(set, one.id, one.path)}});
  }
  return {{"plugins", plugins},
          {"not_opened", unopened},
          {"refused", refused},
          {"not_built", not_built},
          {"devices", devices_json(listed.devices)},
          {"order", listed.compilers},
          {"defaults", listed.defaults},
          {"searched", {{"files", set.search().files}, {"folders", set.search().folders}}}};
}

Result<Examined> examine(const PluginFlags& flags, uint64_t min_free_mib) {
  Examined examined;
  BYOC_TRY(examined.plugins, find_plugins(flags));
  std::vector<Finding>& findings = examined.findings;
  examined.machine = examine_machine();
  if (auto speed = machine::this_machine(); speed.ok()) examined.speed = *speed;
  else
    findings.push_back({Finding::kProblem, "environment",
                        cat("BYOC_MACHINE cannot be used: ", speed.status().to_string()),
                        "name a file such as those of share/byoc/machines, or unset it"});
  examine_plugins(*examined.plugins, findings);
  for (const auto& plugin : examined.plugins->all()) {
    for (const LeftOutPattern& one : left_out_patterns(*plugin))
      findings.push_back({Finding::kProblem, "plugins", left_out_text(*plugin, one),
                          "correct it (docs/patterns.md), or install a plugin for this byoc"});
  }
  examined.openmp = examine_openmp(*examined.plugins, findings);
  examined.devices = examine_devices(*examined.plugins);  // opens plugins, so after openmp
  examined.caches = examine_caches(findings);
  examined.volumes = examine_space(std::min(min_free_mib, kMostMib) << 20, findings);
  examined.environment = examine_environment(findings);
  BYOC_TRY_STATUS(examined.plugins->check_options());
  return examined;
}

Json json_of(const Examined& examined) {
  Json speed;
  if (examined.speed != nullptr) {
    speed = machine::to_json(*examined.speed);
    speed["from"] = examined.speed->origin;
  }
  Json json = {{"abi", cat(BYOC_ABI_MAJOR, ".", BYOC_ABI_MINOR)},
               {"machine", machine_json(examined.machine)},
               {"speed", std::move(speed)},
               {"plugins", plugins_json(*examined.plugins)},
               {"not_opened", unopened_json(*examined.plugins)},
               {"refused", refused_json(*examined.plugins)},
               {"not_built", not_built_json(*examined.plugins)},
               {"devices", devices_json(examined.devices)}};
  for (const char* list : {"openmp", "caches", "space", "environment", "findings"})
    json[list] = Json::array();
  for (const OpenMpRuntime& one : examined.openmp)
    json["openmp"].push_back(
        {{"library", one.library}, {"path", one.path}, {"brought_by", one.brought_by}});
  for (const CacheFolder& one : examined.caches)
    json["caches"].push_back({{"path", one.path},
                              {"exists", one.exists},
                              {"usable", one.usable},
                              {"why_not", one.why_not},
                              {"files", one.files},
                              {"bytes", one.bytes}});
  for (const Volume& one : examined.volumes)
    json["space"].push_back({{"folder", one.folder}, {"free_bytes", one.free_bytes}});
  for (const SetVariable& one : examined.environment)
    json["environment"].push_back({{"name", one.name}, {"value", one.value}});
  for (const Finding& one : examined.findings)
    json["findings"].push_back({{"level", one.level == Finding::kProblem ? "problem" : "warning"},
                                {"topic", one.topic},
                                {"what", one.what},
                                {"cure", one.cure}});
  return json;
}

}  // namespace driver

std::string_view state_name(PluginState state) {
  constexpr std::string_view kNames[] = {"usable", "not opened", "refused", "not built"};
  return kNames[static_cast<size_t>(state)];
}

Result<PluginList> list_plugins(const PluginRequest& request) {
  BYOC_TRY(driver::ListedPlugins listed, driver::list_plugins({request.files, request.options}));
  const PluginSet& set = *listed.set;
  BYOC_TRY_STATUS(set.check_options());
  PluginList out;
  for (const auto& plugin : set.all())
    out.plugins.push_back(
        {plugin->id(), plugin->version(), plugin->path(), PluginState::kUsable, {}, {}});
  for (const UnopenedPlugin& one : set.unopened())
    out.plugins.push_back({one.id, one.version, one.path, PluginState::kNotOpened, {}, {}});
  for (const RefusedPlugin& one : set.refused())
    out.plugins.push_back(
        {one.id, one.version, one.path, PluginState::kRefused, one.reason, one.help});
  for (const driver::AbsentPlugin& one : listed.absent)
    out.plugins.push_back({one.id, {}, {}, PluginState::kNotBuilt, one.reason, one.help});
  out.json = cli::json_text("plugins", true, driver::json_of(listed));
  out.order = std::move(listed.compilers);
  out.defaults = std::move(listed.defaults);
  return out;
}

Result<Installation> examine_installation(const PluginRequest& request, uint64_t min_free_mib) {
  BYOC_TRY(driver::Examined examined,
           driver::examine({request.files, request.options}, min_free_mib));
  Installation out;
  for (const driver::Finding& one : examined.findings)
    out.findings.push_back({one.level == driver::Finding::kProblem, one.topic, one.what, one.cure});
  out.json = cli::json_text("doctor", true, driver::json_of(examined));
  return out;
}

}  // namespace byoc
