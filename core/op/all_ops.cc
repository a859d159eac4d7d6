// SPDX-License-Identifier: Apache-2.0
// The one registration of ops: op_families.inc lists the families that the build found.
#include <algorithm>

#include "byoc/op/added.h"

namespace byoc {
namespace op {

#define FAMILY(name) void add_##name##_ops(OpRegistry& ops);
#include "op_families.inc"
#undef FAMILY

}  // namespace op

namespace {

struct Table {
  OpRegistry ops;
  std::vector<const OpDef*> added;
};

Table& table() {
  // Never freed, because modules point into it until the process ends.
  static Table* const made = [] {
    auto* table = new Table;
    OpRegistry& ops = table->ops;
#define FAMILY(name) op::add_##name##_ops(ops);
#include "op_families.inc"
#undef FAMILY
    return table;
  }();
  return *made;
}

bool is_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

const OpRegistry& all_ops() { return table().ops; }

Status check_added_op(const OpDef& op) {
  if (!is_name(op.name))
    return invalid(cat("the op \"", op.name, "\" has a name with other than a-z, 0-9 and _"));
  if (!op.infer) return invalid(cat("the op ", op.name, " has no type inference"));
  if (!op.reference) return invalid(cat("the op ", op.name, " has no reference kernel"));
  if (all_ops().find(op.name) != nullptr)
    return Status(Code::kAlreadyExists, cat("an op is called ", op.name, " already"));
  return {};
}

Result<const OpDef*> add_op(OpDef op) {
  BYOC_TRY_STATUS(check_added_op(op));
  const std::string name = op.name;
  table().ops.add(std::move(op));
  table().added.push_back(all_ops().find(name));
  return table().added.back();
}

bool is_added(const OpDef& op) { return std::ranges::count(table().added, &op) > 0; }

}  // namespace byoc
