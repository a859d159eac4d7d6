// SPDX-License-Identifier: Apache-2.0
#pragma once
// A test case: a graph of ops together with the values of its inputs. Plain data, so that a part of
// it can be left out or replaced (reduce.h).
#include "byoc/ir/module.h"
#include "byoc/op/registry.h"
#include "byoc/runtime/tensor.h"

namespace byoc::fuzz {

using Bytes = std::shared_ptr<const Buffer>;

/// A reference to a leaf, or to one output of a step.
struct Ref {
  bool is_leaf = true;
  uint32_t index = 0, output = 0;
  auto operator<=>(const Ref&) const = default;
};

/// A parameter of the graph, or a constant in it.
struct Leaf {
  std::string name;
  TypeId type;
  Bytes data;
  bool is_constant = false;
};

/// A call of an op on leaves and on outputs of earlier steps.
struct Step {
  const OpDef* op = nullptr;
  const Attrs* attrs = nullptr;  // complete and interned
  std::vector<Ref> args;
  std::vector<TypeId> types;
  std::string name;  // may be that of another step
};

struct Case {
  std::vector<Leaf> leaves;
  std::vector<Step> steps;
  std::vector<Ref> results;

  TypeId type(Ref ref) const {
    return ref.is_leaf ? leaves[ref.index].type : steps[ref.index].types[ref.output];
  }
};

/// Returns the module whose entry is the graph. Leaves that are not constants are its parameters,
/// in their order.
IRModule to_module(const Case& graph);
/// Returns copies of the values of the parameters.
Result<std::vector<Tensor>> inputs_of(const Case& graph);
/// Returns `graph` without steps that no result depends on, and without unused leaves.
Case without_unused(const Case& graph);
/// Infers all types anew, after an operand or a leaf has changed its type. Errors: those of
/// inference, when the graph is no longer valid.
Result<Case> with_types(Case graph);

/// Returns the elements as f64; integers beyond 2^53 are rounded.
std::vector<double> elements(TypeId type, const Buffer& data);
/// Makes a buffer of elements of `type` from f64 values, rounded to nearest, integers saturated.
Bytes from_elements(TypeId type, const std::vector<double>& values);
int64_t element_count(TypeId type);

}  // namespace byoc::fuzz
