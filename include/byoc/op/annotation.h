// SPDX-License-Identifier: Apache-2.0
#pragma once
// compiler_begin and compiler_end, the ops that carry the partition.
#include "byoc/op/op.h"

namespace byoc {

/// True for compiler_begin and compiler_end.
inline bool is_annotation(const Node& node) {
  auto* call = std::get_if<Call>(&node.kind);
  return call != nullptr && call->op->is_annotation;
}
/// True for compiler_begin.
inline bool is_begin(const Node& node) {
  return is_annotation(node) && std::get<Call>(node.kind).op->name == "compiler_begin";
}
/// True for compiler_end.
inline bool is_end(const Node& node) {
  return is_annotation(node) && std::get<Call>(node.kind).op->name == "compiler_end";
}

}  // namespace byoc
