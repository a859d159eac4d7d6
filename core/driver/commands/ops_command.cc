// SPDX-License-Identifier: Apache-2.0
// byoc ops: prints the operator reference, from the table that the compiler itself uses.
#include "byoc/base/json.h"
#include "byoc/base/nearest.h"
#include "byoc/op/registry.h"
#include "core/driver/commands/commands.h"
#include "core/driver/commands/ops_support.h"
#include "core/tools/model/libraries.h"
#include "core/tools/model/model_options.h"
#include "core/tools/model/progress.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

struct ListedOps {
  std::string op;
  bool markdown = false, support = false;
  ModelOptions model;  // the flags that choose plugins
};

std::string signature_text(const OpDef& op) {
  std::string out = op.name + "(";
  for (const InputSpec& input : op.inputs) {
    out += cat(out.back() == '(' ? "" : ", ", input.name,
               input.variadic   ? "..."
               : input.optional ? "?"
                                : "");
  }
  out += ") -> ";
  for (size_t k = 0; k < op.outputs.size(); ++k) out += cat(k ? ", " : "", op.outputs[k].name);
  return out;
}

std::string_view need_text(const AttrSpec& attr) {
  return attr.need == AttrSpec::kRequired   ? "required"
         : attr.need == AttrSpec::kOptional ? "optional"
                                            : "";
}

std::string attr_text(const AttrSpec& attr) {
  std::string out = cat(attr.name, ": ", attr_kind(attr.fallback));
  if (attr.need == AttrSpec::kHasDefault) return cat(out, " = ", attr.fallback);
  return cat(out, ", ", need_text(attr));
}

std::string op_text(const OpDef& op) {
  std::string out =
      cat(signature_text(op), "    ", fusion_kind_name(op.kind), "\n  ", op.doc, "\n");
  auto line = [&](const std::string& name, const std::string& doc) {
    out += cat("  ", name, doc.empty() ? "" : cat("    ", doc), "\n");
  };
  for (const InputSpec& input : op.inputs) line(input.name, input.doc);
  for (const AttrSpec& attr : op.attrs) line(attr_text(attr), attr.doc);
  return out;
}

std::string markdown(const std::vector<const OpDef*>& ops) {
  std::string out = "# Operators\n";
  for (const OpDef* op : ops) {
    out += cat("\n## `", signature_text(*op), "`\n\n", op->doc,
               "\n\nFusion: ", fusion_kind_name(op->kind), ". Version ", op->version, ".\n\n");
    for (const InputSpec& input : op->inputs) {
      out += cat("- input `", input.name, "`", input.doc.empty() ? "" : cat(": ", input.doc), "\n");
    }
    for (const AttrSpec& attr : op->attrs) {
      out += cat("- attribute `", attr_text(attr), "`", attr.doc.empty() ? "" : cat(": ", attr.doc),
                 "\n");
    }
  }
  return out;
}

Json op_json(const OpDef& op) {
  Json inputs = Json::array(), outputs = Json::array(), attrs = Json::array();
  for (const InputSpec& input : op.inputs) {
    inputs.push_back({{"name", input.name},
                      {"doc", input.doc},
                      {"optional", input.optional},
                      {"variadic", input.variadic}});
  }
  for (const OutputSpec& output : op.outputs)
    outputs.push_back({{"name", output.name}, {"doc", output.doc}});
  for (const AttrSpec& attr : op.attrs) {
    Json json = {{"name", attr.name}, {"kind", attr_kind(attr.fallback)}, {"doc", attr.doc}};
    json["required"] = attr.need == AttrSpec::kRequired;
    if (attr.need == AttrSpec::kHasDefault) json["default"] = cat(attr.fallback);
    attrs.push_back(json);
  }
  return {{"name", op.name},       {"doc", op.doc},    {"fusion", fusion_kind_name(op.kind)},
          {"version", op.version}, {"inputs", inputs}, {"outputs", outputs},
          {"attrs", attrs}};
}

Result<std::vector<const OpDef*>> chosen_ops(const std::string& name) {
  if (name.empty()) return all_ops().all();
  BYOC_TRY(const OpDef* op, all_ops().get(name));
  return std::vector{op};
}

/// Prints which plugins take the ops, and which ONNX operators the importer reads.
Result<int> run_support(const ListedOps& options, const std::vector<const OpDef*>& ops,
                        const cli::CommonOptions& common) {
  BYOC_TRY(BuildOptions build, build_options(options.model));
  Progress progress(common);
  Result<Coverage> covered = coverage_of(ops, build.plugins, build.compilers, [&](size_t n) {
    progress.show("offering samples", n, ops.size());
  });
  progress.clear();
  BYOC_TRY(Coverage coverage, std::move(covered));
  cli::print_text(support_text(coverage, options.op.empty(), options.markdown), common);
  BYOC_TRY_STATUS(
      cli::print_json(common, "ops-support", support_json(coverage, options.op.empty())));
  return cli::kDone;
}

Result<int> run_ops(const ListedOps& options, const cli::CommonOptions& common) {
  BYOC_TRY_STATUS(load_libraries(options.model));
  BYOC_TRY(auto ops, chosen_ops(options.op));
  if (options.support) return run_support(options, ops, common);
  std::string text = options.markdown ? markdown(ops) : "";
  for (const OpDef* op : ops) {
    if (!options.markdown) text += op_text(*op);
  }
  cli::print_text(text, common);
  Json list = Json::array();
  if (common.json) {
    for (const OpDef* op : ops) list.push_back(op_json(*op));
  }
  BYOC_TRY_STATUS(cli::print_json(common, "ops", {{"ops", list}}));
  return cli::kDone;
}

}  // namespace

cli::Command ops_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<ListedOps>();
  cli::Command command;
  command.name = "ops";
  command.about = "the operator reference";
  command.examples = {
      {"byoc ops", "every op with its operands and attributes"},
      {"byoc ops conv2d", "one op"},
      {"byoc ops --markdown > ops.md", "the same as a page"},
      {"byoc ops --support", "the ops that each plugin takes, and ONNX's operators"}};
  command.options = {{"OP", "", "only this op", &options->op},
                     {"--markdown", "", "as Markdown", &options->markdown},
                     {"--support", "",
                      "how many samples of each op each plugin takes; the operators and opsets of "
                      "ONNX that are read",
                      &options->support}};
  command.options.push_back({"--compiler", "A,B", "with --support: these plugins (default: all)",
                             &options->model[option::kCompiler]});
  add_options_of(command, options->model, {OptionPart::kPlugins});
  command.run = [options, &common] { return run_ops(*options, common); };
  return command;
}

}  // namespace byoc::driver
