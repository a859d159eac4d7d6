// SPDX-License-Identifier: Apache-2.0
#pragma once
// The values that ONNX names have, in the main graph and in the graphs of control flow inside it.
#include <onnx/onnx_pb.h>

#include <deque>
#include <string_view>
#include <unordered_map>

#include "byoc/import.h"
#include "core/import/onnx/file/external_data.h"
#include "core/import/onnx/file/outer_names.h"
#include "core/import/onnx/graph.h"

namespace byoc::onnx_import {

/// A stack of graphs, the innermost last. A name means the value of the innermost graph that has
/// it. Graphs may share a builder; a graph with another builder than the one around it is a body,
/// which reads outer values through parameters of the same name, and constants through copies.
class Scopes {
 public:
  /// Borrows all of them. `options` gives values to inputs of the main graph.
  Scopes(const ExternalFolder& folder, const ImportOptions& options)
      : folder_(folder), options_(options) {}

  /// Begins a graph. Both are borrowed until `leave`.
  void enter(GraphBuilder& builder, onnx::GraphProto& graph);
  void leave() { scopes_.pop_back(); }
  size_t depth() const { return scopes_.size(); }
  const ImportOptions& options() const { return options_; }

  onnx::GraphProto& graph() { return *scopes_.back().graph; }
  GraphBuilder& builder() { return *scopes_.back().builder; }
  void set(const std::string& name, ValueId value) { scopes_.back().values[name] = value; }
  /// Returns true when a graph of the stack has that name.
  bool has(const std::string& name) const;
  bool is_initializer(const std::string& name) const {
    return scopes_.back().initializers.count(name) > 0;
  }
  /// Returns the first dim that the innermost graph declares for a value; nullopt when it declares
  /// no number. The first call costs O(declared values).
  std::optional<int64_t> declared_rows(const std::string& name);
  /// Returns the number of dims that the innermost graph declares for a value; nullopt when it
  /// declares none. The first call costs O(declared values).
  std::optional<size_t> declared_rank(const std::string& name);
  /// Returns a value of the innermost builder by its name. Makes constants of initializers and
  /// bound inputs at their first use, so that the builder's present node may change.
  Result<ValueId> value(const std::string& name);

 private:
  struct Scope {
    GraphBuilder* builder;
    onnx::GraphProto* graph;
    std::unordered_map<std::string, onnx::TensorProto*> initializers;
    std::unordered_map<std::string, ValueId> values;
    /// Made when it is first read.
    std::optional<std::unordered_map<std::string, const onnx::TensorShapeProto*>> declared;
  };
  const onnx::TensorShapeProto* declared_shape(const std::string& name);
  bool defines(const Scope& scope, const std::string& name) const;
  Result<ValueId> value_in(Scope& scope, const std::string& name);
  Result<ValueId> copied(Scope& from, const std::string& name, ValueId value);

  const ExternalFolder& folder_;
  const ImportOptions& options_;
  std::deque<Scope> scopes_;
};

}  // namespace byoc::onnx_import
