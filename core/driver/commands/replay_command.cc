// SPDX-License-Identifier: Apache-2.0
// byoc replay: runs stored regions by the plugin that compiled them or by another.
#include <algorithm>
#include <filesystem>

#include "byoc/base/json.h"
#include "core/driver/commands/commands.h"
#include "core/tools/model/compare.h"
#include "core/tools/model/libraries.h"
#include "core/tools/model/model_options.h"
#include "core/tools/replay/run_replay.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace fs = std::filesystem;
namespace {

struct ReplayFlags {
  std::string folder, compiler;
  PluginFlags plugins;
  std::vector<std::string> libraries;
  double tolerance = -1;
};

/// Returns the replay folders in `folder`; `folder` itself when it is one or contains none.
Result<std::vector<std::string>> folders_of(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code error;
  if (!is_replay_folder(folder) && fs::is_directory(folder, error)) {
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      if (is_replay_folder(entry.path().string())) out.push_back(entry.path().string());
    }
  }
  if (out.empty()) out.push_back(folder);  // reading it reports the error
  std::sort(out.begin(), out.end());
  return out;
}

/// Returns the plugin of --compiler ID, else that of --plugin FILE, else the one that compiled it.
Result<const Plugin*> choose(const ReplayFlags& options, const ReplayCase& replay,
                             const PluginSet& plugins) {
  if (!options.compiler.empty()) return plugins.get(options.compiler);
  for (const std::string& file : options.plugins.files) {
    std::error_code error;
    for (const auto& plugin : plugins.all()) {
      if (fs::equivalent(plugin->path(), file, error)) return plugin.get();
    }
  }
  return plugins.get(replay.plugin);
}

/// Loads the plugins. The one that compiled the case gets its stored options; options of the
/// command line have precedence.
Result<std::shared_ptr<const PluginSet>> plugins_for(const ReplayFlags& options,
                                                     const ReplayCase& replay) {
  BYOC_TRY(auto plugins, load_plugins(options.plugins));
  if (replay.plugin_options.empty() || plugins->find(replay.plugin) == nullptr) return plugins;
  PluginFlags flags{options.plugins.files, {}};
  for (const auto& [name, value] : replay.plugin_options)
    flags.options.push_back(cat(replay.plugin, ".", name, "=", value));
  const auto& given = options.plugins.options;
  flags.options.insert(flags.options.end(), given.begin(), given.end());
  return load_plugins(flags);
}

const char* accept_text(Verdict::Accept accept) {
  return accept == Verdict::kNo ? "no" : accept == Verdict::kSlow ? "slow" : "yes";
}

/// Returns the number of "yes", and a line per "no" and "slow".
std::string verdicts_text(const Replayed& replayed) {
  constexpr size_t kShown = 12;
  std::string lines;
  size_t yes = 0, others = 0;
  for (const ReplayVerdict& verdict : replayed.verdicts) {
    if (verdict.accept == Verdict::kYes) ++yes;
    else if (++others <= kShown)
      lines += cat("  ", accept_text(verdict.accept), "  ", verdict.op, " \"", verdict.node,
                   "\": ", verdict.reason, "\n");
  }
  if (others > kShown) lines += cat("  ... and ", others - kShown, " more\n");
  if (!replayed.as_stored) return lines;
  return cat("judge: ", yes, " yes, ", others, others == 1 ? " other\n" : " others\n", lines);
}

std::string text_of(const ReplayCase& replay, const std::string& folder, const Replayed& replayed) {
  std::string out = cat(folder, ": @", replay.symbol, " of ", replay.model, ", compiled by ",
                        replay.plugin, " ", replay.plugin_version, "\n");
  out += cat("run by ", replayed.plugin, " ", replayed.version, ", ", replayed.taken, " of ",
             replayed.ops, replayed.ops == 1 ? " op" : " ops",
             replayed.as_stored ? ", the graph as it is stored\n" : ", partitioned again\n");
  const bool has_point = replayed.as_stored && !replay.point_json.empty();
  if (has_point) out += cat("at the point ", replay.point_json, "\n");
  out += verdicts_text(replayed);
  if (!replayed.declined.empty()) out += cat("FAIL declined in compile: ", replayed.declined, "\n");
  else if (replayed.taken == 0) out += cat("FAIL ", replayed.plugin, " takes none of it\n");
  for (const ComparedValue& value : replayed.outputs) {
    out += cat(value.difference.is_equal ? "ok   " : "FAIL ", "\"", value.name, "\" ",
               value_text(value), "\n");
  }
  return out;
}

Json json_of(const ReplayCase& replay, const std::string& folder, const Replayed& replayed) {
  Json json = {{"folder", folder},
               {"symbol", replay.symbol},
               {"model", replay.model},
               {"compiled_by", replay.plugin},
               {"plugin", replayed.plugin},
               {"version", replayed.version},
               {"as_stored", replayed.as_stored},
               {"ops", replayed.ops},
               {"taken_ops", replayed.taken},
               {"declined", replayed.declined.empty() ? Json() : Json(replayed.declined)},
               {"passed", replayed.passed()}};
  if (replayed.as_stored && !replay.point_json.empty())
    json["point"] = Json::parse(replay.point_json);  // read_replay has checked it
  json["verdicts"] = Json::array();
  json["outputs"] = Json::array();
  for (const ReplayVerdict& verdict : replayed.verdicts) {
    json["verdicts"].push_back({{"op", verdict.op},
                                {"node", verdict.node},
                                {"accept", accept_text(verdict.accept)},
                                {"reason", verdict.reason}});
  }
  for (const ComparedValue& value : replayed.outputs) json["outputs"].push_back(to_json(value));
  return json;
}

Result<int> replay_folder(const ReplayFlags& options, const cli::CommonOptions& common) {
  BYOC_TRY_STATUS(load_libraries(options.libraries));
  BYOC_TRY(auto folders, folders_of(options.folder));
  Json list = Json::array();
  size_t passed = 0;
  for (const std::string& folder : folders) {
    BYOC_TRY(ReplayCase replay, read_replay(folder));
    BYOC_TRY(auto plugins, plugins_for(options, replay));
    BYOC_TRY(const Plugin* plugin, choose(options, replay, *plugins));
    if (options.compiler.empty() && plugin->id() != replay.plugin)
      cli::print_warning(cat(folder, ": the region is of ", replay.plugin,
                             ", and --plugin runs it by ", plugin->id(), "; --compiler ",
                             replay.plugin, " runs it by the plugin that compiled it"),
                         common);
    auto replayed = run_replay(replay, *plugin, plugins, options.tolerance);
    if (!replayed.ok()) return std::move(replayed.status()).at(folder);
    passed += replayed->passed();
    cli::print_text(text_of(replay, folder, *replayed), common);
    list.push_back(json_of(replay, folder, *replayed));
  }
  if (folders.size() > 1) cli::print_text(cat(passed, " of ", folders.size(), " passed\n"), common);
  bool all = passed == folders.size();
  BYOC_TRY_STATUS(cli::print_json(common, "replay", {{"passed", all}, {"replays", list}}));
  return all ? cli::kDone : cli::kFailed;
}

}  // namespace

cli::Command replay_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<ReplayFlags>();
  cli::Command command;
  command.name = "replay";
  command.about = "run a dumped region again and compare with its stored outputs";
  command.examples = {
      {"byoc replay regions/onednn_main_0", "by the plugin that compiled it"},
      {"byoc replay regions --compiler json", "all folders in regions/, by another plugin"},
      {"byoc replay r0 --plugin build/libmychip.so", "by a plugin under development"}};
  auto& all = command.options;
  all.push_back({"DIR", "", "a folder of byoc dump or byoc verify, or a folder of such folders",
                 &options->folder, true});
  all.push_back({"--compiler", "ID", "the plugin that runs it", &options->compiler});
  add_plugin_options(command, options->plugins);
  add_library_option(command, options->libraries);
  all.push_back({"--tolerance", "X", kToleranceHelp, &options->tolerance});
  command.notes =
      "The plugin that compiled the region gets the stored graph. Another one gets the ops, as\n"
      "with byoc compile --compiler ID; ops that it refuses are listed and go to the default\n"
      "codegen. The exit code is 1 when outputs differ or the plugin takes nothing.";
  command.run = [options, &common] { return replay_folder(*options, common); };
  return command;
}

}  // namespace byoc::driver
