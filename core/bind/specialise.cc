// SPDX-License-Identifier: Apache-2.0
#include "core/bind/specialise.h"

#include <set>

#include "byoc/base/check.h"
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
  Status check_call(const Frame& frame, const Invoke& invoke) const;

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

Status Specialiser::check_call(const Frame& frame, const Invoke& invoke) const {
  const Function& callee = module_.function(invoke.function);
  auto args = frame.function.args(invoke.args);
  bool fits = args.size() == callee.num_params();
  for (size_t k = 0; fits && k < args.size(); ++k) {
    const TensorType &given = *frame.function.type(args[k]), &expected = *callee.nodes[k].types[0];
    fits = given.dtype == expected.dtype && given.shape.size() == expected.shape.size();
  }
  if (fits) return {};
  return invalid(cat("the arguments do not fit @", invoke.function))
      .with_slug("signature-mismatch");
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
    auto* invoke = std::get_if<Invoke>(&node.kind);
    Status status = invoke ? check_call(frame, *invoke) : retype(frame, node);
    if (!status.ok()) return place(std::move(status), frame.name, frame.function, frame.next);
    if (invoke == nullptr) continue;
    std::vector<TypeId> params;
    for (ValueId arg : frame.function.args(invoke->args))
      params.push_back(frame.function.type(arg));
    auto known = names_.find(key(invoke->function, params));
    if (known == names_.end()) {
      push(invoke->function, params);  // `frame` is gone: the stack has moved
      return {};
    }
    auto made = made_.find(known->second);  // callees_first has refused recursion
    BYOC_CHECK(made != made_.end(), "@", known->second, " is not finished");
    node.types = made->second.result_types();
    invoke->function = known->second;
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
