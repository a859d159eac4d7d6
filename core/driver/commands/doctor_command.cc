// SPDX-License-Identifier: Apache-2.0
// byoc doctor: what byoc runs on, what it found, and what is wrong with it.
#include <algorithm>

#include "byoc/base/json.h"
#include "byoc/base/version.h"
#include "core/driver/commands/commands.h"
#include "core/tools/doctor/examination.h"
#include "core/tools/model/model_options.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

constexpr uint64_t kMostMib = UINT64_MAX >> 20;

struct Options {
  PluginFlags plugins;
  uint64_t min_free_mib = 1024;
};

struct Examined {
  std::shared_ptr<const PluginSet> plugins;
  Machine machine;
  std::vector<OpenMpRuntime> openmp;
  std::vector<CacheFolder> caches;
  std::vector<Volume> volumes;
  std::vector<SetVariable> environment;
  std::vector<Finding> findings;
};

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string out;
  for (const std::string& word : words) out += cat(out.empty() ? "" : between, word);
  return out;
}

std::string machine_text(const Machine& machine) {
  std::string out = cat("byoc ", version(), ", plugin ABI ", BYOC_ABI_MAJOR, ".", BYOC_ABI_MINOR,
                        ", ", machine.system, ", ", machine.libc, "\n");
  if (!machine.processor.empty()) out += cat(machine.processor, "\n");
  out += cat(machine.cores, machine.cores == 1 ? " core, " : " cores, ", machine.native.arch,
             ", vectors of ", machine.native.vector_bits,
             " bits; caches of a core: ", machine.native.l1_bytes >> 10, " KiB and ",
             machine.native.l2_bytes >> 10, " KiB\n");
  out += cat("features: ", joined(machine.native.features, " "), "\ntargets:\n");
  for (const AllowedTarget& target : machine.targets)
    out += cat("  ", target.name, target.allowed ? "" : cat(": no, ", target.why_not), "\n");
  return out;
}

std::string plugins_text(const PluginSet& plugins) {
  std::string out = "plugins:\n";
  for (const auto& plugin : plugins.all())
    out += cat("  ", plugin->id(), " ", plugin->version(), "  ", plugin->path(), "\n");
  for (const UnopenedPlugin& one : plugins.unopened())
    out += cat("  ", one.id, " ", one.version, "  ", one.path, "  (opened when it is named)\n");
  for (const RefusedPlugin& refused : plugins.refused())
    out += cat("  refused: ", refused.path, "\n");
  for (const AbsentPlugin& one : absent_plugins(plugins))
    out += cat("  not built: ", one.id, ", ", one.reason, "; cure: ", one.help, "\n");
  return out;
}

std::string openmp_text(const std::vector<OpenMpRuntime>& runtimes) {
  std::string out = "OpenMP runtimes:\n";
  for (const OpenMpRuntime& one : runtimes) {
    out += cat("  ", one.path.empty() ? one.library + ", not loaded" : one.path);
    if (!one.brought_by.empty()) out += cat("  (", joined(one.brought_by, ", "), ")");
    out += "\n";
  }
  return out;
}

std::string folders_text(const Examined& examined) {
  std::string out = "caches:\n";
  for (const CacheFolder& folder : examined.caches) {
    out += cat("  ", folder.path, "  ",
               folder.exists ? cat(folder.files, " files, ", cli::format_mib(folder.bytes))
                             : std::string("not made yet"),
               folder.usable ? "" : ", not used", "\n");
  }
  out += "free space:\n";
  for (const Volume& volume : examined.volumes)
    out += cat("  ", volume.folder, "  ", cli::format_mib(volume.free_bytes), "\n");
  return out;
}

std::string environment_text(const std::vector<SetVariable>& variables) {
  if (variables.empty()) return "environment: byoc reads no variable that is set\n";
  std::string out = "environment:\n";
  for (const SetVariable& one : variables)
    out += cat("  ", one.name, "=", one.value, "  (", one.doc, ")\n");
  return out;
}

std::string findings_text(const std::vector<Finding>& findings, bool color) {
  if (findings.empty()) return "nothing is wrong\n";
  std::string out;
  for (const Finding& finding : findings) {
    bool is_problem = finding.level == Finding::kProblem;
    out += cat(cli::paint(is_problem ? "problem" : "warning", is_problem ? "31" : "33", color),
               ": ", finding.what, "\n");
    if (!finding.cure.empty()) out += cat("  cure: ", finding.cure, "\n");
  }
  return out;
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
    plugins.push_back(
        {{"id", plugin->id()}, {"version", plugin->version()}, {"library", plugin->path()}});
  }
  return plugins;
}

Json unopened_json(const PluginSet& set) {
  Json unopened = Json::array();
  for (const UnopenedPlugin& one : set.unopened())
    unopened.push_back({{"id", one.id}, {"version", one.version}, {"library", one.path}});
  return unopened;
}

Json refused_json(const PluginSet& set) {
  Json refused = Json::array();
  for (const RefusedPlugin& one : set.refused()) {
    refused.push_back(
        {{"id", one.id}, {"library", one.path}, {"reason", one.reason}, {"help", one.help}});
  }
  return refused;
}

Json not_built_json(const PluginSet& set) {
  Json out = Json::array();
  for (const AbsentPlugin& one : absent_plugins(set))
    out.push_back({{"id", one.id}, {"reason", one.reason}, {"help", one.help}});
  return out;
}

Json to_json(const Examined& examined) {
  Json json = {{"abi", cat(BYOC_ABI_MAJOR, ".", BYOC_ABI_MINOR)},
               {"machine", machine_json(examined.machine)},
               {"plugins", plugins_json(*examined.plugins)},
               {"not_opened", unopened_json(*examined.plugins)},
               {"refused", refused_json(*examined.plugins)},
               {"not_built", not_built_json(*examined.plugins)}};
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

bool has_problem(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    if (finding.level == Finding::kProblem) return true;
  }
  return false;
}

Result<int> run(const Options& options, const cli::CommonOptions& common) {
  Examined examined;
  BYOC_TRY(examined.plugins, find_plugins(options.plugins));
  std::vector<Finding>& findings = examined.findings;
  examined.machine = examine_machine();
  examine_plugins(*examined.plugins, findings);
  examined.openmp = examine_openmp(*examined.plugins, findings);
  examined.caches = examine_caches(findings);
  examined.volumes = examine_space(std::min(options.min_free_mib, kMostMib) << 20, findings);
  examined.environment = examine_environment(findings);
  BYOC_TRY_STATUS(examined.plugins->check_options());
  bool color = cli::use_color(common, cli::Stream::kOut);
  std::string facts = cat(machine_text(examined.machine), plugins_text(*examined.plugins),
                          openmp_text(examined.openmp), folders_text(examined),
                          environment_text(examined.environment), "\n");
  cli::print_text((common.quiet ? "" : facts) + findings_text(findings, color), common);
  BYOC_TRY_STATUS(cli::print_json(common, "doctor", to_json(examined)));
  return has_problem(findings) ? cli::kFailed : cli::kDone;
}

}  // namespace

cli::Command doctor_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<Options>();
  cli::Command command;
  command.name = "doctor";
  command.about = "look at plugins, machine, caches and environment, and report what is wrong";
  command.examples = {
      {"byoc doctor", "everything, with the cures at the end"},
      {"byoc doctor -q", "only what is wrong"},
      {"byoc doctor --plugin build/libmychip.so", "with a plugin under development"}};
  add_plugin_options(command, options->plugins);
  command.options.push_back({"--min-free", "MIB",
                             "warn when a file system has less space free (default 1024)",
                             &options->min_free_mib});
  command.notes =
      "The exit code is 1 when there is a problem: a plugin is refused, a cache cannot be used, a\n"
      "file system is full, a variable names no folder. Warnings do not change it.";
  command.run = [options, &common] { return run(*options, common); };
  return command;
}

}  // namespace byoc::driver
