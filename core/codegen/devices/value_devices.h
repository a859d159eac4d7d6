// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the values of compiled functions are: on the host, or on a device of a plugin.
#include <string_view>
#include <unordered_map>
#include <vector>

#include "byoc/ir/module.h"
#include "byoc/runtime/artifact.h"

namespace byoc {

/// The devices of the compiled functions of a module, which outlives it.
class ValueDevices {
 public:
  static constexpr uint32_t kHost = UINT32_MAX;
  explicit ValueDevices(const IRModule& module);
  /// Returns the devices, in order of the first function on each; arenas have no bytes.
  const std::vector<ProgramDevice>& devices() const { return devices_; }
  /// Returns where a value is: results of compiled functions are where these write them, a copy is
  /// where it goes, all other values are on the host.
  uint32_t of(const Function& function, ValueId value) const;
  /// Returns where a node reads operand `k`.
  uint32_t read_by(const Node& node, size_t k) const;
  /// Returns true for a call of a function that runs on a device.
  bool runs_on_device(const Node& node) const;

 private:
  struct Compiled {
    const ExternalFunction* function;
    uint32_t device;
  };
  const Compiled* compiled(const Node& node) const;
  std::vector<ProgramDevice> devices_;
  std::unordered_map<std::string_view, Compiled> on_device_;  // by symbol, aliases too
};

}  // namespace byoc
