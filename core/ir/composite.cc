// SPDX-License-Identifier: Apache-2.0
#include "byoc/ir/composite.h"

#include <charconv>

namespace byoc {
namespace {

bool has_no_args(const Node& node) {
  return std::holds_alternative<Param>(node.kind) || std::holds_alternative<Constant>(node.kind);
}

Status malformed(const std::string& entry, std::string_view reason) {
  return invalid(cat("captures: ", reason, " in \"", entry, "\"")).with_slug("captures");
}

// Parses "n2" or "i1".
bool parse_capture(std::string_view text, Capture& out) {
  if (text.size() < 2 || (text[0] != 'n' && text[0] != 'i')) return false;
  out.kind = text[0] == 'n' ? Capture::kNode : Capture::kInput;
  const char* end = text.data() + text.size();
  auto result = std::from_chars(text.data() + 1, end, out.index);
  return result.ec == std::errc() && result.ptr == end;
}

// Parses "post=n2,n3". A capture's name may hold any byte, so the last '=' divides.
Status parse_entry(const std::string& entry, size_t nodes, size_t inputs, Captures& out) {
  size_t equals = entry.rfind('=');
  if (equals == std::string::npos) return malformed(entry, "expected name=n0,i1,...");
  auto [at, is_new] = out.try_emplace(entry.substr(0, equals));
  if (!is_new) return malformed(entry, "the name occurs twice");
  std::string_view rest = std::string_view(entry).substr(equals + 1);
  while (!rest.empty()) {
    std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    Capture capture;
    if (!parse_capture(item, capture)) return malformed(entry, "expected n<node> or i<input>");
    if (capture.index >= (capture.kind == Capture::kNode ? nodes : inputs)) {
      return malformed(entry, cat(item, " does not exist"));
    }
    at->second.push_back(capture);
  }
  return {};
}

}  // namespace

void set_captures(Function& function, const Captures& captures) {
  Strings entries;
  for (const auto& [name, list] : captures) {
    std::string entry = name + "=";
    for (size_t k = 0; k < list.size(); ++k) {
      entry += cat(k ? "," : "", list[k].kind == Capture::kNode ? 'n' : 'i', list[k].index);
    }
    entries.push_back(std::move(entry));
  }
  if (entries.empty()) function.attrs.erase("captures");
  else function.attrs.set("captures", std::move(entries));
}

Result<Captures> captures(const Function& function) {
  Captures out;
  const AttrValue* value = function.attrs.find("captures");
  if (value == nullptr) return out;
  const Strings* entries = std::get_if<Strings>(value);
  if (entries == nullptr) {
    return invalid(cat("captures is a ", attr_kind(*value), ", expected a list of strings"))
        .with_slug("captures");
  }
  size_t nodes = graph_nodes(function).size(), inputs = function.num_params();
  for (const std::string& entry : *entries) BYOC_TRY_STATUS(parse_entry(entry, nodes, inputs, out));
  return out;
}

std::vector<uint32_t> graph_nodes(const Function& function) {
  std::vector<uint32_t> out;
  for (uint32_t k = 0; k < function.nodes.size(); ++k) {
    if (!has_no_args(function.nodes[k])) out.push_back(k);
  }
  return out;
}

}  // namespace byoc
