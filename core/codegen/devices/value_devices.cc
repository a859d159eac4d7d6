// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/devices/value_devices.h"

#include <algorithm>

#include "byoc/op/device_copy.h"

namespace byoc {

ValueDevices::ValueDevices(const IRModule& module) {
  for (const ExternalModule& compiled : module.external_mods) {
    for (const ExternalFunction& function : compiled.functions) {
      if (function.device.empty()) continue;
      const ProgramDevice device{compiled.plugin, function.device[0], function.device[1]};
      const auto at = std::find(devices_.begin(), devices_.end(), device);
      const auto number = static_cast<uint32_t>(at - devices_.begin());
      if (at == devices_.end()) devices_.push_back(device);
      on_device_[function.symbol] = {&function, number};
      for (const ExternalAlias& alias : function.aliases)
        on_device_[alias.symbol] = {&function, number};
    }
  }
}

const ValueDevices::Compiled* ValueDevices::compiled(const Node& node) const {
  const auto* external = std::get_if<Extern>(&node.kind);
  if (external == nullptr) return nullptr;
  const auto at = on_device_.find(external->symbol.text());
  return at == on_device_.end() ? nullptr : &at->second;
}

uint32_t ValueDevices::of(const Function& function, ValueId value) const {
  const Node& node = function.nodes[value.node];
  if (is_device_copy(node)) return copied_to(node);
  const Compiled* to = compiled(node);
  if (to == nullptr || !to->function->is_on_device(to->function->n_in + value.output)) return kHost;
  return to->device;
}

uint32_t ValueDevices::read_by(const Node& node, size_t k) const {
  const Compiled* to = compiled(node);
  return to != nullptr && to->function->is_on_device(k) ? to->device : kHost;
}

bool ValueDevices::runs_on_device(const Node& node) const { return compiled(node) != nullptr; }

}  // namespace byoc
