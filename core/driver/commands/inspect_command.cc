// SPDX-License-Identifier: Apache-2.0
// byoc inspect: checks every byte of a compiled model, and prints what it holds.
#include <set>

#include "byoc/base/json.h"
#include "byoc/runtime/sizes.h"
#include "core/driver/commands/commands.h"
#include "core/tools/fitness/fitness.h"
#include "core/tools/model/model_options.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

/// The constants of an artifact, each once.
struct Constants {
  uint64_t count = 0, bytes = 0;
};
Constants constants_of(const std::vector<SizedExecutable>& sizes) {
  Constants out;
  std::set<ContentKey> counted;
  for (const SizedExecutable& size : sizes) {
    for (const auto& [key, buffer] : size.executable.constants) {
      if (!counted.insert(key).second) continue;
      ++out.count;
      out.bytes += buffer->size();
    }
  }
  return out;
}

// The last inputs, and the last outputs, are states.
Json tensors_json(const std::vector<NamedTensor>& tensors, const Program& program) {
  Json out = Json::array();
  const size_t plain = tensors.size() - program.states.size();
  for (size_t k = 0; k < tensors.size(); ++k) {
    out.push_back({{"name", tensors[k].name}, {"type", cat(tensors[k].type)}});
    if (k >= plain) out.back()["state"] = true;
  }
  return out;
}

std::string tensors_text(const char* what, const std::vector<NamedTensor>& tensors,
                         const Program& program) {
  std::string out;
  for (size_t k = 0; k + program.states.size() < tensors.size(); ++k)
    out += cat("  ", what, " ", tensors[k].name, " ", tensors[k].type, "\n");
  return out;
}

std::string states_text(const Program& program) {
  std::string out;
  const size_t first_in = program.inputs.size() - program.states.size(),
               first_out = program.outputs.size() - program.states.size();
  for (size_t k = 0; k < program.states.size(); ++k) {
    const NamedTensor& input = program.inputs[first_in + k];
    out += cat("  state  ", input.name, "=", program.outputs[first_out + k].name, " ", input.type,
               "\n");
  }
  return out;
}

struct InspectFlags {
  std::string path;
  PluginFlags plugins;
  bool here = false;
};

Json fitness_json(const Fitness& fitness) {
  Json obstacles = Json::array();
  for (const Status& obstacle : fitness.obstacles) {
    obstacles.push_back({{"where", obstacle.where()},
                         {"slug", obstacle.slug()},
                         {"message", obstacle.message()},
                         {"help", obstacle.help()}});
  }
  return {{"can_run", fitness.can_run()},
          {"by_fallback", fitness.by_fallback},
          {"obstacles", obstacles},
          {"remarks", fitness.remarks}};
}

std::string fitness_text(const Fitness& fitness) {
  std::string out = cat("can run here: ", fitness.can_run() ? "yes" : "no",
                        fitness.by_fallback ? ", by its fallback\n" : "\n");
  for (const Status& obstacle : fitness.obstacles) {
    out += cat("  ", obstacle.where(), ": ", obstacle.message(), "\n");
    if (!obstacle.help().empty()) out += cat("    help: ", obstacle.help(), "\n");
  }
  for (const std::string& remark : fitness.remarks) out += cat("  ", remark, "\n");
  return out;
}

Json size_json(const SizedExecutable& size) {
  const Executable& executable = size.executable;
  Json modules = Json::array();
  for (const ExternalModule& module : executable.modules) {
    modules.push_back({{"plugin", module.plugin},
                       {"version", module.plugin_version},
                       {"functions", module.functions.size()},
                       {"native", (module.flags & BYOC_MODULE_NATIVE) != 0},
                       {"code_bytes", module.blob ? module.blob->size() : 0}});
  }
  Json json = {{"label", size.label},
               {"inputs", tensors_json(executable.program.inputs, executable.program)},
               {"outputs", tensors_json(executable.program.outputs, executable.program)},
               {"steps", executable.program.steps.size()},
               {"arena_bytes", executable.program.arena_bytes},
               {"modules", modules}};
  if (!size.entry.empty()) json["entry"] = size.entry;
  return json;
}

/// Returns the line before a program of a file that has several.
std::string heading_of(const SizedExecutable& size) {
  std::string out = size.entry.empty() ? "" : cat("entry ", size.entry);
  if (!size.label.empty()) out += cat(out.empty() ? "" : ", ", "size ", size.label);
  return out.empty() ? "" : out + ":\n";
}

std::string size_text(const SizedExecutable& size) {
  const Executable& executable = size.executable;
  std::string out = heading_of(size);
  out += tensors_text("input ", executable.program.inputs, executable.program);
  out += tensors_text("output", executable.program.outputs, executable.program);
  out += states_text(executable.program);
  cli::Table table({"plugin", "version", ">functions", ">code", "native"});
  for (const ExternalModule& module : executable.modules) {
    table.add({module.plugin, module.plugin_version, cat(module.functions.size()),
               cli::format_mib(module.blob ? module.blob->size() : 0),
               (module.flags & BYOC_MODULE_NATIVE) != 0 ? "yes" : "no"});
  }
  return out + table.text();
}

Result<PluginSearch> search_of(const PluginFlags& flags) {
  PluginSearch search = default_plugin_search();
  search.files.insert(search.files.begin(), flags.files.begin(), flags.files.end());
  for (const std::string& text : flags.options)
    BYOC_TRY_STATUS(cli::add_plugin_option(text, search));
  return search;
}

Result<int> run_inspect(const InspectFlags& flags, const cli::CommonOptions& common) {
  const std::string& path = flags.path;
  BYOC_TRY(const PluginSearch search, search_of(flags.plugins));
  BYOC_TRY(const std::vector<SizedExecutable> sizes, load_artifact_sizes(path));
  if (Status same = check_contents(sizes); !same.ok()) return std::move(same).at(path);
  const std::vector<Fitness> fitness = fitness_of(sizes, search);
  const Constants constants = constants_of(sizes);
  const std::string& producer = sizes[0].executable.producer;
  std::string text = cat(path, ", written by ", producer, "; every byte has its hash\n");
  Json json = Json::array();
  bool can_run = true;
  for (size_t k = 0; k < sizes.size(); ++k) {
    text += size_text(sizes[k]) + fitness_text(fitness[k]);
    json.push_back(size_json(sizes[k]));
    json.back()["here"] = fitness_json(fitness[k]);
    can_run = can_run && fitness[k].can_run();
  }
  text += cat(constants.count, " constants, ", cli::format_mib(constants.bytes), "\n");
  cli::print_text(text, common);
  BYOC_TRY_STATUS(cli::print_json(common, "inspect",
                                  {{"artifact", path},
                                   {"producer", producer},
                                   {"constants", constants.count},
                                   {"constant_bytes", constants.bytes},
                                   {"sizes", json}}));
  return static_cast<int>(flags.here && !can_run ? cli::kFailed : cli::kDone);
}

}  // namespace

cli::Command inspect_command(const cli::CommonOptions& common) {
  auto flags = std::make_shared<InspectFlags>();
  cli::Command command;
  command.name = "inspect";
  command.about =
      "check a compiled model byte for byte, print what it holds, and if it can run here";
  command.examples = {
      {"byoc inspect net.byoc", "inputs, outputs, plugins; an error for damage"},
      {"byoc inspect net.byoc --here", "exit code 1 when it cannot run here; no plugin is loaded"}};
  command.options = {
      {"FILE.byoc", "", "what `byoc compile` wrote", &flags->path, true},
      {"--here", "", "exit with code 1 when it cannot run on this machine", &flags->here}};
  add_plugin_options(command, flags->plugins);
  command.run = [flags, &common] { return run_inspect(*flags, common); };
  return command;
}

}  // namespace byoc::driver
