// SPDX-License-Identifier: Apache-2.0
#pragma once
// Constants in the layout that a primitive requires.
#include "library/dnnl_compat.h"

namespace byoc::onednn {

/// Writes the elements of `plain`, which is of the layout `have`, to `memory` in the layout `want`,
/// with zeros in its padding. Large matrices are written some rows at a time, in a parallel loop of
/// the host, which may then release what is done. Throws dnnl::error.
void repack(const dnnl::engine& engine, const Desc& have, const void* plain, const Desc& want,
            void* memory);

}  // namespace byoc::onednn
