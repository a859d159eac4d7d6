// SPDX-License-Identifier: Apache-2.0
// The one registration of ops: op_families.inc lists the families that the build found.
#include "byoc/op/registry.h"

namespace byoc {
namespace op {

#define FAMILY(name) void add_##name##_ops(OpRegistry& ops);
#include "op_families.inc"
#undef FAMILY

}  // namespace op

const OpRegistry& all_ops() {
  // Never freed, because modules point into it until the process ends.
  static const OpRegistry* const table = [] {
    auto* ops = new OpRegistry;
#define FAMILY(name) op::add_##name##_ops(*ops);
#include "op_families.inc"
#undef FAMILY
    return ops;
  }();
  return *table;
}

}  // namespace byoc
