// SPDX-License-Identifier: Apache-2.0
// Finds the anchor of a function, which is its anchor op or reduction with the most flops, and
// makes a name of the function from its ops.
#include "byoc/translate/translate.h"

namespace byoc::te {
namespace {

constexpr size_t kMostLetters = 64;  // of a name

bool is_anchor(const OpDef& op) {
  return op.kind == FusionKind::kAnchor || op.kind == FusionKind::kReduction;
}

double flops_of(const Function& function, uint32_t index, const Call& call) {
  std::vector<TypeId> inputs, outputs;
  for (ValueId arg : function.args(call.args)) inputs.push_back(function.type(arg));
  const TypeIds& types = function.nodes[index].types;
  for (size_t k = 0; k < types.size(); ++k) outputs.push_back(types[k]);
  return flops(*call.op, inputs, outputs, *call.attrs);
}

}  // namespace

Anchor find_anchor(const Function& function) {
  Anchor anchor;
  bool found = false;
  double most = 0;
  for (uint32_t k = 0; k < function.nodes.size(); ++k) {
    const Node& node = function.nodes[k];
    std::string_view name;
    if (const Invoke* invoke = std::get_if<Invoke>(&node.kind)) name = invoke->function.text();
    const Call* call = std::get_if<Call>(&node.kind);
    if (call != nullptr) name = call->op->name;
    if (name.empty()) continue;
    if (anchor.name.size() + name.size() < kMostLetters)
      anchor.name += cat(anchor.name.empty() ? "" : "_", name);
    if (call == nullptr || !is_anchor(*call->op)) {
      if (!found) anchor.node = k;
      continue;
    }
    double work = flops_of(function, k, *call);
    if (!found || work > most) anchor.node = k, most = work;
    found = true;
  }
  if (anchor.name.empty()) anchor.name = "copy";
  return anchor;
}

}  // namespace byoc::te
