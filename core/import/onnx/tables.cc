// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/tables.h"

#include <algorithm>
#include <unordered_map>

#include "byoc/base/check.h"
#include "byoc/import.h"
#include "core/extend/added.h"
#include "core/import/onnx/same_op.h"

namespace byoc::onnx_import {

#define ROWS(name) std::span<const Row> name##_rows();
#include "microsoft_rows.inc"
#include "onnx_rows.inc"
#undef ROWS

namespace {

using Table = std::unordered_map<std::string_view, std::vector<const Row*>>;

Table make_table(std::initializer_list<std::span<const Row>> families) {
  Table table;
  for (std::span<const Row> rows : families) {
    for (const Row& row : rows) {
      BYOC_CHECK(row.min_opset <= row.max_opset, row.op_type, " has no opset");
      table[row.op_type].push_back(&row);
    }
  }
  return table;
}

#define ROWS(name) name##_rows(),
const Table& default_rows() {
  static const Table table = make_table({
#include "onnx_rows.inc"
  });
  return table;
}

const Table& microsoft_rows() {
  static const Table table = make_table({
#include "microsoft_rows.inc"
  });
  return table;
}
#undef ROWS

// Returns the table of a domain; null when it has none.
const Table* rows_of_domain(std::string_view domain) {
  if (domain.empty() || domain == "ai.onnx") return &default_rows();
  return domain == kMicrosoftDomain ? &microsoft_rows() : nullptr;
}

// Converts an operator of a library by its row.
Converted convert_added(Graph& graph, const OnnxNode& node) {
  const extend::OnnxRow* row = extend::find_onnx_row(node.domain(), node.op_type());
  BYOC_CHECK(row != nullptr, "no library has ", node.domain(), ".", node.op_type());
  return call_same_op(graph, node, row->op);
}
constexpr Row kAdded = {"", 0, kNewest, convert_added};

}  // namespace

std::span<const Row* const> rows_of(OperatorName name) {
  const Table* table = rows_of_domain(name.domain);
  if (table == nullptr) return {};
  auto found = table->find(name.op_type);
  if (found == table->end()) return {};
  return found->second;
}

const Row* find_row(OperatorName name, int opset) {
  if (extend::find_onnx_row(name.domain, name.op_type) != nullptr) return &kAdded;
  for (const Row* row : rows_of(name)) {
    if (row->min_opset <= opset && opset <= row->max_opset) return row;
  }
  return nullptr;
}

std::string known_opsets(OperatorName name) {
  std::string out;
  for (const Row* row : rows_of(name)) {
    out += out.empty() ? "opset " : ", ";
    out += row->max_opset == kNewest          ? cat(row->min_opset, " and up")
           : row->min_opset == row->max_opset ? cat(row->min_opset)
                                              : cat(row->min_opset, " to ", row->max_opset);
  }
  return out;
}

}  // namespace byoc::onnx_import

namespace byoc {
namespace {

void add_rows(const char* domain, const onnx_import::Table& table, int newest,
              std::vector<ImportedOp>& out) {
  for (const auto& [op_type, rows] : table) {
    ImportedOp& op = out.emplace_back(ImportedOp{std::string(op_type), {}, domain});
    for (const onnx_import::Row* row : rows)
      op.opsets.emplace_back(row->min_opset, std::min(row->max_opset, newest));
    std::sort(op.opsets.begin(), op.opsets.end());
  }
}

}  // namespace

int newest_onnx_opset() { return onnx_import::kNewestOpset; }

std::vector<ImportedOp> imported_ops() {
  std::vector<ImportedOp> out;
  add_rows("", onnx_import::default_rows(), newest_onnx_opset(), out);
  add_rows(onnx_import::kMicrosoftDomain, onnx_import::microsoft_rows(),
           onnx_import::kMicrosoftOpset, out);
  for (const auto& [op_type, opset] : onnx_import::kControlOps)
    out.push_back({op_type, {{opset, newest_onnx_opset()}}, ""});
  std::sort(out.begin(), out.end(), [](const ImportedOp& a, const ImportedOp& b) {
    return std::tie(a.domain, a.op_type) < std::tie(b.domain, b.op_type);
  });
  return out;
}

}  // namespace byoc
