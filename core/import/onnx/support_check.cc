// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/support_check.h"

#include <algorithm>

#include "core/extend/added.h"
#include "core/import/onnx/control.h"
#include "core/import/onnx/file/graph_check.h"
#include "core/import/onnx/file/operator_forms.h"
#include "core/import/onnx/file/protobuf_text.h"
#include "core/import/onnx/file/unsupported.h"
#include "core/import/onnx/node.h"
#include "core/import/onnx/tables.h"

namespace byoc::onnx_import {
namespace {

Refusal refusal_of_domain(const std::string& domain) {
  if (domain.starts_with(cat(kMicrosoftDomain, ".")))
    return {"ONNX Runtime's optimizer wrote it for one kind of machine",
            "export without graph optimisation, or at a level of at most ORT_ENABLE_EXTENDED"};
  return {"operators of this domain are not known",
          "add them by a library, --pass-library FILE, with an op and a row for this domain "
          "(docs/extending.md), or replace them before export"};
}

// Returns the reason for an operator of ONNX Runtime that no row converts.
Refusal refusal_of_microsoft(const std::string& op_type) {
  if (std::string known = known_opsets({kMicrosoftDomain, op_type}); !known.empty())
    return {cat("it is known in ", known), "export the model with one of the known opsets"};
  if (find_form(op_type, kMicrosoftOpset, kMicrosoftDomain) == nullptr)
    return {"no such operator is known", kReplaceCure};
  return {"byoc does not support this operator of ONNX Runtime", kUnoptimizedCure};
}

// Returns the reason for an operator of the default domain that no row converts.
Refusal refusal_of_operator(const std::string& op_type) {
  if (std::string known = known_opsets({"", op_type}); !known.empty())
    return {cat("it is known in ", known), "export the model with one of the known opsets"};
  if (std::optional<Refusal> known = known_refusal(op_type)) return *std::move(known);
  return {"no such operator is known", kReplaceCure};
}

bool is_of_library(const onnx::NodeProto& node) {
  return extend::find_onnx_row(node.domain(), node.op_type()) != nullptr;
}

/// Returns why the node is refused for any operands; an empty reason when it is accepted.
Refusal refusal(const onnx::NodeProto& node, int64_t opset) {
  const bool is_default = is_default_domain(node.domain());
  if (is_default && opset > kNewestOpset) {
    if (std::string part = newer_part(node); !part.empty())
      return {cat("opset ", kNewestOpset, ", the newest one known, does not have ", part),
              cat("export the model with opset ", kNewestOpset, " or an older one")};
  }
  if (is_control(node) && opset > 0) return {};
  if (std::string attr = subgraph_attribute(node); !attr.empty()) {
    return {cat("it runs a graph of its own (attribute ", in_quotes(attr),
                "); of such operators If, Loop and Scan are supported"),
            "export the model without control flow: trace it with example inputs, which decides "
            "branches and unrolls loops"};
  }
  const bool is_microsoft = node.domain() == kMicrosoftDomain;
  if (is_of_library(node)) return {};
  if (!is_default && !is_microsoft) return refusal_of_domain(node.domain());
  if (opset < 1)
    return {"the model imports no opset of its domain", "export the model with its opset"};
  if (find_row({node.domain(), node.op_type()}, known_opset(node.domain(), opset))) return {};
  return is_default ? refusal_of_operator(node.op_type()) : refusal_of_microsoft(node.op_type());
}

/// Returns the nodes of the graph, then those of the graphs inside it, but for branches.
std::vector<const onnx::NodeProto*> nodes_to_check(const onnx::GraphProto& top) {
  std::vector<const onnx::NodeProto*> nodes;
  std::vector<const onnx::GraphProto*> graphs = {&top};
  for (size_t k = 0; k < graphs.size(); ++k) {
    const onnx::GraphProto& graph = *graphs[k];
    for (const auto& node : graph.node()) {
      nodes.push_back(&node);
      if (is_control(node) && node.op_type() == "If") continue;
      for (const onnx::GraphProto* inner : subgraphs(node)) graphs.push_back(inner);
    }
  }
  return nodes;
}

// Nodes of one operator that are refused for the same reason.
struct Group {
  const onnx::NodeProto* first;
  Refusal refusal;
  size_t more = 0;
};

Status unsupported(const std::vector<Group>& groups, const Opsets& opsets) {
  std::string text, cures;
  for (const Group& g : groups) {
    text += cat(text.empty() ? "" : "\n  ", describe_node(*g.first, opsets));
    if (g.more) text += cat(" and ", g.more, " more");
    text += cat(": ", g.refusal.reason);
    if (cures.find(g.refusal.cure) == cures.npos)
      cures += cat(cures.empty() ? "" : "; ", g.refusal.cure);
  }
  return unimplemented(text).with_slug("onnx-unsupported").with_help(cures);
}

}  // namespace

bool is_default_domain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

int known_opset(const std::string& domain, int64_t opset) {
  const int64_t newest = is_default_domain(domain) ? kNewestOpset : kNewest;
  return static_cast<int>(std::clamp<int64_t>(opset, 0, newest));
}

int64_t Opsets::of(const std::string& domain) const {
  auto found = by_domain.find(is_default_domain(domain) ? "" : domain);
  return found == by_domain.end() ? 0 : found->second;
}

int64_t Opsets::of(const onnx::NodeProto& node) const {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == kOpsetAttribute && is_default_domain(node.domain()))
      return attribute.i();
  }
  return of(node.domain());
}

std::string describe_node(const onnx::NodeProto& node, const Opsets& opsets) {
  std::string domain = is_default_domain(node.domain()) ? "ai.onnx" : node.domain();
  return cat("node ", node_label(node), " (", node.op_type(), ", domain ", domain, ", opset ",
             opsets.of(node), ")");
}

Status check_support(const onnx::GraphProto& graph, const Opsets& opsets) {
  std::vector<Group> groups;
  std::map<std::pair<std::string, std::string>, size_t> known;  // (domain, op) -> group
  Status malformed;
  for (const onnx::NodeProto* node : nodes_to_check(graph)) {
    Refusal now = refusal(*node, opsets.of(*node));
    if (now.reason.empty()) {
      if (malformed.ok() && !is_of_library(*node))
        malformed = check_form(*node, opsets.of(*node)).at(describe_node(*node, opsets));
      continue;
    }
    auto [found, fresh] = known.emplace(std::pair(node->domain(), node->op_type()), groups.size());
    if (fresh) groups.push_back({node, std::move(now)});
    else ++groups[found->second].more;
  }
  return groups.empty() ? malformed : unsupported(groups, opsets);
}

}  // namespace byoc::onnx_import
