// SPDX-License-Identifier: Apache-2.0
#include "core/tools/replay/replay_case.h"

#include <unordered_set>

#include "byoc/base/check.h"
#include "core/region/judge.h"

namespace byoc::driver {

void set_function(ReplayCase& to, const IRModule& module, Symbol name) {
  const Function& function = module.function(name);
  to.symbol = name.str();
  to.graph_json.clear();
  write_graph_json(module, function, name, to.graph_json);
  to.constants.clear();
  to.buffers.clear();
  for (const ConstantRef& constant : graph_constants(module, function)) {
    TensorSpec spec{constant.type->dtype, static_extents(constant.type->shape)};
    to.constants.push_back({cat("c", to.constants.size()), constant.key, std::move(spec)});
    auto data = module.constants.find(constant.key);
    BYOC_CHECK(data != module.constants.end(), "constant ", constant.key, " is not in the pool");
    to.buffers.push_back(data->second);
  }
  to.nodes.clear();
  std::unordered_set<uint32_t> seen;  // one node of the model may have become several ops
  for (const Node& node : function.nodes) {
    if (std::holds_alternative<Param>(node.kind) || std::holds_alternative<Constant>(node.kind))
      continue;
    for (Symbol loc : op_locs(module, node)) {
      if (seen.insert(loc.id()).second) to.nodes.push_back(loc.str());
    }
  }
}

Limit limit_of(const ReplayCase& replay, size_t output, double tolerance) {
  Limit out;
  if (output < replay.limits.size()) out = replay.limits[output];
  else if (replay.graph_json.find(R"("op":"quantize")") != std::string::npos) out.steps = 1;
  out.tolerance = tolerance < 0 ? replay.tolerance : tolerance;
  return out;
}

}  // namespace byoc::driver
