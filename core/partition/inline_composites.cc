// SPDX-License-Identifier: Apache-2.0
// Replaces calls of composites by their ops.
//   before: %0 = @onednn_conv2d_relu_0(%x, %w)
//   after:  %0 = conv2d(%x, %w)
//           %1 = relu(%0)
#include "byoc/pass/partition.h"
#include "core/region/inline_call.h"

namespace byoc {

Result<IRModule> inline_composites(IRModule module, const std::vector<std::string>& plugins,
                                   const PassContext&) {
  BYOC_TRY(std::vector<Symbol> order, callees_first(module));
  for (Symbol name : order) {
    module.functions[name] = inline_composites_in(module, module.function(name), plugins);
  }
  drop_uncalled_composites(module);
  return module;
}

}  // namespace byoc
