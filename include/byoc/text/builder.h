// SPDX-License-Identifier: Apache-2.0
#pragma once
// Builds functions in C++, with type inference at every step.
#include "byoc/ir/module.h"
#include "byoc/op/registry.h"

namespace byoc {

/// Errors are remembered: after the first one every call returns a harmless value, and `finish`
/// returns that error. Parameters come first. Not thread-safe.
///   FunctionBuilder f(module, all_ops());
///   ValueId x = f.param("x", {DType::kF32, {1, 8}});
///   BYOC_TRY_STATUS(f.finish("main", {f.call("relu", {x})}));
class FunctionBuilder {
 public:
  /// Builds in `module`, which must outlive the builder.
  FunctionBuilder(IRModule& module, const OpRegistry& ops) : module_(module), ops_(ops) {}
  ValueId param(Symbol name, const TensorType& type);  ///< Adds a parameter.
  /// Adds a constant of that type; `data` has its elements, compact.
  ValueId constant(const TensorType& type, std::shared_ptr<const Buffer> data);
  /// Adds a constant.
  ValueId constant_f32(const std::vector<int64_t>& dims, const std::vector<float>& values);
  /// Adds a constant.
  ValueId constant_i64(const std::vector<int64_t>& dims, const std::vector<int64_t>& values);
  /// Adds the call of an op and infers its types.
  ValueId call(std::string_view op, const std::vector<ValueId>& args, Attrs attrs = {},
               Symbol loc = {});
  /// Returns the first output; output k is ValueId{v.node, k}.
  ValueId invoke(Symbol function, const std::vector<ValueId>& args, Symbol loc = {});
  /// Begin a region by hand: compiler_begin / compiler_end for values that enter
  /// and leave `region`.
  ValueId begin_region(ValueId value, const std::string& compiler, int64_t region);
  /// The value leaves the region.
  ValueId end_region(ValueId value, const std::string& compiler, int64_t region);
  TypeId type(ValueId value) const;  ///< f32[] for a harmless value
  /// Adds the function to the module and leaves the builder empty, as new.
  /// Errors: the first of the calls before; kAlreadyExists for a name the module has.
  Status finish(Symbol name, const std::vector<ValueId>& results, Attrs attrs = {});

 private:
  template <class Make>
  ValueId add(std::string_view what, const std::vector<ValueId>& args, Make&& make);
  Result<std::vector<TypeId>> arg_types(const std::vector<ValueId>& args) const;
  ValueId annotate(std::string_view op, ValueId value, const std::string& compiler, int64_t region);

  IRModule& module_;
  const OpRegistry& ops_;
  Function function_;
  Status status_;
};

}  // namespace byoc
