// SPDX-License-Identifier: Apache-2.0
#pragma once
// The options, devices and instances of the plugin "sim". Options:
//   wraps=FILE     the plugin that compiles and computes; other options go to it
//   memory_mib=N   the memory of each device, 256
//   devices=N      how many there are, 1
//   delay_us=N     each piece of work begins after a random time of at most this, 0
//   seed=N         of the random times
//   copy_us=N      what each copy takes at least; kernel_us=N: what each kernel takes
//   copy_us_per_mib=N  what each MiB of a copy takes more, 0
//   lost_at=N      the device is lost at the N-th piece of work, counted from 1
//   hang_at=N      the N-th kernel never ends
//   counts=N       the address of the Counts of the program, 0: none
//   driver=old     the driver is too old, so that there is no device
//   fault=wait     streams do not wait for events
//   fault=sync     event_sync returns at once
//   fault=peek     kernels read their first input at the address of the device, as on the host
//   fault=stale    copies to the device do nothing after the first one
//   fault=align    memory is not aligned
//   fault=unrecorded  events that were not recorded are never reached
//   fault=drop     a freed stream goes on for a while
#include <dlfcn.h>

#include <chrono>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/sim/memory.h"
#include "tests/sim/queue.h"
#include "tests/sim/sim.h"

namespace sim {

inline const byoc_host* the_host = nullptr;

inline byoc_str text_of(const std::string& text) { return {text.data(), text.size()}; }
inline byoc_status* fail(uint32_t code, const std::string& why) {
  return the_host->status_new(the_host->ctx, code, -1, -1, nullptr, 0, text_of(why));
}

struct Settings {
  uint64_t memory_mib = 256, devices = 1, delay_us = 0, seed = 1, copy_us = 0, kernel_us = 0;
  uint64_t copy_us_per_mib = 0, lost_at = 0, hang_at = 0, counts = 0;
  std::string wraps, driver, fault;
  nlohmann::json others = nlohmann::json::object();

  explicit Settings(std::string_view json) {
    const auto numbers = std::map<std::string, uint64_t*>{{"memory_mib", &memory_mib},
                                                          {"devices", &devices},
                                                          {"delay_us", &delay_us},
                                                          {"seed", &seed},
                                                          {"copy_us", &copy_us},
                                                          {"kernel_us", &kernel_us},
                                                          {"copy_us_per_mib", &copy_us_per_mib},
                                                          {"lost_at", &lost_at},
                                                          {"hang_at", &hang_at},
                                                          {"counts", &counts}};
    const auto texts = std::map<std::string, std::string*>{
        {"wraps", &wraps}, {"driver", &driver}, {"fault", &fault}};
    const nlohmann::json given = nlohmann::json::parse(json);
    for (const auto& [name, value] : given.items()) {
      const std::string text = value.get<std::string>();
      if (const auto number = numbers.find(name); number != numbers.end())
        *number->second = std::stoull(text);
      else if (const auto at = texts.find(name); at != texts.end()) *at->second = text;
      else others[name] = text;
    }
  }
};

struct Device {
  Device(int32_t number, const Settings& settings)
      : memory(settings.memory_mib << 20), name("simulated device " + std::to_string(number)) {
    row.h = {sizeof row, BYOC_TAG_DEVICE, nullptr};
    row.device = {kDLExtDev, number};
    row.name = text_of(name);
    row.kinds = BYOC_MEMORY_DEVICE;
    row.align = 256;
    row.bytes = settings.memory_mib << 20;
  }
  Memory memory;
  Clock clock;
  const std::string name;
  byoc_device row{};
};

struct Instance {
  explicit Instance(Settings s) : settings(std::move(s)) {
    for (uint64_t k = 0; k < settings.devices; ++k)
      devices.push_back(std::make_unique<Device>(static_cast<int32_t>(k), settings));
    for (const auto& device : devices) rows.push_back(&device->row);
  }
  const Settings settings;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<const byoc_device*> rows;
  byoc_instance* wrapped = nullptr;
  std::atomic<uint64_t> streams{0}, works{0}, kernels{0};

  Counts& counts() {
    return settings.counts == 0 ? own_counts : *reinterpret_cast<Counts*>(settings.counts);
  }
  Counts own_counts;
  Device& device(DLDevice id) { return *devices.at(static_cast<size_t>(id.device_id)); }
  /// Counts a piece of work; the device may be lost at it.
  byoc_status* begin_work(Device& device) {
    const uint64_t number = ++works;
    std::lock_guard lock(device.clock.mutex);
    if (settings.lost_at != 0 && number == settings.lost_at) device.clock.is_lost = true;
    return device.clock.is_lost ? lost(device) : nullptr;
  }
  static byoc_status* lost(const Device& device) {
    return fail(BYOC_UNAVAILABLE, "the " + device.name + " was lost");
  }
};

/// Loads a library apart from the one that the process may have loaded already: its globals hold
/// the host that the entry was given. Once per path; null: see dlerror.
inline void* copy_of(const std::string& path) {
  static std::map<std::string, void*> known;
  void*& library = known[path];
  if (library != nullptr) return library;
  std::ifstream from(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(from), {}};
  const int file = ::memfd_create("wrapped", 0);
  if (::write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    return nullptr;
  library = ::dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  return library;  // the file stays open, so that its name is of no other one
}

/// Adds the time for which it lives.
class Timed {
 public:
  explicit Timed(std::atomic<uint64_t>& sum) : sum_(sum) {}
  ~Timed() {
    sum_ += static_cast<uint64_t>(std::chrono::nanoseconds(Clock::now() - begin_).count());
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::atomic<uint64_t>& sum_;
  const Clock::time_point begin_ = Clock::now();
};

inline void spend(uint64_t us) {
  if (us != 0) std::this_thread::sleep_for(std::chrono::microseconds(us));
}

}  // namespace sim
