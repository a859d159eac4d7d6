// byoc explain: per op who took it, and why each other plugin did not, equal reasons grouped.
#include <algorithm>
#include <map>

#include "byoc/base/json.h"
#include "byoc/base/nearest.h"
#include "core/driver/commands/commands.h"
#include "core/driver/commands/explanation.h"
#include "core/driver/commands/model_options.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

constexpr size_t kShownNames = 2, kShownGroups = 20;

struct Options {
  ModelOptions model;
  std::string op;
};

std::string_view verb(Report::Remark::Kind kind) {
  switch (kind) {
    case Report::Remark::kRefused:
      return "refused";
    case Report::Remark::kSlow:
      return "slow";
    case Report::Remark::kDeclined:
      return "declined in compile";
    case Report::Remark::kNote:
      break;
  }
  return "note";
}

std::string names_text(const std::vector<std::string>& names) {
  std::string out;
  for (size_t k = 0; k < names.size() && k < kShownNames; ++k)
    out += cat(k ? ", " : "", "\"", names[k], "\"");
  if (names.size() > kShownNames) out += cat(" and ", names.size() - kShownNames, " more");
  return out;
}

/// "refused by onednn, taken by json (11)", with a row per op and reason, the largest first.
class Groups {
 public:
  void add(const ExplainedOp& op) {
    std::string taker = op.placed.plugin.empty() ? "nobody" : op.placed.plugin;
    for (const Opinion& opinion : op.opinions) {
      std::string title =
          opinion.kind == Report::Remark::kSlow
              ? cat("taken by ", opinion.plugin, ", slow")
              : cat(verb(opinion.kind), " by ", opinion.plugin, ", taken by ", taker);
      groups_[title][{op.placed.op, opinion.reason}].push_back(op.placed.name);
    }
    if (op.opinions.empty() && op.placed.plugin.empty()) {
      groups_["taken by nobody"][{op.placed.op, ""}].push_back(op.placed.name);
    }
  }

  std::string text() const {
    std::string out;
    for (const auto& [title, rows] : groups_)
      out += cat(title, " (", count(rows), ")\n", rows_text(rows));
    return out;
  }

 private:
  using Rows = std::map<std::pair<std::string, std::string>, std::vector<std::string>>;

  static size_t count(const Rows& rows) {
    size_t n = 0;
    for (const auto& [what, names] : rows) n += names.size();
    return n;
  }

  static std::string rows_text(const Rows& rows) {
    std::vector<const Rows::value_type*> sorted;
    for (const auto& row : rows) sorted.push_back(&row);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](auto* a, auto* b) { return a->second.size() > b->second.size(); });
    std::string out;
    cli::Table table({">", "", "", ""});
    for (size_t k = 0; k < sorted.size() && k < kShownGroups; ++k) {
      const auto& [what, names] = *sorted[k];
      table.add({cat(names.size()), what.first, what.second, names_text(names)});
    }
    std::string text = table.text();
    text.erase(0, text.find('\n') + 1);  // no titles
    for (size_t begin = 0; begin < text.size();) {
      size_t end = text.find('\n', begin) + 1;
      out += "  " + text.substr(begin, end - begin);
      begin = end;
    }
    if (sorted.size() > kShownGroups)
      out += cat("  ... and ", sorted.size() - kShownGroups, " more reasons; all with --json\n");
    return out;
  }

  std::map<std::string, Rows> groups_;
};

std::string header(const std::string& model, const Explanation& explanation, uint64_t weights,
                   uint32_t threads) {
  return cat(model, "   ", explanation.ops.size(), " ops, ",
             flops_text(total_flops(explanation.placement)), ", ", cli::format_mib(weights),
             " weights   ", threads, threads == 1 ? " thread\n" : " threads\n");
}

/// All verdicts about the ops of one name.
Result<std::string> one_op_text(const Explanation& explanation, const std::string& name) {
  std::string out;
  std::vector<std::string> known;
  for (const ExplainedOp& op : explanation.ops) {
    known.push_back(op.placed.name);
    if (op.placed.name != name) continue;
    out += cat(op.placed.op, " \"", name, "\": taken by ",
               op.placed.plugin.empty() ? "nobody" : op.placed.plugin,
               op.placed.function.empty() ? "" : cat(" in ", op.placed.function),
               op.placed.composite.empty() ? "" : cat(" as part of ", op.placed.composite), "\n");
    for (const Opinion& opinion : op.opinions)
      out += cat("  ", opinion.plugin, ": ", verb(opinion.kind), ": ", opinion.reason, "\n");
  }
  if (!out.empty()) return out;
  return not_found(cat("no op is named \"", name, "\"", did_you_mean(name, known)))
      .with_slug("unknown-node");
}

Json to_json(const Explanation& explanation, const std::string& model, uint64_t weights) {
  Json json = {
      {"model", model}, {"weight_bytes", weights}, {"flops", total_flops(explanation.placement)}};
  Json placed = placement_json(explanation.placement);
  for (const auto& [name, value] : placed.items()) json[name] = value;
  json["order"] = explanation.plugins;
  json["uncompiled"] = explanation.uncompiled;
  json["ops"] = Json::array();
  for (const ExplainedOp& op : explanation.ops) {
    Json opinions = Json::array();
    for (const Opinion& o : op.opinions) {
      opinions.push_back({{"plugin", o.plugin}, {"verdict", verb(o.kind)}, {"reason", o.reason}});
    }
    json["ops"].push_back({{"op", op.placed.op},
                           {"name", op.placed.name},
                           {"plugin", op.placed.plugin},
                           {"function", op.placed.function},
                           {"composite", op.placed.composite},
                           {"flops", op.placed.flops},
                           {"opinions", opinions}});
  }
  return json;
}

Result<int> run(const Options& options, const cli::CommonOptions& common) {
  BYOC_TRY(IRModule module, load_model(options.model));
  BYOC_TRY(BuildOptions build_with, build_options(options.model, common));
  uint64_t weights = constant_bytes(module);
  BYOC_TRY(Explanation explanation, explain(std::move(module), std::move(build_with)));
  std::string text;
  if (!options.op.empty()) {
    BYOC_TRY(text, one_op_text(explanation, options.op));
  } else {
    Groups groups;
    for (const ExplainedOp& op : explanation.ops) groups.add(op);
    text = header(options.model.model, explanation, weights, options.model.threads) +
           plugin_table(explanation.placement, "(nobody)") + groups.text() +
           border_text(explanation.placement) + "next: --op NAME (all verdicts) | --json\n";
  }
  cli::print_text(text, common);
  if (!explanation.uncompiled.empty())
    cli::print_warning(cat("this model does not compile so: ", explanation.uncompiled), common);
  BYOC_TRY_STATUS(
      cli::print_json(common, "explain", to_json(explanation, options.model.model, weights)));
  return cli::kDone;
}

}  // namespace

cli::Command explain_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<Options>();
  cli::Command command;
  command.name = "explain";
  command.about = "per op who took it, and why each other plugin did not";
  command.examples = {{"byoc explain net.onnx --compiler onednn", "equal reasons are grouped"},
                      {"byoc explain net.onnx --op Conv_3", "all verdicts about one node"},
                      {"byoc explain net.onnx --json", "every op with every verdict"}};
  add_model_options(command, options->model, "an .onnx or .ir file");
  command.options.push_back({"--op", "NAME", "only the ops of this node", &options->op});
  command.run = [options, &common] { return run(*options, common); };
  return command;
}

}  // namespace byoc::driver
