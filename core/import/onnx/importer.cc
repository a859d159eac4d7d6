// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <map>
#include <unordered_map>

#include "byoc/base/check.h"
#include "byoc/import.h"
#include "core/import/onnx/file/dtypes.h"
#include "core/import/onnx/file/graph_check.h"
#include "core/import/onnx/file/model_file.h"
#include "core/import/onnx/file/protobuf_text.h"
#include "core/import/onnx/file/tensor_proto.h"
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

constexpr const char* kReplace = "replace the operator before the export by those of ai.onnx";

/// Imports one model. An object is used once.
class Importer {
 public:
  Importer(onnx::ModelProto& model, const std::string& path, const OpRegistry& ops,
           const ImportOptions& options)
      : model_(model),
        proto_(*model.mutable_graph()),
        folder_(path),
        options_(options),
        graph_(module_, ops) {}

  Result<IRModule> run() {
    BYOC_TRY_STATUS(read_opsets());
    BYOC_TRY_STATUS(check_graph(proto_));
    BYOC_TRY_STATUS(check_support());
    BYOC_TRY_STATUS(add_inputs());
    for (const auto& node : proto_.node()) BYOC_TRY_STATUS(convert(node));
    BYOC_TRY(Function main, finish());
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
    int64_t opset = opset_of("");
    if (opset > kNewestOpset) {
      return unsupported(cat("the model uses opset ", opset, ", this byoc supports opsets up to ",
                             kNewestOpset))
          .with_help("export again with an older opset, 17 for example");
    }
    return {};
  }

  /// Returns 0 when the model does not import the domain.
  int64_t opset_of(const std::string& domain) const {
    auto found = opsets_.find(is_default_domain(domain) ? "" : domain);
    return found == opsets_.end() ? 0 : found->second;
  }

  struct Refusal {
    std::string reason, cure;
  };

  /// Returns why the node is refused for any operands; an empty reason when it is accepted.
  Refusal refusal(const onnx::NodeProto& node) const {
    int64_t opset = opset_of(node.domain());
    if (std::string attr = subgraph_attribute(node); !attr.empty()) {
      return {cat("it runs a graph of its own (attribute ", in_quotes(attr),
                  "); control flow is not supported"),
              "export the model without control flow: trace it with example inputs, which decides "
              "branches and unrolls loops"};
    }
    for (const auto& function : model_.functions()) {
      if (function.name() == node.op_type() && function.domain() == node.domain())
        return {"it is a function of the model", "export the model with its functions inlined"};
    }
    if (!is_default_domain(node.domain()))
      return {"operators of this domain are not known", kReplace};
    if (opset < 1)
      return {"the model imports no opset of its domain", "export the model with its opset"};
    if (find_row(node.op_type(), static_cast<int>(opset))) return {};
    std::string known = known_opsets(node.op_type());
    if (known.empty()) return {"no such operator is known", kReplace};
    return {cat("it is known in ", known), "export the model with one of the known opsets"};
  }

  std::string describe(const onnx::NodeProto& node) const {
    std::string domain = is_default_domain(node.domain()) ? "ai.onnx" : node.domain();
    return cat("node ", node_label(node), " (", node.op_type(), ", domain ", domain, ", opset ",
               opset_of(node.domain()), ")");
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
    for (const auto& node : proto_.node()) {
      Refusal now = refusal(node);
      if (now.reason.empty()) continue;
      auto [found, fresh] = known.emplace(std::pair(node.domain(), node.op_type()), groups.size());
      if (fresh) groups.push_back({&node, std::move(now)});
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
    for (auto& tensor : *proto_.mutable_initializer()) initializers_[tensor.name()] = &tensor;
    std::vector<const onnx::ValueInfoProto*> inputs;
    for (const auto& input : proto_.input()) {
      // An initializer of the same name is the input's default value: a constant, unless bound.
      bool is_default = initializers_.count(input.name()) && !options_.bind.count(input.name());
      if (!is_default) inputs.push_back(&input);
    }
    BYOC_TRY(auto types, input_types(inputs, options_));
    BYOC_CHECK(types.size() == inputs.size(), types.size(), " types, ", inputs.size(), " inputs");
    for (size_t k = 0; k < inputs.size(); ++k) {
      const std::string& name = inputs[k]->name();
      if (options_.bind.count(name)) continue;
      values_[name] = graph_.param(name, types[k]);
      input_names_.push_back(name);
    }
    return {};
  }

  /// Returns a value by its ONNX name. Makes constants of initializers and bound inputs at their
  /// first use.
  Result<ValueId> value(const std::string& name) {
    auto found = values_.find(name);
    if (found != values_.end()) return found->second;
    TypedBuffer tensor;
    if (auto bound = options_.bind.find(name); bound != options_.bind.end()) {
      tensor = bound->second;
    } else {
      auto initializer = initializers_.find(name);  // check_graph has found every name that is read
      BYOC_CHECK(initializer != initializers_.end(), "no value ", name);
      onnx::TensorProto& proto = *initializer->second;
      BYOC_TRY(tensor, read_tensor(proto, folder_));
      proto.clear_raw_data();  // so that weights are in memory once
    }
    graph_.begin_node({}, name);
    ValueId constant = graph_.constant(tensor.first, std::move(tensor.second));
    BYOC_TRY_STATUS(Status(graph_.status()));
    values_[name] = constant;
    return constant;
  }

  Status convert(const onnx::NodeProto& proto) {
    NodeView node(proto, static_cast<int>(opset_of("")), folder_);
    std::vector<Value> operands;
    for (const std::string& name : proto.input()) {
      if (name.empty()) {
        operands.push_back(std::nullopt);
        continue;
      }
      BYOC_TRY(ValueId operand, value(name));
      operands.push_back(operand);
    }
    graph_.begin_node(operands, node.name());
    const Row* row = find_row(proto.op_type(), node.opset());
    BYOC_CHECK(row, "check_support accepted ", proto.op_type());
    Status status = convert(node, row->convert);
    if (status.ok()) return status;
    if (status.code() == Code::kUnimplemented && status.slug().empty()) {
      status = std::move(status).with_slug("onnx-unsupported");
    }
    return std::move(status).at(describe(proto));
  }

  Status convert(const NodeView& node, Convert row) {
    Converted outputs = row(graph_, node);
    BYOC_TRY_STATUS(Status(node.status()));  // errors of the node come before their consequences
    BYOC_TRY_STATUS(Status(graph_.status()));
    BYOC_TRY_STATUS(std::move(outputs.status()));
    for (size_t k = 0; k < node.num_outputs(); ++k) {
      if (!node.has_output(k)) continue;
      if (k >= outputs->size() || !graph_.is_valid((*outputs)[k]))
        return unsupported(cat("output ", k, " (", in_quotes(node.output(k)), ") is not provided"));
      values_[node.output(k)] = (*outputs)[k];
    }
    return {};
  }

  /// Checks the declared dtype of an output; an output without a declared type is accepted. Shapes
  /// are not compared: exporters write symbolic and outdated ones, and --bind may change sizes.
  static Status check_output_dtype(const onnx::ValueInfoProto& output, DType computed) {
    const int32_t declared = output.type().tensor_type().elem_type();
    if (declared == onnx::TensorProto::UNDEFINED || declared == dtype_to_onnx(computed)) return {};
    return invalid(cat("the graph output ", in_quotes(output.name()), " is declared as ",
                       onnx_dtype_name(declared), ", its value is ",
                       onnx_dtype_name(dtype_to_onnx(computed))))
        .with_slug("onnx-graph")
        .with_help("export the model again, or correct the type of the output");
  }

  Result<Function> finish() {
    std::vector<ValueId> results;
    Strings output_names;
    for (const auto& output : proto_.output()) {
      BYOC_TRY(ValueId result, value(output.name()));
      BYOC_TRY_STATUS(check_output_dtype(output, graph_.type(result).dtype));
      results.push_back(result);
      output_names.push_back(output.name());
    }
    Function main = std::move(graph_).finish(results);
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
  GraphBuilder graph_;
  std::map<std::string, int64_t> opsets_;  // by domain; "" is the default domain
  std::unordered_map<std::string, onnx::TensorProto*> initializers_;
  std::unordered_map<std::string, ValueId> values_;
  Strings input_names_;
};

Result<IRModule> import_checked(const std::string& path, const OpRegistry& ops,
                                const ImportOptions& options) {
  try {
    BYOC_TRY(auto model, read_model_file(path));
    return Importer(*model, path, ops, options).run();
  } catch (const std::exception& e) {  // allocation fails in a library
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
