// SPDX-License-Identifier: Apache-2.0
#include "core/conform/context/reference.h"

#include "byoc/op/evaluate.h"

namespace byoc::conform {

Result<Buffers> reference_results(const IRModule& module, const Buffers& given) {
  const Function& main = module.function("main");
  std::vector<Buffers> values(main.nodes.size());
  for (uint32_t n = 0; n < main.nodes.size(); ++n) {
    const Node& node = main.nodes[n];
    if (n < given.size()) {
      values[n] = {given[n]};
    } else if (auto* constant = std::get_if<Constant>(&node.kind)) {
      values[n] = {module.constants.at(constant->data->key())};
    } else {
      const Call& call = std::get<Call>(node.kind);
      std::vector<TypeId> in, out;
      std::vector<const Buffer*> data;
      for (ValueId arg : main.args(node)) {
        in.push_back(main.type(arg));
        data.push_back(values[arg.node][arg.output].get());
      }
      for (size_t k = 0; k < node.types.size(); ++k) out.push_back(node.types[k]);
      BYOC_TRY(values[n], evaluate(*call.op, *call.attrs, in, out, data));
    }
  }
  Buffers results;
  for (ValueId result : main.results) results.push_back(values[result.node][result.output]);
  return results;
}

}  // namespace byoc::conform
