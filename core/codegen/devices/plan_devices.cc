// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/devices/plan_devices.h"

#include <algorithm>
#include <map>

#include "byoc/base/arena.h"
#include "byoc/base/check.h"

namespace byoc {
namespace {

constexpr uint64_t kDeviceAlign = 256;  // of tensors on devices, as docs/plugin-abi.md promises

uint64_t device_bytes(const TensorSpec& type) {
  const auto bytes =
      static_cast<uint64_t>(*size_bytes(type));  // copy_to_devices: sizes are numbers
  return (bytes + kDeviceAlign - 1) / kDeviceAlign * kDeviceAlign;
}

template <class F>
void for_each_place(Program& program, F&& f) {
  for (uint32_t s = 0; s < program.steps.size(); ++s) {
    Step& step = program.steps[s];
    for (size_t k = 0; k < step.args.size(); ++k) {
      if (step.args[k].kind == Place::kDevice) f(s, step.args[k], step.types[k]);
    }
  }
}

}  // namespace

void plan_devices(Program& program) {
  std::vector<std::map<uint64_t, Lifetime>> lives(program.devices.size());  // by value
  for_each_place(program, [&](uint32_t step, const Place& place, const TensorSpec& type) {
    BYOC_CHECK(place.index < lives.size(), "device ", place.index, " of ", lives.size());
    Lifetime& life =
        lives[place.index].try_emplace(place.offset, Lifetime{0, step, step}).first->second;
    life.bytes = device_bytes(type);
    life.last = step;
  });
  std::vector<std::map<uint64_t, uint64_t>> offsets(lives.size());
  for (size_t d = 0; d < lives.size(); ++d) {
    std::vector<Lifetime> list;
    for (const auto& [value, life] : lives[d]) list.push_back(life);
    const ArenaPlan plan = plan_arena(list);
    size_t k = 0;
    for (const auto& [value, life] : lives[d]) offsets[d][value] = plan.offsets[k++];
    program.devices[d].arena_bytes = plan.bytes;
  }
  for_each_place(program, [&](uint32_t, Place& place, const TensorSpec&) {
    place.offset = offsets[place.index].at(place.offset);
  });
}

}  // namespace byoc
