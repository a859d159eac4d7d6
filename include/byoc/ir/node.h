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
  uint32_t node = 0, output = 0;
  auto operator<=>(const ValueId&) const = default;
};

/// A slice of Function::operands.
struct Operands {
  uint32_t begin = 0, count = 0;
};

struct Param {  // all of them come before other nodes
  Symbol name;
};
struct Constant {
  const Buffer* data;  // owned by the module's constant pool
};
struct Call {  // an op
  const OpDef* op;
  const Attrs* attrs;  // interned; never null
  Operands args;
};
struct Invoke {  // a function of the module
  Symbol function;
  Operands args;
};
struct Extern {  // call_dps_packed(@symbol, args...)
  Symbol symbol;
  Operands args;
};
using Kind = std::variant<Param, Constant, Call, Invoke, Extern>;

struct Node {
  Kind kind;
  TypeIds types;
  Symbol loc;  // the user's name for it, may be empty
};
static_assert(sizeof(Node) <= 64, "a million nodes must be cheap");

struct Function {
  std::vector<Node> nodes;
  std::vector<ValueId> operands, results;
  Attrs attrs;

  std::span<const ValueId> args(Operands slice) const {
    return {operands.data() + slice.begin, slice.count};
  }
  std::span<const ValueId> args(const Node& node) const;  // empty for Param and Constant
  size_t num_params() const;                              // O(params)
  TypeId type(ValueId value) const { return nodes[value.node].types[value.output]; }
  std::vector<TypeId> result_types() const;
  std::string attr(Symbol name) const { return attrs.s(name); }  // "" when absent

  /// Append a node; args must be earlier nodes. Each returns the new node's number.
  uint32_t add_param(Symbol name, TypeId type, Symbol loc = {});
  uint32_t add_constant(const Buffer* data, TypeId type, Symbol loc = {});
  uint32_t add_call(const OpDef* op, const Attrs* attrs, std::span<const ValueId> args,
                    TypeIds types, Symbol loc = {});
  uint32_t add_invoke(Symbol function, std::span<const ValueId> args, TypeIds types,
                      Symbol loc = {});
  uint32_t add_extern(Symbol symbol, std::span<const ValueId> args, TypeIds types, Symbol loc = {});
  /// Appends a copy of `node` of another function (or this one) with these args.
  uint32_t add_copy(const Node& node, std::span<const ValueId> args);

 private:
  Operands append(std::span<const ValueId> args);
};

}  // namespace byoc
