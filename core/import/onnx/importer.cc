// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <exception>
#include <map>
#include <unordered_map>

#include "byoc/base/check.h"
#include "byoc/base/no_memory.h"
#include "byoc/import.h"
#include "core/import/onnx/control.h"
#include "core/import/onnx/file/dtypes.h"
#include "core/import/onnx/file/graph_check.h"
#include "core/import/onnx/file/model_file.h"
#include "core/import/onnx/file/newest_forms.h"
#include "core/import/onnx/file/protobuf_text.h"
#include "core/import/onnx/file/tensor_proto.h"
#include "core/import/onnx/functions.h"
#include "core/import/onnx/graph.h"
#include "core/import/onnx/inputs.h"
#include "core/import/onnx/node.h"
#include "core/import/onnx/tables.h"

namespace byoc::onnx_import {
namespace {

bool is_default_domain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

Status unsupported(std::string message) {
  return unimplemented(std::move(message)).with_slug("onnx-unsupported");
}

/// Returns the opset whose rows convert nodes of `opset`: operators of later ones are as in the
/// newest one known, unless they have parts that it lacks.
int known_opset(int64_t opset) {
  return static_cast<int>(std::clamp<int64_t>(opset, 0, kNewestOpset));
}

bool reads_sequences(std::string_view op_type) {
  return op_type.starts_with("Sequence") || op_type == "ConcatFromSequence" ||
         op_type == "Identity" || op_type == "Loop";
}

constexpr const char* kReplace = "replace the operator before the export by those of ai.onnx";

/// Imports one model. An object is used once.
class Importer {
 public:
  Importer(const ModelFile& file, const std::string& path, const OpRegistry& ops,
           const ImportOptions& options)
      : model_(*file.model),
        proto_(*model_.mutable_graph()),
        folder_(path, file.file),
        options_(options),
        ops_(ops),
        scopes_(folder_, options) {}

  Result<IRModule> run() {
    BYOC_TRY_STATUS(read_opsets());
    BYOC_TRY_STATUS(inline_functions());
    BYOC_TRY_STATUS(check_graph(proto_));
    BYOC_TRY_STATUS(check_support());
    GraphBuilder main_graph(module_, ops_);
    scopes_.enter(main_graph, proto_);
    BYOC_TRY_STATUS(add_inputs());
    BYOC_TRY_STATUS(convert_nodes(proto_));
    BYOC_TRY(std::vector<ValueId> results, results_of_main());
    Function main = finish(std::move(main_graph), results);
    module_.functions.emplace("main", std::move(main));
    return std::move(module_);
  }

 private:
  Status read_opsets() {
    if (model_.opset_import_size() == 0) opsets_[""] = 1;  // before IR version 3
    for (const auto& import : model_.opset_import()) {
      std::string domain = is_default_domain(import.domain()) ? "" : import.domain();
      auto [found, fresh] = opsets_.emplace(domain, import.version());
      if (!fresh && found->second != import.version()) {
        return invalid(cat("the model imports two opsets of domain ", in_quotes(domain), ": ",
                           found->second, " and ", import.version()))
            .with_slug("onnx-parse");
      }
    }
    return {};
  }

  /// Replaces calls of the model's functions by their bodies. Functions of operators that have a
  /// row stay calls.
  Status inline_functions() {
    auto is_known = [&](const onnx::NodeProto& node) {
      return is_default_domain(node.domain()) &&
             find_row(node.op_type(), known_opset(opset_of(""))) != nullptr;
    };
    BYOC_TRY(node_opsets_, inline_model_functions(model_, is_known));
    return {};
  }

  /// Returns 0 when the model does not import the domain.
  int64_t opset_of(const std::string& domain) const {
    auto found = opsets_.find(is_default_domain(domain) ? "" : domain);
    return found == opsets_.end() ? 0 : found->second;
  }

  int64_t opset_of(const onnx::NodeProto& node) const {
    auto found = node_opsets_.find(&node);
    if (found != node_opsets_.end() && is_default_domain(node.domain())) return found->second;
    return opset_of(node.domain());
  }

  struct Refusal {
    std::string reason, cure;
  };

  /// Returns why the node is refused for any operands; an empty reason when it is accepted.
  Refusal refusal(const onnx::NodeProto& node) const {
    int64_t opset = opset_of(node);
    if (is_default_domain(node.domain()) && opset > kNewestOpset) {
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
    if (!is_default_domain(node.domain()))
      return {"operators of this domain are not known", kReplace};
    if (opset < 1)
      return {"the model imports no opset of its domain", "export the model with its opset"};
    if (find_row(node.op_type(), known_opset(opset))) return {};
    std::string known = known_opsets(node.op_type());
    if (known.empty()) return {"no such operator is known", kReplace};
    return {cat("it is known in ", known), "export the model with one of the known opsets"};
  }

  std::string describe(const onnx::NodeProto& node) const {
    std::string domain = is_default_domain(node.domain()) ? "ai.onnx" : node.domain();
    return cat("node ", node_label(node), " (", node.op_type(), ", domain ", domain, ", opset ",
               opset_of(node), ")");
  }

  /// Returns the nodes of the graph, then those of the graphs inside it.
  std::vector<const onnx::NodeProto*> all_nodes() const {
    std::vector<const onnx::NodeProto*> nodes;
    std::vector<const onnx::GraphProto*> graphs = {&proto_};
    for (size_t k = 0; k < graphs.size(); ++k) {
      const onnx::GraphProto& graph = *graphs[k];
      for (const auto& node : graph.node()) {
        nodes.push_back(&node);
        for (const onnx::GraphProto* inner : subgraphs(node)) graphs.push_back(inner);
      }
    }
    return nodes;
  }

  /// Finds all unsupported nodes before any work is done. One message lists them; nodes of the same
  /// op share a line.
  Status check_support() const {
    if (proto_.sparse_initializer_size() > 0)
      return unsupported("the model has sparse initializers")
          .with_help("export the model with dense initializers");
    struct Group {
      const onnx::NodeProto* first;
      Refusal refusal;
      size_t more = 0;
    };
    std::vector<Group> groups;
    std::map<std::pair<std::string, std::string>, size_t> known;  // (domain, op) -> group
    for (const onnx::NodeProto* node : all_nodes()) {
      Refusal now = refusal(*node);
      if (now.reason.empty()) continue;
      auto [found, fresh] =
          known.emplace(std::pair(node->domain(), node->op_type()), groups.size());
      if (fresh) groups.push_back({node, std::move(now)});
      else ++groups[found->second].more;
    }
    std::string text, cures;
    for (const Group& g : groups) {
      text += cat(text.empty() ? "" : "\n  ", describe(*g.first));
      if (g.more) text += cat(" and ", g.more, " more");
      text += cat(": ", g.refusal.reason);
      if (cures.find(g.refusal.cure) == cures.npos)
        cures += cat(cures.empty() ? "" : "; ", g.refusal.cure);
    }
    return text.empty() ? Status() : unsupported(text).with_help(cures);
  }

  Status add_inputs() {
    std::vector<const onnx::ValueInfoProto*> inputs;
    for (const auto& input : proto_.input()) {
      // An initializer of the same name is the input's default value: a constant, unless bound.
      bool is_default = scopes_.is_initializer(input.name()) && !options_.bind.count(input.name());
      if (!is_default) inputs.push_back(&input);
    }
    BYOC_TRY(auto types, input_types(inputs, options_));
    BYOC_CHECK(types.size() == inputs.size(), types.size(), " types, ", inputs.size(), " inputs");
    for (size_t k = 0; k < inputs.size(); ++k) {
      const std::string& name = inputs[k]->name();
      if (options_.bind.count(name)) continue;
      scopes_.set(name,
                  graph().set_narrow(graph().param(name, types[k]),
                                     narrow_type(inputs[k]->type().tensor_type().elem_type())));
      input_names_.push_back(name);
    }
    return {};
  }

  GraphBuilder& graph() { return scopes_.builder(); }

  Status convert_nodes(onnx::GraphProto& graph) {
    for (auto& node : *graph.mutable_node()) BYOC_TRY_STATUS(convert(node));
    return {};
  }

  Status convert(onnx::NodeProto& proto) {
    NodeView node(proto, known_opset(opset_of(proto)), folder_);
    std::vector<Value> operands;
    for (const std::string& name : proto.input()) {
      if (name.empty()) {
        operands.push_back(std::nullopt);
        continue;
      }
      BYOC_TRY(ValueId operand, scopes_.value(name));
      operands.push_back(operand);
    }
    graph().begin_node(operands, node.name());
    const bool has_sequence = std::any_of(operands.begin(), operands.end(), [&](const Value& v) {
      return v && graph().sequence(*v) != nullptr;
    });
    if (has_sequence && !reads_sequences(proto.op_type()))
      return unsupported("sequences are read by operators of sequences alone").at(describe(proto));
    const NarrowType* narrow = narrow_operand(operands);
    if (narrow && !reads_narrow(proto.op_type()) && !moves_narrow(proto.op_type())) {
      return unsupported(cat("elements of type ", narrow->name,
                             " are supported by casts, QuantizeLinear, DequantizeLinear and ops "
                             "that move elements, not by this operator"))
          .at(describe(proto));
    }
    Status status = set_outputs(node, outputs_of(proto, node));
    if (status.ok() && narrow && moves_narrow(proto.op_type())) keep_narrow(proto, narrow);
    if (status.ok()) return status;
    if (status.code() == Code::kUnimplemented && status.slug().empty()) {
      status = std::move(status).with_slug("onnx-unsupported");
    }
    return std::move(status).at(describe(proto));
  }

  /// Returns the narrow type of the first operand that has one.
  const NarrowType* narrow_operand(const std::vector<Value>& operands) {
    for (Value operand : operands) {
      if (!operand) continue;
      if (const NarrowType* narrow = graph().narrow(*operand)) return narrow;
    }
    return nullptr;
  }

  /// Gives the results of an op that moves elements the type of what it moved; extents are i64.
  void keep_narrow(const onnx::NodeProto& proto, const NarrowType* narrow) {
    for (const std::string& name : proto.output()) {
      if (name.empty() || !scopes_.has(name)) continue;
      Result<ValueId> found = scopes_.value(name);
      if (found.ok() && graph().type(*found).dtype == narrow->stored)
        graph().set_narrow(*found, narrow);
    }
  }

  Converted outputs_of(onnx::NodeProto& proto, const NodeView& node) {
    if (is_control(proto)) {
      ControlContext context{module_, ops_, scopes_,
                             [this](onnx::GraphProto& inner) { return convert_nodes(inner); }};
      return convert_control(context, proto, node);
    }
    const Row* row = find_row(proto.op_type(), node.opset());
    BYOC_CHECK(row, "check_support accepted ", proto.op_type());
    Converted outputs = row->convert(graph(), node);
    BYOC_TRY_STATUS(Status(node.status()));  // errors of the node come before their consequences
    BYOC_TRY_STATUS(Status(graph().status()));
    return outputs;
  }

  Status set_outputs(const NodeView& node, Converted outputs) {
    BYOC_TRY_STATUS(std::move(outputs.status()));
    for (size_t k = 0; k < node.num_outputs(); ++k) {
      if (!node.has_output(k)) continue;
      if (k >= outputs->size() || !graph().is_valid((*outputs)[k]))
        return unsupported(cat("output ", k, " (", in_quotes(node.output(k)), ") is not provided"));
      scopes_.set(node.output(k), (*outputs)[k]);
    }
    return {};
  }

  /// Checks the declared dtype of an output; an output without a declared type is accepted. Shapes
  /// are not compared: exporters write symbolic and outdated ones, and --bind may change sizes.
  Status check_output_dtype(const onnx::ValueInfoProto& output, ValueId result) {
    if (graph().sequence(result) != nullptr)
      return unsupported(cat("the graph output ", in_quotes(output.name()), " is a sequence"));
    const int32_t declared = output.type().tensor_type().elem_type();
    const NarrowType* narrow = graph().narrow(result);
    const int32_t computed = narrow ? narrow->onnx : dtype_to_onnx(graph().type(result).dtype);
    if (declared == onnx::TensorProto::UNDEFINED || declared == computed) return {};
    return invalid(cat("the graph output ", in_quotes(output.name()), " is declared as ",
                       onnx_dtype_name(declared), ", its value is ", onnx_dtype_name(computed)))
        .with_slug("onnx-graph")
        .with_help("export the model again, or correct the type of the output");
  }

  Result<std::vector<ValueId>> results_of_main() {
    std::vector<ValueId> results;
    for (const auto& output : proto_.output()) {
      BYOC_TRY(ValueId result, scopes_.value(output.name()));
      BYOC_TRY_STATUS(check_output_dtype(output, result));
      results.push_back(result);
    }
    return results;
  }

  Function finish(GraphBuilder&& builder, const std::vector<ValueId>& results) {
    Function main = std::move(builder).finish(results);
    Strings output_names;
    for (const auto& output : proto_.output()) output_names.push_back(output.name());
    main.attrs.set("input_names", input_names_);
    main.attrs.set("output_names", output_names);
    if (opset_of("") > 0) main.attrs.set("opset", opset_of(""));
    return main;
  }

  onnx::ModelProto& model_;
  onnx::GraphProto& proto_;
  ExternalFolder folder_;
  const ImportOptions& options_;
  IRModule module_;
  const OpRegistry& ops_;
  Scopes scopes_;
  std::map<std::string, int64_t> opsets_;  // by domain; "" is the default domain
  NodeOpsets node_opsets_;                 // of nodes of inlined functions
  Strings input_names_;
};

Result<IRModule> import_checked(const std::string& path, const OpRegistry& ops,
                                const ImportOptions& options) {
  try {
    BYOC_TRY(ModelFile file, read_model_file(path));
    return Importer(file, path, ops, options).run();
  } catch (const std::bad_alloc&) {
    return no_memory();
  } catch (const std::exception& e) {  // of protobuf
    return Status(Code::kResourceExhausted, cat("reading the model failed: ", e.what()))
        .with_slug("model-file");
  }
}

}  // namespace
}  // namespace byoc::onnx_import

namespace byoc {

Result<IRModule> import_onnx(const std::string& path, const OpRegistry& ops,
                             const ImportOptions& options) {
  auto module = onnx_import::import_checked(path, ops, options);
  if (!module.ok()) return std::move(module.status()).at(path);
  return module;
}

}  // namespace byoc
