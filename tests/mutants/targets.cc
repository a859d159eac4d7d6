// SPDX-License-Identifier: Apache-2.0
#include "mutants/targets.h"

namespace byoc::test {

const std::vector<Target>& targets() {
  static const std::vector<Target> all{
      {"onnx", Target::kOnnx, read_onnx},   {"artifact", Target::kArtifact, read_artifact},
      {"graph", Target::kJson, read_graph}, {"pattern", Target::kJson, read_pattern},
      {"log", Target::kJson, read_log},     {"ir", Target::kText, read_ir},
      {"calls", Target::kText, read_calls}};
  return all;
}

const Target* find_target(std::string_view name) {
  for (const Target& target : targets())
    if (target.name == name) return &target;
  return nullptr;
}

}  // namespace byoc::test
