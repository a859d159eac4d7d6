// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/compile_input.h"

#include "byoc/compile.h"
#include "byoc/text/graph_json.h"

namespace byoc {
namespace {

TensorSpec spec_of(const TensorType& type) { return {type.dtype, static_extents(type.shape)}; }

}  // namespace

CompileFunction input_of(const IRModule& module, const Function& function, Symbol name) {
  CompileFunction out;
  out.symbol = name.str();
  write_graph_json(module, function, name, out.graph_json);
  for (const ConstantRef& constant : graph_constants(module, function)) {
    out.constants.push_back(
        {cat("c", out.constants.size()), constant.key, spec_of(*constant.type)});
    out.buffers.push_back(module.constants.at(constant.key));
  }
  out.n_in = static_cast<uint32_t>(function.num_params());
  out.n_out = static_cast<uint32_t>(function.results.size());
  return out;
}

CompileFunction compile_input(const IRModule& module, Symbol name) {
  return input_of(module, module.function(name), name);
}

}  // namespace byoc
