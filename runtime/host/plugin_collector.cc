// SPDX-License-Identifier: Apache-2.0
// A search has three parts: all files are inspected, those with code that may not be sound are
// tried in child processes, all at the same time, and then the plugins are opened in order.
#include "runtime/host/plugin_collector.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "byoc/base/buffer.h"
#include "byoc/base/env.h"
#include "byoc/base/file.h"
#include "byoc/base/folder.h"
#include "byoc/base/json.h"
#include "byoc/base/shared_library.h"
#include "runtime/host/plugin_loader.h"
#include "runtime/host/registered_plugins.h"
#include "runtime/plugin_file/trial.h"
#include "runtime/plugin_file/trial_memory.h"

namespace byoc {
namespace {

namespace fs = std::filesystem;

constinit thread_local bool is_without_trials = false;

/// A file that was written to less than this before is waited for.
constexpr std::chrono::milliseconds kQuiet{100};

/// Returns the .so files of a folder, in order of name.
Result<std::vector<std::string>> plugin_files(const std::string& folder) {
  auto names = names_in(folder);
  if (!names.ok())
    return std::move(names.status()).with_help("create it, or correct BYOC_PLUGIN_PATH");
  std::vector<std::string> files;
  for (const std::string& name : *names) {
    fs::path path = fs::path(folder) / name;
    if (path.extension() == ".so") files.push_back(path.string());
  }
  return files;
}

std::string options_json(const PluginSearch& search, const std::string& id) {
  Json json = Json::object();
  if (auto found = search.options.find(id); found != search.options.end()) {
    for (const auto& [name, value] : found->second) json[name] = value;
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Status being_written() {
  return Status(Code::kUnavailable, "it is being written").with_help("wait until that is done");
}

/// Returns the error for a file that has changed since it was inspected.
Status check_unchanged(const PluginFile& file) {
  BYOC_TRY(FileStamp now, stamp_of(file.path));
  return now == file.stamp ? Status() : being_written();
}

std::string try_file(const PluginFile& file, const TrialStep& step) {
  if (is_open_for_writing(file.path)) return being_written().message();
  step("while it was loaded");
  auto entry = load_plugin_entry(file.path, file.manifest);
  if (!entry.ok()) return "";  // a refusal is no crash; this process will get it, too
  step("in its entry");
  auto table = table_of_entry(*entry, file.manifest);
  if (!table.ok()) return "";
  step("in slot open or patterns");
  auto plugin = file.open();
  step("in slot close");
  return "";
}

void set_status(PluginFile& file, const TrialResult& result) {
  if (result.kind == TrialResult::kObjection) file.status = being_written();
  if (result.kind != TrialResult::kUnsound) return;
  file.status = failed(cat("it ", result.reason))
                    .with_help(cat("the file is damaged, or the plugin has a defect: copy it "
                                   "again, or `byoc check-plugin ",
                                   file.path, "`; `touch` the file to have it tried again"));
}

/// Waits until the youngest file has been as it is for kQuiet, and refuses those that change.
void wait_for_writers(std::span<PluginFile* const> files) {
  using namespace std::chrono;
  const auto now = duration_cast<nanoseconds>(system_clock::now().time_since_epoch());
  nanoseconds longest{0};
  for (const PluginFile* file : files) {
    const nanoseconds age = now - nanoseconds(file->stamp.modified_ns);
    if (age >= nanoseconds(0)) longest = std::max<nanoseconds>(longest, kQuiet - age);
  }
  if (longest > nanoseconds(0)) std::this_thread::sleep_for(longest);
  for (PluginFile* file : files) {
    if (Status same = check_unchanged(*file); !same.ok()) file->status = std::move(same);
  }
}

/// Returns the hash of the file's bytes; "" when it is not the file that was loaded any more.
std::string hash_of(const PluginFile& file) {
  auto bytes = read_file(file.path);
  if (!bytes.ok()) return "";
  std::string hash = content_key(std::as_bytes(std::span(*bytes))).hex();
  return check_unchanged(file).ok() ? hash : "";
}

class Collector {
 public:
  explicit Collector(const PluginSearch& search) : search_(search) {}

  CollectedPlugins collect() {
    for (const RegisteredPlugin& plugin : registered_plugins()) add_registered(plugin);
    for (const std::string& file : search_.files) add_file(file, true);
    for (const std::string& folder : search_.folders) add_folder(folder);
    std::vector<PluginFile*> tried;
    for (Found& found : found_) {
      if (found.file.status.ok() && !is_later(found)) tried.push_back(&found.file);
    }
    try_files(tried);
    for (Found& found : found_) {
      Status status = found.file.status.ok() ? take(found) : found.file.status;
      if (!status.ok()) refuse(found.file, status);
    }
    return std::move(out_);
  }

 private:
  struct Found {
    PluginFile file;
    bool is_named = false;
  };

  /// Opens a plugin that is a part of the program. It is not tried: its code runs already.
  void add_registered(const RegisteredPlugin& registered) {
    if (search_.ids && !search_.ids->contains(registered.id)) return;
    PluginFile file{.path = registered.path, .table = registered.table};
    file.manifest.id = registered.id;
    file.manifest.version = registered.version;
    file.options_json = options_json(search_, registered.id);
    takers_.emplace(registered.id, cat("the program (", registered.path, ")"));
    auto plugin = file.open();
    if (plugin.ok()) out_.plugins.push_back(*std::move(plugin));
    else refuse(file, plugin.status());
  }

  void add_folder(const std::string& folder) {
    auto files = plugin_files(folder);
    if (!files.ok()) found_.push_back({{.path = folder, .status = files.status()}});
    else
      for (const std::string& file : *files) add_file(file, false);
  }

  void add_file(const std::string& path, bool is_named) {
    std::error_code error;
    std::string real = fs::canonical(path, error).string();
    if (error) {
      Status status = not_found(cat("cannot be read: ", error.message()));
      found_.push_back({{.path = path, .status = std::move(status).with_help("check the path")}});
      return;
    }
    if (!seen_.insert(real).second) return;  // the same file under another name
    PluginFile file{.path = real};
    file.status = inspect_plugin(real, file.manifest, file.stamp).status();
    const std::string& id = file.manifest.id;
    if (file.status.ok() && search_.ids && !search_.ids->contains(id)) return;
    is_named = is_named || search_.ids || search_.options.contains(id);
    file.options_json = options_json(search_, id);
    const Isolation& isolation = search_.isolation;
    if (isolation.all || std::ranges::count(isolation.ids, id) > 0)
      file.isolation = isolation.limits;
    found_.push_back({std::move(file), is_named});
  }

  static bool is_later(const Found& found) {
    return !found.is_named && found.file.manifest.priority.value_or(0) < 0;
  }

  Status take(Found& found) {
    PluginFile& file = found.file;
    const auto [first, is_first] = takers_.emplace(file.manifest.id, file.path);
    if (!is_first) {
      return Status(Code::kAlreadyExists,
                    cat("id \"", file.manifest.id, "\" is taken by ", first->second))
          .with_help("remove one of the two");
    }
    if (is_later(found)) {
      out_.later.push_back(std::make_shared<LaterPlugin>(std::move(file)));
      return {};
    }
    auto plugin = file.open();
    if (!plugin.ok()) takers_.erase(first);
    BYOC_TRY_STATUS(plugin.status());
    out_.plugins.push_back(*std::move(plugin));
    return {};
  }

  void refuse(const PluginFile& file, const Status& status) {
    out_.refused.push_back(
        {file.path, file.manifest.id, file.manifest.version, status.message(), status.help()});
  }

  const PluginSearch& search_;
  CollectedPlugins out_;
  std::vector<Found> found_;
  std::set<std::string> seen_;
  std::map<std::string, std::string> takers_;  // id -> path
};

}  // namespace

Result<std::unique_ptr<Plugin>> PluginFile::open() const {
  if (table) return Plugin::open(path, *table, options_json);
  if (isolation) return Plugin::open_isolated(path, manifest.id, options_json, *isolation);
  BYOC_TRY(byoc_plugin loaded, load_plugin_table(path, manifest));
  BYOC_TRY(auto plugin, Plugin::open(path, loaded, options_json));
  plugin->has_parallel_compiles_ = manifest.has_parallel_compiles;
  if (manifest.keeps_compiles) plugin->kept_as_ = hash_of(*this);
  return plugin;
}

WithoutTrials::WithoutTrials() : outer_(std::exchange(is_without_trials, true)) {}
WithoutTrials::~WithoutTrials() { is_without_trials = outer_; }

void try_files(std::span<PluginFile* const> files) {
  if (is_without_trials || env_value("BYOC_TRY_PLUGINS") == "0") return;
  const TrialMemory memory;
  std::vector<PluginFile*> unknown;
  for (PluginFile* file : files) {
    if (file->isolation) continue;  // opening it is a trial
    auto known = memory.find({file->path, file->stamp, file->options_json});
    if (known) set_status(*file, *known);
    else if (!SharedLibrary::is_loaded(file->path)) unknown.push_back(file);
  }
  if (unknown.empty() || !may_try()) return;
  wait_for_writers(unknown);
  std::erase_if(unknown, [](const PluginFile* file) { return !file->status.ok(); });
  std::vector<TrialWork> works;
  for (const PluginFile* file : unknown)
    works.push_back([file](const TrialStep& step) { return try_file(*file, step); });
  std::vector<TrialResult> results = try_in_children(works);
  for (size_t k = 0; k < unknown.size(); ++k) {
    PluginFile& file = *unknown[k];
    set_status(file, results[k]);
    if (Status same = check_unchanged(file); !same.ok()) file.status = std::move(same);
    else memory.put({file.path, file.stamp, file.options_json}, results[k]);
  }
}

Result<const Plugin*> LaterPlugin::open() {
  std::lock_guard lock(mutex_);
  if (!is_opened_) {
    is_opened_ = true;
    PluginFile* const file = &file_;
    try_files(std::span(&file, 1));
    if (file_.status.ok()) {
      auto plugin = file_.open();
      file_.status = plugin.status();
      if (plugin.ok()) plugin_ = *std::move(plugin);
    }
  }
  BYOC_TRY_STATUS(file_.status);
  return plugin_.get();
}

CollectedPlugins collect_plugins(const PluginSearch& search) { return Collector(search).collect(); }

}  // namespace byoc
