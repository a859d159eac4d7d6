// SPDX-License-Identifier: Apache-2.0
#include "core/bind/specialise.h"

#include <set>

#include "byoc/base/check.h"
#include "byoc/ir/control.h"
#include "core/simplify/infer.h"

namespace byoc::simplify {
namespace {

// Visits calls depth first with an explicit stack instead of recursion.
class Specialiser {
 public:
  Specialiser(IRModule& module, const TypeMap& map) : module_(module), map_(map), fresh_(module) {}
  Status run();

 private:
  struct Frame {
    Symbol name;
    Function function;  // nodes before `next` have their new types
    uint32_t next = 0;
  };
  using Signature = std::pair<Symbol, std::vector<uint32_t>>;
  static Signature key(Symbol name, const std::vector<TypeId>& params) {
    Signature out{name, {}};
    for (TypeId type : params) out.second.push_back(type.id());
    return out;
  }
  Status finish(Symbol root);
  void push(Symbol from, const std::vector<TypeId>& params);
  /// Retypes nodes of the top frame until a call needs a function that is not made yet.
  Status advance();
  Status retype(Frame& frame, Node& node);
  Status check_call(const std::vector<TypeId>& params, Symbol name) const;
  std::vector<TypeId> params_of(const Frame& frame, const Node& node) const;
  Status finish_call(Frame& frame, Node& node);

  IRModule& module_;  // unchanged until all functions are made
  const TypeMap& map_;
  FreshNames fresh_;
  std::set<Symbol> in_use_;  // original functions whose name a specialised one has
  std::map<Symbol, Function> made_;
  std::map<Signature, Symbol> names_;
  std::vector<Frame> stack_;
};

void Specialiser::push(Symbol from, const std::vector<TypeId>& params) {
  Frame frame{from, module_.function(from)};
  if (!in_use_.insert(from).second) {
    frame.name = fresh_.next(from);
    rename(frame.function, frame.name);
  }
  BYOC_CHECK(params.size() == frame.function.num_params(), params.size(), " types for @", from);
  for (size_t k = 0; k < params.size(); ++k) frame.function.nodes[k].types = params[k];
  names_[key(from, params)] = frame.name;
  stack_.push_back(std::move(frame));
}

Status Specialiser::check_call(const std::vector<TypeId>& params, Symbol name) const {
  const Function& callee = module_.function(name);
  bool fits = params.size() == callee.num_params();
  for (size_t k = 0; fits && k < params.size(); ++k) {
    const TensorType &given = *params[k], &expected = *callee.nodes[k].types[0];
    fits = given.dtype == expected.dtype && given.shape.size() == expected.shape.size();
  }
  if (fits) return {};
  return invalid(cat("the arguments do not fit @", name)).with_slug("signature-mismatch");
}

// Returns the types that the functions of a call or of control flow receive.
std::vector<TypeId> Specialiser::params_of(const Frame& frame, const Node& node) const {
  if (std::holds_alternative<Control>(node.kind)) return body_params(frame.function, node);
  std::vector<TypeId> params;
  for (ValueId arg : frame.function.args(node)) params.push_back(frame.function.type(arg));
  return params;
}

// Gives the node its functions, all of which are made, and its types.
Status Specialiser::finish_call(Frame& frame, Node& node) {
  const std::vector<TypeId> params = params_of(frame, node);
  auto made_name = [&](Symbol name) { return name.empty() ? name : names_.at(key(name, params)); };
  if (auto* invoke = std::get_if<Invoke>(&node.kind)) {
    invoke->function = made_name(invoke->function);
    node.types = made_.at(invoke->function).result_types();
    return {};
  }
  Control& control = std::get<Control>(node.kind);
  control.body = made_name(control.body);
  control.otherwise = made_name(control.otherwise);
  std::vector<TypeId> types;
  for (size_t k = 0; k < node.types.size(); ++k) types.push_back(map_(node.types[k]));
  node.types = types;  // a loop keeps the first dims of its stacked results
  std::vector<FunctionSignature> bodies;
  for (Symbol name : callees(node)) {
    if (!name.empty()) bodies.push_back(signature(made_.at(name)));
  }
  BYOC_TRY(node.types, control_types(frame.function, node, bodies));
  return {};
}

Status Specialiser::retype(Frame& frame, Node& node) {
  if (auto* call = std::get_if<Call>(&node.kind)) {
    BYOC_TRY(node.types, infer_call(frame.function, node, *call));
  }
  if (std::holds_alternative<Extern>(node.kind)) {
    std::vector<TypeId> types;
    for (size_t k = 0; k < node.types.size(); ++k) types.push_back(map_(node.types[k]));
    node.types = types;
  }
  return {};
}

Status Specialiser::advance() {
  Frame& frame = stack_.back();
  for (; frame.next < frame.function.nodes.size(); ++frame.next) {
    Node& node = frame.function.nodes[frame.next];
    const std::array<Symbol, 2> names = callees(node);
    Status status = names[0].empty() ? retype(frame, node) : Status();
    for (Symbol name : names) {
      if (name.empty() || !status.ok()) continue;
      const std::vector<TypeId> params = params_of(frame, node);
      status = check_call(params, name);
      if (!status.ok() || names_.contains(key(name, params))) continue;
      push(name, params);  // `frame` is gone: the stack has moved
      return {};
    }
    if (status.ok() && !names[0].empty()) status = finish_call(frame, node);
    if (!status.ok()) return place(std::move(status), frame.name, frame.function, frame.next);
  }
  made_[frame.name] = std::move(frame.function);
  stack_.pop_back();
  return {};
}

Status Specialiser::finish(Symbol root) {
  std::vector<TypeId> params;
  for (TypeId type : signature(module_.function(root)).params) params.push_back(map_(type));
  push(root, params);
  while (!stack_.empty()) BYOC_TRY_STATUS(advance());
  return {};
}

Status Specialiser::run() {
  BYOC_TRY(std::vector<Symbol> order, callees_first(module_));
  if (module_.find(module_.entry)) BYOC_TRY_STATUS(finish(module_.entry));
  for (size_t k = order.size(); k-- > 0;) {  // callers first: they have the types
    if (!made_.contains(order[k])) BYOC_TRY_STATUS(finish(order[k]));
  }
  module_.functions = std::move(made_);
  return {};
}

}  // namespace

Status specialise(IRModule& module, const TypeMap& map) { return Specialiser(module, map).run(); }

}  // namespace byoc::simplify
