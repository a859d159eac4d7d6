// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/request/input_of.h"

#include <algorithm>

#include "byoc/text/graph_json.h"

namespace byoc {
namespace {

TensorSpec spec_of(const TensorType& type) { return {type.dtype, static_extents(type.shape)}; }

bool gives_counted(const Function& function) {
  return std::any_of(function.results.begin(), function.results.end(),
                     [&](ValueId result) { return has_counted(function.type(result)->shape); });
}

// Returns all but the symbol and the graph.
CompileFunction without_graph(const IRModule& module, const Function& function) {
  CompileFunction out;
  for (const ConstantRef& constant : graph_constants(module, function)) {
    out.constants.push_back(
        {cat("c", out.constants.size()), constant.key, spec_of(*constant.type)});
    out.buffers.push_back(module.constants.at(constant.key));
  }
  out.n_in = static_cast<uint32_t>(function.num_params());
  out.n_out = static_cast<uint32_t>(function.results.size());
  out.gives_counted = gives_counted(function);
  return out;
}

}  // namespace

CompileFunction input_of(const IRModule& module, const Function& function, Symbol name) {
  CompileFunction out = without_graph(module, function);
  out.symbol = name.str();
  write_graph_json(module, function, name, out.graph_json);
  return out;
}

CompileFunction unnamed_input_of(const IRModule& module, const Function& function,
                                 const std::string& plugin, const std::string& point_json) {
  CompileFunction out = without_graph(module, function);
  out.point_json = point_json;
  write_graph_json(module, function, "", out.graph_json, GraphNames::kNumbers);
  const std::string all = cat(point_json, "\n", out.graph_json);  // which has the constants' keys
  out.symbol = cat(plugin, "_", content_key(std::as_bytes(std::span(all))));
  constexpr std::string_view kSymbol = "\"symbol\":\"";  // first the graph's own
  out.graph_json.insert(out.graph_json.find(kSymbol) + kSymbol.size(), out.symbol);
  return out;
}

}  // namespace byoc
