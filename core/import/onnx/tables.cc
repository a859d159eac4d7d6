// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/tables.h"

#include <algorithm>
#include <unordered_map>

#include "byoc/base/check.h"
#include "byoc/import.h"

namespace byoc::onnx_import {

#define ROWS(name) std::span<const Row> name##_rows();
#include "onnx_rows.inc"
#undef ROWS

namespace {

using Table = std::unordered_map<std::string_view, std::vector<const Row*>>;

Table make_table() {
  Table table;
  for (std::span<const Row> rows : {
#define ROWS(name) name##_rows(),
#include "onnx_rows.inc"
#undef ROWS
       }) {
    for (const Row& row : rows) {
      BYOC_CHECK(row.min_opset <= row.max_opset, row.op_type, " has no opset");
      table[row.op_type].push_back(&row);
    }
  }
  return table;
}

const Table& all_rows() {
  static const Table table = make_table();
  return table;
}

}  // namespace

std::span<const Row* const> rows_of(std::string_view op_type) {
  const Table& table = all_rows();
  auto found = table.find(op_type);
  if (found == table.end()) return {};
  return found->second;
}

const Row* find_row(std::string_view op_type, int opset) {
  for (const Row* row : rows_of(op_type)) {
    if (row->min_opset <= opset && opset <= row->max_opset) return row;
  }
  return nullptr;
}

std::string known_opsets(std::string_view op_type) {
  std::string out;
  for (const Row* row : rows_of(op_type)) {
    out += out.empty() ? "opset " : ", ";
    out += row->max_opset == kNewest ? cat(row->min_opset, " and up")
                                     : cat(row->min_opset, " to ", row->max_opset);
  }
  return out;
}

}  // namespace byoc::onnx_import

namespace byoc {

int newest_onnx_opset() { return onnx_import::kNewestOpset; }

std::vector<ImportedOp> imported_ops() {
  std::vector<ImportedOp> out;
  for (const auto& [op_type, rows] : onnx_import::all_rows()) {
    ImportedOp& op = out.emplace_back(ImportedOp{std::string(op_type), {}});
    for (const onnx_import::Row* row : rows)
      op.opsets.emplace_back(row->min_opset, std::min(row->max_opset, newest_onnx_opset()));
    std::sort(op.opsets.begin(), op.opsets.end());
  }
  for (const auto& [op_type, opset] : onnx_import::kControlOps)
    out.push_back({op_type, {{opset, newest_onnx_opset()}}});
  std::sort(out.begin(), out.end(),
            [](const ImportedOp& a, const ImportedOp& b) { return a.op_type < b.op_type; });
  return out;
}

}  // namespace byoc
