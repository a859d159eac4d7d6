// SPDX-License-Identifier: Apache-2.0
// Finds the groups in two steps: all groups are read by byoc, which takes milliseconds, until none
// is refused; only then are they compiled.
#include "frontends/onnxruntime/capability.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

namespace byoc::ort {
namespace {

constexpr size_t kMostReads = 256;    // attempts at reading groups of one graph
constexpr size_t kMostCompiles = 16;  // attempts at compiling them that may fail

// Element types of ONNX. byoc's runs take these, and constants up to float4.
constexpr int kTaken[] = {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 16};
constexpr int kTextElements = 8, kComplex64 = 14, kComplex128 = 15, kLastOfConstants = 23;

bool is_taken(const Value& value) {
  if (!value.is_constant) return std::ranges::count(kTaken, value.element) > 0;
  return value.element > 0 && value.element <= kLastOfConstants && value.element != kTextElements &&
         value.element != kComplex64 && value.element != kComplex128;
}

/// Returns why values of a node, or of its bodies, are not taken; "" when they are.
std::string refusal_of_values(const Graph& graph, const Node& node) {
  if (!node.unreadable.empty()) return cat("ONNX Runtime does not give out ", node.unreadable);
  for (const auto* operands : {&node.inputs, &node.outputs, &node.implicit_inputs}) {
    for (int32_t k : *operands) {
      if (k == Node::kNone) continue;
      const Value& value = graph.values[static_cast<size_t>(k)];
      if (!is_taken(value))
        return cat("the value '", value.name, "' is no tensor of numbers that byoc takes (type ",
                   value.element, ")");
    }
  }
  for (const Body& body : node.bodies) {  // whose depth is bounded
    for (const Node& inner : body.graph.nodes) {
      if (std::string reason = refusal_of_values(body.graph, inner); !reason.empty())
        return cat("in its graph ", body.attribute, ": ", reason);
    }
    for (const Value& value : body.graph.values) {
      if (!is_taken(value))
        return cat("the value '", value.name, "' of its graph ", body.attribute,
                   " is no tensor of numbers that byoc takes (type ", value.element, ")");
    }
  }
  return "";
}

/// Returns why a node is left before byoc reads it; "" when it is not.
std::string refusal_of(const Graph& graph, const Node& node) {
  if (graph.is_nested) return "it is in a graph of another node, which ONNX Runtime runs";
  if (node.domain == kProviderName) return "it is a group that byoc runs";
  if (is_own_context(node)) return "it is a group that byoc compiled before";
  if (node.is_context) return cat("the provider '", node.source, "' compiled it");
  return refusal_of_values(graph, node);
}

/// Returns the line of a message that names the node, else the first one, with names of the graph.
std::string reason_for(const Status& status, uint32_t node) {
  const std::string& text = status.message();
  size_t begin = text.find(cat(kNodePrefix, node, " "));
  begin = begin == text.npos ? 0 : text.rfind('\n', begin) + 1;
  std::string line = text.substr(begin, text.find('\n', begin) - begin);
  line.erase(0, line.find_first_not_of(' '));
  return with_names_of_graph(line);
}

class Search {
 public:
  Search(const Graph& graph, const Settings& settings) : graph_(graph), settings_(settings) {}

  Result<Capability> run() {
    BYOC_TRY(constants_, Constants::write(graph_));
    for (const Node& node : graph_.nodes) out_.reasons.push_back(refusal_of(graph_, node));
    do {
      BYOC_TRY_STATUS(make_readable());
    } while (!compile_all());
    return std::move(out_);
  }

 private:
  std::vector<bool> taken() const {
    std::vector<bool> out;
    for (const std::string& reason : out_.reasons) out.push_back(reason.empty());
    return out;
  }

  /// Makes groups until byoc reads each. Parts of groups that stay are used again.
  Status make_readable() {
    for (bool is_done = false; !is_done;) {
      is_done = true;
      out_.groups = group_nodes(graph_, taken());
      out_.parts.clear();
      for (const Group& group : out_.groups) {
        if (group.outputs.empty()) {
          refuse_all(group, "nothing reads its results");
          is_done = false;
          continue;
        }
        if (refuse_operands(group)) {
          is_done = false;
          continue;
        }
        auto& part = parts_[group.nodes];
        if (part == nullptr) {
          BYOC_TRY(part, Part::make(graph_, group, constants_, settings_));
          if (Status status = part->check(); !status.ok()) {
            refuse(group, status, ++reads_ > kMostReads);
            is_done = false;
          }
        }
        out_.parts.push_back(part);
      }
    }
    return {};
  }

  /// Returns false when a group was refused.
  bool compile_all() {
    bool all = true;
    for (size_t k = 0; k < out_.groups.size(); ++k) {
      Part& part = *out_.parts[k];
      if (compiled_.contains(out_.groups[k].nodes)) continue;
      if (Status status = part.compile(); !status.ok()) {
        refuse(out_.groups[k], status, ++compiles_ > kMostCompiles);
        all = false;
      } else {
        compiled_[out_.groups[k].nodes] = true;
      }
    }
    return all;
  }

  /// Leaves the nodes whose operands cannot be inputs of the group. Returns whether there are such.
  bool refuse_operands(const Group& group) {
    std::set<int32_t> operands;
    for (uint32_t node : group.nodes)
      operands.insert(graph_.nodes[node].inputs.begin(), graph_.nodes[node].inputs.end());
    bool any = false;
    for (uint32_t k : group.nodes) {
      const Node& node = graph_.nodes[k];
      for (const auto* values : {&node.inputs, &node.implicit_inputs}) {
        for (int32_t value : *values) {
          if (!std::binary_search(group.inputs.begin(), group.inputs.end(), value)) continue;
          std::string reason = refusal_of_input(value, operands.contains(value));
          if (reason.empty()) continue;
          out_.reasons[k] = std::move(reason);
          any = true;
        }
      }
    }
    return any;
  }

  std::string refusal_of_input(int32_t number, bool is_operand) const {
    const Value& value = graph_.values[static_cast<size_t>(number)];
    if (!value.has_rank) return cat("the rank of the value '", value.name, "' is not known");
    if (is_operand || graph_.passes_captured) return "";
    return cat("this ONNX Runtime does not pass '", value.name,
               "', which only a graph of the node reads");
  }

  void refuse_all(const Group& group, const std::string& reason) {
    for (uint32_t node : group.nodes) out_.reasons[node] = reason;
  }

  /// Leaves the nodes that an error names: in its place, or else in its message, where one node
  /// represents all of its operator. Without a name all nodes of the group are left.
  void refuse(const Group& group, const Status& status, bool refuses_all) {
    std::vector<uint32_t> nodes = nodes_named_in(status.where());
    const bool is_place = !nodes.empty();
    if (!is_place) nodes = nodes_named_in(status.message());
    const auto is_in_group = [&](uint32_t node) {
      return std::binary_search(group.nodes.begin(), group.nodes.end(), node);
    };
    std::erase_if(nodes, [&](uint32_t node) { return !is_in_group(node); });
    if (nodes.empty() || refuses_all)
      return refuse_all(group, reason_for(status, nodes.empty() ? 0 : nodes[0]));
    for (uint32_t named : nodes) {
      out_.reasons[named] = reason_for(status, named);
      if (is_place || status.slug() != "onnx-unsupported") continue;
      for (uint32_t node : group.nodes) {
        if (graph_.nodes[node].op_type == graph_.nodes[named].op_type &&
            graph_.nodes[node].domain == graph_.nodes[named].domain)
          out_.reasons[node] = out_.reasons[named];
      }
    }
  }

  const Graph& graph_;
  const Settings& settings_;
  Capability out_;
  std::shared_ptr<const Constants> constants_;
  std::map<std::vector<uint32_t>, std::shared_ptr<Part>> parts_;  // by nodes
  std::map<std::vector<uint32_t>, bool> compiled_;
  size_t reads_ = 0, compiles_ = 0;
};

/// Returns relu of one number.
Graph smallest_graph() {
  Graph out;
  for (const char* name : {"x", "y"}) {
    Value value;
    value.name = name;
    value.element = kTaken[0];
    value.dims = {1};
    value.is_output = out.values.size() == 1;
    out.values.push_back(std::move(value));
  }
  Node node;
  node.op_type = "Relu";
  node.inputs = {0};
  node.outputs = {1};
  out.nodes.push_back(std::move(node));
  constexpr int64_t kOpset = 17;
  out.opsets = {{"", kOpset}};
  return out;
}

Status check_folder(const std::filesystem::path& folder, const char* option) {
  const std::filesystem::path place = folder.empty() ? "." : folder;
  std::error_code error;
  if (std::filesystem::is_directory(place, error) && ::access(place.c_str(), W_OK) == 0) return {};
  return failed(cat("no file can be written into the folder ", place.string(), " of the option ",
                    option))
      .with_slug("file")
      .with_help("name a folder that exists and can be written");
}

}  // namespace

Status check_settings(const Settings& settings) {
  if (!settings.explain_file.empty()) {
    const std::filesystem::path file(settings.explain_file);
    BYOC_TRY_STATUS(check_folder(file.parent_path(), "byoc.explain"));
  }
  if (!settings.cache_dir.empty()) {
    std::error_code ignored;  // the check reports it
    std::filesystem::create_directories(settings.cache_dir, ignored);
    BYOC_TRY_STATUS(check_folder(settings.cache_dir, "byoc.cache_dir"));
  }
  Settings general = settings;
  for (const char* of_model : {"plan", "place"}) general.compiling.erase(of_model);
  const Graph graph = smallest_graph();
  BYOC_TRY(auto constants, Constants::write(graph));
  const std::vector<Group> groups = group_nodes(graph, {true});
  BYOC_TRY(auto part, Part::make(graph, groups[0], std::move(constants), general));
  return part->check();
}

Result<Capability> find_capability(const Graph& graph, const Settings& settings) {
  return Search(graph, settings).run();
}

}  // namespace byoc::ort
