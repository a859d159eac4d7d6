// SPDX-License-Identifier: Apache-2.0
#include "runtime/program/program.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "byoc/base/json.h"
#include "runtime/cli/given_shapes.h"
#include "runtime/cli/named_plugins.h"
#include "runtime/cli/output.h"
#include "runtime/cli/run.h"
#include "runtime/limits/limits.h"

namespace byoc::cli {
namespace {

using Flags = ProgramFlags;

/// Returns the ids of the plugins that the modules require; native modules require none.
std::set<std::string> plugin_ids(const Executable& executable) {
  std::set<std::string> ids;
  for (const ExternalModule& module : executable.modules) {
    if ((module.flags & BYOC_MODULE_NATIVE) == 0) ids.insert(module.plugin);
  }
  if (executable.fallback) ids.merge(plugin_ids(*executable.fallback));
  return ids;
}

/// Plugins in the executable's folder come last, so that a folder can be copied as a whole. A
/// plugin that the artifact does not name is not opened: an opened compiler takes megabytes that no
/// step uses.
Result<PluginSearch> plugin_search(const Flags& flags, const Executable& executable) {
  PluginSearch search = default_plugin_search();
  search.files = flags.plugins;
  for (const std::string& text : flags.plugin_options)
    BYOC_TRY_STATUS(add_plugin_option(text, search));
  BYOC_TRY_STATUS(read_isolation(flags.isolation, search.isolation));
  search.ids = plugin_ids(executable);
  std::error_code error;
  auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) search.folders.push_back(self.parent_path().string());
  return search;
}

/// Models that are not compiled need a compiler, and this program has none.
Status check_compiled(const std::string& path) {
  std::filesystem::path artifact(path);
  std::string ending = artifact.extension().string();
  if (ending != ".onnx" && ending != ".ir") return {};
  artifact.replace_extension(".byoc");
  return invalid(cat(path, " is not compiled, and byoc-run runs compiled models"))
      .with_slug("not-compiled")
      .with_help(cat("byoc compile ", path, " -o ", artifact.filename().string()));
}

/// A plugin that the artifact does not name is not opened; one that the user named is reported.
void warn_unused(const PluginSet& plugins, const Flags& flags) {
  for (const std::string& file : flags.plugins) {
    bool is_open = std::any_of(plugins.all().begin(), plugins.all().end(), [&](const auto& plugin) {
      return is_same_file(plugin->path(), file);
    });
    if (is_open) continue;
    print_warning(
        cat("--plugin ", file, " is not used: the model was compiled without this plugin"),
        flags.common);
  }
}

Result<int> run(const Flags& flags) {
  BYOC_TRY_STATUS(check_compiled(flags.artifact));
  BYOC_TRY(const uint64_t max_memory, parse_byte_size(flags.max_memory, "--max-memory"));
  std::optional<LimitScope> limited(std::in_place, WorkLimits{max_memory, flags.time_limit});
  BYOC_TRY(auto sizes, load_artifact_sizes(flags.artifact));
  if (Status same = flags.check ? check_contents(sizes) : Status(); !same.ok())
    return std::move(same).at(flags.artifact);
  auto of_entry = take_entry(std::move(sizes), flags.entry);
  if (!of_entry.ok()) return std::move(of_entry.status()).at(flags.artifact);
  BYOC_TRY(const RunSizes run, parse_run_sizes(flags.shapes, "--shape"));
  auto picked = pick_size(*std::move(of_entry), flags.run.inputs, run, npy_reader());
  if (!picked.ok()) return std::move(picked.status()).at(flags.artifact);
  Executable executable = std::move(picked->executable);
  const Program& program = executable.program;
  BYOC_TRY(RunInputs inputs, inputs_of_run(program.inputs, program.sizes, flags.run.inputs,
                                           picked->run, npy_reader()));
  print_text(size_text(*picked) + assumed_text(inputs.assumed), flags.common);
  BYOC_TRY(PluginSearch search, plugin_search(flags, executable));
  auto plugins = PluginSet::load(search);
  BYOC_TRY_STATUS(check_named_plugins(*plugins, flags.plugins));
  BYOC_TRY_STATUS(plugins->check_options());
  BYOC_TRY_STATUS(check_isolated_plugins(*plugins, flags.isolation));
  warn_unused(*plugins, flags);
  SessionOptions options{.threads = flags.threads, .allow_native = !flags.no_native};
  auto session = Session::load(std::move(executable), std::move(plugins), options);
  if (!session.ok()) return std::move(session.status()).at(flags.artifact);
  limited.reset();
  Json more = Json::object();
  add_size_json(*picked, more);
  add_assumed_json(inputs.assumed, more);
  RunFlags run_flags = flags.run;
  run_flags.inputs = std::move(inputs.bindings);
  BYOC_TRY_STATUS(run_session(**session, flags.artifact, run_flags, flags.common, npy_reader(),
                              npy_format(), &more));
  return static_cast<int>(kDone);
}

}  // namespace

Command program_command(ProgramFlags& flags) {
  Command root{.name = "byoc-run", .about = "run a compiled model"};
  root.examples = {
      {"byoc-run model.byoc", "with random inputs"},
      {"byoc-run model.byoc --input image=cat.npy --output-dir out", "files in, files out"},
      {"byoc-run model.byoc --input 'x=f32[1,3]=0.5,1,2' --json", "a value on the command line"},
      {"byoc-run model.byoc --plugin ./libmychip.so --profile", "a plugin from elsewhere; times"}};
  root.options = {
      {"MODEL.byoc", "", "what `byoc compile` wrote", &flags.artifact, true},
      {"--plugin", "FILE", "a plugin's library (.so), before those that are found", &flags.plugins},
      {"--plugin-option", "ID.NAME=VALUE", "an option for a plugin, onednn.keep_nan=1",
       &flags.plugin_options},
      {"--entry", "NAME", "the model, in a file of several (byoc join)", &flags.entry},
      {"--shape", "NAME=N", "the sizes of the run, where the model has several: B=2,T=17",
       &flags.shapes},
      {"--threads", "N", "workers of one run (default 1; 0: all cores)", &flags.threads},
      {"--no-native", "", "refuse an artifact that holds native code", &flags.no_native},
      {"--check", "", "compare every byte of the artifact with its hash before it is used",
       &flags.check},
      {"--max-memory", "SIZE", "the most memory of the process while it loads: 512M, 8G",
       &flags.max_memory},
      {"--time-limit", "SECONDS", "the longest that loading may take", &flags.time_limit}};
  add_isolation_options(root, flags.isolation);
  add_run_options(root, flags.run);
  add_common_options(root, flags.common);
  root.notes =
      "plugins are looked for in BYOC_PLUGIN_PATH, in ../lib/byoc/plugins and in the folder of "
      "byoc-run itself; those that the artifact does not name are not opened";
  root.run = [&flags] { return run(flags); };
  return root;
}

}  // namespace byoc::cli
