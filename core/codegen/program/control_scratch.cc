// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/program/control_scratch.h"

#include <algorithm>

namespace byoc {

namespace {
constexpr uint64_t kScratchAlign = 64;
}

Result<uint64_t> arena_bytes(const TensorType& type) {
  BYOC_TRY(int64_t bytes, size_bytes(TensorType{type.dtype, at_bounds(type.shape)}));
  // Values with counted dims have places of their own, as dims are kept per place.
  const uint64_t least = has_counted(type.shape) ? 1 : 0;
  return (std::max(static_cast<uint64_t>(bytes), least) + kScratchAlign - 1) / kScratchAlign *
         kScratchAlign;
}

Result<ControlScratch> control_scratch(const IRModule& module, const Control& control) {
  auto arena_of = [&](Symbol name) {
    return static_cast<uint64_t>(module.function(name).attrs.i("arena_bytes"));
  };
  ControlScratch out;
  out.bytes = arena_of(control.body);
  if (control.action == Control::kIf) {
    out.bytes = std::max(out.bytes, arena_of(control.otherwise));
    return out;
  }
  auto take = [&](uint64_t bytes) { return std::exchange(out.bytes, out.bytes + bytes); };
  out.counter = take(kScratchAlign);
  out.condition = take(kScratchAlign);
  for (TypeId type : module.function(control.body).result_types()) {
    BYOC_TRY(uint64_t bytes, arena_bytes(*type));
    out.results.push_back(take(bytes));
  }
  return out;
}

}  // namespace byoc
