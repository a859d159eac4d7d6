// SPDX-License-Identifier: Apache-2.0
#include "byoc/base/check.h"
#include "byoc/ir/visit.h"

namespace byoc {

std::span<const ValueId> Function::args(const Node& node) const {
  return std::visit(overloaded{
                        [](const Param&) { return std::span<const ValueId>(); },
                        [](const Constant&) { return std::span<const ValueId>(); },
                        [&](const Call& call) { return args(call.args); },
                        [&](const Invoke& invoke) { return args(invoke.args); },
                        [&](const Extern& external) { return args(external.args); },
                        [&](const Control& control) { return args(control.args); },
                    },
                    node.kind);
}

size_t Function::num_params() const {
  size_t n = 0;
  while (n < nodes.size() && std::holds_alternative<Param>(nodes[n].kind)) ++n;
  return n;
}

std::vector<TypeId> Function::result_types() const {
  std::vector<TypeId> out;
  out.reserve(results.size());
  for (ValueId value : results) out.push_back(type(value));
  return out;
}

Operands Function::append(std::span<const ValueId> list) {
  for (ValueId value : list) {
    BYOC_CHECK(value.node < nodes.size() && value.output < nodes[value.node].types.size(),
               "operand ", value.node, "#", value.output, " does not exist yet");
  }
  Operands slice{static_cast<uint32_t>(operands.size()), static_cast<uint32_t>(list.size())};
  if (!list.empty() && list.data() >= operands.data() &&
      list.data() < operands.data() + operands.size()) {
    std::vector<ValueId> own(list.begin(), list.end());  // `list` may be a slice of this very array
    operands.insert(operands.end(), own.begin(), own.end());
  } else {
    operands.insert(operands.end(), list.begin(), list.end());
  }
  return slice;
}

namespace {
uint32_t push(Function& function, Node node) {
  function.nodes.push_back(std::move(node));
  return static_cast<uint32_t>(function.nodes.size() - 1);
}
}  // namespace

uint32_t Function::add_param(Symbol name, TypeId type, Symbol loc) {
  BYOC_CHECK(nodes.empty() || std::holds_alternative<Param>(nodes.back().kind), "parameter ", name,
             " after other nodes");
  return push(*this, {Param{name}, type, loc});
}

uint32_t Function::add_constant(const Buffer* data, TypeId type, Symbol loc) {
  return push(*this, {Constant{data}, type, loc});
}

uint32_t Function::add_call(const OpDef* op, const Attrs* attrs, std::span<const ValueId> args,
                            TypeIds types, Symbol loc) {
  Operands slice = append(args);
  return push(*this, {Call{op, attrs, slice}, types, loc});
}

uint32_t Function::add_invoke(Symbol function, std::span<const ValueId> args, TypeIds types,
                              Symbol loc) {
  Operands slice = append(args);
  return push(*this, {Invoke{function, slice}, types, loc});
}

uint32_t Function::add_extern(Symbol symbol, std::span<const ValueId> args, TypeIds types,
                              Symbol loc) {
  Operands slice = append(args);
  return push(*this, {Extern{symbol, slice}, types, loc});
}

uint32_t Function::add_control(Control control, std::span<const ValueId> args, TypeIds types,
                               Symbol loc) {
  control.args = append(args);
  return push(*this, {control, types, loc});
}

uint32_t Function::add_copy(const Node& node, std::span<const ValueId> args) {
  Node copy = node;  // `node` may live in this very list
  return std::visit(
      overloaded{
          [&](const Param& param) { return add_param(param.name, copy.types[0], copy.loc); },
          [&](const Constant& constant) {
            return add_constant(constant.data, copy.types[0], copy.loc);
          },
          [&](const Call& call) {
            return add_call(call.op, call.attrs, args, copy.types, copy.loc);
          },
          [&](const Invoke& call) { return add_invoke(call.function, args, copy.types, copy.loc); },
          [&](const Extern& call) { return add_extern(call.symbol, args, copy.types, copy.loc); },
          [&](const Control& control) { return add_control(control, args, copy.types, copy.loc); },
      },
      copy.kind);
}

FunctionSignature signature(const Function& function) {
  FunctionSignature out;
  size_t params = function.num_params();
  for (size_t k = 0; k < params; ++k) out.params.push_back(function.nodes[k].types[0]);
  out.results = function.result_types();
  return out;
}

}  // namespace byoc
