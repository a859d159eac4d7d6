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
#include "core/import/onnx/file/functions.h"
#include "core/import/onnx/file/graph_check.h"
#include "core/import/onnx/file/model_file.h"
#include "core/import/onnx/file/protobuf_text.h"
#include "core/import/onnx/file/tensor_proto.h"
#include "core/import/onnx/file/unsupported.h"
#include "core/import/onnx/graph.h"
#include "core/import/onnx/inputs.h"
#include "core/import/onnx/node.h"
#include "core/import/onnx/support_check.h"
#include "core/import/onnx/tables.h"

namespace byoc::onnx_import {
namespace {

Status unsupported(std::string message) {
  return unimplemented(std::move(message)).with_slug("onnx-unsupported");
}

bool reads_sequences(std::string_view op_type) {
  return op_type.starts_with("Sequence") || op_type == "ConcatFromSequence" ||
         op_type == "Identity" || op_type == "Loop";
}

/// Imports one model. An object is used once.
class Importer {
 public:
  Importer(const ModelFile& file, const std::string& path, const OpRegistry& ops,
           const ImportOptions& options, const SizeLimits& known)
      : model_(*file.model),
        proto_(*model_.mutable_graph()),
        folder_(path, file.file),
        options_(options),
        known_(known),
        ops_(ops),
        scopes_(folder_, options) {}

  Result<IRModule> run() {
    BYOC_TRY_STATUS(read_opsets());
    BYOC_TRY_STATUS(inline_functions());
    BYOC_TRY(std::string warning, check_graph(proto_));
    add_warning(warnings_, std::move(warning));
    if (proto_.sparse_initializer_size() > 0)
      return unsupported("the model has sparse initializers")
          .with_help("export the model with dense initializers");
    BYOC_TRY_STATUS(check_support(proto_, opsets_));
    GraphBuilder main_graph(module_, ops_);
    scopes_.enter(main_graph, proto_);
    BYOC_TRY_STATUS(add_inputs());
    Status status = convert_nodes(proto_);
    limits_ = main_graph.limits();
    BYOC_TRY_STATUS(std::move(status));
    BYOC_TRY_STATUS(add_results());
    Function main = finish(std::move(main_graph));
    module_.functions.emplace("main", std::move(main));
    return std::move(module_);
  }

  /// Returns after an error what the model needs of sizes without a bound.
  const SizeLimits& limits() const { return limits_; }
  void warn(std::string warning) { add_warning(warnings_, std::move(warning)); }

 private:
  Status read_opsets() {
    if (model_.opset_import_size() == 0) opsets_.by_domain[""] = 1;  // before IR version 3
    for (const auto& import : model_.opset_import()) {
      std::string domain = is_default_domain(import.domain()) ? "" : import.domain();
      auto [found, fresh] = opsets_.by_domain.emplace(domain, import.version());
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
      const std::string& domain = node.domain();
      return find_row({domain, node.op_type()}, known_opset(domain, opsets_.of(domain))) != nullptr;
    };
    return inline_model_functions(model_, is_known);
  }

  Status add_inputs() {
    std::vector<const onnx::ValueInfoProto*> inputs;
    for (const auto& input : proto_.input()) {
      // An initializer of the same name is the input's default value: a constant, unless bound.
      bool is_default = scopes_.is_initializer(input.name()) && !options_.bind.count(input.name());
      if (!is_default) inputs.push_back(&input);
    }
    BYOC_TRY(auto types, input_types(inputs, options_));
    BYOC_TRY_STATUS(set_equal_sizes(known_, types));
    BYOC_CHECK(types.size() == inputs.size(), types.size(), " types, ", inputs.size(), " inputs");
    open_sizes_ = open_sizes(inputs, types);
    graph().set_inputs(open_sizes_);
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
    done_.emplace_back();
    Status status;
    for (int k = 0; k < graph.node_size() && status.ok(); ++k) {
      onnx::NodeProto& node = *graph.mutable_node(k);
      if (!done_.back().contains(&node)) status = convert(node);
    }
    done_.pop_back();
    return status;
  }

  /// Converts a node before its turn.
  Status convert_early(onnx::NodeProto& node) {
    if (!done_.back().insert(&node).second) return {};
    return convert(node);
  }

  Status convert(onnx::NodeProto& proto) {
    NodeView node(proto, known_opset(proto.domain(), opsets_.of(proto)), folder_);
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
      return unsupported("sequences are read by operators of sequences alone")
          .at(describe_node(proto, opsets_));
    const NarrowType* narrow = narrow_operand(operands);
    if (narrow && !reads_narrow(proto.op_type()) && !moves_narrow(proto.op_type())) {
      return unsupported(cat("elements of type ", narrow->name,
                             " are supported by casts, QuantizeLinear, DequantizeLinear and ops "
                             "that move elements, not by this operator"))
          .at(describe_node(proto, opsets_));
    }
    Status status = set_outputs(node, outputs_of(proto, node));
    if (status.ok() && narrow && moves_narrow(proto.op_type())) keep_narrow(proto, narrow);
    if (status.ok()) return status;
    if (status.help().empty() && (has_open_size(operands) || is_control(proto)) &&
        !open_sizes_.empty())
      status = std::move(status).with_help(cat("bind the open sizes: ", open_sizes_));
    if (status.code() == Code::kUnimplemented && status.slug().empty()) {
      status = std::move(status).with_slug("onnx-unsupported");
      if (status.help().empty() && proto.domain() == kMicrosoftDomain)
        status = std::move(status).with_help(kUnoptimizedCure);
    }
    return std::move(status).at(describe_node(proto, opsets_));
  }

  bool has_open_size(const std::vector<Value>& operands) {
    const auto is_open = [](Dim dim) { return !dim.is_static() && !dim.is_counted(); };
    return std::any_of(operands.begin(), operands.end(), [&](const Value& operand) {
      if (!operand) return false;
      const Shape& shape = graph().type(*operand).shape;
      return std::any_of(shape.begin(), shape.end(), is_open);
    });
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
      ControlContext context{module_, ops_, scopes_, functions_, warnings_, done_};
      context.convert_nodes = [this](onnx::GraphProto& inner) { return convert_nodes(inner); };
      context.convert_early = [this](onnx::NodeProto& early) { return convert_early(early); };
      context.check_support = [this](const auto& inner) { return check_support(inner, opsets_); };
      return convert_control(context, proto, node);
    }
    const Row* row = find_row({proto.domain(), proto.op_type()}, node.opset());
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
  Status check_output_dtype(const std::string& name, int32_t declared, ValueId result) {
    const NarrowType* narrow = graph().narrow(result);
    const int32_t computed = narrow ? narrow->onnx : dtype_to_onnx(graph().type(result).dtype);
    if (declared == onnx::TensorProto::UNDEFINED || declared == computed) return {};
    return invalid(cat("the graph output ", in_quotes(name), " is declared as ",
                       onnx_dtype_name(declared), ", its value is ", onnx_dtype_name(computed)))
        .with_slug("onnx-graph")
        .with_help("export the model again, or correct the type of the output");
  }

  Status add_result(const std::string& name, int32_t declared, ValueId result) {
    BYOC_TRY_STATUS(check_output_dtype(name, declared, result));
    results_.push_back(result);
    output_names_.push_back(name);
    return {};
  }

  /// Adds the results of a sequence: its elements as NAME.0, NAME.1, ..., or the tensor whose rows
  /// they are.
  Status add_sequence(const onnx::ValueInfoProto& output, const Sequence& sequence) {
    const int32_t declared = output.type().sequence_type().elem_type().tensor_type().elem_type();
    const std::string begin = cat("the graph output ", in_quotes(output.name()), " is a sequence");
    if (sequence.rows) {
      add_warning(warnings_, cat(begin, "; it is one tensor, whose rows are the elements"));
      return add_result(output.name(), declared, *sequence.rows);
    }
    const std::vector<ValueId> elements = sequence.elements;
    if (elements.empty())
      return unsupported(cat(begin, " without elements")).with_help("remove this output");
    add_warning(warnings_, cat(begin, "; its elements are the outputs ", output.name(), ".0 to ",
                               output.name(), ".", elements.size() - 1));
    for (size_t k = 0; k < elements.size(); ++k)
      BYOC_TRY_STATUS(add_result(cat(output.name(), ".", k), declared, elements[k]));
    return {};
  }

  Status add_results() {
    for (const auto& output : proto_.output()) {
      BYOC_TRY(ValueId result, scopes_.value(output.name()));
      if (const Sequence* sequence = graph().sequence(result)) {
        BYOC_TRY_STATUS(add_sequence(output, *sequence));
        continue;
      }
      BYOC_TRY_STATUS(add_result(output.name(), output.type().tensor_type().elem_type(), result));
    }
    return {};
  }

  Function finish(GraphBuilder&& builder) {
    Function main = std::move(builder).finish(results_);
    main.attrs.set("input_names", input_names_);
    main.attrs.set("output_names", output_names_);
    if (!warnings_.empty()) main.attrs.set("import_warnings", warnings_);
    if (opsets_.of("") > 0) main.attrs.set("opset", opsets_.of(""));
    return main;
  }

  onnx::ModelProto& model_;
  onnx::GraphProto& proto_;
  ExternalFolder folder_;
  const ImportOptions& options_;
  const SizeLimits& known_;
  IRModule module_;
  const OpRegistry& ops_;
  Scopes scopes_;
  Opsets opsets_;
  Strings input_names_, output_names_, warnings_;
  std::vector<ValueId> results_;
  std::string open_sizes_;  // options that bind them
  SizeLimits limits_;
  std::vector<Symbol> functions_;  // of control flow
  DoneNodes done_;
};

// Describes a limit: of a table of positions, the first entries are read, and sizes beyond it would
// not fit what they are added to.
std::string limit_text(const std::string& size, const SizeLimit& limit) {
  std::string out;
  if (!limit.equal.empty())
    return cat("size ", size, " is ", limit.equal, ": attention has a mask or bias of this size");
  if (limit.least > 0)
    out = cat("size ", size, " is at least ", limit.least, ": the model does not fit smaller ones");
  if (limit.most == Dim::kUnbounded) return out;
  out += cat(out.empty() ? "" : "; ", "size ", size, " is at most ", limit.most);
  if (!limit.has_table) return out + ": an op of the model needs a bound";
  return cat(out, ": the model reads the first ", size, " entries of a table of ", limit.most);
}

/// Imports within limits of sizes. Those that the import finds are added when it fails.
Result<IRModule> import_limited(const std::string& path, const OpRegistry& ops,
                                const ImportOptions& options, SizeLimits& limits) {
  BYOC_TRY(ModelFile file, read_model_file(path));
  ImportOptions limited = options;
  for (const auto& [size, limit] : limits) {
    if (!limit.equal.empty()) continue;
    const bool has_most = limit.most != Dim::kUnbounded;
    const int64_t least = has_most ? std::max<int64_t>(limit.least, 1) : limit.least;
    limited.shapes.try_emplace(size, std::vector{GivenSize(least, limit.most)});
  }
  Importer importer(file, path, ops, limited, limits);
  for (const auto& [size, limit] : limits) importer.warn(limit_text(size, limit));
  Result<IRModule> out = importer.run();
  for (const auto& [size, found] : importer.limits()) {
    SizeLimit& limit = limits[size];
    limit.least = std::max(limit.least, found.least);
    if (found.most < limit.most) limit.has_table = found.has_table;
    limit.most = std::min(limit.most, found.most);
    if (limit.equal.empty()) limit.equal = found.equal;
  }
  return out;
}

Result<IRModule> import_checked(const std::string& path, const OpRegistry& ops,
                                const ImportOptions& options) {
  constexpr int kMostImports = 32;
  try {
    SizeLimits limits;
    for (int k = 0;; ++k) {
      const SizeLimits before = limits;
      Result<IRModule> module = import_limited(path, ops, options, limits);
      const bool is_empty = std::ranges::any_of(
          limits, [](const auto& entry) { return entry.second.least > entry.second.most; });
      if (module.ok() || limits == before || is_empty || k == kMostImports) return module;
    }
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
