// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/op/registry.h"
#include "core/region/annotations.h"

namespace byoc {

/// The function with its annotation ops written anew from `annotations` (region_of indexes the
/// nodes of `function`): one begin per region and value that enters, before its first reader; one
/// end per value that leaves, behind the op that makes it. Constants are not wrapped. The same
/// annotations give the same text, whatever ops expressed them before.
Function rewrite_annotations(const Function& function, const Annotations& annotations,
                             const OpRegistry& ops);

}  // namespace byoc
