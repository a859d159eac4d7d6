// SPDX-License-Identifier: Apache-2.0
#include "core/driver/commands/ops_support.h"

#include <algorithm>

#include "byoc/base/json.h"
#include "byoc/import.h"
#include "byoc/op/registry.h"
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

/// An operator of ONNX, and the answer for each plugin.
struct OnnxSupport {
  ImportedOp op;
  std::vector<std::string> becomes, answers;
};

/// Returns "yes" when the plugin takes all samples of all ops, "no" when it takes none.
std::string answer(const Coverage& coverage, const std::vector<std::string>& ops, size_t plugin) {
  bool all = true, any = false;
  for (const OpCoverage& op : coverage.ops) {
    if (std::find(ops.begin(), ops.end(), op.op->name) == ops.end()) continue;
    all = all && op.taken[plugin] == op.samples;
    any = any || op.taken[plugin] > 0;
  }
  return all ? "yes" : any ? "partly" : "no";
}

/// Derives what plugins do for ONNX's operators from the ops that these become.
std::vector<OnnxSupport> onnx_support(const Coverage& coverage) {
  std::vector<OnnxSupport> out;
  for (ImportedOp& op : imported_ops()) {
    auto ops = ops_of_operator(op.op_type, op.domain);
    OnnxSupport& support = out.emplace_back(OnnxSupport{std::move(op), {}, {}});
    if (ops.ok()) support.becomes = *ops;
    const bool counts =
        std::any_of(support.becomes.begin(), support.becomes.end(), [](const std::string& name) {
          const OpDef* def = all_ops().find(name);
          return def != nullptr && def->sizes;
        });
    for (size_t k = 0; k < coverage.plugins.size(); ++k) {
      support.answers.push_back(!ops.ok()      ? "refused"
                                : ops->empty() ? "byoc"
                                : counts       ? "counted"
                                               : answer(coverage, *ops, k));
    }
  }
  return out;
}

/// Returns the rows of the operators of one domain.
Rows onnx_rows(const Coverage& coverage, const std::vector<OnnxSupport>& all, bool is_default) {
  Rows rows = {{"operator", "opsets", "ops"}};
  rows[0].insert(rows[0].end(), coverage.plugins.begin(), coverage.plugins.end());
  for (const OnnxSupport& support : all) {
    if (support.op.domain.empty() != is_default) continue;
    std::string ranges, ops;
    for (auto [first, last] : support.op.opsets)
      ranges += cat(ranges.empty() ? "" : ", ", first, first == last ? "" : cat(" to ", last));
    for (const std::string& op : support.becomes) ops += cat(ops.empty() ? "" : ", ", op);
    rows.push_back({support.op.op_type, ranges, ops});
    rows.back().insert(rows.back().end(), support.answers.begin(), support.answers.end());
  }
  return rows;
}

}  // namespace

std::string support_text(const Coverage& coverage, bool with_onnx, bool markdown) {
  std::string heading = markdown ? "## Operators by plugin\n\n" : "";
  std::string out = cat(heading, table_text(plugin_rows(coverage), markdown));
  if (!with_onnx) return out;
  const std::vector<OnnxSupport> all = onnx_support(coverage);
  const auto add = [&](const std::string& title, bool is_default) {
    out += cat("\n", markdown ? "## " : "", title, markdown ? "\n\n" : ":\n",
               table_text(onnx_rows(coverage, all, is_default), markdown));
  };
  add(cat("Operators of ONNX, opsets 1 to ", newest_onnx_opset()), true);
  add("Operators of ONNX Runtime, domain com.microsoft, opset 1", false);
  return out;
}

Json support_json(const Coverage& coverage, bool with_onnx) {
  Json ops = Json::array();
  for (const OpCoverage& op : coverage.ops) {
    Json taken = Json::object();
    for (size_t k = 0; k < op.taken.size(); ++k) taken[coverage.plugins[k]] = op.taken[k];
    ops.push_back({{"op", op.op->name}, {"samples", op.samples}, {"taken", taken}});
  }
  Json onnx = Json::array();
  for (const OnnxSupport& one : with_onnx ? onnx_support(coverage) : std::vector<OnnxSupport>()) {
    Json ranges = Json::array(), answers = Json::object();
    for (auto [first, last] : one.op.opsets) ranges.push_back({{"first", first}, {"last", last}});
    for (size_t k = 0; k < one.answers.size(); ++k) answers[coverage.plugins[k]] = one.answers[k];
    onnx.push_back({{"operator", one.op.op_type},
                    {"domain", one.op.domain.empty() ? "ai.onnx" : one.op.domain},
                    {"opsets", ranges},
                    {"ops", one.becomes},
                    {"support", answers}});
  }
  return {{"plugins", coverage.plugins}, {"ops", ops}, {"onnx", onnx}};
}

}  // namespace byoc::driver
