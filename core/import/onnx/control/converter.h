// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by the conversions of If, Loop and Scan: operands, bodies, and the outer values in them.
#include <unordered_set>

#include "core/import/onnx/control.h"
#include "core/import/onnx/file/graph_check.h"
#include "core/import/onnx/file/protobuf_text.h"

namespace byoc::onnx_import {

inline Status bad_graph(std::string message) {
  return invalid(std::move(message)).with_slug("onnx-graph");
}

/// A function that is made of a graph.
struct Body {
  Function function;
  std::vector<TypeId> results;
  bool always_goes_on = false;  // of a loop: its first result is the constant true
};

/// A parameter of a body.
struct BodyParam {
  std::string name;
  TensorType type;
  bool is_own = false;  // no name of the model: nodes cannot read it by that name
};

using NamedValues = std::vector<std::pair<std::string, ValueId>>;

class Converter {
 public:
  Converter(ControlContext& context, onnx::NodeProto& proto, const NodeView& node)
      : context_(context), scopes_(context.scopes), proto_(proto), node_(node) {}

 protected:
  GraphBuilder& outer() { return scopes_.builder(); }

  Result<ValueId> operand(size_t k) {
    if (!node_.has_input(k)) return bad_graph(cat("input ", k, " is missing"));
    return scopes_.value(node_.input(k));
  }

  /// Returns operand k as a scalar, or a constant when it is omitted.
  Result<ValueId> scalar_operand(size_t k, DType dtype, double fallback) {
    if (!node_.has_input(k)) {
      outer().begin_node({}, node_.name());
      return outer().scalar(dtype, fallback);
    }
    BYOC_TRY(ValueId value, operand(k));
    if (outer().type(value).dtype != dtype)
      return bad_graph(cat("input ", k, " is ", outer().type(value), ", expected ", dtype));
    outer().begin_node({}, node_.name());
    if (outer().rank(value) > 0) value = outer().call("reshape", {value}, {{"shape", Ints{}}});
    BYOC_TRY_STATUS(Status(outer().status()));
    return value;
  }

  /// Returns the values from outside that the graphs read and that are no constants. Bodies have
  /// them as parameters of the same names; of a sequence, the tensor of its rows.
  /// Names of `defined` are no values yet.
  Result<NamedValues> captured(const std::vector<const onnx::GraphProto*>& graphs,
                               std::unordered_set<std::string> defined = {}) {
    NamedValues out;
    std::unordered_set<std::string> seen = std::move(defined);
    for (const onnx::GraphProto* graph : graphs) {
      for (const std::string& name : outer_names(*graph)) {
        if (!seen.insert(name).second) continue;
        BYOC_TRY(ValueId value, scopes_.value(name));
        if (const Sequence* sequence = outer().sequence(value)) {
          if (!sequence->rows)
            return unimplemented(cat("its graph reads the sequence ", in_quotes(name)));
          sequences_.insert(name);
          out.emplace_back(name, *sequence->rows);
          continue;
        }
        if (outer().constant_data(value) != nullptr) continue;
        if (outer().narrow(value))
          return unimplemented(
              cat("its graph reads ", in_quotes(name), " of type ", outer().narrow(value)->name));
        out.emplace_back(name, value);
      }
    }
    return out;
  }

  Result<ValueId> constant_of_type(GraphBuilder& builder, DType dtype, double value) {
    builder.begin_node({}, node_.name());
    ValueId out = builder.scalar(dtype, value);
    BYOC_TRY_STATUS(Status(builder.status()));
    return out;
  }

  Result<Body> finish_body(GraphBuilder&& builder, std::vector<ValueId> results) {
    Body body;
    for (ValueId result : results) body.results.push_back(builder.type(result));
    if (!results.empty()) {
      std::optional<Ints> first = builder.const_ints(results[0]);
      body.always_goes_on = first && first->size() == 1 && first->front() != 0;
    }
    body.function = std::move(builder).finish(results);
    return body;
  }

  /// Returns the values of the graph's outputs, in the innermost scope.
  Result<std::vector<ValueId>> outputs_of(const onnx::GraphProto& graph) {
    std::vector<ValueId> out;
    for (const auto& output : graph.output()) {
      BYOC_TRY(ValueId value, scopes_.value(output.name()));
      if (scopes_.builder().sequence(value) != nullptr)
        return unimplemented(cat("its graph returns the sequence ", in_quotes(output.name())));
      if (scopes_.builder().narrow(value))
        return unimplemented(cat("its graph returns ", in_quotes(output.name()), " of type ",
                                 scopes_.builder().narrow(value)->name));
      out.push_back(value);
    }
    return out;
  }

  Status check_inner(onnx::GraphProto& graph, int inputs) {
    if (graph.input_size() != inputs)
      return bad_graph(cat("its graph ", in_quotes(graph.name()), " has ", graph.input_size(),
                           " inputs, expected ", inputs));
    BYOC_TRY(std::string warning,
             check_graph(graph, [&](const std::string& name) { return scopes_.has(name); }));
    add_warning(context_.warnings, std::move(warning));
    return {};
  }

  /// The numbers of functions and warnings that conversions have added.
  struct Mark {
    size_t functions, warnings;
  };
  Mark mark() const { return {context_.functions.size(), context_.warnings.size()}; }
  /// Removes what was added since.
  void return_to(const Mark& mark) {
    while (context_.functions.size() > mark.functions) {
      context_.module.functions.erase(context_.functions.back());
      context_.functions.pop_back();
    }
    context_.warnings.resize(std::min(mark.warnings, context_.warnings.size()));
  }

  Symbol add_function(const char* kind, Function function) {
    Symbol name = cat(kind, "_", context_.module.functions.size());
    context_.module.functions.emplace(name, std::move(function));
    context_.functions.push_back(name);
    return name;
  }

  Result<std::vector<ValueId>> add_control(const Control& control, std::vector<ValueId> args,
                                           const std::vector<TypeId>& types) {
    outer().begin_node({}, node_.name());
    std::vector<ValueId> results = outer().control(control, args, types);
    BYOC_TRY_STATUS(Status(outer().status()));
    return results;
  }

  /// Makes a function of `graph`: enters a scope whose names are the parameters, and finishes it
  /// with the results that `fill` returns. Parameter k is the value {k, 0}.
  template <class Fill>
  Result<Body> with_body(onnx::GraphProto& graph, const std::vector<BodyParam>& params, Fill fill) {
    GraphBuilder builder(context_.module, context_.ops);
    scopes_.enter(builder, graph);
    for (const BodyParam& param : params) {
      ValueId value = builder.param(param.name, param.type);
      if (!param.is_own) scopes_.set(param.name, value);
    }
    for (uint32_t k = 0; k < params.size(); ++k) {
      if (!params[k].is_own && sequences_.contains(params[k].name))
        scopes_.set(params[k].name, builder.make_sequence({{}, ValueId{k, 0}}));
    }
    Result<std::vector<ValueId>> results = fill(builder);
    scopes_.leave();
    if (!results.ok()) return std::move(results.status());
    return finish_body(std::move(builder), *std::move(results));
  }

  ControlContext& context_;
  Scopes& scopes_;
  onnx::NodeProto& proto_;
  const NodeView& node_;
  std::unordered_set<std::string> sequences_;  // that graphs read: their rows are parameters
};

}  // namespace byoc::onnx_import
