// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/device.h"

#include <algorithm>

#include "byoc/base/clock.h"
#include "runtime/host/host.h"

namespace byoc {
namespace {

constexpr uint64_t kSliceNs = 20'000'000;  // between looks at the cancellation
constexpr uint64_t kNsPerMs = 1'000'000;

}  // namespace

Status device_error(Status status) {
  if (status.code() == Code::kUnavailable)
    return std::move(status)
        .with_slug("device-lost")
        .with_help(
            "the process can go on: load the model again, or its fallback, when the device "
            "is there again");
  if (status.code() == Code::kResourceExhausted)
    return std::move(status)
        .with_slug("device-memory")
        .with_help(
            "use fewer contexts or smaller inputs, or compile more of the model for the "
            "host");
  return status;
}

template <class F>
Status Device::call(const char* slot, F&& f) const {
  Status status = call_plugin(plugin_.id(), slot, std::forward<F>(f));
  return status.ok() ? Status() : device_error(std::move(status)).at(cat("device ", name()));
}

void FreeOnDevice::operator()(void* memory) const {
  const PluginCallScope scope(device->plugin().id(), "dev_free");
  device->plugin().device_table()->dev_free(device->plugin().instance(), device->id(), memory);
}
void FreeOnDevice::operator()(byoc_stream* stream) const {
  const PluginCallScope scope(device->plugin().id(), "stream_free");
  device->plugin().device_table()->stream_free(stream);
}
void FreeOnDevice::operator()(byoc_event* event) const {
  const PluginCallScope scope(device->plugin().id(), "event_free");
  device->plugin().device_table()->event_free(event);
}

Result<std::unique_ptr<Device>> Device::find(const Plugin& plugin, uint32_t type, uint32_t id) {
  for (const DeviceInfo& info : plugin.devices()) {
    if (info.type == type && info.id == id)
      return std::unique_ptr<Device>(new Device(plugin, info));
  }
  std::string why = "it has none";
  if (plugin.is_isolated()) why = "it runs in a process of its own";
  else if (!plugin.devices_status().ok()) why = plugin.devices_status().message();
  else if (!plugin.devices().empty()) why = cat("it has ", plugin.devices().size(), " others");
  return Status(Code::kUnavailable,
                cat("no device ", id, " of type ", type, " of plugin \"", plugin.id(), "\": ", why))
      .with_slug("device-unavailable");
}

DLDevice Device::id() const {
  return {static_cast<DLDeviceType>(info_.type), static_cast<int32_t>(info_.id)};
}
std::string Device::name() const {
  return cat(plugin_.id(), ":", info_.id, " (\"", info_.name, "\")");
}

Result<DeviceMemory> Device::allocate(uint64_t bytes, uint64_t align, std::string_view what) const {
  void* memory = nullptr;
  if (bytes == 0) return DeviceMemory(nullptr, {this});
  const byoc_device_table& table = *plugin_.device_table();
  align = std::max(align, info_.align);
  Status status = call("dev_alloc", [&] {
    return table.dev_alloc(plugin_.instance(), id(), BYOC_MEMORY_DEVICE, bytes, align, &memory);
  });
  if (!status.ok()) return std::move(status).at(cat(what, " of ", bytes, " bytes"));
  const auto address = reinterpret_cast<uintptr_t>(memory);
  if (memory == nullptr || address % align != 0)
    return Status(Code::kInternal, cat(plugin_.id(), ": dev_alloc gave the address ", address,
                                       " for an alignment of ", align))
        .with_slug("plugin-defect")
        .with_help("a defect of the plugin; report it to its author");
  return DeviceMemory(memory, {this});
}

Result<DeviceStream> Device::make_stream() const {
  byoc_stream* stream = nullptr;
  BYOC_TRY_STATUS(call("stream_new", [&] {
    return plugin_.device_table()->stream_new(plugin_.instance(), id(), &stream);
  }));
  return DeviceStream(stream, {this});
}

Result<DeviceEvent> Device::make_event() const {
  byoc_event* event = nullptr;
  BYOC_TRY_STATUS(call("event_new", [&] {
    return plugin_.device_table()->event_new(plugin_.instance(), id(), &event);
  }));
  return DeviceEvent(event, {this});
}

Status Device::copy(const DeviceCopy& copy, byoc_stream* stream) const {
  if (copy.bytes == 0) return {};
  auto raw = with_header<byoc_copy>(BYOC_TAG_COPY);
  raw.dst = copy.to;
  raw.src = copy.from;
  raw.dst_device = copy.to_device ? id() : DLDevice{kDLCPU, 0};
  raw.src_device = copy.from_device ? id() : DLDevice{kDLCPU, 0};
  raw.bytes = copy.bytes;
  raw.stream = stream;
  return call("copy", [&] { return plugin_.device_table()->copy(plugin_.instance(), &raw); });
}

Status Device::record(byoc_event* event, byoc_stream* stream) const {
  return call("event_record", [&] { return plugin_.device_table()->event_record(event, stream); });
}

Status Device::wait(byoc_event* event, byoc_stream* stream) const {
  return call("event_wait", [&] { return plugin_.device_table()->event_wait(event, stream); });
}

Status Device::sync(byoc_event* event, const DeviceWait& limits) const {
  const uint64_t begin = now_ns(), limit = limits.timeout_ms * kNsPerMs;
  for (;;) {
    const uint64_t waited = now_ns() - begin;
    uint64_t slice = limits.cancel != nullptr || limit != 0 ? kSliceNs : UINT64_MAX;
    if (limit != 0) slice = std::min(slice, waited < limit ? limit - waited : 0);
    Status status =
        call("event_sync", [&] { return plugin_.device_table()->event_sync(event, slice); });
    if (status.code() != Code::kDeadlineExceeded) return status;
    if (limits.cancel != nullptr && limits.cancel->is_cancelled())
      return Status(Code::kCancelled, "interrupted").with_slug("interrupted");
    if (limit != 0 && now_ns() - begin >= limit)
      return Status(Code::kDeadlineExceeded,
                    cat("its work has not ended after ", limits.timeout_ms, " ms"))
          .with_slug("device-timeout")
          .at(cat("device ", name()))
          .with_help("raise BYOC_DEVICE_TIMEOUT_MS if the work is as long as that; 0: no limit");
  }
}

}  // namespace byoc
