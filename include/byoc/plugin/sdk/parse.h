// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parses graph JSON into a Graph. It is the one header of the SDK that needs nlohmann_json;
// sdk.h includes it for the file that holds BYOC_PLUGIN, other files of a plugin can
// include plugin.h alone.
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>

#include "byoc/plugin/sdk/graph.h"

namespace byoc::sdk {
namespace detail {

using Json = nlohmann::json;

[[noreturn]] inline void bad_graph(const std::string& what, int64_t node = -1) {
  throw Error(BYOC_BAD_GRAPH, "graph JSON: " + what, node);
}

/// Throws before the parser reads the text: a tree of hostile depth overflows the stack
/// when it is copied.
inline void check_depth(std::string_view text) {
  constexpr int kMaxDepth = 64;
  int depth = 0;
  bool in_string = false;
  for (size_t k = 0; k < text.size(); ++k) {
    char c = text[k];
    if (in_string) {
      if (c == '\\') ++k;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) bad_graph("nested deeper than " + std::to_string(kMaxDepth));
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
}

/// Empties a tree from its leaves on. It allocates nothing; the depth is that of check_depth.
inline void take_apart(Json& value) noexcept {
  if (auto* array = value.get_ptr<Json::array_t*>()) {
    for (Json& element : *array) take_apart(element);
    array->clear();
  } else if (auto* object = value.get_ptr<Json::object_t*>()) {
    for (auto& [name, member] : *object) take_apart(member);
    object->clear();
  }
}

/// A parsed text. The destructor of a Json with elements allocates memory for them, and ends the
/// process where there is none, also in the middle of parsing.
class Tree {
 public:
  explicit Tree(std::string_view text) {
    check_depth(text);
    try {
      nlohmann::detail::json_sax_dom_parser<Json> builder(root_);
      Json::sax_parse(text, &builder);
    } catch (const Json::exception& e) {
      take_apart(root_);
      bad_graph(e.what());
    } catch (...) {
      take_apart(root_);
      throw;
    }
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  ~Tree() { take_apart(root_); }
  const Json& root() const { return root_; }

 private:
  Json root_;
};

/// Compares without a Json of `text`: that comparison is noexcept and allocates.
inline bool is_text(const Json& value, std::string_view text) {
  auto* own = value.get_ptr<const std::string*>();
  return own != nullptr && *own == text;
}

inline const Json& member(const Json& object, const char* name) {
  auto found = object.find(name);
  if (found == object.end()) bad_graph(std::string("\"") + name + "\" is missing");
  return *found;
}

inline std::span<const Json> list(const Json& object, const char* name) {
  auto found = object.find(name);
  if (found == object.end()) return {};
  if (!found->is_array()) bad_graph(std::string("\"") + name + "\" is not a list");
  return found->get_ref<const Json::array_t&>();
}

inline std::string text(const Json& object, const char* name) {
  auto found = object.find(name);
  if (found == object.end()) return {};
  if (!found->is_string()) bad_graph(std::string("\"") + name + "\" is not a string");
  return found->get<std::string>();
}

inline int64_t integer(const Json& value, const char* what) {
  if (!value.is_number_integer()) bad_graph(std::string(what) + " is not an integer");
  return value.get<int64_t>();
}

inline uint32_t index(const Json& value, size_t end, const char* what) {
  int64_t k = integer(value, what);
  if (k < 0 || static_cast<uint64_t>(k) >= end) {
    bad_graph(std::string(what) + " " + std::to_string(k) + " of " + std::to_string(end));
  }
  return static_cast<uint32_t>(k);
}

inline DType parse_dtype(const Json& value) {
  if (value.is_string()) {
    for (size_t k = 0; k < std::size(kDTypes); ++k) {
      if (kDTypes[k].name == value.get_ref<const std::string&>()) return static_cast<DType>(k);
    }
  }
  bad_graph("unknown dtype " + value.dump());
}

inline Type parse_type(const Json& value) {
  Type type;
  type.dtype = parse_dtype(member(value, "dtype"));
  for (const Json& dim : list(value, "shape")) {
    if (dim.is_object()) {
      type.symbols.push_back({type.dims.size(), text(dim, "symbol"), dim.value("min", int64_t{0}),
                              dim.value("max", std::numeric_limits<int64_t>::max()),
                              dim.value("counted", false), dim.value("expression", false)});
      type.dims.push_back(Type::kSymbolic);
    } else {
      type.dims.push_back(integer(dim, "a dim"));
      if (type.dims.back() < 0) bad_graph("a dim is negative");
    }
  }
  return type;
}

/// Returns the number for a name: attributes have {"float":"nan"} and elements of a constant "nan"
/// where JSON has no number, with "inf", "-inf" and "0x..." (the bits of another NaN) likewise.
inline double special_float(const Json& name) {
  if (is_text(name, "inf")) return std::numeric_limits<double>::infinity();
  if (is_text(name, "-inf")) return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}
inline bool is_float(const Json& value) { return value.is_number() || value.contains("float"); }
inline double to_float(const Json& value) {
  return value.is_number() ? value.get<double>() : special_float(value["float"]);
}

template <class List, class Is, class Get>
bool read_list(const Json& values, std::optional<Attr>& out, Is is, Get get) {
  if (!std::all_of(values.begin(), values.end(), is)) return false;
  List list;
  list.reserve(values.size());
  for (const Json& value : values) list.push_back(get(value));
  out = std::move(list);
  return true;
}

template <class T>
T get(const Json& value) {
  return value.get<T>();
}
inline bool is_integer(const Json& value) { return value.is_number_integer(); }
inline bool is_bool(const Json& value) { return value.is_boolean(); }
inline bool is_string(const Json& value) { return value.is_string(); }

inline Attr parse_list(const Json& values) {
  std::optional<Attr> out;
  if (read_list<Ints>(values, out, is_integer, get<int64_t>) ||
      read_list<Bools>(values, out, is_bool, get<bool>) ||
      read_list<Floats>(values, out, is_float, to_float) ||
      read_list<Strings>(values, out, is_string, get<std::string>)) {
    return std::move(*out);
  }
  bad_graph("a list of mixed kinds");
}

inline std::optional<Attr> parse_elements(const Json& values) {
  std::optional<Attr> out;
  auto number = [](const Json& v) { return v.is_number() ? v.get<double>() : special_float(v); };
  if (read_list<Ints>(values, out, is_integer, get<int64_t>) ||
      read_list<Bools>(values, out, is_bool, get<bool>) ||
      read_list<Floats>(
          values, out, [](const Json& v) { return v.is_number() || v.is_string(); }, number)) {
    return out;
  }
  bad_graph("elements of a constant are neither numbers nor booleans");
}

inline Attr parse_attr(const std::string& name, const Json& value) {
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array()) return parse_list(value);
  if (value.contains("dtype")) return parse_dtype(value["dtype"]);
  if (value.contains("float")) return to_float(value);
  if (value.contains("constant")) return ConstantKey{text(value, "constant")};
  bad_graph("attribute \"" + name + "\" is of no known kind");
}

class GraphReader {
 public:
  Graph read(const Json& json) {
    check_header(json);
    graph_.loops = text(json, "loops");
    graph_.symbol = text(json, "symbol");
    for (const Json& size : list(json, "sizes")) read_size(size);
    for (const Json& type : list(json, "types")) graph_.types.push_back(parse_type(type));
    for (const Json& constant : list(json, "constants")) read_constant(constant);
    // Bodies first: a call is checked against what it calls.
    for (const Json& function : list(json, "functions")) read_function(function);
    read_body(json, graph_, graph_.functions.size());
    return std::move(graph_);
  }

 private:
  static void check_header(const Json& json) {
    if (!json.is_object() || text(json, "format") != "byoc.graph") bad_graph("not a byoc.graph");
    if (int64_t version = integer(member(json, "version"), "version"); version != 1) {
      bad_graph("version " + std::to_string(version) + ", this SDK reads 1");
    }
    for (const Json& name : list(json, "requires")) {
      if (!is_text(name, "loops")) bad_graph("requires " + name.dump() + ", unknown to this SDK");
      if (text(json, "loops").empty()) bad_graph("\"loops\" is required and missing");
    }
  }
  void read_size(const Json& json) {
    graph_.sizes.push_back(text(json, "symbol"));
    graph_.size_ranges.push_back({graph_.sizes.back(), json.value("min", int64_t{0}),
                                  json.value("max", std::numeric_limits<int64_t>::max())});
  }
  void read_constant(const Json& json) {
    Constant constant;
    constant.name = text(json, "name");
    constant.type = index(member(json, "type"), graph_.types.size(), "type");
    constant.key = text(json, "key");
    if (auto value = json.find("value"); value != json.end())
      constant.value = parse_elements(*value);
    graph_.constants.push_back(std::move(constant));
  }
  void read_function(const Json& json) {
    Body body;
    body.name = text(json, "name");
    body.pattern = text(json, "pattern");
    read_body(json, body, graph_.functions.size());  // calls earlier composites at most
    if (auto captures = json.find("captures"); captures != json.end() && captures->is_object()) {
      for (const auto& [name, operands] : captures->items()) {
        auto& list = body.captures[name];
        for (const Json& operand : operands)
          list.push_back(read_operand(operand, body, body.nodes.size()));
      }
    }
    graph_.functions.push_back(std::move(body));
  }
  void read_body(const Json& json, Body& body, size_t callable) {
    for (const Json& input : list(json, "inputs")) {
      body.inputs.push_back(
          {text(input, "name"), index(member(input, "type"), graph_.types.size(), "type")});
    }
    for (const Json& node : list(json, "nodes")) read_node(node, body, callable);
    for (const Json& operand : list(json, "outputs")) {
      body.outputs.push_back(read_operand(operand, body, body.nodes.size()));
    }
  }
  void read_node(const Json& json, Body& body, size_t callable) {
    Node node;
    node.op = text(json, graph_.loops.empty() ? "op" : "extern");
    node.loc = text(json, "loc");
    if (auto version = json.find("version"); version != json.end())
      node.version = integer(*version, "version");
    if (auto call = json.find("call"); call != json.end())
      node.call = index(*call, callable, "call");
    if (node.op.empty() != node.is_call())
      bad_graph("a node is neither an op nor a call", position(body));
    for (const Json& operand : list(json, "args")) {
      node.args.push_back(read_operand(operand, body, body.nodes.size()));
    }
    for (const Json& type : list(json, "types")) {
      node.types.push_back(index(type, graph_.types.size(), "type"));
    }
    if (auto attrs = json.find("attrs"); attrs != json.end()) {
      for (const auto& [name, value] : attrs->items())
        node.attrs.set(name, parse_attr(name, value));
    }
    if (node.is_call()) check_call(node, body);
    body.nodes.push_back(std::move(node));
  }
  void check_call(const Node& node, const Body& body) const {
    const Body& callee = graph_.functions[node.call];
    if (node.args.size() != callee.inputs.size() || node.types.size() != callee.outputs.size()) {
      bad_graph("a call does not fit \"" + callee.name + "\"", position(body));
    }
  }
  static int64_t position(const Body& body) { return static_cast<int64_t>(body.nodes.size()); }
  /// `nodes`: how many earlier nodes may be named.
  Operand read_operand(const Json& json, const Body& body, size_t nodes) const {
    if (!json.is_array() || json.size() < 2 || !json[0].is_string())
      bad_graph("not an operand: " + json.dump());
    if (is_text(json[0], "i"))
      return {Operand::kInput, index(json[1], body.inputs.size(), "input")};
    if (is_text(json[0], "c"))
      return {Operand::kConstant, index(json[1], graph_.constants.size(), "constant")};
    if (!is_text(json[0], "n")) bad_graph("not an operand: " + json.dump());
    uint32_t node = index(json[1], nodes, "node");
    if (json.size() == 2) return {Operand::kNode, node};  // a capture
    return {Operand::kNode, node, index(json[2], body.nodes[node].types.size(), "output")};
  }
  Graph graph_;
};

}  // namespace detail

/// Throws Error with code BYOC_BAD_GRAPH and a message that names the fault.
inline Graph parse_graph(std::string_view json) {
  const detail::Tree tree(json);
  try {
    Graph graph = detail::GraphReader().read(tree.root());
    graph.json = json;
    return graph;
  } catch (const detail::Json::exception& e) {
    detail::bad_graph(e.what());
  }
}

}  // namespace byoc::sdk
