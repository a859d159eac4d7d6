// SPDX-License-Identifier: Apache-2.0
#pragma once
// The plugins of this process. Files are found, checked before any of their code runs, opened and
// queried; a plugin that cannot be used is listed with its reason and never stops the others. All C
// ABI calls go through the classes here: statuses become Status, handles become RAII.
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

#include "byoc/host/loaded_module.h"
#include "byoc/host/plugin_types.h"

namespace byoc {

namespace isolate {
class RemotePlugin;
}

/// A usable plugin with one open instance. Thread-safe as docs/plugin-abi.md has it ("Threads"):
/// calls on one instance are serialised here, except `judge` and some plugins' `compile`.
class Plugin {
 public:
  ~Plugin();
  const std::string& id() const { return id_; }                      ///< as in the manifest
  const std::string& version() const { return version_; }            ///< as in the manifest
  const std::string& path() const { return path_; }                  ///< the file
  const std::string& options_json() const { return options_json_; }  ///< "{}": no options
  int64_t priority() const;                                          ///< higher goes first
  uint32_t flags() const;                                            ///< byoc_plugin_flags
  bool is_default_codegen() const;                                   ///< has BYOC_PLUGIN_DEFAULT
  bool takes_loops() const;                                          ///< has BYOC_PLUGIN_LOOPS
  bool takes_counted() const;                                        ///< has BYOC_PLUGIN_COUNTED
  bool takes_open_sizes() const;                                     ///< has BYOC_PLUGIN_OPEN_SIZES
  bool is_horizontal() const;                                        ///< has BYOC_PLUGIN_HORIZONTAL
  uint64_t max_ops() const;    ///< 0 in the table reads as 4096
  uint64_t max_bytes() const;  ///< 0: no limit
  /// The hash of a file whose manifest has kept_compiles; "": compiled functions are not kept.
  const std::string& kept_as() const { return kept_as_; }
  bool has_parallel_compiles() const { return has_parallel_compiles_; }     ///< of the manifest
  const std::vector<PluginPattern>& patterns() const { return patterns_; }  ///< declared
  bool has_judge() const;    ///< false: every match is taken
  bool is_isolated() const;  ///< its code runs in a process of its own (Isolation)
  /// Returns the verdict on a candidate, with an estimate for the machine where the plugin has one.
  /// `pattern`: an index into patterns(), or BYOC_NO_PATTERN for an op that no pattern names.
  Result<Verdict> judge(uint32_t pattern, std::string_view candidate_json,
                        const byoc_machine* machine = nullptr) const;
  /// Compiles, reads kernel infos and saves: returns bytes, and no object of the plugin stays
  /// alive. Status kCancelled, slug "interrupted", once options.cancel is cancelled.
  CompileResult compile(std::span<const CompileFunction> functions,
                        const CompileOptions& options) const;
  /// Compiles without a way to cancel.
  CompileResult compile(std::span<const CompileFunction> functions, const std::string& target_json,
                        uint32_t threads, uint32_t flags) const {
    return compile(functions, CompileOptions{target_json, threads, flags});
  }
  /// Loads a module. `constants` has one buffer per distinct key of the module's functions, in
  /// order of first use, then one per entry of `module.packed`; `allow_native` permits the plugin
  /// to run machine code of the blob; `on_device` has the addresses of constants on the module's
  /// device. Errors: the plugin's; kCancelled, slug "interrupted".
  Result<LoadedModule> load(const ExternalModule& module,
                            const std::vector<std::shared_ptr<const Buffer>>& constants,
                            uint32_t threads, const Cancellation* cancel = nullptr,
                            bool allow_native = true, const DeviceAddresses& on_device = {}) const;
  /// The devices that the plugin has now; none for plugins without, and where devices_status() has
  /// the reason.
  const std::vector<DeviceInfo>& devices() const { return devices_; }
  const Status& devices_status() const { return devices_status_; }  ///< the error of `devices`
  /// The slots of its devices; null for plugins without, and for isolated ones.
  const byoc_device_table* device_table() const { return table_.device; }
  byoc_instance* instance() const { return instance_; }  ///< the argument of those slots
  /// Returns the layouts that the plugin computes in on that machine, in order of preference; none
  /// without the slot. Errors: kInternal, slug "plugin-defect", for rows that are no byoc_layout.
  Result<std::vector<WantedLayout>> layouts(const std::string& target_json) const;
  /// Returns the function's code as text; `form` is "llvm" or "asm". Errors: kUnimplemented when
  /// the plugin shows none of that form; those of compiling.
  Result<std::string> show(const CompileFunction& function, const CompileOptions& options,
                           std::string_view form) const;
  /// Returns the function's knob space as the plugin wrote it (tune/space.h parses it); "" when the
  /// plugin has no choice or no slot for it. Errors: the plugin's; kCancelled.
  Result<std::string> knobs(const CompileFunction& function, const CompileOptions& options) const;
  bool has_partition() const;  ///< a default codegen of minor 8 or later with that slot
  /// Returns the groups of ops that the plugin compiles to one kernel each, in its order; none
  /// without the slot. `n_nodes`: the graph's nodes. Errors: the plugin's; kCancelled; kInternal,
  /// slug "bad-groups", with plugin and function, for a reply that cannot be read, a group without
  /// a name or with fewer than two nodes, and an index that is outside of the graph or repeated.
  Result<std::vector<PluginGroup>> partition(const CompileFunction& function, uint64_t n_nodes,
                                             const CompileOptions& options) const;
  /// Returns 0 unknown, 1 no, 2 works but recompiling is better, 3 best (byoc_plugin::compat).
  Result<uint32_t> compat(const std::string& compat) const;

 private:
  friend struct PluginFile;
  using Buffers = std::vector<std::shared_ptr<const Buffer>>;
  Plugin() = default;
  static Result<std::unique_ptr<Plugin>> open(const std::string& path, const byoc_plugin& table,
                                              std::string options_json);
  static Result<std::unique_ptr<Plugin>> open_isolated(const std::string& path,
                                                       const std::string& id,
                                                       std::string options_json,
                                                       const IsolationLimits& limits);
  Status read_patterns();
  std::string_view candidate_name(uint32_t pattern, std::string_view candidate_json) const;
  /// Calls a slot that writes text about one function.
  Result<std::string> text_of_slot(
      const CompileFunction& function, const CompileOptions& options, std::string_view slot,
      const std::function<byoc_status*(const byoc_compile&, const byoc_sink&)>& call) const;
  Status compile_into(std::span<const CompileFunction> functions, const CompileOptions& options,
                      CompileResult& result) const;
  Result<LoadedModule> load_module(const ExternalModule&, const Buffers& constants,
                                   uint32_t threads, const Cancellation*, bool allow_native,
                                   const DeviceAddresses& on_device) const;
  Status read_devices();
  Result<LoadedModule> load_remote(const ExternalModule&, const Buffers& constants,
                                   uint32_t threads, const Cancellation*, bool allow_native) const;
  byoc_plugin table_{};  // a copy: fields that its version lacks are zero
  byoc_instance* instance_ = nullptr;
  mutable std::shared_mutex mutex_;  // shared by calls of compile that may overlap
  std::string id_, version_, path_, options_json_, kept_as_;
  bool has_parallel_compiles_ = false;
  std::unique_ptr<isolate::RemotePlugin> remote_;  // null: its code runs in this process
  std::vector<PluginPattern> patterns_;
  std::vector<DeviceInfo> devices_;
  Status devices_status_;
};

/// Returns BYOC_PLUGIN_PATH (ignored when the process is set-id), then `PREFIX/lib/byoc/plugins`
/// relative to the running executable, then `byoc/plugins` beside the library that has this code.
/// With the isolation of BYOC_ISOLATE.
PluginSearch default_plugin_search();
/// Adds the ids of a list such as "onednn,llvm" to the plugins that are isolated.
void add_isolated(std::string_view ids, Isolation& to);

/// Made once, shared by compilations and Sessions; its methods may be called by several threads.
class PluginSet {
 public:
  /// Never fails as a whole; see refused(). `check` reports options for an id that no plugin has.
  /// While the program has one thread, a file whose code has not run well before is first opened in
  /// a child process, so that one that crashes or hangs is refused (docs/plugin-abi.md).
  static std::shared_ptr<const PluginSet> load(const PluginSearch& search);
  /// Returns the plugin of that id; null when there is none. The first call for one of unopened()
  /// opens it.
  const Plugin* find(std::string_view id) const;
  /// Returns the plugin of that id. Errors: kNotFound, slug "unknown-plugin", with the nearest id,
  /// the ids found, and the reason when a plugin of that id was refused.
  Result<const Plugin*> get(std::string_view id) const;
  /// Returns all usable plugins but those of unopened(), by descending priority, then by id.
  std::span<const std::unique_ptr<Plugin>> all() const { return plugins_; }
  /// In the order they were found.
  std::span<const RefusedPlugin> refused() const { return refused_; }
  /// Returns the plugins that only find and get open, also after they have done so. By descending
  /// priority, then by id.
  std::vector<UnopenedPlugin> unopened() const;
  const PluginSearch& search() const { return search_; }  ///< as it was passed to load
  Status check_options() const;  ///< Reports options for an id that no plugin has.

 private:
  std::vector<std::unique_ptr<Plugin>> plugins_;
  std::vector<RefusedPlugin> refused_;
  PluginSearch search_;
  std::vector<std::shared_ptr<class LaterPlugin>> later_;
};

/// Ends the use of plugins in this process: calls the `shutdown` of every library that has one and
/// has no open instance, once. Later PluginSets refuse those libraries. Programs call it last, when
/// no PluginSet is left. A failure is printed as a warning.
void shutdown_plugins();

/// Returns the host table handed to every plugin: threads, allocation, constants, log.
const byoc_host* host_table();

}  // namespace byoc
