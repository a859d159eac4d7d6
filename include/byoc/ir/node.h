// SPDX-License-Identifier: Apache-2.0
#pragma once
// The graph: a function is a list of nodes in topological order, and an operand is the number of
// an earlier node with one of its outputs. It is plain data, so copying, comparing and saving
// are trivial.
#include <compare>
#include <span>
#include <variant>

#include "byoc/ir/attrs.h"

namespace byoc {

struct OpDef;

/// Names a value of one function; it has no meaning in another.
struct ValueId {
  uint32_t node = 0, output = 0;  ///< the node, and which of its results
  auto operator<=>(const ValueId&) const = default;
};

/// A slice of Function::operands.
struct Operands {
  uint32_t begin = 0, count = 0;  ///< the first, and how many
};

/// A parameter. All of them come before other nodes.
struct Param {
  Symbol name;  ///< the parameter's name
};
/// A constant.
struct Constant {
  const Buffer* data;  ///< owned by the module's constant pool
};
/// The call of an op.
struct Call {
  const OpDef* op;     ///< in the registry; never null
  const Attrs* attrs;  ///< interned; never null
  Operands args;       ///< the operands
};
/// The call of a function of the module.
struct Invoke {
  Symbol function;  ///< its name
  Operands args;    ///< the operands
};
/// A function outside of the module, printed as `call_dps_packed(@symbol, ...)`.
struct Extern {
  Symbol symbol;  ///< the name of an ExternalFunction or of a function of the host program
  Operands args;  ///< the inputs
};
/// Runs functions of the module under conditions. Functions that it names are bodies: plain
/// functions, which read nothing but their parameters.
/// kIf: `if(%c, @body, @otherwise, x...)` with %c bool[] returns body(x...) or otherwise(x...).
/// kLoop: `loop(%n, %c, @body, v..., x...) {carried=K}` with %n i64[], %c bool[] and K values v
/// repeats `c, v..., s... = body(i, v..., x...)` while i < n and c, for i = 0, 1, ... as i64[].
/// It returns the last v..., and of each s all values, stacked along a new first dim.
struct Control {
  /// A choice between the functions, or the repetition of one.
  enum Action : uint32_t { kIf, kLoop };
  Action action;         ///< if or loop
  uint32_t carried = 0;  ///< kLoop: how many values are passed from one iteration to the next
  Symbol body;           ///< what a loop repeats, or runs when the condition is true
  Symbol otherwise;      ///< kIf: what runs when the condition is false
  Operands args;         ///< the conditions first
  /// The number of operands before those of the bodies.
  uint32_t conditions() const { return action == kIf ? 1 : 2; }
};
/// The kinds of nodes, which are closed.
using Kind = std::variant<Param, Constant, Call, Invoke, Extern, Control>;

/// A node: operands are earlier nodes.
struct Node {
  Kind kind;      ///< the kind of node
  TypeIds types;  ///< a type per result
  Symbol loc;     ///< the user's name for it, may be empty
};
static_assert(sizeof(Node) <= 64, "a million nodes must be cheap");

/// A function: nodes in topological order.
struct Function {
  std::vector<Node> nodes;  ///< parameters first; operands come before their readers
  /// Slices of all nodes; the values that the function returns.
  std::vector<ValueId> operands, results;
  Attrs attrs;  ///< such as `compiler` and `composite`

  /// The operands of a slice.
  std::span<const ValueId> args(Operands slice) const {
    return {operands.data() + slice.begin, slice.count};
  }
  std::span<const ValueId> args(const Node& node) const;  ///< empty for Param and Constant
  size_t num_params() const;                              ///< O(params)
  /// The type of one value.
  TypeId type(ValueId value) const { return nodes[value.node].types[value.output]; }
  std::vector<TypeId> result_types() const;                      ///< in the order of `results`
  std::string attr(Symbol name) const { return attrs.s(name); }  ///< "" when absent

  /// Append a node; args must be earlier nodes. Each returns the new node's number.
  uint32_t add_param(Symbol name, TypeId type, Symbol loc = {});
  /// The bytes are in the module's pool.
  uint32_t add_constant(const Buffer* data, TypeId type, Symbol loc = {});
  /// The types are those that infer_types returned.
  uint32_t add_call(const OpDef* op, const Attrs* attrs, std::span<const ValueId> args,
                    TypeIds types, Symbol loc = {});
  /// The types are the results of that function.
  uint32_t add_invoke(Symbol function, std::span<const ValueId> args, TypeIds types,
                      Symbol loc = {});
  /// The types are those of the external function's outputs.
  uint32_t add_extern(Symbol symbol, std::span<const ValueId> args, TypeIds types, Symbol loc = {});
  /// Sets the operands of `control`. The types are the results, as Control describes them.
  uint32_t add_control(Control control, std::span<const ValueId> args, TypeIds types,
                       Symbol loc = {});
  /// Appends a copy of `node` of another function (or this one) with these args.
  uint32_t add_copy(const Node& node, std::span<const ValueId> args);

 private:
  Operands append(std::span<const ValueId> args);
};

}  // namespace byoc
