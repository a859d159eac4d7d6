// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/same_op.h"

#include "byoc/ir/visit.h"

namespace byoc::onnx_import {

Attrs attrs_of(const OnnxNode& node, const OpDef& op) {
  Attrs attrs;
  for (const AttrSpec& spec : op.attrs) {
    if (!node.has(spec.name)) continue;
    const std::string& name = spec.name;
    std::visit(
        overloaded{[&](int64_t fallback) { attrs.set(name, node.i(name, fallback)); },
                   [&](double fallback) { attrs.set(name, node.f(name, fallback)); },
                   [&](bool fallback) { attrs.set(name, node.i(name, fallback) != 0); },
                   [&](const std::string& fallback) { attrs.set(name, node.s(name, fallback)); },
                   [&](const Ints&) { attrs.set(name, node.ints(name)); },
                   [&](const Floats&) { attrs.set(name, node.floats(name)); },
                   [&](const Strings&) { attrs.set(name, node.strings(name)); },
                   // ONNX has no attributes of these kinds.
                   [](DType) {}, [](const Bools&) {}, [](const ConstantRef&) {}},
        spec.fallback);
  }
  return attrs;
}

Converted call_same_op(Graph& graph, const OnnxNode& node, std::string_view op) {
  BYOC_TRY(const OpDef* def, graph.ops().get(op));
  ValueId first = graph.call(op, graph.inputs(), attrs_of(node, *def));
  std::vector<ValueId> outputs;
  for (uint32_t k = 0; k < def->outputs.size() && k < node.num_outputs(); ++k)
    outputs.push_back({first.node, first.output + k});
  return outputs;
}

}  // namespace byoc::onnx_import
