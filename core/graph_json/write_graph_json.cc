// SPDX-License-Identifier: Apache-2.0
// Writes a function as graph JSON, appended piece by piece: there is never a tree of the whole
// graph in memory.
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "byoc/base/check.h"
#include "byoc/ir/composite.h"
#include "byoc/ir/visit.h"
#include "byoc/op/placement_attr.h"
#include "byoc/text/graph_json.h"
#include "core/ir/quote.h"
#include "core/text/printer.h"

namespace byoc {
namespace {

// Returns the functions that `function` invokes, directly or not, callees before callers.
std::vector<Symbol> invoked_functions(const IRModule& module, const Function& function) {
  std::vector<Symbol> out;
  std::unordered_set<Symbol> seen;
  for (const Node& node : function.nodes) {
    auto* invoke = std::get_if<Invoke>(&node.kind);
    if (invoke == nullptr || seen.contains(invoke->function)) continue;
    auto order = callees_first(module, invoke->function);
    BYOC_CHECK(order.ok(), order.status().message());
    for (Symbol name : *order) {
      if (seen.insert(name).second) out.push_back(name);
    }
  }
  return out;
}

void print_json_float(std::string& out, double value) {
  if (std::isfinite(value)) print_to(out, AttrValue(value));
  else out += cat("{\"float\":\"", value, "\"}");
}

struct AttrPrinter {
  std::string& out;
  void operator()(int64_t v) const { print_to(out, v); }
  void operator()(double v) const { print_json_float(out, v); }
  void operator()(bool v) const { print_to(out, v); }
  void operator()(const std::string& v) const { print_json_string(out, v); }
  void operator()(DType v) const { out += cat("{\"dtype\":\"", v, "\"}"); }
  void operator()(const Ints& v) const { print_list(out, v, *this); }
  void operator()(const Floats& v) const { print_list(out, v, *this); }
  void operator()(const Strings& v) const { print_list(out, v, *this); }
  void operator()(const Bools& v) const {
    print_list(out, v, [&](bool b) { print_to(out, b); });
  }
  void operator()(const ConstantRef&) const {
    BYOC_CHECK(false, "constants need the table of types");
  }
};

// Appends 3, or {"symbol":"N","min":1,"max":64}; bounds that bind nothing are left out. The symbol
// of an expression is its text.
void print_json_dim(std::string& out, Dim dim) {
  if (dim.is_static()) return print_to(out, dim.extent());
  out += "{\"symbol\":";
  print_json_string(out, dim.name().text());
  if (dim.min() > 0) out += cat(",\"min\":", dim.min());
  if (dim.max() != Dim::kUnbounded) out += cat(",\"max\":", dim.max());
  if (dim.is_counted()) out += ",\"counted\":true";
  if (dim.is_expression()) out += ",\"expression\":true";
  out += '}';
}

class GraphWriter {
 public:
  GraphWriter(const IRModule& module, const Function& function, GraphNames names, std::string& out)
      : module_(module),
        root_(function),
        has_names_(names == GraphNames::kOfModel),
        out_(out),
        callees_(invoked_functions(module, function)) {
    for (uint32_t k = 0; k < callees_.size(); ++k) function_index_[callees_[k]] = k;
  }
  void write(Symbol symbol);

 private:
  // The text of operands of one function.
  struct Reference {
    char kind;  // i, c, n
    uint32_t index;
  };
  void collect_types(const Function& function);
  void write_types();
  void write_sizes(const std::vector<Dim>& sizes);
  void write_constants();
  void write_function(Symbol name);
  void write_body(const Function& function);
  void write_inputs(const Function& function);
  void write_node(const Function& function, const Node& node);
  void write_what(const Node& node);
  void write_attrs(const Attrs& attrs);
  void write_attr(const AttrValue& value);
  void write_captures(const Function& function);
  void write_values(std::span<const ValueId> values);
  std::vector<Reference> references(const Function& function);
  template <class List, class Write>
  void write_list(std::string_view name, const List& list, Write&& write);
  uint32_t type_index(TypeId type) const {
    auto found = type_index_.find(type.id());
    BYOC_CHECK(found != type_index_.end(), "collect_types missed ", type);
    return found->second;
  }

  const IRModule& module_;
  const Function& root_;
  const bool has_names_;
  std::string& out_;
  std::vector<Symbol> callees_;
  std::unordered_map<Symbol, uint32_t> function_index_;
  std::vector<TypeId> types_;
  std::unordered_map<uint32_t, uint32_t> type_index_;
  std::vector<Reference> references_;  // of the function being written
  uint32_t next_constant_ = 0;
};

template <class List, class Write>
void GraphWriter::write_list(std::string_view name, const List& list, Write&& write) {
  if (!name.empty()) out_ += cat("\"", name, "\":");
  print_list(out_, list, write);
}

void GraphWriter::write(Symbol symbol) {
  const std::string loops = root_.attrs.s("loops");
  const std::vector<Dim> sizes = open_sizes(module_, root_);
  out_ += R"({"format":"byoc.graph","version":1,"requires":[)";
  out_ += cat(loops.empty() ? "" : "\"loops\"", R"(],"symbol":)");
  print_json_string(out_, symbol.text());
  out_ += ",\n";
  if (!sizes.empty()) write_sizes(sizes);
  if (!loops.empty()) {
    out_ += "\"loops\":";
    print_json_string(out_, loops);
    out_ += ",\n";
  }
  write_types();
  write_inputs(root_);
  write_constants();
  write_body(root_);
  out_ += ",\n";
  write_list("functions", callees_, [&](Symbol name) { write_function(name); });
  out_ += "}\n";
}

void GraphWriter::collect_types(const Function& function) {
  auto take = [&](TypeId type) {
    if (type_index_.emplace(type.id(), static_cast<uint32_t>(types_.size())).second)
      types_.push_back(type);
  };
  for (const Node& node : function.nodes) {
    for (size_t k = 0; k < node.types.size(); ++k) take(node.types[k]);
    auto* call = std::get_if<Call>(&node.kind);
    if (call == nullptr) continue;
    for (const auto& [name, value] : *call->attrs) {
      if (auto* constant = std::get_if<ConstantRef>(&value)) take(constant->type);
    }
  }
}

void GraphWriter::write_types() {
  collect_types(root_);
  for (Symbol name : callees_) collect_types(module_.function(name));
  write_list("types", types_, [&](TypeId type) {
    out_ += cat("{\"dtype\":\"", type->dtype, "\",");
    write_list("shape", type->shape, [&](Dim dim) { print_json_dim(out_, dim); });
    out_ += '}';
  });
  out_ += ",\n";
}

void GraphWriter::write_sizes(const std::vector<Dim>& sizes) {
  write_list("sizes", sizes, [&](Dim size) { print_json_dim(out_, size); });
  out_ += ",\n";
}

void GraphWriter::write_inputs(const Function& function) {
  std::span<const Node> params(function.nodes.data(), function.num_params());
  size_t index = 0;
  write_list("inputs", params, [&](const Node& node) {
    out_ += "{\"name\":";
    const Symbol name = std::get<Param>(node.kind).name;
    print_json_string(out_, has_names_ ? name.str() : cat("i", index));
    ++index;
    out_ += cat(",\"type\":", type_index(node.types[0]), "}");
  });
  out_ += ",\n";
}

void GraphWriter::write_constants() {
  out_ += "\"constants\":[";
  uint32_t index = 0;
  auto write_of = [&](const Function& function) {
    for (const Node& node : function.nodes) {
      auto* constant = std::get_if<Constant>(&node.kind);
      if (constant == nullptr) continue;
      out_ += index ? ",{\"name\":" : "{\"name\":";
      print_json_string(out_, has_names_ && !node.loc.empty() ? node.loc.str() : cat("c", index));
      out_ +=
          cat(",\"type\":", type_index(node.types[0]), ",\"key\":\"", constant->data->key(), "\"");
      if (is_inline_constant(*constant->data, *node.types[0])) {
        out_ += ",\"value\":";
        print_elements(out_, *constant->data, node.types[0]->dtype, true);
      }
      out_ += '}';
      ++index;
    }
  };
  write_of(root_);
  for (Symbol name : callees_) write_of(module_.function(name));
  out_ += "],\n";
}

std::vector<GraphWriter::Reference> GraphWriter::references(const Function& function) {
  std::vector<Reference> out;
  out.reserve(function.nodes.size());
  uint32_t inputs = 0, nodes = 0;
  for (const Node& node : function.nodes) {
    if (std::holds_alternative<Param>(node.kind)) out.push_back({'i', inputs++});
    else if (std::holds_alternative<Constant>(node.kind)) out.push_back({'c', next_constant_++});
    else out.push_back({'n', nodes++});
  }
  return out;
}

// Writes "nodes" and "outputs".
void GraphWriter::write_body(const Function& function) {
  references_ = references(function);
  out_ += "\"nodes\":[";
  bool first = true;
  for (size_t k = 0; k < function.nodes.size(); ++k) {
    if (references_[k].kind != 'n') continue;
    out_ += first ? "\n" : ",\n";
    first = false;
    write_node(function, function.nodes[k]);
  }
  out_ += "],\n\"outputs\":";
  write_values(function.results);
}

void GraphWriter::write_values(std::span<const ValueId> values) {
  write_list("", values, [&](ValueId value) {
    BYOC_CHECK(value.node < references_.size(), "node ", value.node, " is not of this function");
    Reference reference = references_[value.node];
    out_ += cat("[\"", reference.kind, "\",", reference.index);
    if (reference.kind == 'n') out_ += cat(",", value.output);
    out_ += ']';
  });
}

void GraphWriter::write_node(const Function& function, const Node& node) {
  out_ += '{';
  write_what(node);
  out_ += ",\"args\":";
  write_values(function.args(node));
  out_ += ",\"types\":[";
  for (size_t k = 0; k < node.types.size(); ++k)
    out_ += cat(k ? "," : "", type_index(node.types[k]));
  out_ += ']';
  auto* call = std::get_if<Call>(&node.kind);
  const bool has_attrs =
      call != nullptr && call->attrs->size() > (call->attrs->has(kPlacementAttribute) ? 1 : 0);
  if (has_attrs) write_attrs(*call->attrs);
  if (has_names_ && !node.loc.empty()) {
    out_ += ",\"loc\":";
    print_json_string(out_, node.loc.text());
  }
  out_ += '}';
}

void GraphWriter::write_what(const Node& node) {
  std::visit(overloaded{
                 [&](const Param&) { BYOC_CHECK(false, "parameters are inputs"); },
                 [&](const Constant&) { BYOC_CHECK(false, "constants are a list of their own"); },
                 [&](const Call& call) {
                   out_ += "\"op\":";
                   print_json_string(out_, call.op->name);
                   out_ += cat(",\"version\":", call.op->version);
                 },
                 [&](const Invoke& invoke) {
                   auto index = function_index_.find(invoke.function);
                   BYOC_CHECK(index != function_index_.end(), "no @", invoke.function);
                   out_ += cat("\"call\":", index->second);
                 },
                 [&](const Extern& external) {
                   out_ += "\"extern\":";
                   print_json_string(out_, external.symbol.text());
                 },
                 [&](const Control& control) {
                   BYOC_CHECK(false, "a plugin receives no control flow, here of @", control.body);
                 },
             },
             node.kind);
}

void GraphWriter::write_attrs(const Attrs& attrs) {
  out_ += ",\"attrs\":{";
  bool first = true;
  for (const auto& [name, value] : attrs) {
    if (name.text() == kPlacementAttribute) continue;
    if (!first) out_ += ',';
    first = false;
    print_json_string(out_, name.text());
    out_ += ':';
    write_attr(value);
  }
  out_ += '}';
}

void GraphWriter::write_attr(const AttrValue& value) {
  auto* constant = std::get_if<ConstantRef>(&value);
  if (constant == nullptr) return std::visit(AttrPrinter{out_}, value);
  out_ += cat("{\"constant\":\"", constant->key, "\",\"type\":", type_index(constant->type), "}");
}

void GraphWriter::write_captures(const Function& function) {
  auto known = captures(function);
  if (!known.ok() || known->empty()) return;  // verify has refused malformed ones
  out_ += "\"captures\":{";
  bool first = true;
  for (const auto& [name, list] : *known) {
    if (!first) out_ += ',';
    first = false;
    print_json_string(out_, name);
    out_ += ':';
    write_list("", list, [&](const Capture& capture) {
      out_ += cat("[\"", capture.kind == Capture::kNode ? 'n' : 'i', "\",", capture.index, "]");
    });
  }
  out_ += "},";
}

void GraphWriter::write_function(Symbol name) {
  const Function& function = module_.function(name);
  out_ += "{\"name\":";
  print_json_string(out_, has_names_ ? name.str() : cat("f", function_index_.at(name)));
  out_ += ',';
  std::string pattern = function.attr("composite");
  if (!pattern.empty()) {
    out_ += "\"pattern\":";
    print_json_string(out_, pattern);
    out_ += ',';
  }
  write_captures(function);
  write_inputs(function);
  write_body(function);
  out_ += '}';
}

}  // namespace

void write_graph_json(const IRModule& module, const Function& function, Symbol symbol,
                      std::string& out, GraphNames names) {
  GraphWriter(module, function, names, out).write(symbol);
}

std::vector<ConstantRef> graph_constants(const IRModule& module, const Function& function) {
  std::vector<ConstantRef> out;
  auto take = [&](const Function& from) {
    for (const Node& node : from.nodes) {
      if (auto* constant = std::get_if<Constant>(&node.kind))
        out.push_back({constant->data->key(), node.types[0]});
    }
  };
  take(function);
  for (Symbol name : invoked_functions(module, function)) take(module.function(name));
  return out;
}

}  // namespace byoc
