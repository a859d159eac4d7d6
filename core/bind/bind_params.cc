// SPDX-License-Identifier: Apache-2.0
// Replaces parameters of the entry function by constants. With w = [1,2]:
//   before: fn main(%x: f32[2], %w: f32[2]) {
//             %0 = add(%x, %w)
//             return %0
//           }
//   after:  fn main(%x: f32[2]) {
//             %w = const[1,2] : f32[2]
//             %0 = add(%x, %w)
//             return %0
//           }
// A parameter with named sizes gets its extents from the tensor, and so does every other use of
// these names.
#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/ir/visit.h"
#include "byoc/pass/bind.h"
#include "core/bind/entry.h"

namespace byoc {
namespace {

using namespace simplify;

Status check_tensor(const std::string& name, TypeId expected, const BoundTensor& tensor) {
  bool fits =
      expected->dtype == tensor.type.dtype && expected->shape.size() == tensor.type.shape.size();
  for (size_t d = 0; fits && d < tensor.type.shape.size(); ++d) {
    Dim dim = expected->shape[d], given = tensor.type.shape[d];
    fits = given.is_static() && (!dim.is_static() || dim == given);
  }
  if (!fits) {
    return invalid(cat("\"", name, "\" is ", expected, ", the tensor to bind is ", tensor.type))
        .with_slug("bind-type");
  }
  if (tensor.data == nullptr)
    return invalid(cat("the tensor to bind to \"", name, "\" has no data")).with_slug("bind-type");
  BYOC_TRY(int64_t size, size_bytes(tensor.type));
  if (static_cast<uint64_t>(size) == tensor.data->size()) return {};
  return invalid(cat("the tensor to bind to \"", name, "\" is ", tensor.type, " and needs ", size,
                     " bytes, it has ", tensor.data->size()))
      .with_slug("bind-type");
}

// Checks that no function calls the entry: its signature is about to change.
Status check_no_caller(const IRModule& module) {
  for (const auto& [name, function] : module.functions) {
    for (const Node& node : function.nodes) {
      const std::array<Symbol, 2> names = callees(node);
      if (std::ranges::find(names, module.entry) == names.end()) continue;
      return failed(cat("@", name, " calls @", module.entry, ", whose parameters are to be bound"))
          .with_slug("entry-called");
    }
  }
  return {};
}

Result<uint32_t> find_input(const IRModule& module, const std::string& name) {
  BYOC_TRY(const Function* entry, entry_function(module));
  std::optional<uint32_t> param = input_number(*entry, name);
  if (!param) return unknown_input("input", name, input_names(*entry));
  return *param;
}

}  // namespace

Result<IRModule> bind_params(IRModule module, const std::map<std::string, BoundTensor>& values,
                             const PassContext& context) {
  if (values.empty()) return module;
  BYOC_TRY_STATUS(check_no_caller(module));
  GivenShapes shapes;
  for (const auto& [name, tensor] : values) {
    BYOC_TRY(uint32_t param, find_input(module, name));
    TypeId type = module.function(module.entry).nodes[param].types[0];
    BYOC_TRY_STATUS(check_tensor(name, type, tensor));
    if (!is_static(type->shape)) shapes[name] = given_shape(tensor.type.shape);
  }
  if (!shapes.empty()) {
    BYOC_TRY(module, bind_shapes(std::move(module), shapes, context));
  }
  BoundParams bound;
  for (const auto& [name, tensor] : values) {
    BYOC_TRY(uint32_t param, find_input(module, name));
    bound[param] = {module.add_constant(tensor.data), tensor.type};
    BYOC_CHECK(module.function(module.entry).nodes[param].types[0] == TypeId(tensor.type),
               "bind_shapes gave \"", name, "\" another type than ", tensor.type);
  }
  Function& entry = module.function(module.entry);
  entry = bind_parameters(entry, bound);
  return module;
}

}  // namespace byoc
