// SPDX-License-Identifier: Apache-2.0
#pragma once
// Inputs and outputs that a caller has on a device: kernels use them where they are, and the copy
// between the host and the device is left out.
#include <vector>

#include "runtime/device/device_program.h"

namespace byoc {

/// A copy of an input to a device, or of an output from it.
struct ArgumentCopy {
  size_t step = 0;                              // the copy
  uint32_t device = 0;                          // as in Program::devices
  std::vector<std::pair<size_t, size_t>> uses;  // (step, argument) that have the value there
};

/// The uses of an input or output.
struct ArgumentUse {
  std::vector<ArgumentCopy> copies;
  bool is_on_host = false;  // something of the host reads or writes it, too
};

/// Returns the uses of the inputs, then of the outputs. Outputs that several steps write are on the
/// host. O(steps^2) in the worst case, O(steps) where values are read soon.
std::vector<ArgumentUse> find_argument_uses(const Program& program);

/// The arguments of one Context's runs that are on devices. One run at a time uses it.
class GivenArguments {
 public:
  /// The change of a copy in this run.
  struct Change {
    bool is_left_out = false;
    void* given = nullptr;  // else, not null: the caller's end of a copy within the device
  };
  /// `slot` returns the address of the data of an argument of a step. `program` outlives this.
  GivenArguments(const DeviceProgram& program, size_t steps,
                 std::function<void**(size_t step, size_t argument)> slot)
      : program_(program), changes_(steps), slot_(std::move(slot)) {}

  /// Forgets the arguments of the run before.
  void begin();
  /// Returns the number of the device. Errors: slug "input-data" or "output-data" (by `kind`), with
  /// the devices of the program, for another one.
  Result<uint32_t> find(const char* kind, const std::string& name, const DLDevice& device) const;
  /// Uses an argument where it is. `is_direct`: kernels take its address as it is, else a copy
  /// within the device does what the copy of the program did.
  void take(const ArgumentUse& use, uint32_t device, void* data, bool is_direct);
  /// Returns true when the host, or another device, needs the value in memory of the host.
  static bool needs_host(const ArgumentUse& use, uint32_t device);
  const Change& change(size_t step) const { return changes_[step]; }
  const Device& device(uint32_t number) const { return *program_.devices[number]; }

 private:
  const DeviceProgram& program_;
  std::vector<Change> changes_;  // per step
  std::function<void**(size_t step, size_t argument)> slot_;
  std::vector<size_t> changed_;                     // steps
  std::vector<std::pair<void**, void*>> replaced_;  // slots, and what they had
};

}  // namespace byoc
