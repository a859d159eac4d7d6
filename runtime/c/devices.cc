// SPDX-License-Identifier: Apache-2.0
// Devices of byoc/c/devices.h.
#include "byoc/c/devices.h"

#include "byoc/runtime/devices.h"
#include "runtime/c/handles.h"

struct byoc_device_memory {
  byoc::DeviceBuffer buffer;
};

namespace byoc::c {
namespace {

/// Returns device k of the program that the session runs.
Result<const ProgramDevice*> device_of(const byoc_session& session, size_t k) {
  const std::vector<ProgramDevice>& devices = session.session->program().devices;
  if (k < devices.size()) return &devices[k];
  return Status(Code::kOutOfRange, cat("there are ", devices.size(), " devices, no device ", k));
}

int32_t number_of(std::optional<size_t> device) {
  return device ? static_cast<int32_t>(*device) : -1;
}

}  // namespace
}  // namespace byoc::c

using namespace byoc;
using namespace byoc::c;

size_t byoc_session_device_count(const byoc_session* session) {
  return session == nullptr ? 0 : session->session->program().devices.size();
}

byoc_error* byoc_session_device(const byoc_session* session, size_t k, byoc_used_device* out) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(session);
    BYOC_C_REQUIRE(out);
    BYOC_TRY(const ProgramDevice* device, device_of(*session, k));
    *out = {device->plugin.c_str(),
            {static_cast<DLDeviceType>(device->type), static_cast<int32_t>(device->id)}};
    return {};
  });
}

int32_t byoc_session_input_device(const byoc_session* session, size_t k) {
  return session == nullptr ? -1 : number_of(device_of_input(session->session->program(), k));
}
int32_t byoc_session_output_device(const byoc_session* session, size_t k) {
  return session == nullptr ? -1 : number_of(device_of_output(session->session->program(), k));
}

byoc_error* byoc_device_memory_new(const byoc_session* session, size_t k, size_t bytes,
                                   byoc_device_memory** out) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(session);
    BYOC_C_REQUIRE(out);
    BYOC_TRY(const ProgramDevice* device, device_of(*session, k));
    BYOC_TRY(DeviceBuffer buffer,
             DeviceBuffer::make(session->plugins, device->plugin, device->id, bytes));
    *out = new byoc_device_memory{std::move(buffer)};
    return {};
  });
}

void* byoc_device_memory_data(const byoc_device_memory* memory) {
  return memory == nullptr ? nullptr : memory->buffer.data();
}

byoc_error* byoc_device_memory_write(byoc_device_memory* memory, const void* from, size_t bytes) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(memory);
    BYOC_C_REQUIRE(from);
    return memory->buffer.write(from, bytes);
  });
}

byoc_error* byoc_device_memory_read(const byoc_device_memory* memory, void* to, size_t bytes) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(memory);
    BYOC_C_REQUIRE(to);
    return memory->buffer.read(to, bytes);
  });
}

void byoc_device_memory_free(byoc_device_memory* memory) { delete memory; }
