// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/scopes.h"

#include "byoc/base/check.h"
#include "core/import/onnx/file/protobuf_text.h"
#include "core/import/onnx/file/tensor_proto.h"

namespace byoc::onnx_import {

void Scopes::enter(GraphBuilder& builder, onnx::GraphProto& graph) {
  Scope& scope = scopes_.emplace_back(Scope{&builder, &graph, {}, {}, {}});
  for (auto& tensor : *graph.mutable_initializer()) scope.initializers[tensor.name()] = &tensor;
}

bool Scopes::defines(const Scope& scope, const std::string& name) const {
  const bool is_bound = &scope == &scopes_.front() && options_.bind.count(name) > 0;
  return is_bound || scope.values.count(name) > 0 || scope.initializers.count(name) > 0;
}

bool Scopes::has(const std::string& name) const {
  return std::any_of(scopes_.begin(), scopes_.end(),
                     [&](const Scope& scope) { return defines(scope, name); });
}

// Returns the shape that the innermost graph declares for a value; nullptr when it declares none.
const onnx::TensorShapeProto* Scopes::declared_shape(const std::string& name) {
  Scope& scope = scopes_.back();
  if (!scope.declared) {
    scope.declared.emplace();
    for (const auto* declared : {&scope.graph->output(), &scope.graph->value_info()}) {
      for (const auto& info : *declared) {
        if (info.type().tensor_type().has_shape())
          scope.declared->emplace(info.name(), &info.type().tensor_type().shape());
      }
    }
  }
  auto found = scope.declared->find(name);
  return found == scope.declared->end() ? nullptr : found->second;
}

std::optional<int64_t> Scopes::declared_rows(const std::string& name) {
  const onnx::TensorShapeProto* shape = declared_shape(name);
  if (shape == nullptr || shape->dim_size() == 0 || !shape->dim(0).has_dim_value() ||
      shape->dim(0).dim_value() < 0)
    return std::nullopt;
  return shape->dim(0).dim_value();
}

std::optional<size_t> Scopes::declared_rank(const std::string& name) {
  const onnx::TensorShapeProto* shape = declared_shape(name);
  return shape == nullptr ? std::nullopt : std::optional(static_cast<size_t>(shape->dim_size()));
}

Result<ValueId> Scopes::value(const std::string& name) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (!defines(*scope, name)) continue;
    BYOC_TRY(ValueId found, value_in(*scope, name));
    if (scope->builder == scopes_.back().builder) return found;
    return copied(*scope, name, found);
  }
  return invalid(cat("the value ", in_quotes(name), " is read, and nothing before defines it"))
      .with_slug("onnx-graph");
}

// Returns the value in the builder of that scope.
Result<ValueId> Scopes::value_in(Scope& scope, const std::string& name) {
  auto found = scope.values.find(name);
  if (found != scope.values.end()) return found->second;
  TypedBuffer tensor;
  const NarrowType* narrow = nullptr;
  auto bound = options_.bind.find(name);
  if (&scope == &scopes_.front() && bound != options_.bind.end()) {
    tensor = bound->second;
    for (const auto& input : scope.graph->input()) {
      if (input.name() == name) narrow = narrow_type(input.type().tensor_type().elem_type());
    }
  } else {
    onnx::TensorProto& proto = *scope.initializers.at(name);
    narrow = narrow_type(proto.data_type());
    BYOC_TRY(tensor, read_tensor(proto, folder_));
    std::string().swap(*proto.mutable_raw_data());  // so that weights are in memory once
  }
  scope.builder->begin_node({}, name);
  ValueId constant = scope.builder->constant(tensor.first, std::move(tensor.second));
  BYOC_TRY_STATUS(Status(scope.builder->status()));
  return scope.values[name] = scope.builder->set_narrow(constant, narrow);
}

// Copies a constant of an outer builder to the innermost one. Other values are parameters there.
Result<ValueId> Scopes::copied(Scope& from, const std::string& name, ValueId value) {
  Scope& to = scopes_.back();
  const Buffer* data = from.builder->constant_data(value);
  BYOC_CHECK(data != nullptr, name, " is no parameter of the body that reads it");
  ValueId copy = to.builder->constant(from.builder->type(value), *data, name);
  return to.values[name] = to.builder->set_narrow(copy, from.builder->narrow(value));
}

}  // namespace byoc::onnx_import
