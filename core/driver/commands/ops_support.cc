// SPDX-License-Identifier: Apache-2.0
#include "core/driver/commands/ops_support.h"

#include "byoc/base/json.h"
#include "byoc/import.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

using Rows = std::vector<std::vector<std::string>>;  // the first has the heads

std::string table_text(const Rows& rows, bool markdown) {
  if (!markdown) {
    cli::Table table(rows[0]);
    for (size_t k = 1; k < rows.size(); ++k) table.add(rows[k]);
    return table.text();
  }
  std::string out;
  for (size_t k = 0; k < rows.size(); ++k) {
    for (const std::string& cell : rows[k]) out += cat("| ", cell, " ");
    out += "|\n";
    for (size_t c = 0; k == 0 && c < rows[0].size(); ++c) out += "|---";
    if (k == 0) out += "|\n";
  }
  return out;
}

std::string share(size_t taken, size_t samples) {
  return taken == samples ? "all" : taken == 0 ? "none" : cat(taken);
}

Rows plugin_rows(const Coverage& coverage) {
  Rows rows = {{"op", "samples"}};
  rows[0].insert(rows[0].end(), coverage.plugins.begin(), coverage.plugins.end());
  for (const OpCoverage& op : coverage.ops) {
    std::vector<std::string>& row = rows.emplace_back();
    row = {op.op->name, cat(op.samples)};
    for (size_t taken : op.taken) row.push_back(share(taken, op.samples));
  }
  return rows;
}

Rows onnx_rows() {
  Rows rows = {{"operator", "opsets"}};
  for (const ImportedOp& op : imported_ops()) {
    std::string ranges;
    for (auto [first, last] : op.opsets)
      ranges += cat(ranges.empty() ? "" : ", ", first, first == last ? "" : cat(" to ", last));
    rows.push_back({op.op_type, ranges});
  }
  return rows;
}

}  // namespace

std::string support_text(const Coverage& coverage, bool with_onnx, bool markdown) {
  std::string heading = markdown ? "## Operators by plugin\n\n" : "";
  std::string out = cat(heading, table_text(plugin_rows(coverage), markdown));
  if (!with_onnx) return out;
  std::string title = cat("Operators of ONNX, opsets 1 to ", newest_onnx_opset());
  return cat(out, "\n", markdown ? "## " : "", title, markdown ? "\n\n" : ":\n",
             table_text(onnx_rows(), markdown));
}

Json support_json(const Coverage& coverage, bool with_onnx) {
  Json ops = Json::array();
  for (const OpCoverage& op : coverage.ops) {
    Json taken = Json::object();
    for (size_t k = 0; k < op.taken.size(); ++k) taken[coverage.plugins[k]] = op.taken[k];
    ops.push_back({{"op", op.op->name}, {"samples", op.samples}, {"taken", taken}});
  }
  Json onnx = Json::array();
  for (const ImportedOp& op : with_onnx ? imported_ops() : std::vector<ImportedOp>()) {
    Json ranges = Json::array();
    for (auto [first, last] : op.opsets) ranges.push_back({{"first", first}, {"last", last}});
    onnx.push_back({{"operator", op.op_type}, {"opsets", ranges}});
  }
  return {{"plugins", coverage.plugins}, {"ops", ops}, {"onnx", onnx}};
}

}  // namespace byoc::driver
