// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/file/operator_forms.h"

#include <algorithm>
#include <limits>

#include "core/import/onnx/file/protobuf_text.h"

namespace byoc::onnx_import {
namespace {

constexpr int kMany = std::numeric_limits<int>::max();

constexpr OperatorForm kForms[] = {
#include "core/import/onnx/file/operator_forms.inc"
};
constexpr OperatorForm kMicrosoftForms[] = {
#include "core/import/onnx/file/microsoft_forms.inc"
};

// Returns the forms of one operator, in order of their opsets.
std::span<const OperatorForm> forms_of(std::span<const OperatorForm> forms,
                                       std::string_view op_type) {
  auto by_name = [](const auto& a, const auto& b) { return a.op_type < b.op_type; };
  OperatorForm wanted{};
  wanted.op_type = op_type;
  auto [first, last] = std::equal_range(forms.begin(), forms.end(), wanted, by_name);
  return {first, last};
}

// Calls f(name, is_needed) for each attribute of the form.
template <class F>
void for_attributes(const OperatorForm& form, F f) {
  for (std::string_view rest = form.attributes; !rest.empty();) {
    const size_t end = std::min(rest.find(' '), rest.size());
    std::string_view name = rest.substr(0, end);
    const bool is_needed = name.ends_with('!');
    if (is_needed) name.remove_suffix(1);
    f(name, is_needed);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

bool has_attribute(const OperatorForm& form, std::string_view name) {
  bool found = false;
  for_attributes(form, [&](std::string_view known, bool) { found = found || known == name; });
  return found;
}

bool is_given(const onnx::NodeProto& node, std::string_view name) {
  return std::any_of(node.attribute().begin(), node.attribute().end(),
                     [&](const auto& attribute) { return attribute.name() == name; });
}

// Omitted inputs and outputs at the end are not counted.
template <class Names>
int count_named(const Names& names) {
  int n = names.size();
  while (n > 0 && names[n - 1].empty()) --n;
  return n;
}

Status misfit(std::string message) {
  return invalid(std::move(message))
      .with_slug("onnx-graph")
      .with_help("the model is malformed: export it again, or correct the node");
}

std::string counted(int n, std::string_view what) { return cat(n, " ", what, n == 1 ? "" : "s"); }

// Compares a number of inputs or outputs with its limits.
Status check_count(const onnx::NodeProto& node, std::string_view what, int given, int named,
                   int least, int most) {
  if (given < least)
    return misfit(cat("it has ", counted(given, what), ", ", node.op_type(), " needs ",
                      least == most ? "" : "at least ", least));
  if (named > most)
    return misfit(cat("it has ", counted(named, what), ", ", node.op_type(), " has ",
                      least == most ? "" : "at most ", most));
  return {};
}

Status check_attributes(const onnx::NodeProto& node, const OperatorForm& form, int64_t opset) {
  for (const auto& attribute : node.attribute()) {
    const std::string& name = attribute.name();
    if (name.starts_with("__") || has_attribute(form, name)) continue;  // as ONNX's checker does
    return misfit(cat("it has the attribute ", in_quotes(name), ", which ", node.op_type(),
                      " of opset ", opset, " does not have"));
  }
  std::string missing;
  for_attributes(form, [&](std::string_view name, bool is_needed) {
    if (is_needed && missing.empty() && !is_given(node, name)) missing = name;
  });
  if (missing.empty()) return {};
  return misfit(cat("attribute ", in_quotes(missing), " is missing, which ", node.op_type(),
                    " of opset ", opset, " needs"));
}

}  // namespace

std::span<const OperatorForm> operator_forms() { return kForms; }
std::span<const OperatorForm> microsoft_forms() { return kMicrosoftForms; }

const OperatorForm* find_form(std::string_view op_type, int64_t opset, std::string_view domain) {
  const bool is_default = domain.empty() || domain == "ai.onnx";
  const auto forms = is_default ? operator_forms() : microsoft_forms();
  const OperatorForm* found = nullptr;
  for (const OperatorForm& form : forms_of(forms, op_type))
    if (form.opset <= opset) found = &form;
  if (found != nullptr) return found->min_inputs < 0 ? nullptr : found;
  return is_default ? find_form(op_type, 1, "com.microsoft") : nullptr;
}

std::optional<int> first_opset(std::string_view op_type) {
  const auto forms = forms_of(kForms, op_type);
  return forms.empty() ? std::nullopt : std::optional(forms.front().opset);
}

Status check_form(const onnx::NodeProto& node, int64_t opset) {
  const OperatorForm* form = find_form(node.op_type(), opset, node.domain());
  if (form == nullptr) return {};
  BYOC_TRY_STATUS(check_count(node, "input", node.input_size(), count_named(node.input()),
                              form->min_inputs, form->max_inputs));
  for (int k = 0; k < form->needed; ++k) {
    if (node.input(k).empty())
      return misfit(cat("input ", k, " has no name; ", node.op_type(), " needs the first ",
                        form->needed == 1 ? "input" : counted(form->needed, "input")));
  }
  // Outputs that are not named are not read: fewer than the operator has do no harm.
  BYOC_TRY_STATUS(check_count(node, "output", node.output_size(), count_named(node.output()), 0,
                              form->max_outputs));
  return check_attributes(node, *form, opset);
}

std::string newer_part(const onnx::NodeProto& node) {
  const OperatorForm* form = find_form(node.op_type(), std::numeric_limits<int64_t>::max());
  if (form == nullptr) return "the operator";
  if (node.input_size() > form->max_inputs) return cat("input ", form->max_inputs);
  if (node.output_size() > form->max_outputs) return cat("output ", form->max_outputs);
  for (const auto& attribute : node.attribute()) {
    if (!attribute.name().starts_with("__") && !has_attribute(*form, attribute.name()))
      return cat("the attribute ", in_quotes(attribute.name()));
  }
  return "";
}

}  // namespace byoc::onnx_import
