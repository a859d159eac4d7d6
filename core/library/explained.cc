// SPDX-License-Identifier: Apache-2.0
#include "core/library/explained.h"

#include <algorithm>

#include "byoc/base/json.h"
#include "byoc/base/nearest.h"
#include "byoc/explain.h"
#include "core/library/request.h"
#include "core/tools/model/tuning.h"
#include "core/tools/sizes/open_ranges.h"
#include "runtime/cli/output.h"

namespace byoc {

namespace driver {

Result<Explained> explain_file(const ModelOptions& options, const std::string& selected) {
  BYOC_TRY(RangedModel loaded, load_ranged(options));
  BYOC_TRY(BuildOptions build_with, build_options(options));
  Explained out;
  out.facts = facts_of(loaded.module);
  BYOC_TRY(out.explanation, explain(std::move(loaded.module), std::move(build_with), selected));
  if (!loaded.ranges.empty()) out.explanation.warnings.push_back(ranges_text(loaded.ranges));
  return out;
}

Json json_of(const Explained& explained, const ModelOptions& options, const std::string& only_op) {
  Json json = explanation_json(explained.explanation, options, explained.facts, only_op);
  if (options.tuning) add_tuning_json(options, json);
  return json;
}

Status unknown_node(const Explanation& explanation, const std::string& name) {
  constexpr size_t kShownAlike = 5;
  std::vector<std::string> known;
  std::string alike;
  size_t found = 0;
  auto add = [&](Symbol op, Symbol node) {
    known.push_back(node.str());
    bool is_alike = op.text() == name || node.text().find(name) != std::string_view::npos;
    if (is_alike && ++found <= kShownAlike) alike += cat(found > 1 ? ", " : "", "\"", node, "\"");
  };
  for (const ExplainedOp& op : explanation.ops) add(op.placed.op, op.placed.name);
  for (const RemovedOp& op : explanation.removed) add(op.op, op.name);
  if (found > kShownAlike) alike += cat(" and ", found - kShownAlike, " more");
  return not_found(cat("no op is named \"", name, "\"", did_you_mean(name, known)))
      .with_slug("unknown-node")
      .with_help(found > 0 ? cat("there are: ", alike)
                           : "byoc explain MODEL --json lists the name of every op");
}

}  // namespace driver

namespace {

OpExplanation op_of(const driver::ExplainedOp& from) {
  OpExplanation out{from.placed.op.str(),       from.placed.name.str(), from.placed.plugin.str(),
                    from.placed.function.str(), from.placed.flops,      {}};
  for (const driver::Opinion& opinion : from.opinions) {
    out.verdicts.push_back({opinion.plugin.str(), std::string(driver::verdict_text(opinion.kind)),
                            opinion.reason.str()});
  }
  return out;
}

}  // namespace

Result<ModelExplanation> explain_model(const ModelRequest& request, const std::string& node) {
  const driver::ModelOptions options = driver::options_of(request);
  BYOC_TRY(driver::Explained explained, driver::explain_file(options, node));
  const driver::Explanation& found = explained.explanation;
  ModelExplanation out{{}, found.warnings, found.uncompiled, {}};
  for (const driver::ExplainedOp& op : found.ops) {
    if (node.empty() || op.placed.name == Symbol(node)) out.ops.push_back(op_of(op));
  }
  const bool is_removed =
      std::ranges::count(found.removed, Symbol(node), &driver::RemovedOp::name) > 0;
  if (!node.empty() && out.ops.empty() && !is_removed) return driver::unknown_node(found, node);
  out.json = cli::json_text("explain", true, driver::json_of(explained, options, node));
  return out;
}

}  // namespace byoc
