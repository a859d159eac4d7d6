// SPDX-License-Identifier: Apache-2.0
#pragma once
// A plugin whose code runs in a process of its own: the calls of Plugin as requests to it.
#include <mutex>

#include "runtime/isolate/process.h"
#include "runtime/isolate/wire.h"

namespace byoc::isolate {

/// The services of the host that a plugin in another process needs.
struct HostServices {
  /// Makes the status that a slot returns, with all texts of `status`.
  byoc_status* (*status_of)(const Status& status) = nullptr;
  /// Prints a warning about the plugin `id`.
  void (*warn)(std::string_view id, std::string_view message) = nullptr;
};

/// Thread-safe: one request at a time. The process is started again after it has ended in a slot,
/// until kMostFaults; then every request fails at once with the last error.
class RemotePlugin {
 public:
  struct Start {
    std::string path, id, options_json;
    IsolationLimits limits;
    HostServices services;
  };
  /// Starts the process, which opens the plugin. Errors: those of the plugin; PluginProcess's.
  static Result<std::unique_ptr<RemotePlugin>> start(Start start);
  ~RemotePlugin();

  const PluginFacts& facts() const { return facts_; }
  Result<Verdict> judge(uint32_t pattern, std::string_view candidate_json,
                        std::string_view called_for, const byoc_machine* machine);
  /// Returns none after a failure, which is printed: the plugin then computes in no layout.
  Result<std::vector<WantedLayout>> layouts(const std::string& target_json);
  Result<uint32_t> compat(const std::string& compat);
  Result<std::string> show(const CompileFunction& function, const CompileOptions& options,
                           std::string_view form, const Watch& watch);
  /// Returns "" after a failure, which is printed.
  Result<std::string> knobs(const CompileFunction& function, const CompileOptions& options,
                            const Watch& watch);
  /// Returns none after a failure, which is printed.
  Result<std::vector<PluginGroup>> partition(const CompileFunction& function, uint64_t n_nodes,
                                             const CompileOptions& options, const Watch& watch);
  /// Compiles, and loads what will be run in this program, in the process. Whatever goes wrong but
  /// for an interruption is kDeclined, with the function.
  CompileResult compile(std::span<const CompileFunction> functions, const CompileOptions& options,
                        const Watch& watch);

  /// A module in the process. Its kernels' handles run there.
  struct Loaded {
    const byoc_plugin* table = nullptr;  // of `release` and `run`
    byoc_module* module = nullptr;
    std::vector<LoadedModule::Kernel> kernels;
  };
  Result<Loaded> load(const ExternalModule& module,
                      const std::vector<std::shared_ptr<const Buffer>>& constants, uint32_t threads,
                      bool allow_native, const Watch& watch);

 private:
  friend struct RemoteSlots;
  explicit RemotePlugin(Start start) : start_(std::move(start)) {}
  Status open();
  Result<Reader> request(const Writer& request, std::string_view slot, const Watch& watch);
  Status note_fault(Status status);
  Status leave_out(const Status& status) const;
  void warn(const Status& status) const;
  /// Sends the request that `write` writes, to a process that is started when none runs. It is
  /// written after the start, because it has the buffers that the process lacks.
  Result<Reader> request_with(std::string_view slot, const Watch& watch,
                              const std::function<void(Writer&)>& write);
  CompileResult try_compile(std::span<const CompileFunction> functions,
                            const CompileOptions& options, const Watch& watch);
  Status try_load(const CompileResult& result, std::span<const CompileFunction> functions,
                  const CompileOptions& options, const Watch& watch);

  Start start_;
  std::recursive_mutex mutex_;
  std::unique_ptr<PluginProcess> process_;
  uint64_t generation_ = 0;  // counts processes; modules belong to one of them
  SentKeys sent_;            // buffers that the process has
  PluginFacts facts_;
  byoc_plugin table_{};
  uint32_t faults_ = 0;
  Status last_fault_;
};

}  // namespace byoc::isolate
