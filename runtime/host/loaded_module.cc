// SPDX-License-Identifier: Apache-2.0
// Plugin::load and its result: the kernels restored from the bytes of an artifact.
#include <algorithm>
#include <map>
#include <new>

#include "runtime/host/host.h"
#include "runtime/host/kernel_facts.h"
#include "runtime/host/packed.h"
#include "runtime/isolate/remote_plugin.h"

namespace byoc {
namespace {

using Buffers = std::vector<std::shared_ptr<const Buffer>>;

/// Lends one constant per distinct key, in order of first use. Returns their number.
Result<size_t> lend_constants(const ExternalModule& module, const Buffers& buffers,
                              const DeviceAddresses& on_device, ConstantTable& table) {
  std::map<ContentKey, size_t> seen;
  for (const ExternalFunction& function : module.functions) {
    for (const ExternalConstant& constant : function.constants) {
      size_t index = seen.size();
      if (!seen.emplace(constant.key, index).second) continue;
      const auto there = on_device.find(constant.key);
      BYOC_TRY_STATUS(table.add(constant, index < buffers.size() ? buffers[index] : nullptr,
                                there == on_device.end() ? nullptr : there->second));
    }
  }
  return seen.size();
}

/// Lends the packed constants, which follow the others in `buffers`. Their packed_get calls no
/// fill; where another one does, it reads constants that are checked now.
void lend_packed(const ExternalModule& module, const Buffers& buffers, size_t constants,
                 PackedScope& scope) {
  for (size_t k = 0; k < module.packed.size() && constants + k < buffers.size(); ++k)
    scope.stored.emplace(module.packed[k].first, buffers[constants + k]);
  const size_t end = std::min(constants, buffers.size());
  scope.before_fill = [&buffers, end, next = size_t{0}]() mutable -> Status {
    for (; next < end; ++next) {  // each constant once, in the first of all fills
      if (buffers[next]->verify()) continue;
      return data_loss(cat("the constant ", buffers[next]->key(), " is damaged"));
    }
    return {};
  };
}

/// Compares the device and the in-place pairs with those that the kernel gave at compile, for which
/// memory was planned.
Status check_kept(const std::string& id, const ExternalFunction& function,
                  const LoadedModule::Kernel& kernel) {
  const bool is_async = (kernel.flags & BYOC_KERNEL_ASYNC) != 0;
  if (kernel.device != function.device || kernel.placement != function.placement ||
      is_async != ((function.flags & BYOC_KERNEL_ASYNC) != 0)) {
    return Status(Code::kStaleArtifact,
                  cat(id, ": kernel \"", function.symbol,
                      "\" runs on another device, or has its arguments in another place"))
        .with_slug("stale-artifact")
        .with_help("compile the model again with this version of the plugin");
  }
  for (const auto& pair : function.inplace) {
    if (std::find(kernel.inplace.begin(), kernel.inplace.end(), pair) != kernel.inplace.end())
      continue;
    return Status(Code::kStaleArtifact,
                  cat(id, ": kernel \"", function.symbol, "\" no longer works in place"))
        .with_slug("stale-artifact")
        .with_help("compile the model again with this version of the plugin");
  }
  return {};
}

}  // namespace

LoadedModule::LoadedModule(const byoc_plugin* table, byoc_module* module)
    : table_(table), module_(module) {
  ++host_counts().modules;
}

LoadedModule::LoadedModule(LoadedModule&& other) noexcept
    : table_(other.table_),
      module_(std::exchange(other.module_, nullptr)),
      kernels_(std::move(other.kernels_)) {}

LoadedModule& LoadedModule::operator=(LoadedModule&& other) noexcept {
  std::swap(table_, other.table_);
  std::swap(module_, other.module_);
  std::swap(kernels_, other.kernels_);
  return *this;
}

LoadedModule::~LoadedModule() {
  if (!module_) return;
  {
    PluginCallScope scope({table_->id.p, table_->id.n}, "release");
    table_->release(module_);
  }
  --host_counts().modules;
}

Result<LoadedModule> Plugin::load(const ExternalModule& module,
                                  const std::vector<std::shared_ptr<const Buffer>>& constants,
                                  uint32_t threads, const Cancellation* cancel, bool allow_native,
                                  const DeviceAddresses& on_device) const {
  try {
    if (remote_) return load_remote(module, constants, threads, cancel, allow_native);
    return load_module(module, constants, threads, cancel, allow_native, on_device);
  } catch (const std::bad_alloc&) {
    return Status(Code::kResourceExhausted, cat(id_, ": out of memory")).with_slug("no-memory");
  }
}

Result<LoadedModule> Plugin::load_remote(
    const ExternalModule& module, const std::vector<std::shared_ptr<const Buffer>>& constants,
    uint32_t threads, const Cancellation* cancel, bool allow_native) const {
  Cancellation::Scope scope(cancel);
  isolate::Watch watch;
  if (cancel != nullptr) watch.is_cancelled = [cancel] { return cancel->is_cancelled(); };
  BYOC_TRY(isolate::RemotePlugin::Loaded remote,
           remote_->load(module, constants, threads, allow_native, watch));
  LoadedModule loaded(remote.table, remote.module);
  loaded.kernels_ = std::move(remote.kernels);
  return loaded;
}

Result<LoadedModule> Plugin::load_module(
    const ExternalModule& module, const std::vector<std::shared_ptr<const Buffer>>& constants,
    uint32_t threads, const Cancellation* cancel, bool allow_native,
    const DeviceAddresses& on_device) const {
  ConstantTable table;
  BYOC_TRY(const size_t lent, lend_constants(module, constants, on_device, table));
  auto raw = with_header<byoc_load>(BYOC_TAG_LOAD);
  if (module.blob) raw.blob = {module.blob->data(), module.blob->size()};
  raw.compat = to_str(module.compat);
  raw.options_json = to_str(module.options_json);
  raw.consts = table.data();
  raw.n_consts = table.size();
  raw.threads = threads;
  raw.flags = static_cast<uint32_t>(module.flags >> 32) & BYOC_STRICT_FP;
  if (!allow_native) raw.flags |= BYOC_NO_NATIVE;
  raw.cancel = cancel ? cancel->raw() : nullptr;
  std::lock_guard lock(mutex_);
  Cancellation::Scope scope(cancel);
  PackedScope packed;
  lend_packed(module, constants, lent, packed);
  byoc_module* handle = nullptr;
  const std::string symbols = symbols_of(module.functions);
  Status status =
      call_plugin(id_, {"load", symbols}, [&] { return table_.load(instance_, &raw, &handle); });
  LoadedModule loaded;
  if (status.ok() && handle) loaded = LoadedModule(&table_, handle);
  BYOC_TRY_STATUS(unless_cancelled(cancel, id_, std::move(status)));
  if (!handle) return plugin_defect(id_, "load gave no module");
  for (const ExternalFunction& function : module.functions) {
    KernelShape shape{function.symbol, function.n_in, function.n_out, function.constants.size(),
                      (function.flags & BYOC_KERNEL_OUT_SHAPES) != 0};
    BYOC_TRY(LoadedModule::Kernel kernel, read_kernel(table_, id_, handle, shape));
    BYOC_TRY_STATUS(check_kept(id_, function, kernel));
    loaded.kernels_.push_back(std::move(kernel));
  }
  return loaded;
}

}  // namespace byoc
