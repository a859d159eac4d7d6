// SPDX-License-Identifier: Apache-2.0
#pragma once
// Devices with memory of their own. A plugin that has them derives from Plugin and from Devices,
// and BYOC_PLUGIN fills byoc_plugin::device. docs/devices.md has the whole contract.
#include <memory>
#include <vector>

#include "byoc/plugin/sdk/error.h"

namespace byoc::sdk {

/// A row of Devices::devices, as byoc_device.
struct DeviceRow {
  DLDevice device = {kDLExtDev, 0};  ///< the type of DLPack and the plugin's number
  std::string name;                  ///< for messages
  uint64_t align = 64;               ///< bytes, of all its memory; a power of two up to 4096
  uint64_t bytes = 0;                ///< of its memory; 0: unknown
  std::string capabilities = {};     ///< a JSON object, or empty
};

/// A mark in a stream. Counts as reached until it is recorded.
class Event {
 public:
  virtual ~Event() = default;
  /// Blocks until the event is reached, at most `timeout_ns`; false: it is not. Throws the error of
  /// the work before it.
  virtual bool sync(uint64_t timeout_ns) = 0;
};

/// A queue of a device. One thread at a time uses it.
class Stream {
 public:
  /// Drops what has not begun. Afterwards nothing of it reads or writes memory of the host.
  virtual ~Stream() = default;
  virtual void record(Event& event) = 0;  ///< Marks the end of the work that was enqueued so far.
  virtual void wait(Event& event) = 0;    ///< Lets later work wait for the event as recorded now.
};

/// The devices of a plugin. Its functions may be called at the same time. They throw Error:
/// BYOC_UNAVAILABLE for a device that is gone, BYOC_RESOURCE_EXHAUSTED where memory is short.
class Devices {
 public:
  virtual ~Devices() = default;
  /// Lists the devices. Throws BYOC_UNAVAILABLE with the reason when a driver is missing or too
  /// old: the plugin still compiles.
  virtual std::vector<DeviceRow> devices() = 0;
  /// Allocates memory; nullptr: it is short. Never called in a run.
  virtual void* allocate(DLDevice device, uint64_t bytes, uint64_t align) = 0;
  virtual void release(DLDevice device, void* memory) noexcept = 0;  ///< Frees memory of allocate.
  /// Enqueues the copy; `stream` null: copies before it returns.
  virtual void copy(const byoc_copy& copy, Stream* stream) = 0;
  virtual std::unique_ptr<Stream> make_stream(DLDevice device) = 0;  ///< Called for each Context.
  virtual std::unique_ptr<Event> make_event(DLDevice device) = 0;    ///< Likewise.
};

/// Returns the stream of a call as the class that make_stream returned.
template <class S>
S& stream_of(const byoc_call& call) {
  return static_cast<S&>(*static_cast<Stream*>(call.stream));
}

namespace detail {

/// The rows that `devices` returned last, with the structs that point into them.
struct DeviceRows {
  std::vector<DeviceRow> rows;
  std::vector<byoc_device> raw;
  std::vector<const byoc_device*> pointers;

  void set(std::vector<DeviceRow> given) {
    rows = std::move(given);
    raw.clear();
    pointers.clear();
    for (const DeviceRow& row : rows) {
      byoc_device out{};
      out.h = {sizeof out, BYOC_TAG_DEVICE, nullptr};
      out.device = row.device;
      out.name = to_str(row.name);
      out.kinds = BYOC_MEMORY_DEVICE;
      out.align = row.align;
      out.bytes = row.bytes;
      out.capabilities = to_str(row.capabilities);
      raw.push_back(out);
    }
    for (const byoc_device& row : raw) pointers.push_back(&row);
  }
};

/// The C functions of byoc_device_table. `Of` has devices_of and rows_of for an instance.
template <class Of>
struct DeviceGlue {
  static Devices& self(byoc_instance* i) { return Of::devices_of(i); }
  static Stream* self(byoc_stream* s) { return reinterpret_cast<Stream*>(s); }
  static Event& self(byoc_event* e) { return *reinterpret_cast<Event*>(e); }

  static byoc_status* devices(byoc_instance* i, const byoc_device* const** out,
                              uint64_t* n) noexcept {
    return guarded([&] {
      DeviceRows& rows = Of::rows_of(i);
      rows.set(self(i).devices());
      *out = rows.pointers.data();
      *n = rows.pointers.size();
    });
  }
  static byoc_status* dev_alloc(byoc_instance* i, DLDevice device, uint32_t kind, uint64_t n,
                                uint64_t align, void** out) noexcept {
    return guarded([&] {
      if (kind != BYOC_MEMORY_DEVICE) throw Error(BYOC_UNIMPLEMENTED, "no memory of that kind");
      *out = self(i).allocate(device, n, align);
      if (*out == nullptr)
        throw Error(BYOC_RESOURCE_EXHAUSTED,
                    "no memory on the device for " + std::to_string(n) + " bytes");
    });
  }
  static void dev_free(byoc_instance* i, DLDevice device, void* memory) noexcept {
    if (memory != nullptr) self(i).release(device, memory);
  }
  static byoc_status* copy(byoc_instance* i, const byoc_copy* raw) noexcept {
    return guarded([&] {
      check_understood(raw->h);
      self(i).copy(*raw, self(raw->stream));
    });
  }
  static byoc_status* stream_new(byoc_instance* i, DLDevice device, byoc_stream** out) noexcept {
    return guarded(
        [&] { *out = reinterpret_cast<byoc_stream*>(self(i).make_stream(device).release()); });
  }
  static void stream_free(byoc_stream* stream) noexcept { delete self(stream); }
  static byoc_status* event_new(byoc_instance* i, DLDevice device, byoc_event** out) noexcept {
    return guarded(
        [&] { *out = reinterpret_cast<byoc_event*>(self(i).make_event(device).release()); });
  }
  static void event_free(byoc_event* event) noexcept {
    if (event != nullptr) delete &self(event);
  }
  static byoc_status* event_record(byoc_event* event, byoc_stream* stream) noexcept {
    return guarded([&] { self(stream)->record(self(event)); });
  }
  static byoc_status* event_wait(byoc_event* event, byoc_stream* stream) noexcept {
    return guarded([&] { self(stream)->wait(self(event)); });
  }
  static byoc_status* event_sync(byoc_event* event, uint64_t timeout_ns) noexcept {
    return guarded([&] {
      if (!self(event).sync(timeout_ns)) throw Error(BYOC_DEADLINE_EXCEEDED, "not reached yet");
    });
  }

  static constexpr byoc_device_table table = {
      .h = {sizeof(byoc_device_table), BYOC_TAG_DEVICE_TABLE, nullptr},
      .devices = devices,
      .dev_alloc = dev_alloc,
      .dev_free = dev_free,
      .copy = copy,
      .stream_new = stream_new,
      .stream_free = stream_free,
      .event_new = event_new,
      .event_free = event_free,
      .event_record = event_record,
      .event_wait = event_wait,
      .event_sync = event_sync};
};

}  // namespace detail
}  // namespace byoc::sdk
