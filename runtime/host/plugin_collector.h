// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plugins of a search, from files to open instances.
#include <mutex>

#include "byoc/host/plugins.h"
#include "runtime/plugin_file/plugin_manifest.h"

namespace byoc {

/// A file that may be a plugin.
struct PluginFile {
  std::string path;
  Status status;  // not OK: it is refused
  PluginManifest manifest;
  FileStamp stamp;
  std::string options_json = "{}";                // of the plugin
  std::optional<IsolationLimits> isolation = {};  // set: it runs in a process of its own
  std::optional<byoc_plugin> table = {};          // of a plugin that is a part of the program

  /// Loads the library, unless there is a table already, and opens an instance.
  Result<std::unique_ptr<Plugin>> open() const;
};

/// Opens the files that are not known to be sound in child processes, and sets `status` of those
/// that crash, hang, or are written to at the time. Does nothing when the program has more than
/// one thread, and under WithoutTrials.
void try_files(std::span<PluginFile* const> files);

/// While it lives, this thread tries no files: for a process that is a trial itself.
class WithoutTrials {
 public:
  WithoutTrials();
  WithoutTrials(const WithoutTrials&) = delete;
  WithoutTrials& operator=(const WithoutTrials&) = delete;
  ~WithoutTrials();

 private:
  bool outer_;
};

/// A plugin that is opened when it is needed first. Thread-safe.
class LaterPlugin {
 public:
  explicit LaterPlugin(PluginFile file) : file_(std::move(file)) {}
  UnopenedPlugin facts() const {
    return {file_.path, file_.manifest.id, file_.manifest.version, *file_.manifest.priority};
  }
  const std::string& id() const { return file_.manifest.id; }
  const std::string& path() const { return file_.path; }
  /// Returns the open plugin. Errors: the reason why it is refused.
  Result<const Plugin*> open();

 private:
  PluginFile file_;
  bool is_opened_ = false;
  std::mutex mutex_;
  std::unique_ptr<Plugin> plugin_;
};

/// The outcome of a search.
struct CollectedPlugins {
  std::vector<std::unique_ptr<Plugin>> plugins;
  std::vector<RefusedPlugin> refused;
  std::vector<std::shared_ptr<LaterPlugin>> later;
};

/// Plugins and refused files are in the order of the search.
CollectedPlugins collect_plugins(const PluginSearch& search);

}  // namespace byoc
