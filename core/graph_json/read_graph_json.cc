// SPDX-License-Identifier: Apache-2.0
// Reads graph JSON as a module. The text streams through nlohmann's parser: each node becomes a
// small tree, is turned into a Node, and is dropped, so memory use is that of the module.
#include "byoc/base/check.h"
#include "byoc/base/json.h"
#include "byoc/base/literal.h"
#include "byoc/ir/composite.h"
#include "byoc/ir/visit.h"
#include "byoc/te/module.h"
#include "byoc/text/graph_json.h"
#include "byoc/text/text.h"
#include "core/graph_json/graph_values.h"

namespace byoc {
namespace {

using graph::BadGraph;

struct GraphConstant {
  Symbol loc;
  TypeId type;
  std::shared_ptr<const Buffer> data;  // null: the reader has no bytes
};

// One function under construction, and the nodes that its operands refer to.
struct Body {
  Function function;
  std::vector<ValueId> inputs;
  std::vector<uint32_t> nodes;            // Call, Invoke, Extern, as "n" counts them
  std::map<uint32_t, ValueId> constants;  // "c" -> its node in this function
};

class GraphReader {
 public:
  GraphReader(const OpRegistry& ops, const GraphConstants& constants)
      : ops_(ops), constants_of_(constants) {}
  IRModule read(std::string_view json);

 private:
  using Event = Json::parse_event_t;
  bool on_event(int depth, Event event, Json& parsed);
  bool on_end(int depth, Json& parsed);
  void on_member(const std::string& name, const Json& value);
  void on_function_member(const std::string& name, const Json& value);
  void on_function(const Json& value);
  void read_inputs(Body& body, const Json& inputs);
  void read_constants(const Json& constants);
  GraphConstant read_constant(const Json& constant, size_t index);
  std::shared_ptr<const Buffer> constant_data(const Json& constant, TypeId type);
  void place_constants();
  void read_node(Body& body, const Json& node);
  uint32_t add_node(Body& body, const Json& node, std::span<const ValueId> args, TypeIds types,
                    Symbol loc);
  uint32_t add_call(Body& body, const Json& node, std::span<const ValueId> args, TypeIds types,
                    Symbol loc);
  ValueId read_value(Body& body, const Json& value);
  ValueId constant_value(Body& body, uint32_t index);
  std::vector<ValueId> read_values(Body& body, const Json& values);
  Attrs read_attrs(const Json& attrs);
  Symbol free_param_name(const Body& body, const std::string& base) const;
  void finish();
  void name_callees(Function& function);

  const OpRegistry& ops_;
  const GraphConstants& constants_of_;
  IRModule module_;
  graph::TypeTable types_;
  std::vector<GraphConstant> constants_;
  Body main_, inner_;
  std::vector<Symbol> functions_;         // names of "functions"
  std::string member_, function_member_;  // the members of the text that are being read
  bool has_format_ = false, requires_loops_ = false;
};

// Reads what is complete at an event. Depth counts open brackets: 1 for members of the graph, 2 for
// nodes and functions, 3 for members of a function, 4 for its nodes. Returns false for values that
// have been turned into IR, which drops them.
bool GraphReader::on_event(int depth, Event event, Json& parsed) {
  switch (event) {
    case Event::key:
      if (depth == 1) member_ = parsed.get<std::string>();
      if (depth == 3 && member_ == "functions") function_member_ = parsed.get<std::string>();
      return true;
    case Event::value:
      if (depth == 1) on_member(member_, parsed);
      return true;
    case Event::object_end:
    case Event::array_end:
      return on_end(depth, parsed);
    default:
      return true;
  }
}

bool GraphReader::on_end(int depth, Json& parsed) {
  if (depth == 1) {
    on_member(member_, parsed);
    return false;
  }
  if (depth == 2 && member_ == "nodes") {
    read_node(main_, parsed);
    return false;
  }
  if (member_ != "functions") return true;
  if (depth == 4 && function_member_ == "nodes" && parsed.is_object()) {
    read_node(inner_, parsed);
    return false;
  }
  if (depth == 3) on_function_member(function_member_, parsed);
  if (depth == 2) {
    on_function(parsed);
    return false;
  }
  return true;
}

/// Compares without a Json of `text`: that comparison allocates and is noexcept.
bool is_text(const Json& value, std::string_view text) {
  const auto* own = value.get_ptr<const std::string*>();
  return own != nullptr && *own == text;
}

void GraphReader::on_member(const std::string& name, const Json& value) {
  if (name == "format") {
    has_format_ = is_text(value, "byoc.graph");
  } else if (name == "version") {
    if (value != 1) throw BadGraph(cat("version ", value.dump(), ", this build reads 1"));
  } else if (name == "requires") {
    for (const Json& feature : value) {
      if (!is_text(feature, "loops"))
        throw BadGraph(cat("it requires ", feature.dump(), ", which this build does not support"));
      requires_loops_ = true;
    }
  } else if (name == "loops") {
    main_.function.attrs.set("loops", value.get<std::string>());
    main_.function.attrs.set("primitive", true);
  } else if (name == "symbol") {
    module_.entry = value.get<std::string>();
  } else if (name == "sizes") {
    types_.read_sizes(value);
  } else if (name == "types") {
    types_.read(value);
  } else if (name == "inputs") {
    read_inputs(main_, value);
  } else if (name == "constants") {
    read_constants(value);
  } else if (name == "outputs") {
    main_.function.results = read_values(main_, value);
  }
}

void GraphReader::on_function_member(const std::string& name, const Json& value) {
  if (name == "inputs") read_inputs(inner_, value);
  if (name == "outputs") inner_.function.results = read_values(inner_, value);
}

void GraphReader::on_function(const Json& value) {
  Symbol name = value.at("name").get<std::string>();
  if (value.contains("pattern"))
    inner_.function.attrs.set("composite", value["pattern"].get<std::string>());
  if (value.contains("captures"))
    set_captures(inner_.function, graph::read_captures(value["captures"]));
  if (name.empty() || !module_.functions.emplace(name, std::move(inner_.function)).second) {
    throw BadGraph(cat("two functions are called \"", name, "\""));
  }
  functions_.push_back(name);
  inner_ = {};
}

// Refuses members after the nodes. Parameters are the first nodes of a function, so "inputs" comes
// before all members that make other nodes.
void check_before_nodes(const Function& function, std::string_view member) {
  if (function.num_params() != function.nodes.size())
    throw BadGraph(cat("\"", member, "\" comes after the nodes"));
}

// Returns a name for a parameter. Names of inputs are the user's; in a function they must differ.
Symbol GraphReader::free_param_name(const Body& body, const std::string& base) const {
  auto taken = [&](Symbol name) {
    for (const Node& node : body.function.nodes) {
      auto* param = std::get_if<Param>(&node.kind);
      if (param != nullptr && param->name == name) return true;
    }
    return name.empty();
  };
  Symbol name = base;
  for (int k = 0; taken(name); ++k) name = cat(base, "_", k);
  return name;
}

void GraphReader::read_inputs(Body& body, const Json& inputs) {
  if (!inputs.empty()) check_before_nodes(body.function, "inputs");
  for (const Json& input : inputs) {
    Symbol name = free_param_name(body, input.at("name").get<std::string>());
    body.inputs.push_back({body.function.add_param(name, types_[input.at("type")]), 0});
  }
}

void GraphReader::read_constants(const Json& constants) {
  if (!constants_of_ && !constants.empty()) check_before_nodes(main_.function, "constants");
  for (const Json& constant : constants)
    constants_.push_back(read_constant(constant, constants_.size()));
  place_constants();
}

GraphConstant GraphReader::read_constant(const Json& constant, size_t index) {
  GraphConstant out;
  std::string name = constant.at("name").get<std::string>();
  if (name != cat("c", index)) out.loc = name;
  out.type = types_[constant.at("type")];
  auto bytes = size_bytes(*out.type);
  if (!bytes.ok()) throw BadGraph(cat("constant ", name, ": ", bytes.status().message()));
  out.data = constant_data(constant, out.type);
  if (out.data != nullptr && out.data->size() != static_cast<size_t>(*bytes)) {
    throw BadGraph(
        cat("constant ", name, " of type ", out.type, " has ", out.data->size(), " bytes"));
  }
  return out;
}

std::shared_ptr<const Buffer> GraphReader::constant_data(const Json& constant, TypeId type) {
  ContentKey key = graph::read_key(constant.at("key"));
  if (constants_of_) {
    auto data = constants_of_(key);
    if (data == nullptr) throw BadGraph(cat("constant ", key, " has no bytes here"));
    return data;
  }
  return constant.contains("value") ? graph::read_elements(constant["value"], type->dtype)
                                    : nullptr;
}

// Adds all constants to the main function; a composite gets nodes for those it uses.
void GraphReader::place_constants() {
  for (uint32_t k = 0; k < constants_.size(); ++k) {
    Function& function = main_.function;
    const GraphConstant& constant = constants_[k];
    uint32_t node = constants_of_ ? function.add_constant(module_.add_constant(constant.data),
                                                          constant.type, constant.loc)
                                  : function.add_param(free_param_name(main_, cat("c", k)),
                                                       constant.type, constant.loc);
    main_.constants.emplace(k, ValueId{node, 0});
  }
}

ValueId GraphReader::constant_value(Body& body, uint32_t index) {
  auto known = body.constants.find(index);
  if (known != body.constants.end()) return known->second;
  if (index >= constants_.size())
    throw BadGraph(cat("constant ", index, " of ", constants_.size()));
  BYOC_CHECK(&body != &main_, "constant ", index, " was not placed");
  const GraphConstant& constant = constants_[index];
  if (constant.data == nullptr)
    throw BadGraph("a function inside uses a large constant, which has no bytes here");
  uint32_t node =
      body.function.add_constant(module_.add_constant(constant.data), constant.type, constant.loc);
  return body.constants.emplace(index, ValueId{node, 0}).first->second;
}

ValueId GraphReader::read_value(Body& body, const Json& value) {
  const std::string& kind = value.at(0).get_ref<const std::string&>();
  uint32_t index = graph::read_index(value.at(1));
  if (kind == "c") return constant_value(body, index);
  bool is_node = kind == "n";
  if (!is_node && kind != "i") throw BadGraph(cat("an operand of kind ", kind));
  size_t count = is_node ? body.nodes.size() : body.inputs.size();
  if (index >= count)
    throw BadGraph(cat(is_node ? "node " : "input ", index, " is read, ", count, " come before"));
  if (!is_node) return body.inputs[index];
  ValueId out{body.nodes[index], graph::read_index(value.at(2))};
  if (out.output >= body.function.nodes[out.node].types.size()) {
    throw BadGraph(cat("output ", out.output, " of node ", index, " does not exist"));
  }
  return out;
}

std::vector<ValueId> GraphReader::read_values(Body& body, const Json& values) {
  std::vector<ValueId> out;
  out.reserve(values.size());
  for (const Json& value : values) out.push_back(read_value(body, value));
  return out;
}

void GraphReader::read_node(Body& body, const Json& node) {
  try {
    std::vector<ValueId> args = read_values(body, node.at("args"));
    std::vector<TypeId> types;
    for (const Json& type : node.at("types")) types.push_back(types_[type]);
    Symbol loc = node.contains("loc") ? Symbol(node["loc"].get<std::string>()) : Symbol();
    body.nodes.push_back(add_node(body, node, args, types, loc));
  } catch (const std::exception& e) {
    throw BadGraph(cat("node ", body.nodes.size(), ": ", e.what()));
  }
}

uint32_t GraphReader::add_node(Body& body, const Json& node, std::span<const ValueId> args,
                               TypeIds types, Symbol loc) {
  if (node.contains("op")) return add_call(body, node, args, types, loc);
  if (node.contains("extern")) {
    return body.function.add_extern(node["extern"].get<std::string>(), args, types, loc);
  }
  // "functions" comes after "nodes": the callee has a number until `name_callees`.
  uint32_t callee = graph::read_index(node.at("call"));
  return body.function.add_invoke(cat("#", callee), args, types, loc);
}

uint32_t GraphReader::add_call(Body& body, const Json& node, std::span<const ValueId> args,
                               TypeIds types, Symbol loc) {
  auto op = ops_.get(node["op"].get_ref<const std::string&>());
  if (!op.ok()) throw BadGraph(op.status().message());
  uint32_t version = node.contains("version") ? graph::read_index(node["version"]) : 1;
  if (version > (*op)->version) {
    throw BadGraph(cat((*op)->name, " of version ", version, ", this build has ", (*op)->version));
  }
  auto attrs = complete_attrs(**op, node.contains("attrs") ? read_attrs(node["attrs"]) : Attrs());
  if (!attrs.ok()) throw BadGraph(attrs.status().message());
  return body.function.add_call(*op, intern(*std::move(attrs)), args, types, loc);
}

Attrs GraphReader::read_attrs(const Json& attrs) {
  Attrs out;
  for (const auto& [name, value] : attrs.items()) {
    AttrValue read = graph::read_attr(value, types_);
    if (auto* constant = std::get_if<ConstantRef>(&read)) {
      auto data = constants_of_ ? constants_of_(constant->key) : nullptr;
      if (data == nullptr) throw BadGraph(cat("constant ", constant->key, " has no bytes here"));
      module_.add_constant(std::move(data));
    }
    out.set(name, std::move(read));
  }
  return out;
}

void GraphReader::name_callees(Function& function) {
  for (Node& node : function.nodes) {
    auto* invoke = std::get_if<Invoke>(&node.kind);
    if (invoke == nullptr) continue;
    BYOC_CHECK(invoke->function.text().starts_with('#'), "@", invoke->function, " has no number");
    unsigned long index = std::stoul(invoke->function.str().substr(1));
    if (index >= functions_.size())
      throw BadGraph(cat("functions[", index, "] is called, there are ", functions_.size()));
    invoke->function = functions_[index];
  }
}

void GraphReader::finish() {
  if (!has_format_) throw BadGraph("\"format\" is not \"byoc.graph\"");
  for (auto& [name, function] : module_.functions) name_callees(function);
  name_callees(main_.function);
  if (requires_loops_ != te::has_loops(main_.function))
    throw BadGraph("\"loops\" and \"requires\" do not fit together");
  if (requires_loops_) {
    Status status = te::check_loops(main_.function);
    if (!status.ok()) throw BadGraph(cat("loops: ", status.message(), " ", status.where()));
  }
  if (module_.entry.empty()) throw BadGraph("it has no symbol");
  if (main_.function.results.empty()) throw BadGraph("it has no outputs");
  if (!module_.functions.emplace(module_.entry, std::move(main_.function)).second) {
    throw BadGraph(cat("two functions are called \"", module_.entry, "\""));
  }
}

IRModule GraphReader::read(std::string_view json) {
  // Parses with callbacks: what remains is the skeleton of the text.
  Json rest = Json::parse(json, [this](int depth, Event event, Json& parsed) {
    return on_event(depth, event, parsed);
  });
  finish();
  return std::move(module_);
}

Status bad_graph(std::string message) {
  return Status(Code::kBadGraph, std::move(message)).with_slug("bad-graph");
}

}  // namespace

Result<IRModule> read_graph_json(std::string_view json, const OpRegistry& ops,
                                 const GraphConstants& constants) {
  Status sound = scan_json(json);
  if (!sound.ok()) return bad_graph(sound.message());
  try {
    IRModule module = GraphReader(ops, constants).read(json);
    Status status = verify(module);
    if (!status.ok()) return bad_graph(cat(status.where(), ": ", status.message()));
    return module;
  } catch (const std::exception& e) {  // BadGraph, or nlohmann about syntax and kinds
    return bad_graph(cat("graph JSON: ", e.what()));
  }
}

}  // namespace byoc
