// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/device_constants.h"

#include <map>
#include <mutex>
#include <tuple>

namespace byoc {
namespace {

// An instance of a plugin, a device of it, and a constant.
using Key = std::tuple<const byoc_instance*, uint32_t, uint32_t, ContentKey>;

struct Cache {
  std::mutex mutex;
  std::map<Key, std::weak_ptr<const DeviceConstant>> known;
};
Cache& cache() {
  static Cache& only = *new Cache;  // never destroyed: sessions may live longer
  return only;
}

}  // namespace

Result<std::shared_ptr<const DeviceConstant>> constant_on_device(
    const std::shared_ptr<const Device>& device, const ContentKey& key, const Buffer& bytes) {
  const Key where{device->plugin().instance(), device->info().type, device->info().id, key};
  std::lock_guard lock(cache().mutex);
  std::erase_if(cache().known, [](const auto& entry) { return entry.second.expired(); });
  if (auto known = cache().known.find(where); known != cache().known.end()) {
    if (auto held = known->second.lock()) return held;
  }
  BYOC_TRY(DeviceMemory memory, device->allocate(bytes.size(), kDeviceAlignment, "a constant"));
  BYOC_TRY_STATUS(device->copy({memory.get(), bytes.data(), true, false, bytes.size()}, nullptr));
  auto made = std::make_shared<const DeviceConstant>(DeviceConstant{device, std::move(memory)});
  cache().known[where] = made;
  return made;
}

}  // namespace byoc
