// SPDX-License-Identifier: Apache-2.0
#pragma once
// The host's side of the plugin ABI: definitions of the opaque types, and conversion
// of plugins' statuses.
#include <atomic>
#include <mutex>
#include <string_view>
#include <vector>

#include "byoc/base/external.h"
#include "byoc/host/cancellation.h"
#include "byoc/plugin/abi.h"

/// A constant lent to a plugin. `view` points into `buffer` and at `dims`.
struct byoc_const_ref {
  std::shared_ptr<const byoc::Buffer> buffer;
  std::vector<int64_t> dims;
  DLTensor view{};
};

/// The state of a Cancellation: set by the host, polled by plugins.
struct byoc_cancel {
  std::atomic<bool> cancelled{false};
  std::atomic<uint32_t> scopes{0};
  std::mutex mutex;
  byoc::Cancellation::ShowProgress show;  // guarded by mutex
};

namespace byoc {

inline byoc_str to_str(std::string_view text) { return {text.data(), text.size()}; }
inline std::string text_of(byoc_str text) { return text.p ? std::string(text.p, text.n) : ""; }

/// Returns an ABI struct to be filled in.
template <class T>
T with_header(uint32_t tag) {
  T out{};
  out.h = {sizeof(T), tag, nullptr};
  return out;
}

/// Converts a plugin's status to a Status, "onednn: no such primitive", and frees the object. Null
/// is success. function and node: the indices that the status names, or -1.
Status take_status(byoc_status* status, std::string_view plugin, int64_t* function = nullptr,
                   int64_t* node = nullptr);
/// Makes a status object that take_status converts to an equal Status; for modules whose plugin
/// runs in another process.
byoc_status* status_of(const Status& status) noexcept;
/// The slug of statuses that come from plugins, unless memory was short ("no-memory").
inline constexpr const char* kPluginError = "plugin-error";

/// Returns the error for an exception that a plugin threw across the C boundary, against the
/// contract; to be called in a catch (...).
Status escaped_exception(std::string_view plugin, std::string_view slot) noexcept;

/// The slot of a plugin's table that is called, and the function it is called for, if any. The
/// texts outlive the call.
struct PluginSlot {
  std::string_view name, function;
  bool may_use_threads = true;  // the plugin may compute on threads that it starts
  PluginSlot(const char* slot) : name(slot) {}
  PluginSlot(std::string_view slot, std::string_view called_for = {}, bool threads = true)
      : name(slot), function(called_for), may_use_threads(threads) {}
};

/// The innermost call of a plugin that a thread is in. The report of a fatal signal reads it.
struct PluginCall {
  std::string_view plugin;
  PluginSlot slot;
  const PluginCall* outer;
};
using PluginCallPointer = std::atomic<const PluginCall*>;
static_assert(PluginCallPointer::is_always_lock_free, "signal handlers read it");
inline constinit thread_local PluginCallPointer current_plugin_call{nullptr};
/// The last of the calls with may_use_threads, for threads without a call of their own.
inline constinit PluginCallPointer shared_plugin_call{nullptr};

/// Records a call for as long as it lives; costs a few stores.
class PluginCallScope {
 public:
  PluginCallScope(std::string_view plugin, PluginSlot slot)
      : call_{plugin, slot, current_plugin_call.load(std::memory_order_relaxed)} {
    set(&call_);
  }
  ~PluginCallScope() { set(call_.outer); }
  PluginCallScope(const PluginCallScope&) = delete;
  PluginCallScope& operator=(const PluginCallScope&) = delete;

 private:
  void set(const PluginCall* call) {
    current_plugin_call.store(call, std::memory_order_release);
    if (call_.slot.may_use_threads) shared_plugin_call.store(call, std::memory_order_release);
  }
  PluginCall call_;
};

/// Calls a slot of a plugin's table: `f` returns its byoc_status*.
template <class F>
Status call_plugin(std::string_view plugin, PluginSlot slot, F&& f, int64_t* function = nullptr,
                   int64_t* node = nullptr) {
  byoc_status* status = nullptr;
  try {
    PluginCallScope scope(plugin, slot);
    status = f();
  } catch (...) {
    return escaped_exception(plugin, slot.name);
  }
  return take_status(status, plugin, function, node);
}

/// Returns the status of a slot that was given `cancel`: "interrupted" once that is cancelled, else
/// the slot's own.
Status unless_cancelled(const Cancellation* cancel, std::string_view plugin, Status status);

/// Constants in the form of the ABI; must not move between data() and the call.
class ConstantTable {
 public:
  /// `on_device`: its address there, null for none. Errors: kInternal when the buffer is missing or
  /// too small for the type.
  Status add(const ExternalConstant& constant, const std::shared_ptr<const Buffer>& buffer,
             const void* on_device = nullptr);
  const byoc_const* const* data();
  uint64_t size() const { return constants_.size(); }

 private:
  std::vector<std::unique_ptr<byoc_const_ref>> refs_;
  std::vector<byoc_const> constants_;
  std::vector<const byoc_const*> pointers_;
};

/// Returns the level up to which `who` may print under a BYOC_LOG of `setting`: "debug",
/// "onednn=trace", or several of them with commas; the last that matches applies. Without one:
/// errors and warnings.
uint32_t log_level(std::string_view setting, std::string_view who);
/// Prints one line on stderr, when BYOC_LOG allows it.
void log_line(uint32_t level, std::string_view who, std::string_view message);

/// Counts of the objects that plugins have and have not given back. packed_bytes: memory of the
/// packed ones, each counted once even when several share it.
struct HostCounts {
  std::atomic<int64_t> statuses{0}, held{0}, packed{0}, allocations{0}, instances{0}, modules{0};
  std::atomic<int64_t> packed_bytes{0};
};
HostCounts& host_counts();

}  // namespace byoc
