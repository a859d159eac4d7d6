// SPDX-License-Identifier: Apache-2.0
// byoc doctor: what byoc runs on, what it found, and what is wrong with it.
#include <cmath>

#include "byoc/base/json.h"
#include "byoc/base/version.h"
#include "core/driver/commands/commands.h"
#include "core/library/installed.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

struct DoctorFlags {
  PluginFlags plugins;
  uint64_t min_free_mib = 1024;
};

std::string joined_by(const std::vector<std::string>& words, std::string_view between) {
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
  out += cat("features: ", joined_by(machine.native.features, " "), "\ntargets:\n");
  for (const AllowedTarget& target : machine.targets)
    out += cat("  ", target.name, target.allowed ? "" : cat(": no, ", target.why_not), "\n");
  return out;
}

std::string size_text(uint64_t bytes) {
  if (bytes == machine::Level::kMemory) return "memory";
  return bytes >> 20 > 0 ? cat(bytes >> 20, " MiB") : cat(bytes >> 10, " KiB");
}

std::string rate_text(machine::Rate rate) {
  return cat(std::llround(rate.one), " / ", std::llround(rate.all));
}

/// Returns what estimates of times are made of: rates of one core, and of all.
std::string speed_text(const machine::Machine& machine) {
  std::string out = cat("speed of one core / of all ", machine.cores, ", for estimates: f32 ",
                        rate_text(machine.f32), " GFLOP/s");
  if (machine.f16.one > 0) out += cat(", 16 bits ", rate_text(machine.f16));
  if (machine.i8.one > 0) out += cat(", i8 ", rate_text(machine.i8));
  out += "\n";
  for (const machine::Level& level : machine.levels)
    out += cat("  ", size_text(level.bytes), ": read ", rate_text(level.read), " GB/s, lines ",
               rate_text(level.fill), " GB/s\n");
  if (machine.cores > 1)
    out += cat("  parallel loop ", std::llround(machine.loop_ns), " ns, barrier ",
               std::llround(machine.barrier_ns), " ns, value there and back ",
               std::llround(machine.round_trip_ns), " ns\n");
  return cat(out, "  from: ", machine.origin, "\n");
}

/// Returns the file of a plugin, and below it where that came from.
std::string file_text(const PluginSet& plugins, const std::string& id, const std::string& path) {
  return cat(path, "\n    from: ", origin_text(origin_of(plugins, id, path)), "\n");
}

std::string plugins_text(const PluginSet& plugins) {
  std::string out = "plugins:\n";
  for (const auto& plugin : plugins.all())
    out += cat("  ", plugin->id(), " ", plugin->version(), "  ",
               file_text(plugins, plugin->id(), plugin->path()));
  for (const UnopenedPlugin& one : plugins.unopened())
    out += cat("  ", one.id, " ", one.version, " (opened when it is named)  ",
               file_text(plugins, one.id, one.path));
  for (const RefusedPlugin& refused : plugins.refused())
    out += cat("  refused: ", file_text(plugins, refused.id, refused.path));
  for (const AbsentPlugin& one : absent_plugins(plugins))
    out += cat("  not built: ", one.id, ", ", one.reason, "; cure: ", one.help, "\n");
  return out;
}

std::string openmp_text(const std::vector<OpenMpRuntime>& runtimes) {
  std::string out = "OpenMP runtimes:\n";
  for (const OpenMpRuntime& one : runtimes) {
    out += cat("  ", one.path.empty() ? one.library + ", not loaded" : one.path);
    if (!one.brought_by.empty()) out += cat("  (", joined_by(one.brought_by, ", "), ")");
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

bool has_problem(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    if (finding.level == Finding::kProblem) return true;
  }
  return false;
}

Result<int> run_doctor(const DoctorFlags& options, const cli::CommonOptions& common) {
  BYOC_TRY(Examined examined, examine(options.plugins, options.min_free_mib));
  bool color = cli::use_color(common, cli::Stream::kOut);
  std::string facts = cat(
      machine_text(examined.machine), examined.speed != nullptr ? speed_text(*examined.speed) : "",
      plugins_text(*examined.plugins), devices_text(examined.devices), openmp_text(examined.openmp),
      folders_text(examined), environment_text(examined.environment), "\n");
  cli::print_text((common.quiet ? "" : facts) + findings_text(examined.findings, color), common);
  BYOC_TRY_STATUS(cli::print_json(common, "doctor", json_of(examined)));
  return has_problem(examined.findings) ? cli::kFailed : cli::kDone;
}

}  // namespace

cli::Command doctor_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<DoctorFlags>();
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
  command.run = [options, &common] { return run_doctor(*options, common); };
  return command;
}

}  // namespace byoc::driver
