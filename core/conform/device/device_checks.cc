// SPDX-License-Identifier: Apache-2.0
// Group 9: devices with memory of their own.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "byoc/base/clock.h"
#include "core/conform/context/loaded_plugin.h"
#include "core/process/faults.h"

namespace byoc::conform {
namespace {

constexpr const char* kHasNoDevice = "has no devices: byoc_plugin.device is NULL";
constexpr DeviceWait kSlotLimit = {.timeout_ms = 5'000};

using Bytes = std::vector<std::byte>;
using Found = std::vector<std::string>;

/// Bytes that differ from those of other rounds.
Bytes pattern_of(size_t size, uint32_t round) {
  Bytes out(size);
  for (size_t k = 0; k < size; ++k)
    out[k] = static_cast<std::byte>((k * 31 + round * 101 + (k >> 8)) & 0xff);
  return out;
}

/// Runs `use` for each device of the plugin, in a child.
Answer with_devices(CheckContext& context,
                    const std::function<Status(const Device&, Found&)>& use) {
  constexpr const char* kIsGone = "has no device now: ";
  Answer answer = context.judged_in_child([&]() -> Found {
    process::name_faults();
    auto tested = load_plugin(context);
    if (!tested.ok()) return {sentence(tested.status())};
    if (tested->table.device == nullptr) return {kHasNoDevice};
    if (tested->plugin->devices().empty())
      return {cat(kIsGone, tested->plugin->devices_status().message())};
    Found found;
    for (const DeviceInfo& info : tested->plugin->devices()) {
      auto device = Device::find(*tested->plugin, info.type, info.id);
      Status status = device.ok() ? use(**device, found) : device.status();
      if (!status.ok()) found.push_back(sentence(status));
    }
    return found;
  });
  if (answer.outcome != Outcome::kFail) return answer;
  if (answer.reason == kHasNoDevice || answer.reason.starts_with(kIsGone))
    return skip(answer.reason);
  return answer;
}

Status copy_there_and_back(const Device& device, uint64_t size, Found& found) {
  BYOC_TRY(DeviceMemory first, device.allocate(size, kDeviceAlignment, "memory"));
  BYOC_TRY(DeviceMemory second, device.allocate(size, kDeviceAlignment, "memory"));
  const auto a = reinterpret_cast<uintptr_t>(first.get());
  const auto b = reinterpret_cast<uintptr_t>(second.get());
  if (std::max(a, b) - std::min(a, b) < size)
    found.push_back(cat("dev_alloc gives the same bytes twice, of ", size));
  const Bytes given = pattern_of(size, 1);
  Bytes got(size);
  BYOC_TRY_STATUS(device.copy({first.get(), given.data(), true, false, size}, nullptr));
  BYOC_TRY_STATUS(device.copy({second.get(), first.get(), true, true, size}, nullptr));
  BYOC_TRY_STATUS(device.copy({got.data(), second.get(), false, true, size}, nullptr));
  if (got != given)
    found.push_back(cat("copies without a stream change ", size, " bytes, or return too early"));
  return {};
}

Answer check_memory(CheckContext& context) {
  return with_devices(context, [](const Device& device, Found& found) -> Status {
    for (uint64_t size : {uint64_t{1}, uint64_t{4097}, uint64_t{1} << 18})
      BYOC_TRY_STATUS(copy_there_and_back(device, size, found));
    constexpr uint64_t kTooMuch = uint64_t{1} << 46;
    const Status status = device.allocate(kTooMuch, kDeviceAlignment, "memory").status();
    if (status.ok()) found.push_back("dev_alloc gives 2^46 bytes");
    else if (status.code() != Code::kResourceExhausted)
      found.push_back(
          cat("dev_alloc of 2^46 bytes is no BYOC_RESOURCE_EXHAUSTED: ", status.message()));
    return {};
  });
}

/// Copies in, on the device and out in three streams, ordered by events alone.
Status run_rounds(const Device& device, Found& found) {
  constexpr uint64_t kSize = uint64_t{1} << 18;
  constexpr uint32_t kRounds = 50;
  BYOC_TRY(DeviceMemory first, device.allocate(kSize, kDeviceAlignment, "memory"));
  BYOC_TRY(DeviceMemory second, device.allocate(kSize, kDeviceAlignment, "memory"));
  Bytes given, got(kSize);
  BYOC_TRY(DeviceEvent came, device.make_event());
  BYOC_TRY(DeviceEvent moved, device.make_event());
  BYOC_TRY(DeviceEvent left, device.make_event());
  BYOC_TRY(DeviceStream in, device.make_stream());
  BYOC_TRY(DeviceStream inside, device.make_stream());
  BYOC_TRY(DeviceStream out, device.make_stream());
  for (uint32_t round = 0; round < kRounds; ++round) {
    given = pattern_of(kSize, round);
    BYOC_TRY_STATUS(device.copy({first.get(), given.data(), true, false, kSize}, in.get()));
    BYOC_TRY_STATUS(device.record(came.get(), in.get()));
    BYOC_TRY_STATUS(device.wait(came.get(), inside.get()));
    BYOC_TRY_STATUS(device.copy({second.get(), first.get(), true, true, kSize}, inside.get()));
    BYOC_TRY_STATUS(device.record(moved.get(), inside.get()));
    BYOC_TRY_STATUS(device.wait(moved.get(), out.get()));
    BYOC_TRY_STATUS(device.copy({got.data(), second.get(), false, true, kSize}, out.get()));
    BYOC_TRY_STATUS(device.record(left.get(), out.get()));
    BYOC_TRY_STATUS(device.sync(left.get(), kSlotLimit));
    if (got == given) continue;
    found.push_back(
        cat("three streams that wait for each other's events give wrong bytes, in round ", round));
    return {};
  }
  return {};
}

Answer check_order(CheckContext& context) { return with_devices(context, run_rounds); }

Answer check_events(CheckContext& context) {
  return with_devices(context, [](const Device& device, Found& found) -> Status {
    BYOC_TRY(DeviceEvent event, device.make_event());
    BYOC_TRY(DeviceStream stream, device.make_stream());
    if (!device.sync(event.get(), {.timeout_ms = 100}).ok())
      found.push_back("an event that was never recorded is not reached");
    BYOC_TRY_STATUS(device.wait(event.get(), stream.get()));  // and nothing waits for it
    BYOC_TRY_STATUS(device.record(event.get(), stream.get()));
    if (Status status = device.sync(event.get(), kSlotLimit); !status.ok())
      found.push_back(cat("an event of an idle stream is not reached: ", status.message()));
    return {};
  });
}

/// Frees a stream with work, then looks whether memory of the host still changes.
Answer check_drop(CheckContext& context) {
  return with_devices(context, [](const Device& device, Found& found) -> Status {
    constexpr uint64_t kSize = uint64_t{1} << 18;
    constexpr int kCopies = 64;
    constexpr auto kLater = std::chrono::milliseconds(50);
    BYOC_TRY(DeviceMemory memory, device.allocate(kSize, kDeviceAlignment, "memory"));
    const Bytes given = pattern_of(kSize, 3);
    BYOC_TRY_STATUS(device.copy({memory.get(), given.data(), true, false, kSize}, nullptr));
    Bytes got(kSize);
    BYOC_TRY(DeviceStream stream, device.make_stream());
    for (int k = 0; k < kCopies; ++k)
      BYOC_TRY_STATUS(device.copy({got.data(), memory.get(), false, true, kSize}, stream.get()));
    stream.reset();
    std::fill(got.begin(), got.end(), std::byte{0});
    std::this_thread::sleep_for(kLater);
    if (std::ranges::any_of(got, [](std::byte byte) { return byte != std::byte{0}; }))
      found.push_back("a copy writes memory of the host after stream_free has returned");
    return {};
  });
}

const Check kDeviceChecks[] = {
    {9, "device_memory", "memory is aligned, of its own, and copied as it is", "instance",
     check_memory, "without a stream, return from copy when the bytes are there"},
    {9, "device_events", "an event counts as reached until it is recorded", "device_memory",
     check_events, "return from event_sync at once when event_record was not called"},
    {9, "device_order", "streams and the host wait for events", "device_events", check_order,
     "event_wait orders later work of the stream after the event as it is recorded then"},
    {9, "device_drop", "a freed stream leaves memory of the host alone", "device_order", check_drop,
     "let stream_free wait for the work that has begun, and drop the rest"},
};

}  // namespace

std::span<const Check> device_checks() { return kDeviceChecks; }

}  // namespace byoc::conform
