// SPDX-License-Identifier: Apache-2.0
#include "core/tools/replay/device_step.h"

#include "byoc/base/check.h"

namespace byoc::driver {
namespace {

constexpr uint64_t kAlign = 256;  // of places in the arena of a device

}  // namespace

void put_on_device(const ExternalModule& module, Program& program) {
  BYOC_CHECK(program.steps.size() == 1, program.steps.size(), " steps");
  const ExternalFunction& function = module.functions[program.steps[0].function];
  if (function.device.empty()) return;
  Step step = std::move(program.steps[0]);
  program.steps.clear();
  std::vector<Step> after;
  uint64_t arena = 0;
  for (size_t k = 0; k < step.args.size(); ++k) {
    if (!function.is_on_device(k)) continue;
    const bool is_input = k < step.n_in;
    const Place here = step.args[k], there{Place::kDevice, 0, arena};
    const auto bytes = static_cast<uint64_t>(*size_bytes(step.types[k]));  // loaded: checked
    arena += (bytes + kAlign - 1) / kAlign * kAlign;
    step.args[k] = there;
    Step copy;
    copy.module = Step::kDeviceCopy;
    copy.symbol = is_input ? "copy_to_device" : "copy_to_host";
    copy.n_in = 1;
    copy.args = is_input ? std::vector{here, there} : std::vector{there, here};
    copy.types = {step.types[k], step.types[k]};
    (is_input ? program.steps : after).push_back(std::move(copy));
  }
  program.devices = {{module.plugin, function.device[0], function.device[1], arena}};
  program.steps.push_back(std::move(step));
  for (Step& copy : after) program.steps.push_back(std::move(copy));
}

}  // namespace byoc::driver
