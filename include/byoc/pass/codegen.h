// SPDX-License-Identifier: Apache-2.0
#pragma once
// Passes that compile what is cut out and what is left.
#include "byoc/pass/pass.h"

namespace byoc {

/// What is left outside regions exchanges f32 images in blocks of channels (NCHW8c), in the blocks
/// that the default codegens list and as far as these take the rewritten ops; layout_transform ops
/// stand where two layouts meet. Errors: those of Plugin::layouts.
Result<IRModule> assign_layouts(IRModule, const PassContext&);
/// What is left outside regions is grouped into functions of the default codegens.
Result<IRModule> fuse_ops(IRModule, const PassContext&);
/// Functions with `compiler` of one of `plugins` (all when empty) are compiled; calls become
/// externs.
Result<IRModule> run_codegen(IRModule, const std::vector<std::string>& plugins, const PassContext&);
/// Offsets of intermediate tensors in one arena, as attributes of the entry function.
Result<IRModule> plan_memory(IRModule, const PassContext&);

}  // namespace byoc
