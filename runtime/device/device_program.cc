// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/device_program.h"

#include <algorithm>
#include <charconv>

#include "byoc/base/check.h"
#include "byoc/base/env.h"

namespace byoc {

Result<std::unique_ptr<DeviceProgram>> find_devices(const Program& program,
                                                    const PluginSet* plugins) {
  auto out = std::make_unique<DeviceProgram>();
  for (const ProgramDevice& wanted : program.devices) {
    const Plugin* plugin = plugins ? plugins->find(wanted.plugin) : nullptr;
    if (plugin == nullptr)
      return not_found(cat("no plugin \"", wanted.plugin, "\", which has a device of the program"))
          .with_slug("missing-plugin");
    BYOC_TRY(std::unique_ptr<Device> device, Device::find(*plugin, wanted.type, wanted.id));
    out->devices.push_back(std::move(device));
    out->arena_bytes.push_back(wanted.arena_bytes);
    out->workspace_bytes.push_back(0);
    out->workspace_align.push_back(kDeviceAlignment);
  }
  return out;
}

Result<DeviceAddresses> upload_constants(DeviceProgram& devices, const Executable& executable,
                                         const ExternalModule& module) {
  DeviceAddresses out;
  for (const ExternalFunction& function : module.functions) {
    for (const ExternalConstant& constant : function.constants) {
      if (constant.use != BYOC_CONST_DEVICE || out.contains(constant.key)) continue;
      const std::optional<uint32_t> number = executable.program.device_of(module, function);
      if (!number) continue;  // no step calls it
      BYOC_TRY(std::shared_ptr<const DeviceConstant> held,
               constant_on_device(devices.devices[*number], constant.key,
                                  *executable.constants.at(constant.key)));
      out[constant.key] = held->memory.get();
      devices.constants.push_back(std::move(held));
    }
  }
  return out;
}

void add_workspace_of(DeviceProgram& devices, const Executable& executable, const Step& step,
                      const LoadedModule::Kernel& kernel) {
  const ExternalModule& module = executable.modules[step.module];
  const auto device = executable.program.device_of(module, module.functions[step.function]);
  BYOC_CHECK(device.has_value(), step.symbol, " has no device");
  uint64_t &bytes = devices.workspace_bytes[*device], &align = devices.workspace_align[*device];
  bytes = std::max(bytes, kernel.workspace_bytes);
  align = std::max(align, kernel.workspace_align);
  devices.traits.resize(executable.program.steps.size());
  const auto k = static_cast<size_t>(&step - executable.program.steps.data());
  devices.traits[k] = {*device, (kernel.flags & BYOC_KERNEL_ASYNC) != 0,
                       kernel.workspace_bytes != 0};
}

void order_program(DeviceProgram& devices, const Executable& executable, const DeviceWait& limits) {
  devices.traits.resize(executable.program.steps.size());
  devices.orders = order_steps(executable, devices.traits);
  devices.limits = limits;
}

uint64_t default_timeout_ms() {
  const std::string set = env_value("BYOC_DEVICE_TIMEOUT_MS");
  uint64_t out = 60'000;
  std::from_chars(set.data(), set.data() + set.size(), out);
  return out;
}

Result<std::unique_ptr<DeviceQueues>> DeviceQueues::make(const DeviceProgram& program) {
  std::unique_ptr<DeviceQueues> out(new DeviceQueues(program));
  for (size_t d = 0; d < program.devices.size(); ++d) {
    const Device& device = *program.devices[d];
    PerDevice& mine = out->per_device_.emplace_back();
    BYOC_TRY(mine.arena, device.allocate(program.arena_bytes[d], kDeviceAlignment, "an arena"));
    BYOC_TRY(mine.workspace, device.allocate(program.workspace_bytes[d], program.workspace_align[d],
                                             "a workspace"));
  }
  BYOC_TRY_STATUS(out->make_streams());
  return out;
}

DeviceQueues::~DeviceQueues() { drop_streams(); }

Status DeviceQueues::make_streams() {
  for (size_t d = 0; d < per_device_.size(); ++d) {
    for (uint32_t q = 0; q < kDeviceQueues; ++q) {
      BYOC_TRY(per_device_[d].streams[q], program_.devices[d]->make_stream());
      BYOC_TRY(per_device_[d].spare[q], program_.devices[d]->make_event());
    }
  }
  events_.resize(program_.orders.size());
  for (size_t k = 0; k < events_.size(); ++k) {
    const StepOrder& order = program_.orders[k];
    if (!order.is_recorded) continue;
    BYOC_TRY(events_[k], device_of(order.queue).make_event());
  }
  is_ready_ = true;
  return {};
}

/// Frees streams before the events that they may still hold.
void DeviceQueues::drop_streams() {
  is_ready_ = false;
  for (PerDevice& mine : per_device_) {
    for (DeviceStream& stream : mine.streams) stream.reset();
  }
  for (PerDevice& mine : per_device_) {
    for (DeviceEvent& event : mine.spare) event.reset();
  }
  events_.clear();
}

Status DeviceQueues::begin_run() {
  failed_.reset();
  if (is_ready_) [[likely]]
    return {};
  drop_streams();
  return make_streams();
}

std::byte* DeviceQueues::arena(size_t device) const {
  return static_cast<std::byte*>(per_device_[device].arena.get());
}
void* DeviceQueues::workspace(size_t device) const { return per_device_[device].workspace.get(); }

byoc_stream* DeviceQueues::stream(size_t step) const {
  const uint32_t queue = program_.orders[step].queue;
  if (queue == StepOrder::kHost) return nullptr;
  return per_device_[queue / kDeviceQueues].streams[queue % kDeviceQueues].get();
}

Status DeviceQueues::wait_for(uint32_t step) {
  Status status = device_of(program_.orders[step].queue).sync(events_[step].get(), program_.limits);
  if (!status.ok()) failed_ = step;
  return status;
}

Status DeviceQueues::before(size_t step) {
  const StepOrder& order = program_.orders[step];
  for (uint32_t earlier : order.host_waits) BYOC_TRY_STATUS(wait_for(earlier));
  for (uint32_t earlier : order.queue_waits)
    BYOC_TRY_STATUS(device_of(order.queue).wait(events_[earlier].get(), stream(step)));
  return {};
}

Status DeviceQueues::copy(size_t step, const DeviceCopy& copy) {
  return device_of(program_.orders[step].queue).copy(copy, stream(step));
}

Status DeviceQueues::after(size_t step, bool waits) {
  const StepOrder& order = program_.orders[step];
  if (order.is_recorded)
    BYOC_TRY_STATUS(device_of(order.queue).record(events_[step].get(), stream(step)));
  for (uint32_t earlier : order.drains) BYOC_TRY_STATUS(wait_for(earlier));
  if (!waits || order.queue == StepOrder::kHost) return {};
  byoc_event* spare =
      per_device_[order.queue / kDeviceQueues].spare[order.queue % kDeviceQueues].get();
  BYOC_TRY_STATUS(device_of(order.queue).record(spare, stream(step)));
  return device_of(order.queue).sync(spare, program_.limits);
}

void DeviceQueues::end_failed_run() { drop_streams(); }

}  // namespace byoc
