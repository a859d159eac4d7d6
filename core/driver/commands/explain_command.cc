// SPDX-License-Identifier: Apache-2.0
// byoc explain: shows for each op the plugin that runs it and the reasons of the others, grouped
// by equal reasons.
#include <algorithm>
#include <map>
#include <set>

#include "byoc/base/json.h"
#include "core/driver/commands/commands.h"
#include "core/driver/commands/explain_diff.h"
#include "core/driver/commands/explain_placement.h"
#include "core/library/explained.h"
#include "core/tools/model/tuning.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

constexpr size_t kShownNames = 2, kShownRows = 20, kShownGroups = 20, kShownOps = 50;
constexpr size_t kNameWidth = 60, kReasonWidth = 100;

struct ExplainFlags {
  ModelOptions model;
  std::string op, diff;
  bool placement = false;
};

std::string_view taker_of(const ExplainedOp& op) {
  return op.placed.plugin.empty() ? "no plugin" : op.placed.plugin.text();
}

std::string title(const Opinion& opinion, std::string_view taker) {
  switch (opinion.kind) {
    case Opinion::kTaken:
      return cat("taken by ", opinion.plugin, ", run by");
    case Opinion::kAccepted:
      return cat("taken by ", taker, ", also accepted by ", opinion.plugin);
    case Opinion::kSlow:
      return cat("taken by ", opinion.plugin, ", slow");
    case Opinion::kCovered:
      return cat("taken by ", taker, " as part of a composite, not given to ", opinion.plugin);
    default:
      return cat(verdict_text(opinion.kind), " by ", opinion.plugin, ", taken by ", taker);
  }
}

/// Returns at most `limit` bytes of a reason or name, so that a row of the table stays short.
std::string shortened(std::string_view text, size_t limit) {
  if (text.size() <= limit) return std::string(text);
  size_t end = limit;
  while (end > 0 && (text[end] & 0xc0) == 0x80) --end;  // not inside a character
  return cat(text.substr(0, end), "...");
}

/// Groups ops as in "refused by onednn, taken by json (11)", with a row per op and reason, the
/// largest first. The number of lines is bounded for models of any size.
class Groups {
 public:
  void add(const ExplainedOp& op) {
    for (const Opinion& opinion : op.opinions) {
      if (opinion.kind == Opinion::kNotReached)
        continue;  // for every op that an earlier plugin took
      add(title(opinion, taker_of(op)), op.placed.op, op.placed.name, opinion.reason);
    }
    if (op.opinions.empty() && op.placed.plugin.empty())
      add("taken by no plugin", op.placed.op, op.placed.name, "");
  }
  void add(const RemovedOp& op) {
    Symbol reason = op.how.text() == "merged" ? Symbol() : Symbol(op.reason);  // names other ops
    add(cat(op.how, " by ", op.pass), op.op, op.name, reason);
  }

  std::string text() const {
    std::vector<const Group*> sorted = by_count(groups_);
    std::string out;
    for (size_t k = 0; k < sorted.size() && k < kShownGroups; ++k)
      out += cat(sorted[k]->first, " (", sorted[k]->second.count, ")\n",
                 rows_text(sorted[k]->second.rows));
    if (sorted.size() > kShownGroups)
      out += cat("... and ", sorted.size() - kShownGroups, " more groups; all with --json\n");
    return out;
  }

 private:
  struct Row {
    size_t count = 0;
    std::vector<Symbol> names;  // the first few
  };
  using Rows = std::map<std::pair<Symbol, Symbol>, Row>;  // by op and reason
  struct Content {
    size_t count = 0;
    Rows rows;
  };
  using Group = std::pair<const std::string, Content>;

  void add(std::string title, Symbol op, Symbol name, Symbol reason) {
    Content& content = groups_[std::move(title)];
    Row& row = content.rows[{op, reason}];
    ++content.count;
    ++row.count;
    if (row.names.size() < kShownNames) row.names.push_back(name);
  }

  template <class Map>
  static std::vector<const typename Map::value_type*> by_count(const Map& map) {
    std::vector<const typename Map::value_type*> sorted;
    for (const auto& item : map) sorted.push_back(&item);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](auto* a, auto* b) { return a->second.count > b->second.count; });
    return sorted;
  }

  static std::string names_text(const Row& row) {
    std::string out;
    for (size_t k = 0; k < row.names.size(); ++k)
      out += cat(k ? ", " : "", "\"", shortened(row.names[k].text(), kNameWidth), "\"");
    if (row.count > row.names.size()) out += cat(" and ", row.count - row.names.size(), " more");
    return out;
  }

  static std::string rows_text(const Rows& rows) {
    auto sorted = by_count(rows);
    std::string out;
    cli::Table table({">", "", "", ""});
    for (size_t k = 0; k < sorted.size() && k < kShownRows; ++k) {
      const auto& [what, row] = *sorted[k];
      table.add({cat(row.count), what.first.str(), shortened(what.second.text(), kReasonWidth),
                 names_text(row)});
    }
    std::string text = table.text();
    text.erase(0, text.find('\n') + 1);  // no titles
    for (size_t begin = 0; begin < text.size();) {
      size_t end = text.find('\n', begin) + 1;
      out += "  " + text.substr(begin, end - begin);
      begin = end;
    }
    if (sorted.size() > kShownRows)
      out += cat("  ... and ", sorted.size() - kShownRows, " more reasons; all with --json\n");
    return out;
  }

  std::map<std::string, Content> groups_;
};

std::string header(const ExplainFlags& options, const Explanation& explanation,
                   const ModelFacts& facts) {
  std::string opset = facts.opset > 0 ? cat("opset ", facts.opset, ", ") : "";
  uint32_t threads = options.model[option::kThreads];
  return cat(
      options.model.model, "   ", opset, explanation.ops.size(), " ops, ",
      flops_text(total_flops(explanation.placement)), ", ", cli::format_mib(facts.weight_bytes),
      " weights      target ", options.model[option::kTarget], ", ",
      threads == 0 ? "all cores\n" : cat(threads, threads == 1 ? " thread\n" : " threads\n"));
}

/// Returns the choice by cost, and what the order would have done; empty for a choice by priority.
std::string choice_text(const Explanation& explanation) {
  std::string out;
  for (const std::string& choice : explanation.choices) out += cat("choice: ", choice, "\n");
  std::map<Symbol, size_t> counts;
  size_t others = 0;
  for (const ExplainedOp& op : explanation.ops) {
    if (op.by_priority.empty()) return out;
    ++counts[op.by_priority];
    others += op.by_priority != op.placed.plugin ? 1 : 0;
  }
  if (counts.empty()) return out;
  std::string each;
  for (const std::string& id : explanation.plugins) {
    if (auto at = counts.find(Symbol(id)); at != counts.end())
      each += cat(each.empty() ? "" : ", ", id, " ", at->second);
  }
  return cat(out, "by priority: ", each, " ops, ", others, " of them otherwise\n");
}

/// Returns the first test of each pattern that failed.
std::string misses_text(const Opinion& opinion) {
  std::string out;
  for (const PatternMiss& miss : opinion.patterns)
    out += cat("    pattern ", miss.pattern, ": ", miss.test, "\n");
  return out;
}

/// Returns the ops that keep regions of one plugin apart, with numbers of pairs, and the pairs.
std::string unjoined_text(const Explanation& explanation) {
  std::map<std::pair<Symbol, Symbol>, size_t> causes;  // by plugin and op
  std::string pairs;
  for (size_t k = 0; k < explanation.unjoined.size(); ++k) {
    const UnjoinedRegions& regions = explanation.unjoined[k];
    std::set<Symbol> ops;
    for (const UnjoinedRegions::Between& op : regions.through) ops.insert(op.op);
    for (Symbol op : ops) ++causes[{regions.pair.plugin, op}];
    if (k < kShownRows)
      pairs +=
          cat("  ", regions.pair.first, " | ", regions.pair.second, ": ", regions.reason, "\n");
  }
  if (explanation.unjoined.empty()) return "";
  std::string out = "regions of one plugin that are not joined (";
  std::string rows = cat(explanation.unjoined.size(), ")\n");
  for (const auto& [what, count] : causes)
    rows += cat("  ", what.first, " is cut ", count, count == 1 ? " time" : " times", " by ",
                what.second.empty() ? "calls" : what.second.text(), "\n");
  out += rows + pairs;
  if (explanation.unjoined.size() > kShownRows)
    out += cat("  ... and ", explanation.unjoined.size() - kShownRows, " more; all with --json\n");
  return out;
}

std::string op_text(const ExplainedOp& op) {
  std::string out =
      cat(op.placed.op, " \"", op.placed.name, "\": taken by ", taker_of(op),
          op.placed.function.empty() ? "" : cat(" in ", op.placed.function),
          op.placed.composite.empty() ? "" : cat(" as part of ", op.placed.composite));
  for (size_t k = 0; k < op.runs.size(); ++k) {
    const RunOp& run = op.runs[k];
    if (k == 0 && run.op != op.placed.op) out += cat(", run as ", run.op);
    if (k > 0) out += cat(", with ", run.op, " in ", run.function);
  }
  out += "\n";
  for (const Opinion& opinion : op.opinions)
    out += cat("  ", opinion.plugin, ": ", verdict_text(opinion.kind), ": ", opinion.reason, "\n",
               misses_text(opinion));
  if (!op.by_priority.empty()) out += cat("  by priority it would run on ", op.by_priority, "\n");
  return out;
}

/// Returns all verdicts about the ops of one name.
Result<std::string> one_op_text(const Explanation& explanation, const std::string& name) {
  std::string out;
  size_t found = 0;
  Symbol selected = name;
  for (const ExplainedOp& op : explanation.ops) {
    if (op.placed.name == selected && ++found <= kShownOps) out += op_text(op);
  }
  for (const RemovedOp& op : explanation.removed) {
    if (op.name == selected && ++found <= kShownOps)
      out += cat(op.op, " \"", name, "\": ", op.how, " by ", op.pass, ": ", op.reason, "\n");
  }
  if (found > kShownOps)
    out += cat("... and ", found - kShownOps, " more ops of that name; all with --json\n");
  if (found > 0) return out;
  return unknown_node(explanation, name);
}

std::string whole_text(const Explanation& explanation, const ExplainFlags& options,
                       const ModelFacts& facts) {
  Groups groups, removed;
  for (const ExplainedOp& op : explanation.ops) groups.add(op);
  for (const RemovedOp& op : explanation.removed) removed.add(op);
  return header(options, explanation, facts) + choice_text(explanation) +
         plugin_table(explanation.placement, "(no plugin)") + groups.text() + removed.text() +
         unjoined_text(explanation) + border_text(explanation.placement) +
         "next: --op NAME (all verdicts) | --json\n";
}

Result<int> run_explain(const ExplainFlags& options, const cli::CommonOptions& common) {
  if (options.placement)
    return run_explain_placement(options.model, options.op, options.diff, common);
  BYOC_TRY(const Explained explained, explain_file(options.model, options.op));
  if (!options.diff.empty())
    return run_explain_diff(options.diff, options.model, json_of(explained, options.model), common);
  const Explanation& explanation = explained.explanation;
  Result<std::string> text = options.op.empty() ? whole_text(explanation, options, explained.facts)
                                                : one_op_text(explanation, options.op);
  BYOC_TRY_STATUS(text.status());
  cli::print_text(cat(*text, tuning_text(options.model)), common);
  for (const std::string& warning : explanation.warnings) cli::print_warning(warning, common);
  if (!explanation.uncompiled.empty())
    cli::print_warning(
        cat("this model does not compile with these flags: ", explanation.uncompiled), common);
  if (!common.json) return cli::kDone;
  BYOC_TRY_STATUS(
      cli::print_json(common, "explain", json_of(explained, options.model, options.op)));
  return cli::kDone;
}

}  // namespace

cli::Command explain_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<ExplainFlags>();
  cli::Command command;
  command.name = "explain";
  command.about = "show which plugin runs each op, and why the others do not";
  command.examples = {
      {"byoc explain net.onnx --compiler onednn", "equal reasons are grouped"},
      {"byoc explain net.onnx --op Conv_3", "all verdicts about one node"},
      {"byoc explain net.onnx --json", "every op with every verdict"},
      {"byoc explain net.onnx --diff compiler=llvm",
       "the ops that llvm alone ran otherwise, and why"},
      {"byoc explain --diff old.json net.onnx", "what changed since byoc explain --json=old.json"}};
  add_model_options(command, options->model, "an .onnx or .ir file");
  add_tuning_options(command, options->model);
  command.options.push_back({"--op", "NAME", "only the ops of this node", &options->op});
  command.options.push_back({"--diff", "FILE|CONFIG",
                             "only the ops that another build runs otherwise. FILE: an explanation "
                             "(explain --json=old.json) or another model; CONFIG: other settings "
                             "of this model, \"compiler=llvm level=1\", as in byoc bench --vs",
                             &options->diff});
  command.options.push_back({"--placement", "",
                             "the candidates of each op with their costs, as --compiler auto "
                             "compares them; --diff takes a plan",
                             &options->placement});
  command.run = [options, &common] { return run_explain(*options, common); };
  return command;
}

}  // namespace byoc::driver
