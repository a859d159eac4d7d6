// SPDX-License-Identifier: Apache-2.0
#include "core/conform/context/device_run.h"

#include "runtime/host/host.h"

namespace byoc::conform {
namespace {

constexpr DeviceWait kLimit = {.timeout_ms = 20'000};

uint64_t compact_bytes_of(const DLTensor& view) {
  uint64_t bytes = view.dtype.bits / 8;
  for (int32_t k = 0; k < view.ndim; ++k) bytes *= static_cast<uint64_t>(view.shape[k]);
  return bytes;
}

/// One run: the arguments that are on the device, and the queue.
class DeviceRun {
 public:
  DeviceRun(const LoadedPlugin& tested, const LoadedModule::Kernel& kernel, uint32_t n_in)
      : tested_(tested), kernel_(kernel), n_in_(n_in) {}

  Status run(const byoc_call& call) {
    BYOC_TRY(device_, Device::find(*tested_.plugin, kernel_.device.at(0), kernel_.device.at(1)));
    BYOC_TRY(DeviceEvent event, device_->make_event());
    BYOC_TRY(DeviceMemory workspace,
             device_->allocate(call.workspace_bytes,
                               std::max(kernel_.workspace_align, kDeviceAlignment), "a workspace"));
    BYOC_TRY(DeviceStream stream, device_->make_stream());  // freed first
    byoc_call there = call;
    there.stream = stream.get();
    there.workspace = workspace.get();
    BYOC_TRY_STATUS(place_arguments(call, stream.get()));
    there.args = pointers_.data();
    BYOC_TRY_STATUS(call_plugin(tested_.plugin->id(), "run",
                                [&] { return tested_.table.run(kernel_.handle, &there); }));
    BYOC_TRY_STATUS(return_outputs(call, stream.get()));
    BYOC_TRY_STATUS(device_->record(event.get(), stream.get()));
    return device_->sync(event.get(), kLimit);
  }

 private:
  bool is_there(size_t argument) const {
    return kernel_.placement.empty() || kernel_.placement[argument] == BYOC_PLACE_DEVICE;
  }

  /// Copies inputs; outputs get their contents of before, so that missing elements are seen.
  Status place_arguments(const byoc_call& call, byoc_stream* stream) {
    views_.reserve(call.n_args);
    for (uint32_t k = 0; k < call.n_args; ++k) {
      DLTensor& view = views_.emplace_back(*call.args[k]);
      pointers_.push_back(&view);
      memory_.emplace_back();
      const uint64_t bytes = compact_bytes_of(view);
      if (!is_there(k)) continue;
      view.device = device_->id();
      if (bytes == 0) continue;
      BYOC_TRY(memory_[k], device_->allocate(bytes, kDeviceAlignment, "an argument"));
      view.data = memory_[k].get();
      BYOC_TRY_STATUS(device_->copy({view.data, call.args[k]->data, true, false, bytes}, stream));
    }
    return {};
  }

  Status return_outputs(const byoc_call& call, byoc_stream* stream) {
    for (uint32_t k = n_in_; k < call.n_args; ++k) {
      if (memory_[k] == nullptr) continue;
      BYOC_TRY_STATUS(device_->copy(
          {call.args[k]->data, memory_[k].get(), false, true, compact_bytes_of(*call.args[k])},
          stream));
    }
    return {};
  }

  const LoadedPlugin& tested_;
  const LoadedModule::Kernel& kernel_;
  const uint32_t n_in_;
  std::unique_ptr<Device> device_;
  std::vector<DLTensor> views_;
  std::vector<const DLTensor*> pointers_;
  std::vector<DeviceMemory> memory_;
};

}  // namespace

Status run_kernel(const LoadedPlugin& tested, const LoadedModule::Kernel& kernel, uint32_t n_in,
                  const byoc_call& call) {
  if (!kernel.device.empty()) return DeviceRun(tested, kernel, n_in).run(call);
  return call_plugin(tested.plugin->id(), "run",
                     [&] { return tested.table.run(kernel.handle, &call); });
}

Result<DeviceConstants> constants_there(const LoadedPlugin& tested, const ExternalModule& module,
                                        std::span<const std::shared_ptr<const Buffer>> buffers) {
  DeviceConstants out;
  for (const ExternalFunction& function : module.functions) {
    for (size_t k = 0; k < function.constants.size(); ++k) {
      const ExternalConstant& constant = function.constants[k];
      if (constant.use != BYOC_CONST_DEVICE || out.addresses.contains(constant.key)) continue;
      BYOC_TRY(std::shared_ptr<const Device> device,
               Device::find(*tested.plugin, function.device.at(0), function.device.at(1)));
      BYOC_TRY(auto held, constant_on_device(device, constant.key, *buffers[k]));
      out.addresses[constant.key] = held->memory.get();
      out.held.push_back(std::move(held));
    }
  }
  return out;
}

}  // namespace byoc::conform
