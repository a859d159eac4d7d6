// SPDX-License-Identifier: Apache-2.0
// Modules and kernels in the process of a plugin, by handles of this process.
#include <algorithm>
#include <cstring>

#include "runtime/isolate/remote_plugin.h"

namespace byoc::isolate {
namespace {

/// A kernel in the process.
struct RemoteKernel {
  struct RemoteModule* module;
  uint32_t function, n_in;
  uint64_t n_sizes;
  std::string symbol;
};
/// A module, with what loads it again after the process has ended.
struct RemoteModule {
  RemotePlugin* plugin = nullptr;
  ExternalModule module;
  std::vector<std::shared_ptr<const Buffer>> constants;
  uint32_t threads = 1;
  bool allow_native = true;
  uint64_t generation = 0, number = 0;  // of the process, and in it
  std::vector<RemoteKernel> kernels;
};

std::string slot_of(const ExternalModule& module) {
  if (module.functions.size() == 1) return cat("load of @", module.functions[0].symbol);
  return cat("load of ", module.functions.size(), " functions");
}

byoc_module* handle_of(RemoteModule* module) { return reinterpret_cast<byoc_module*>(module); }
byoc_kernel* handle_of(RemoteKernel* kernel) { return reinterpret_cast<byoc_kernel*>(kernel); }

uint64_t bytes_of(const DLTensor& view) {
  uint64_t elements = 1;
  for (int32_t d = 0; d < view.ndim; ++d) elements *= static_cast<uint64_t>(view.shape[d]);
  return (elements * view.dtype.bits * view.dtype.lanes + 7) / 8;
}

std::byte* data_of(const DLTensor& view) {
  return static_cast<std::byte*>(view.data) + view.byte_offset;
}

/// Writes a call: views, elements of inputs, sizes. Tensors of a Session are compact.
void put(Writer& to, const RemoteKernel& kernel, const byoc_call& call) {
  to.number(call.workspace_bytes);
  to.number(kernel.n_in);
  to.number(call.n_args);
  to.number(call.out_shapes != nullptr);
  for (uint32_t k = 0; k < call.n_args; ++k) {
    const DLTensor& view = *call.args[k];
    to.plain(view.dtype);
    to.number(static_cast<uint64_t>(view.ndim));
    for (int32_t d = 0; d < view.ndim; ++d) to.number(static_cast<uint64_t>(view.shape[d]));
    const bool counts = k >= kernel.n_in && call.out_shapes != nullptr &&
                        call.out_shapes[k - kernel.n_in] != nullptr;
    to.number(counts);
    if (k < kernel.n_in) to.bytes({data_of(view), bytes_of(view)});
  }
  to.number(call.sizes != nullptr ? kernel.n_sizes : 0);
  for (uint64_t k = 0; call.sizes != nullptr && k < kernel.n_sizes; ++k)
    to.number(static_cast<uint64_t>(call.sizes[k]));
}

/// Reads the outputs. Returns false for an answer that does not fit the call.
bool get(Reader& from, const RemoteKernel& kernel, const byoc_call& call) {
  for (uint32_t k = kernel.n_in; k < call.n_args; ++k) {
    const DLTensor& view = *call.args[k];
    int64_t* counted = call.out_shapes != nullptr ? call.out_shapes[k - kernel.n_in] : nullptr;
    for (int32_t d = 0; counted != nullptr && d < view.ndim; ++d) {
      const auto dim = static_cast<int64_t>(from.number());
      if (dim < 0 || dim > view.shape[d]) return false;
      counted[d] = dim;
    }
    const auto bytes = from.bytes();
    if (!from.ok() || bytes.size() != bytes_of(view)) return false;
    if (!bytes.empty()) std::memcpy(data_of(view), bytes.data(), bytes.size());
  }
  return from.ok();
}

}  // namespace

/// The slots of the table that LoadedModule and Session call.
struct RemoteSlots {
  /// Loads the module in the process that runs now, which is started when none does.
  static Result<std::vector<LoadedModule::Kernel>> load(RemoteModule& remote, const Watch& watch) {
    RemotePlugin& plugin = *remote.plugin;
    const ExternalModule& module = remote.module;
    BYOC_TRY(Reader answer, plugin.request_with(slot_of(module), watch, [&](Writer& to) {
      to.number(static_cast<uint64_t>(Request::kLoad));
      put(to, module, plugin.sent_);
      to.number(remote.constants.size());
      for (const auto& buffer : remote.constants) put(to, buffer, plugin.sent_);
      to.number(remote.threads);
      to.number(remote.allow_native);
    }));
    remote.number = answer.number();
    remote.generation = plugin.generation_;
    std::vector<LoadedModule::Kernel> kernels;
    for (size_t n = answer.count(); n > 0; --n) kernels.push_back(get_kernel(answer));
    bool fits = answer.ok() && kernels.size() == module.functions.size();
    for (size_t k = 0; fits && k < kernels.size(); ++k)
      fits = kernels[k].const_use.size() == module.functions[k].constants.size();
    if (fits) return kernels;
    return plugin.note_fault(
        Status(Code::kAborted, cat(plugin.start_.id, ": its process sent no kernels"))
            .with_slug(kCrashSlug));
  }

  static Status run(const RemoteKernel& kernel, const byoc_call& call) {
    RemotePlugin& plugin = *kernel.module->plugin;
    std::lock_guard lock(plugin.mutex_);
    const bool is_loaded = plugin.process_ && plugin.process_->is_own() &&
                           kernel.module->generation == plugin.generation_;
    if (!is_loaded) BYOC_TRY_STATUS(load(*kernel.module, {}).status());
    Writer to;
    to.number(static_cast<uint64_t>(Request::kRun));
    to.number(kernel.module->number);
    to.number(kernel.function);
    put(to, kernel, call);
    BYOC_TRY(Reader answer, plugin.request(to, cat("run of @", kernel.symbol), {}));
    if (get(answer, kernel, call)) return {};
    return plugin.note_fault(
        Status(Code::kAborted, cat(plugin.start_.id, ": its process sent no outputs"))
            .with_slug(kCrashSlug));
  }

  static byoc_status* run_slot(byoc_kernel* handle, const byoc_call* call) noexcept {
    const auto& kernel = *reinterpret_cast<RemoteKernel*>(handle);
    const auto status_of = kernel.module->plugin->start_.services.status_of;
    try {
      Status status = run(kernel, *call);
      return status.ok() ? nullptr : status_of(status);
    } catch (...) {
      return status_of(Status(Code::kResourceExhausted, "out of memory"));
    }
  }

  static void release_slot(byoc_module* handle) noexcept {
    std::unique_ptr<RemoteModule> module(reinterpret_cast<RemoteModule*>(handle));
    RemotePlugin& plugin = *module->plugin;
    try {
      std::lock_guard lock(plugin.mutex_);
      if (!plugin.process_ || module->generation != plugin.generation_ ||
          !plugin.process_->is_own())
        return;
      Writer to;
      to.number(static_cast<uint64_t>(Request::kRelease));
      to.number(module->number);
      (void)plugin.request(to, "release", {});
    } catch (...) {  // no memory: the process keeps the module
    }
  }
};

Result<RemotePlugin::Loaded> RemotePlugin::load(
    const ExternalModule& module, const std::vector<std::shared_ptr<const Buffer>>& constants,
    uint32_t threads, bool allow_native, const Watch& watch) {
  std::lock_guard lock(mutex_);
  auto remote = std::make_unique<RemoteModule>(
      RemoteModule{this, module, constants, threads, allow_native, 0, 0, {}});
  Loaded out;
  BYOC_TRY(out.kernels, RemoteSlots::load(*remote, watch));
  for (size_t k = 0; k < module.functions.size(); ++k) {
    const ExternalFunction& function = module.functions[k];
    remote->kernels.push_back({remote.get(), static_cast<uint32_t>(k), function.n_in,
                               function.sizes.size(), function.symbol});
  }
  for (size_t k = 0; k < out.kernels.size(); ++k)
    out.kernels[k].handle = handle_of(&remote->kernels[k]);
  table_.id = {start_.id.data(), start_.id.size()};
  table_.run = RemoteSlots::run_slot;
  table_.release = RemoteSlots::release_slot;
  out.table = &table_;
  out.module = handle_of(remote.release());
  return out;
}

}  // namespace byoc::isolate
