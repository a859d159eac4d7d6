// SPDX-License-Identifier: Apache-2.0
#include "core/tools/fitness/fitness.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "byoc/base/folder.h"
#include "byoc/plugin/abi.h"
#include "runtime/host/plugin_loader.h"
#include "runtime/plugin_file/trial_memory.h"
#include "runtime/session/native.h"

namespace byoc::driver {
namespace {

/// The file of a plugin, or the reason why it cannot be used.
struct FoundFile {
  std::string path, version;
  Status status;
  bool is_tried = false;  // its code has run well before
};

/// The plugins that a search would find, by id. Nothing is opened.
class PluginFiles {
 public:
  explicit PluginFiles(const PluginSearch& search) {
    for (const std::string& file : search.files) add(file);
    for (const std::string& folder : search.folders) {
      auto names = names_in(folder);
      if (!names.ok()) continue;
      for (const std::string& name : *names)
        if (name.ends_with(".so")) add(cat(folder, "/", name));
    }
  }
  /// Returns null when there is no file of that id.
  const FoundFile* find(const std::string& id) const {
    auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : &found->second;
  }

 private:
  void add(const std::string& name) {
    std::error_code error;
    const std::string path = std::filesystem::canonical(name, error);
    if (error) return;
    PluginManifest manifest;
    FileStamp stamp;
    Status status = inspect_plugin(path, manifest, stamp).status();
    if (manifest.id.empty()) return;
    FoundFile file{path, manifest.version, std::move(status)};
    if (auto trial = memory_.find({path, stamp, "{}"}); file.status.ok() && trial) {
      file.is_tried = trial->kind == TrialResult::kSound;
      if (trial->kind == TrialResult::kUnsound) file.status = failed(cat("it ", trial->reason));
    }
    auto [at, is_new] = by_id_.try_emplace(manifest.id, file);
    if (!is_new && !at->second.status.ok()) at->second = std::move(file);
  }

  TrialMemory memory_;
  std::map<std::string, FoundFile> by_id_;  // the first one that can be used
};

Status native_status(const ExternalModule& module) {
  BYOC_TRY_STATUS(check_cpu(module.compat));
  return module.blob ? check_shared_object(module.blob->bytes()) : Status();
}

/// Adds what is known of one program without its fallback.
class Examination {
 public:
  Examination(const PluginFiles& files, Fitness& out) : files_(files), out_(out) {}

  void examine(const Executable& executable) {
    for (const ExternalModule& module : executable.modules) {
      if ((module.flags & BYOC_MODULE_NATIVE) != 0) add(native_status(module), module.plugin);
      else examine_plugin(module);
    }
    for (const ProgramDevice& device : executable.program.devices)
      remark(cat("it needs device ", device.id, " of plugin ", device.plugin,
                 "; whether that is there shows when it is loaded"));
    for (const Step& step : executable.program.steps) {
      if (step.module == Step::kHostExtern)
        remark(cat("it calls ", step.symbol, ", a function of the program that runs it"));
    }
  }

 private:
  void examine_plugin(const ExternalModule& module) {
    const FoundFile* file = files_.find(module.plugin);
    if (file == nullptr) {
      add(not_found(cat("no plugin \"", module.plugin, "\" ", module.plugin_version))
              .with_slug("missing-plugin")
              .with_help("byoc plugins lists what was found and where; --plugin FILE adds one"),
          module.plugin);
      return;
    }
    if (!file->status.ok()) {
      Status refused = failed(cat(file->path, " was refused: ", file->status.message()));
      add(std::move(refused).with_slug("missing-plugin").with_help(file->status.help()),
          module.plugin);
      return;
    }
    if (file->version != module.plugin_version)
      remark(cat("compiled by ", module.plugin, " ", module.plugin_version, ", here is ",
                 file->version, ", which decides when the model is loaded"));
    if (!file->is_tried) remark(cat(file->path, " has not been opened yet in its present state"));
  }
  void add(Status status, const std::string& plugin) {
    if (status.ok() || !seen_.insert(cat(plugin, " ", status.message())).second) return;
    out_.obstacles.push_back(std::move(status).at(cat("module of ", plugin)));
  }
  void remark(std::string text) {
    if (seen_.insert(text).second) out_.remarks.push_back(std::move(text));
  }

  const PluginFiles& files_;
  Fitness& out_;
  std::set<std::string> seen_;
};

}  // namespace

std::vector<Fitness> fitness_of(std::span<const SizedExecutable> sizes,
                                const PluginSearch& search) {
  const PluginFiles files(search);
  std::vector<Fitness> out;
  for (const SizedExecutable& size : sizes) {
    Fitness& fitness = out.emplace_back();
    Examination(files, fitness).examine(size.executable);
    if (fitness.obstacles.empty() || !size.executable.fallback) continue;
    Fitness fallback;
    Examination(files, fallback).examine(*size.executable.fallback);
    fitness.by_fallback = fallback.obstacles.empty();
  }
  return out;
}

}  // namespace byoc::driver
