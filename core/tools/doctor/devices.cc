// SPDX-License-Identifier: Apache-2.0
// The devices that plugins have now, and the reasons of those that have none.
#include "core/tools/doctor/examination.h"
#include "runtime/plugin_file/plugin_manifest.h"

namespace byoc::driver {
namespace {

// Reads it in the manifest, so that other plugins stay unopened.
bool has_devices(const UnopenedPlugin& plugin) {
  Result<ByteSource> file = ByteSource::open(plugin.path);
  if (!file.ok()) return false;
  const Result<PluginManifest> manifest = read_manifest(*file);
  return manifest.ok() && manifest->has_devices;
}

}  // namespace

std::vector<PluginDevices> examine_devices(const PluginSet& plugins) {
  std::vector<PluginDevices> out;
  auto add = [&](const Plugin& plugin) {
    if (plugin.device_table() == nullptr) return;
    const Status& status = plugin.devices_status();
    std::string why_none;
    if (!status.ok()) why_none = status.message();
    else if (plugin.devices().empty()) why_none = "the plugin lists no device";
    if (const std::string prefix = plugin.id() + ": "; why_none.starts_with(prefix))
      why_none.erase(0, prefix.size());  // the line has it already
    out.push_back({plugin.id(), plugin.devices(), std::move(why_none)});
  };
  for (const auto& plugin : plugins.all()) add(*plugin);
  for (const UnopenedPlugin& one : plugins.unopened()) {
    if (!has_devices(one)) continue;
    Result<const Plugin*> plugin = plugins.get(one.id);
    if (plugin.ok()) add(**plugin);
    else out.push_back({one.id, {}, plugin.status().message()});
  }
  return out;
}

std::string devices_text(const std::vector<PluginDevices>& plugins) {
  std::string out;
  for (const PluginDevices& one : plugins) {
    for (const DeviceInfo& device : one.devices) {
      out += cat("  ", one.id, ": device ", device.id, ", ", device.name);
      if (device.bytes != 0) out += cat(", ", device.bytes >> 20, " MiB");
      if (!device.capabilities.empty()) out += cat(", ", device.capabilities);
      out += "\n";
    }
    if (one.devices.empty()) out += cat("  ", one.id, ": no device, ", one.why_none, "\n");
  }
  return out.empty() ? out : cat("devices:\n", out);
}

}  // namespace byoc::driver
