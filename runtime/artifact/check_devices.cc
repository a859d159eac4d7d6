// SPDX-License-Identifier: Apache-2.0
#include "runtime/artifact/check_devices.h"

namespace byoc {
namespace {

constexpr uint64_t kDeviceAlignment = 256, kMaxArena = uint64_t{1} << 48;
constexpr uint32_t kHostType = 1;  // DLPack's

}  // namespace

Status bad_executable(std::string message) {
  return invalid(std::move(message)).with_slug("executable");
}

Status check_device_facts(const ExternalFunction& function) {
  const size_t n_args = size_t{function.n_in} + function.n_out;
  const bool has_device = !function.device.empty();
  const bool has_places = !function.placement.empty();
  if ((!has_device || function.device.size() == 2) &&
      (!has_places || (has_device && function.placement.size() == n_args)))
    return {};
  return bad_executable(cat(function.device.size(), " numbers for a device, ",
                            function.placement.size(), " places for ", n_args, " arguments"));
}

Status check_devices(const Program& program) {
  for (const ProgramDevice& device : program.devices) {
    const bool is_device = device.type != 0 && device.type != kHostType && !device.plugin.empty();
    if (!is_device || device.id > INT32_MAX || device.arena_bytes > kMaxArena)
      return bad_executable(cat("the device ", device.id, " of type ", device.type, " of plugin \"",
                                device.plugin, "\" with an arena of ", device.arena_bytes,
                                " bytes"));
  }
  return {};
}

Status check_placement(const Executable& executable, const Step& step,
                       const ExternalFunction* function) {
  if (step.module == Step::kDeviceCopy) {
    if (step.n_in != 1 || step.args.size() != 2 || step.types[0] != step.types[1] ||
        (step.args[0].kind == Place::kDevice) == (step.args[1].kind == Place::kDevice))
      return bad_executable("a copy that is not between the host and a device");
    return {};
  }
  std::optional<uint32_t> device;
  if (function != nullptr && !function->device.empty()) {
    device = executable.program.device_of(executable.modules[step.module], *function);
    if (!device) return bad_executable("its device is not in the list of devices");
  }
  for (size_t k = 0; k < step.args.size(); ++k) {
    const bool is_there = step.args[k].kind == Place::kDevice;
    const bool wanted = device && function->is_on_device(k);
    if (is_there != wanted || (is_there && step.args[k].index != *device))
      return bad_executable(cat("argument ", k, " is ", is_there ? "on a device" : "on the host",
                                ", its function expects it elsewhere"));
  }
  return {};
}

Status check_device_place(const Program& program, const Place& place, const TensorSpec& type) {
  if (place.index >= program.devices.size())
    return bad_executable(cat("device ", place.index, " of ", program.devices.size()));
  if (type.counted != 0) return bad_executable(cat("a value of type ", type, " on a device"));
  BYOC_TRY(const int64_t size, size_bytes(type));
  const uint64_t arena = program.devices[place.index].arena_bytes;
  uint64_t end;
  if (place.offset % kDeviceAlignment == 0 && !__builtin_add_overflow(place.offset, size, &end) &&
      end <= arena)
    return {};
  return bad_executable(cat("offset ", place.offset, ", size ", size, ", in an arena of ", arena,
                            " bytes on a device"));
}

}  // namespace byoc
