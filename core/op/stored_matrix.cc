// SPDX-License-Identifier: Apache-2.0
#include "byoc/op/stored_matrix.h"

namespace byoc {
namespace {

constexpr size_t kMostTransposes = 2;

bool is_transpose(const Node& node) {
  auto* call = std::get_if<Call>(&node.kind);
  return call != nullptr && call->op->name == "transpose" &&
         call->attrs->ints("perm") == Ints{1, 0};
}

}  // namespace

MatrixPath matrix_path(const Function& function, ValueId matrix) {
  MatrixPath out{{matrix.node}};
  while (out.nodes.size() <= kMostTransposes && is_transpose(function.nodes[out.nodes.back()])) {
    out.nodes.push_back(function.args(function.nodes[out.nodes.back()])[0].node);
    out.is_transposed = !out.is_transposed;
  }
  return out;
}

}  // namespace byoc
