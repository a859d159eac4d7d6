// SPDX-License-Identifier: Apache-2.0
#pragma once
// The devices of a loaded program, and the memory and queues that one Context has on them.
#include <optional>
#include <vector>

#include "runtime/device/device_constants.h"
#include "runtime/device/device_schedule.h"

namespace byoc {

/// The devices of a Session. Immutable after load; contexts share it.
struct DeviceProgram {
  std::vector<std::shared_ptr<const Device>> devices;            ///< as in Program::devices
  std::vector<std::shared_ptr<const DeviceConstant>> constants;  ///< that kernels read there
  std::vector<StepTraits> traits;                                ///< per step
  std::vector<StepOrder> orders;                                 ///< per step
  std::vector<uint64_t> workspace_bytes, workspace_align;        ///< per device
  std::vector<uint64_t> arena_bytes;                             ///< per device
  DeviceWait limits;                                             ///< of every wait
};

/// Finds the devices of the program. Errors: as Device::find; slug "missing-plugin".
Result<std::unique_ptr<DeviceProgram>> find_devices(const Program& program,
                                                    const PluginSet* plugins);

/// Copies the constants that kernels of the module read on a device to it, and returns their
/// addresses there; the program holds them. Errors: as constant_on_device.
Result<DeviceAddresses> upload_constants(DeviceProgram& devices, const Executable& executable,
                                         const ExternalModule& module);
/// Adds what a loaded kernel of a device needs.
void add_workspace_of(DeviceProgram& devices, const Executable& executable, const Step& step,
                      const LoadedModule::Kernel& kernel);
/// Orders the steps, when all kernels are loaded.
void order_program(DeviceProgram& devices, const Executable& executable, const DeviceWait& limits);
/// Returns BYOC_DEVICE_TIMEOUT_MS.
uint64_t default_timeout_ms();

/// The arenas, workspaces, streams and events of one Context. One run at a time uses them.
class DeviceQueues {
 public:
  /// Allocates all that runs need. Errors: those of Device.
  static Result<std::unique_ptr<DeviceQueues>> make(const DeviceProgram& program);
  ~DeviceQueues();

  std::byte* arena(size_t device) const;
  void* workspace(size_t device) const;
  /// Makes streams and events anew after a run that failed. Called before every run. Errors: those
  /// of make.
  Status begin_run();
  /// Returns the stream of a step; null for steps that end with their call.
  byoc_stream* stream(size_t step) const;
  /// Lets the step wait for those before it.
  Status before(size_t step);
  /// Copies between the host and the device of a copy step.
  Status copy(size_t step, const DeviceCopy& copy);
  /// Records the step for those after it. `waits`: the host waits for its end, as profiles do.
  Status after(size_t step, bool waits);
  /// Drops the work of a run that failed: after it nothing reads or writes memory of the host.
  void end_failed_run();
  /// Returns the step whose work failed, or did not end, while another one waited for it.
  std::optional<size_t> failed_step() const { return failed_; }

 private:
  struct PerDevice {
    DeviceMemory arena, workspace;
    DeviceStream streams[kDeviceQueues];
    DeviceEvent spare[kDeviceQueues];
  };
  explicit DeviceQueues(const DeviceProgram& program) : program_(program) {}
  Status make_streams();
  void drop_streams();
  Status wait_for(uint32_t step);
  const Device& device_of(uint32_t queue) const { return *program_.devices[queue / kDeviceQueues]; }

  const DeviceProgram& program_;
  std::vector<PerDevice> per_device_;
  std::vector<DeviceEvent> events_;  // per step; null: none
  std::optional<size_t> failed_;
  bool is_ready_ = false;  // streams and events can be used
};

}  // namespace byoc
