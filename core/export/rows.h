// SPDX-License-Identifier: Apache-2.0
#pragma once
// The interface for rows of the tables: an op of byoc and the ONNX nodes that compute the same.
#include <span>

#include "core/export/call.h"

namespace byoc::onnx_export {

using Write = Status (*)(Call& call);
struct Row {
  std::string_view op;            // of byoc
  std::string_view op_type;       // of ONNX; `write` may add others
  int opset = 0;                  // the first that has it; 0: the oldest that is written
  Write write = nullptr;          // null: same operands and attributes
  bool takes_open_shape = false;  // `write` handles the attribute open_shape (ir/open_shape.h)
};

std::span<const Row> elementwise_rows();
std::span<const Row> shape_rows();
std::span<const Row> reduce_rows();
std::span<const Row> window_rows();
std::span<const Row> image_rows();
std::span<const Row> blocks_rows();

/// Returns the row for an op, or null.
const Row* find_row(std::string_view op);

}  // namespace byoc::onnx_export
