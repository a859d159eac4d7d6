// SPDX-License-Identifier: Apache-2.0
#pragma once
// copy_to_device and copy_to_host, the ops that move a value between the host and a device.
#include "byoc/op/op.h"

namespace byoc {

/// True for copy_to_device and copy_to_host.
inline bool is_device_copy(const Node& node) {
  auto* call = std::get_if<Call>(&node.kind);
  return call != nullptr && call->op->is_annotation &&
         (call->op->name == "copy_to_device" || call->op->name == "copy_to_host");
}
/// Returns the number of the device that a copy writes to, among those of the module's functions;
/// UINT32_MAX: the host.
inline uint32_t copied_to(const Node& copy) {
  const auto& call = std::get<Call>(copy.kind);
  return call.op->name == "copy_to_host" ? UINT32_MAX
                                         : static_cast<uint32_t>(call.attrs->i("device"));
}

}  // namespace byoc
