// SPDX-License-Identifier: Apache-2.0
// byoc inspect: checks every byte of a compiled model, and prints what it holds.
#include <set>

#include "byoc/base/json.h"
#include "byoc/runtime/sizes.h"
#include "core/driver/commands/commands.h"
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

Json tensors_json(const std::vector<NamedTensor>& tensors) {
  Json out = Json::array();
  for (const NamedTensor& tensor : tensors)
    out.push_back({{"name", tensor.name}, {"type", cat(tensor.type)}});
  return out;
}

std::string tensors_text(const char* what, const std::vector<NamedTensor>& tensors) {
  std::string out;
  for (const NamedTensor& tensor : tensors)
    out += cat("  ", what, " ", tensor.name, " ", tensor.type, "\n");
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
               {"inputs", tensors_json(executable.program.inputs)},
               {"outputs", tensors_json(executable.program.outputs)},
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
  out += tensors_text("input ", executable.program.inputs);
  out += tensors_text("output", executable.program.outputs);
  cli::Table table({"plugin", "version", ">functions", ">code", "native"});
  for (const ExternalModule& module : executable.modules) {
    table.add({module.plugin, module.plugin_version, cat(module.functions.size()),
               cli::format_mib(module.blob ? module.blob->size() : 0),
               (module.flags & BYOC_MODULE_NATIVE) != 0 ? "yes" : "no"});
  }
  return out + table.text();
}

Result<int> run_inspect(const std::string& path, const cli::CommonOptions& common) {
  BYOC_TRY(const std::vector<SizedExecutable> sizes, load_artifact_sizes(path));
  if (Status same = check_contents(sizes); !same.ok()) return std::move(same).at(path);
  const Constants constants = constants_of(sizes);
  const std::string& producer = sizes[0].executable.producer;
  std::string text = cat(path, ", written by ", producer, "; every byte has its hash\n");
  Json json = Json::array();
  for (const SizedExecutable& size : sizes) {
    text += size_text(size);
    json.push_back(size_json(size));
  }
  text += cat(constants.count, " constants, ", cli::format_mib(constants.bytes), "\n");
  cli::print_text(text, common);
  BYOC_TRY_STATUS(cli::print_json(common, "inspect",
                                  {{"artifact", path},
                                   {"producer", producer},
                                   {"constants", constants.count},
                                   {"constant_bytes", constants.bytes},
                                   {"sizes", json}}));
  return static_cast<int>(cli::kDone);
}

}  // namespace

cli::Command inspect_command(const cli::CommonOptions& common) {
  auto path = std::make_shared<std::string>();
  cli::Command command;
  command.name = "inspect";
  command.about = "check a compiled model byte for byte, and print what it holds";
  command.examples = {{"byoc inspect net.byoc", "inputs, outputs, plugins; an error for damage"}};
  command.options = {{"FILE.byoc", "", "what `byoc compile` wrote", path.get(), true}};
  command.run = [path, &common] { return run_inspect(*path, common); };
  return command;
}

}  // namespace byoc::driver
