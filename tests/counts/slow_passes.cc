// SPDX-License-Identifier: Apache-2.0
#include "slow_passes.h"

#include <array>
#include <utility>

#include "byoc/base/check.h"

namespace byoc::test {

Result<IRModule> search_readers(IRModule module, const PassContext&) {
  size_t readers = 0;
  for (const auto& [name, function] : module.functions) {
    for (uint32_t k = 0; k < function.nodes.size(); ++k) {
      for (const Node& node : function.nodes) {
        for (ValueId arg : function.args(node)) readers += arg.node == k;
      }
    }
  }
  BYOC_CHECK(readers > 0, "a function without an edge");
  return module;
}

Result<IRModule> copy_per_node(IRModule module, const PassContext&) {
  for (auto& [name, function] : module.functions) {
    for (size_t k = 0; k < function.nodes.size(); ++k) {
      Function copy = function;
      std::swap(copy, function);
    }
  }
  return module;
}

Result<IRModule> erase_from_front(IRModule module, const PassContext&) {
  for (auto& [name, function] : module.functions) {
    std::vector<std::array<uint64_t, 8>> left(function.nodes.size());
    while (!left.empty()) left.erase(left.begin());
  }
  return module;
}

}  // namespace byoc::test
