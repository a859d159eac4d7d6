// SPDX-License-Identifier: Apache-2.0
#pragma once
// A process that runs the slots of one plugin, from its start to its end.
#include <sys/types.h>

#include <functional>

#include "byoc/host/plugin_types.h"
#include "runtime/isolate/channel.h"

namespace byoc::isolate {

/// The first argument of the program that runs plugins, byoc-run: the socket is its standard input.
inline constexpr const char* kServeFlag = "--serve-plugin";

/// Called while a request is under way. Empty functions are not called.
struct Watch {
  std::function<bool()> is_cancelled;
  std::function<void(uint32_t permille, std::string_view what)> progress;
};

/// Slugs of the errors of a process that ended, or was ended, in a slot.
inline constexpr const char* kCrashSlug = "plugin-crash";
inline constexpr const char* kHangSlug = "plugin-hang";
inline constexpr const char* kMemorySlug = "plugin-memory";

/// One thread at a time. A copy that fork made in another process leaves the process alone.
class PluginProcess {
 public:
  /// Starts the program with a group of its own: Ctrl-C on the terminal does not reach it, and what
  /// it starts ends with it. Its standard output is the standard error of this process. Errors:
  /// slug "isolation".
  static Result<std::unique_ptr<PluginProcess>> start(const std::string& id,
                                                      const IsolationLimits& limits);
  PluginProcess(const PluginProcess&) = delete;
  PluginProcess& operator=(const PluginProcess&) = delete;
  ~PluginProcess();

  /// Sends a request and returns the answer without its first number. `slot` is for messages:
  /// "compile of @f". Errors: kAborted with one of the slugs above; kCancelled, slug "interrupted".
  /// After an error the process has ended.
  Result<Reader> call(const Writer& request, std::string_view slot, const Watch& watch);
  /// Ends it kindly: waits for `close` of the plugin for as long as a slot may take, at most 5 s.
  void close();
  /// Returns false in a process that was forked after the start.
  bool is_own() const;

 private:
  PluginProcess(std::string id, const IsolationLimits& limits, pid_t pid, Channel channel);
  Status wait_for_bytes(std::string_view slot, const Watch& watch);
  Status end(std::string_view slot);
  Status ended(std::string_view slot, int wait_status, uint64_t peak_bytes) const;
  Status killed(std::string_view slot, const char* slug, const std::string& why);
  uint64_t kill_and_wait(int& wait_status);

  std::string id_;
  IsolationLimits limits_;
  pid_t pid_, starter_;
  Channel channel_;
};

}  // namespace byoc::isolate
