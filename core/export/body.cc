// SPDX-License-Identifier: Apache-2.0
#include "core/export/body.h"

#include "byoc/base/check.h"
#include "byoc/ir/open_shape.h"
#include "byoc/ir/visit.h"
#include "byoc/op/added.h"
#include "core/export/rows.h"
#include "core/extend/added.h"
#include "core/import/onnx/file/dtypes.h"

namespace byoc::onnx_export {
namespace {

class Writer {
 public:
  Writer(const Function& function, const std::vector<UsedConstant>& constants, Shared& shared)
      : function_(function), shared_(shared), names_of_(function.nodes.size()) {
    for (const UsedConstant& constant : constants) fresh_.take(shared_.constants.name(constant));
  }

  Body run(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
    name_inputs(inputs);
    name_results(outputs);
    for (uint32_t node = 0; node < function_.nodes.size(); ++node) write(node);
    write_copies();
    name_nodes();
    return std::move(body_);
  }

 private:
  std::string fresh(const std::string& wanted, const std::string& fallback) {
    return fresh_.next(wanted.empty() ? fallback : wanted);
  }

  void name_inputs(const std::vector<std::string>& inputs) {
    for (size_t k = 0; k < function_.num_params(); ++k) {
      const std::string wanted = k < inputs.size() ? inputs[k] : "";
      body_.inputs.push_back(fresh(wanted, std::get<Param>(function_.nodes[k].kind).name.str()));
      names_of_[k] = {body_.inputs.back()};
    }
  }

  /// Names results before other values, so that they get the names of the model's outputs.
  void name_results(const std::vector<std::string>& outputs) {
    for (size_t k = 0; k < function_.results.size(); ++k) {
      const ValueId value = function_.results[k];
      body_.outputs.push_back(fresh(k < outputs.size() ? outputs[k] : "", cat("output", k)));
      const Kind& kind = function_.nodes[value.node].kind;
      const bool is_made =
          !std::holds_alternative<Param>(kind) && !std::holds_alternative<Constant>(kind);
      if (!is_made || !result_names_.emplace(value, body_.outputs.back()).second)
        copies_.emplace_back(value, body_.outputs.back());
    }
  }

  /// Writes results that are parameters, constants, or other results again.
  void write_copies() {
    for (const auto& [value, name] : copies_) {
      onnx::NodeProto& node = *body_.nodes.Add();
      node.set_op_type("Identity");
      node.add_input(name_of(value));
      node.add_output(name);
    }
  }

  /// Makes the names of nodes different, as readers require: an op that becomes several nodes, and
  /// a node that was read as several ops, give all of them one name.
  void name_nodes() {
    FreshNames names;
    for (onnx::NodeProto& node : body_.nodes) {
      if (!node.name().empty()) node.set_name(names.next(node.name()));
    }
  }

  const std::string& name_of(ValueId value, bool is_nibbles = false) const {
    const Node& node = function_.nodes[value.node];
    if (auto* constant = std::get_if<Constant>(&node.kind))
      return shared_.constants.name({constant->data, node.types[0], is_nibbles});
    return names_of_[value.node][value.output];
  }

  Names names_of(std::span<const ValueId> values) const {
    Names out;
    for (ValueId value : values) out.push_back(name_of(value));
    return out;
  }

  Names operands_of(const Node& node) const {
    Names out;
    const auto args = function_.args(node);
    for (size_t k = 0; k < args.size(); ++k)
      out.push_back(name_of(args[k], reads_nibbles(function_, node, k)));
    return out;
  }

  void write(uint32_t index) {
    const Node& node = function_.nodes[index];
    std::visit(
        overloaded{[](const Param&) {},
                   [&](const Constant&) {},  // named when it is read, in the form that is read
                   [&](const byoc::Call&) { write_call(index); },
                   [&](const Invoke& invoke) { write_invoke(index, invoke); },
                   [&](const Extern& call) {
                     name_outputs(index);
                     shared_.problems.insert(cat("the compiled function @", call.symbol));
                   },
                   [&](const Control& control) { write_control(index, control); }},
        node.kind);
  }

  void name_outputs(uint32_t index) {
    for (uint32_t k = 0; k < function_.nodes[index].types.size(); ++k) {
      auto result = result_names_.find({index, k});
      names_of_[index].push_back(result != result_names_.end()
                                     ? result->second
                                     : fresh_.next(k ? cat("v", index, "_", k) : cat("v", index)));
    }
  }

  void write_call(uint32_t index) {
    name_outputs(index);
    const auto& call = std::get<byoc::Call>(function_.nodes[index].kind);
    if (is_added(*call.op)) return write_added(index, *call.op);
    const Row* row = find_row(call.op->name);
    if (row == nullptr) {
      shared_.problems.insert(call.op->name);
      return;
    }
    Call writer(function_, index, operands_of(function_.nodes[index]), names_of_[index], fresh_,
                shared_.opset, body_.nodes);
    writer.need(row->opset);
    Status status = call.attrs->has(kOpenShapeAttr) && !row->takes_open_shape
                        ? unimplemented("to open sizes")
                    : row->write ? row->write(writer)
                                 : same(writer, *row);
    if (status.ok() && !writer.problem().empty()) status = unimplemented(writer.problem());
    if (!status.ok()) shared_.problems.insert(cat(call.op->name, " ", status.message()));
    body_.needed_opset = std::max(body_.needed_opset, writer.needed_opset());
  }

  // Writes an op of a library as the operator that the library reads as this op.
  void write_added(uint32_t index, const OpDef& op) {
    const extend::OnnxRow* row = extend::find_onnx_row_of(op.name);
    if (row == nullptr) {
      shared_.problems.insert(
          cat(op.name, ", an op of a library without a row for an operator of ONNX"));
      return;
    }
    Call writer(function_, index, operands_of(function_.nodes[index]), names_of_[index], fresh_,
                shared_.opset, body_.nodes);
    onnx::NodeProto& node = writer.add(row->op_type, writer.inputs(), writer.outputs());
    node.set_domain(row->domain);
    for (const auto& [name, value] : writer.attrs()) add_attribute(node, name.text(), value);
    body_.domains.insert(row->domain);
    for (size_t k = 0; k < names_of_[index].size(); ++k)
      if (!result_names_.contains({index, static_cast<uint32_t>(k)}))
        body_.shaped.emplace_back(names_of_[index][k], function_.nodes[index].types[k]);
  }

  static Status same(Call& call, const Row& row) {
    onnx::NodeProto& node = call.add(row.op_type, call.inputs(), call.outputs());
    for (const auto& [name, value] : call.attrs()) add_attribute(node, name.text(), value);
    return {};
  }

  void write_invoke(uint32_t index, const Invoke& invoke) {
    name_outputs(index);
    onnx::NodeProto& node = *body_.nodes.Add();
    node.set_domain(kFunctionDomain);
    node.set_op_type(invoke.function.str());
    node.set_name(function_.nodes[index].loc.str());
    for (const std::string& name : names_of(function_.args(invoke.args))) node.add_input(name);
    auto used = shared_.used.find(invoke.function);
    BYOC_CHECK(used != shared_.used.end(), "no constants of @", invoke.function);
    for (const UsedConstant& constant : used->second)
      node.add_input(shared_.constants.name(constant));
    for (const std::string& name : names_of_[index]) node.add_output(name);
  }

  /// Writes If and Loop. Their graphs have one node, which calls the body as a function of the
  /// model and reads the values of this function that the body takes.
  void write_control(uint32_t index, const Control& control) {
    name_outputs(index);
    onnx::NodeProto& node = *body_.nodes.Add();
    const Names args = names_of(function_.args(control.args));
    node.set_name(function_.nodes[index].loc.str());
    for (const std::string& name : names_of_[index]) node.add_output(name);
    if (control.action == Control::kIf) {
      node.set_op_type("If");
      node.add_input(args[0]);
      const Names operands(args.begin() + 1, args.end());
      call_in_graph(node, "then_branch", control.body, operands, 0);
      call_in_graph(node, "else_branch", control.otherwise, operands, 0);
      return;
    }
    node.set_op_type("Loop");
    const size_t own = control.conditions() + control.carried;
    for (size_t k = 0; k < own; ++k) node.add_input(args[k]);
    Names operands = {fresh_.next("iteration"), fresh_.next("condition")};
    for (size_t k = 0; k < control.carried; ++k) operands.push_back(fresh_.next("carried"));
    operands.insert(operands.end(), args.begin() + static_cast<ptrdiff_t>(own), args.end());
    call_in_graph(node, "body", control.body, operands, own);
    for (size_t k = control.carried; k < names_of_[index].size(); ++k)
      body_.shaped.emplace_back(names_of_[index][k], function_.nodes[index].types[k]);
  }

  /// Adds the attribute `name`, a graph that calls the function. The first `inputs` of the operands
  /// are those of the graph; of two and more the second is ONNX's condition, which bodies lack.
  void call_in_graph(onnx::NodeProto& node, const char* name, Symbol callee, Names operands,
                     size_t inputs) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    onnx::GraphProto& graph = *attribute.mutable_g();
    graph.set_name(callee.str());
    const Function& body = shared_.module.function(callee);
    for (size_t k = 0; k < inputs; ++k) {
      const size_t param = k < 2 ? 0 : k - 1;
      const TensorType condition{DType::kBool, {}};
      set_type(*graph.add_input(), operands[k], k == 1 ? condition : *body.nodes[param].types[0]);
    }
    if (inputs > 0) operands.erase(operands.begin() + 1);
    onnx::NodeProto& call = *graph.add_node();
    call.set_domain(kFunctionDomain);
    call.set_op_type(callee.str());
    for (const std::string& operand : operands) call.add_input(operand);
    for (const UsedConstant& constant : shared_.used.at(callee))
      call.add_input(shared_.constants.name(constant));
    for (ValueId result : body.results) {
      call.add_output(fresh_.next("result"));
      set_type(*graph.add_output(), *call.output().rbegin(), *body.type(result));
    }
  }

  const Function& function_;
  Shared& shared_;
  FreshNames fresh_;
  std::vector<Names> names_of_;  // of each node's results
  std::map<ValueId, std::string> result_names_;
  std::vector<std::pair<ValueId, std::string>> copies_;
  Body body_;
};

}  // namespace

void set_type(onnx::ValueInfoProto& info, const std::string& name, const TensorType& type) {
  info.set_name(name);
  auto& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(onnx_import::dtype_to_onnx(type.dtype));
  auto& shape = *tensor.mutable_shape();
  for (Dim dim : type.shape) {
    auto& to = *shape.add_dim();
    if (dim.is_static()) to.set_dim_value(dim.extent());
    else to.set_dim_param(dim.name().str());
  }
}

const std::string& ConstantNames::name(const UsedConstant& constant) {
  auto [at, is_new] = names_.try_emplace(constant.key());
  if (is_new) {
    at->second = cat("constant_", all_.size());
    all_.push_back(constant);
  }
  return at->second;
}

std::vector<UsedConstant> constants_of(const Function& function) {
  std::vector<bool> is_plain(function.nodes.size()), has_nibbles(function.nodes.size());
  for (const Node& node : function.nodes) {
    const auto args = function.args(node);
    for (size_t k = 0; k < args.size(); ++k)
      (reads_nibbles(function, node, k) ? has_nibbles : is_plain)[args[k].node] = true;
  }
  for (ValueId result : function.results) is_plain[result.node] = true;
  std::vector<UsedConstant> out;
  for (uint32_t k = 0; k < function.nodes.size(); ++k) {
    const Node& node = function.nodes[k];
    auto* constant = std::get_if<Constant>(&node.kind);
    if (constant == nullptr) continue;
    if (is_plain[k]) out.push_back({constant->data, node.types[0]});
    if (has_nibbles[k]) out.push_back({constant->data, node.types[0], true});
  }
  return out;
}

Body write_body(const Function& function, const std::vector<std::string>& inputs,
                const std::vector<std::string>& outputs, const std::vector<UsedConstant>& constants,
                Shared& shared) {
  return Writer(function, constants, shared).run(inputs, outputs);
}

}  // namespace byoc::onnx_export
