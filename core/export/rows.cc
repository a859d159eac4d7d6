// SPDX-License-Identifier: Apache-2.0
#include "core/export/rows.h"

#include <unordered_map>

namespace byoc::onnx_export {
namespace {

using Table = std::unordered_map<std::string_view, const Row*>;

Table make_table() {
  Table table;
  for (auto rows : {elementwise_rows(), shape_rows(), reduce_rows(), window_rows(), image_rows(),
                    blocks_rows()}) {
    for (const Row& row : rows) table.emplace(row.op, &row);
  }
  return table;
}

}  // namespace

const Row* find_row(std::string_view op) {
  static const Table table = make_table();
  auto found = table.find(op);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace byoc::onnx_export
