// SPDX-License-Identifier: Apache-2.0
#include "core/extend/added.h"

#include <algorithm>

namespace byoc::extend {

Added& added() {
  static auto* const all = new Added;  // code of libraries may run until the process ends
  return *all;
}

const Hooks& hooks() { return added().hooks; }

const OnnxRow* find_onnx_row(std::string_view domain, std::string_view op_type) {
  auto at = std::ranges::find_if(added().onnx, [&](const OnnxRow& row) {
    return row.domain == domain && row.op_type == op_type;
  });
  return at == added().onnx.end() ? nullptr : &*at;
}

const OnnxRow* find_onnx_row_of(std::string_view op) {
  auto at = std::ranges::find(added().onnx, op, &OnnxRow::op);
  return at == added().onnx.end() ? nullptr : &*at;
}

}  // namespace byoc::extend
