// SPDX-License-Identifier: Apache-2.0
#include "core/tools/measure/single_op.h"

#include <algorithm>

#include "byoc/base/nearest.h"
#include "byoc/op/registry.h"
#include "byoc/pass/bind.h"
#include "byoc/text/text.h"
#include "core/tools/model/bindings.h"
#include "core/tools/replay/region_values.h"
#include "runtime/cli/command.h"

namespace byoc::driver {
namespace {

constexpr uint64_t kSeedOfWeights = 1000;  // their elements differ from those of inputs

/// An operand as it was given: its name in the op, its name as a parameter, and its type.
struct Operand {
  std::string name, param, type;
};

std::pair<std::string, std::string> split(const std::string& text) {
  size_t equals = text.find('=');
  if (equals == text.npos || equals == 0) return {};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// Returns "f32[1,64]" for "1x64", and a text with brackets as it is.
std::string type_text(std::string dims) {
  if (dims.find('[') != dims.npos) return dims;
  std::replace(dims.begin(), dims.end(), 'x', ',');
  return cat("f32[", dims, "]");
}

std::string listed(const OpDef& op) {
  std::string out;
  for (const InputSpec& input : op.inputs) {
    out += cat(out.empty() ? "" : ", ", input.name,
               input.doc.empty() ? "" : cat(" (", input.doc, ")"));
  }
  return out;
}

const InputSpec* find_input(const OpDef& op, const std::string& name) {
  auto found = std::find_if(op.inputs.begin(), op.inputs.end(),
                            [&](const InputSpec& input) { return input.name == name; });
  return found == op.inputs.end() ? nullptr : &*found;
}

Status unknown_operand(const OpDef& op, const std::string& name) {
  std::vector<std::string> names;
  for (const InputSpec& input : op.inputs) names.push_back(input.name);
  return cli::usage_error(cat(op.name, " has no operand \"", name, "\"", did_you_mean(name, names)))
      .with_help(cat("its operands: ", listed(op)));
}

/// Returns the operands in the op's order.
Result<std::vector<Operand>> operands_of(const OpDef& op, const std::vector<std::string>& shapes) {
  std::vector<Operand> out;
  for (const std::string& text : shapes) {
    auto [name, dims] = split(text);
    if (name.empty())
      return cli::usage_error(cat("--shape expects NAME=DIMS, as in x=1x64, not \"", text, "\""));
    if (!find_input(op, name)) return unknown_operand(op, name);
    out.push_back({name, name, type_text(dims)});
  }
  std::vector<Operand> sorted;
  for (const InputSpec& input : op.inputs) {
    size_t begin = sorted.size();
    for (Operand& one : out) {
      if (one.name != input.name) continue;
      if (input.variadic) one.param = cat(one.name, sorted.size() - begin);
      sorted.push_back(one);
    }
    size_t count = sorted.size() - begin;
    if (count > 1 && !input.variadic)
      return cli::usage_error(cat("--shape names \"", input.name, "\" twice"));
    if (count == 0 && !input.optional)
      return cli::usage_error(cat(op.name, " needs --shape ", input.name, "=DIMS"))
          .with_help(cat("its operands: ", listed(op)));
  }
  return sorted;
}

Result<std::string> attrs_text(const OpDef& op, const std::vector<std::string>& attrs) {
  std::string out;
  for (const std::string& text : attrs) {
    auto [name, value] = split(text);
    if (name.empty())
      return cli::usage_error(
          cat("--attr expects NAME=VALUE, as in pads=[1,1,1,1], not \"", text, "\""));
    std::vector<std::string> names;
    for (const AttrSpec& attr : op.attrs) names.push_back(attr.name);
    if (!std::count(names.begin(), names.end(), name)) {
      return cli::usage_error(
          cat(op.name, " has no attribute \"", name, "\"", did_you_mean(name, names)));
    }
    out += cat(out.empty() ? " {" : ", ", name, "=", value);
  }
  return out.empty() ? out : out + "}";
}

std::string module_text(const OpDef& op, const std::vector<Operand>& operands,
                        const std::string& attrs) {
  std::string params, args;
  for (const Operand& one : operands) {
    params += cat(params.empty() ? "" : ", ", "%", one.param, ": ", one.type);
    args += cat(args.empty() ? "" : ", ", "%", one.param);
  }
  return cat("fn main(", params, ") {\n  %0 = ", op.name, "(", args, ")", attrs, " loc(\"", op.name,
             "\")\n  return %0\n}\n");
}

/// Makes the named operands constants of random elements.
Result<IRModule> with_weights(IRModule module, const SingleOp& op) {
  if (op.weights.empty()) return module;
  BYOC_TRY(std::vector<NamedTensor> inputs, entry_inputs(module));
  std::map<std::string, BoundTensor> bound;
  for (const std::string& name : op.weights) {
    auto found = std::find_if(inputs.begin(), inputs.end(),
                              [&](const NamedTensor& input) { return input.name == name; });
    if (found == inputs.end()) return cli::usage_error(cat("--weight: no operand \"", name, "\""));
    uint64_t seed = op.seed + kSeedOfWeights + static_cast<uint64_t>(found - inputs.begin());
    BYOC_TRY(Tensor values, cli::parse_value("random", &found->type, seed, {}));
    bound[name] = bound_tensor(values);
  }
  return bind_params(std::move(module), bound, PassContext());
}

}  // namespace

Result<IRModule> single_op_module(const SingleOp& op) {
  BYOC_TRY(const OpDef* def, all_ops().get(op.op));
  BYOC_TRY(std::vector<Operand> operands, operands_of(*def, op.shapes));
  BYOC_TRY(std::string attrs, attrs_text(*def, op.attrs));
  auto module = parse_module(module_text(*def, operands, attrs), all_ops());
  if (!module.ok()) return std::move(module.status()).at(cat("--op ", op.op));
  return with_weights(*std::move(module), op);
}

}  // namespace byoc::driver
