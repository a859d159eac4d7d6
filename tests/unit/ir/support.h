// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ops that are in no registry, for tests that need no type inference.
#include "byoc/ir/module.h"
#include "byoc/op/op.h"

namespace byoc {

inline const OpDef* test_op(const std::string& name) {
  static auto* ops = new std::map<std::string, OpDef>;
  OpDef& op = (*ops)[name];
  op.name = name;
  return &op;
}

inline std::shared_ptr<const Buffer> f32_buffer(const std::vector<float>& values) {
  return Buffer::copy(std::as_bytes(std::span(values)));
}

/// Returns a module that computes add(relu(x), w), where w is [1.5, nan].
inline IRModule small_module() {
  IRModule module;
  Function f;
  TypeId type = TensorType{DType::kF32, {2}};
  uint32_t x = f.add_param("x", type);
  uint32_t w = f.add_constant(module.add_constant(f32_buffer({1.5f, NAN})), type);
  ValueId args[] = {{x, 0}};
  uint32_t relu = f.add_call(test_op("relu"), intern({}), args, type, "Relu_0");
  ValueId both[] = {{relu, 0}, {w, 0}};
  uint32_t add = f.add_call(test_op("add"), intern({{"k", int64_t{1}}}), both, type);
  f.results = {{add, 0}};
  module.functions.emplace("main", std::move(f));
  return module;
}

}  // namespace byoc
