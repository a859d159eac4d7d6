// SPDX-License-Identifier: Apache-2.0
#include "core/tools/place/links.h"

#include <algorithm>
#include <limits>

#include "byoc/base/clock.h"
#include "byoc/base/json.h"
#include "core/measure/store/store.h"
#include "core/placement/machine.h"
#include "core/process/child.h"
#include "runtime/device/device.h"

namespace byoc::driver {
namespace {

using placement::Link;

constexpr uint64_t kSmall = 256, kLarge = uint64_t{4} << 20;  // bytes of a copy
constexpr uint64_t kAlign = 256, kTimeout_ms = 10'000;
constexpr uint32_t kChild_s = 30;     // the time of all devices of a plugin
constexpr int kRuns = 15;             // of each copy: the least time counts
constexpr double kLeastSlope = 1e-3;  // ns per byte: 1,000 GB/s, more than any link has

/// A device with memory and a stream.
class Copier {
 public:
  static Result<std::unique_ptr<Copier>> make(const Plugin& plugin, const DeviceInfo& info) {
    std::unique_ptr<Copier> out(new Copier);
    BYOC_TRY(out->device_, Device::find(plugin, info.type, info.id));
    BYOC_TRY(out->memory_, out->device_->allocate(kLarge, kAlign, "a measurement"));
    BYOC_TRY(out->event_, out->device_->make_event());
    BYOC_TRY(out->stream_, out->device_->make_stream());
    return out;
  }

  Result<Link::Direction> measure(bool goes_in) {
    BYOC_TRY(const double small, least_ns(goes_in, kSmall));
    BYOC_TRY(const double large, least_ns(goes_in, kLarge));
    const double slope =
        std::max((large - small) / static_cast<double>(kLarge - kSmall), kLeastSlope);
    return Link::Direction{std::max(small - slope * kSmall, 0.0), 1 / slope};
  }

 private:
  Copier() : host_(kLarge) {}

  Result<double> least_ns(bool goes_in, uint64_t bytes) {
    double least = std::numeric_limits<double>::infinity();
    for (int run = 0; run <= kRuns; ++run) {
      const uint64_t begin = now_ns();
      const DeviceCopy copy = goes_in ? DeviceCopy{memory_.get(), host_.data(), true, false, bytes}
                                      : DeviceCopy{host_.data(), memory_.get(), false, true, bytes};
      BYOC_TRY_STATUS(device_->copy(copy, stream_.get()));
      BYOC_TRY_STATUS(device_->record(event_.get(), stream_.get()));
      BYOC_TRY_STATUS(device_->sync(event_.get(), {.timeout_ms = kTimeout_ms}));
      if (run > 0) least = std::min(least, ns_since(begin));  // the first one touches the pages
    }
    return least;
  }

  std::unique_ptr<Device> device_;
  std::vector<std::byte> host_;
  DeviceMemory memory_;
  DeviceEvent event_;
  DeviceStream stream_;  // freed first
};

Result<Link> measure_link(const Plugin& plugin, const DeviceInfo& info) {
  BYOC_TRY(const std::unique_ptr<Copier> copier, Copier::make(plugin, info));
  Link link{plugin.id(), measure::version_and_build(plugin), info.id, {}, {}, true};
  BYOC_TRY(link.in, copier->measure(true));
  BYOC_TRY(link.out, copier->measure(false));
  return link;
}

std::vector<Link> links_of(const Plugin& plugin) {
  std::vector<Link> out;
  for (const DeviceInfo& info : plugin.devices()) {
    Result<Link> link = measure_link(plugin, info);
    if (link.ok()) out.push_back(*std::move(link));
  }
  return out;
}

}  // namespace

std::vector<Link> measure_links(const std::vector<const Plugin*>& plugins) {
  std::vector<Link> out;
  for (const Plugin* plugin : plugins) {
    if (plugin->device_table() == nullptr) continue;
    process::ChildLimits limits;
    limits.timeout_s = kChild_s;
    const process::ChildResult child = process::run_in_child(limits, [&] {
      placement::Machine machine;  // as calibrations keep links
      machine.links = links_of(*plugin);
      return placement::to_json(machine).dump();
    });
    const Result<Json> json =
        child.finished ? parse_json(child.result) : Result<Json>(invalid(child.defect));
    if (!json.ok()) continue;
    Result<placement::Machine> machine = placement::machine_from_json(*json);
    if (!machine.ok()) continue;
    for (Link& link : machine->links) out.push_back(std::move(link));
  }
  return out;
}

}  // namespace byoc::driver
