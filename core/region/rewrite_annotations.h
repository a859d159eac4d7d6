// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/op/registry.h"
#include "core/region/annotations.h"

namespace byoc {

/// Returns the function with its annotation ops written anew from `annotations` (region_of indexes
/// the nodes of `function`): one begin per region and value that enters, before its first reader;
/// one end per value that leaves, after the op that makes it. Constants are not wrapped. Equal
/// annotations give equal text, independent of the annotation ops in `function`.
Function rewrite_annotations(const Function& function, const Annotations& annotations,
                             const OpRegistry& ops);

}  // namespace byoc
