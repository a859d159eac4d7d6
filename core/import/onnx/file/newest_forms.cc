// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/file/newest_forms.h"

#include <algorithm>
#include <limits>

#include "byoc/base/status.h"
#include "core/import/onnx/file/protobuf_text.h"

namespace byoc::onnx_import {
namespace {

constexpr int kMany = std::numeric_limits<int>::max();

struct Form {
  std::string_view op_type;
  int inputs, outputs;          // the most
  std::string_view attributes;  // divided by spaces
};

constexpr Form kForms[] = {
#include "core/import/onnx/file/newest_forms.inc"
};

const Form* find_form(std::string_view op_type) {
  auto found = std::find_if(std::begin(kForms), std::end(kForms),
                            [&](const Form& form) { return form.op_type == op_type; });
  return found == std::end(kForms) ? nullptr : found;
}

bool has_word(std::string_view words, std::string_view word) {
  for (size_t at = 0; at <= words.size();) {
    const size_t end = std::min(words.find(' ', at), words.size());
    if (words.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace

std::string newer_part(const onnx::NodeProto& node) {
  const Form* form = find_form(node.op_type());
  if (form == nullptr) return "the operator";
  if (node.input_size() > form->inputs) return cat("input ", form->inputs);
  if (node.output_size() > form->outputs) return cat("output ", form->outputs);
  for (const auto& attribute : node.attribute()) {
    if (!has_word(form->attributes, attribute.name()))
      return cat("the attribute ", in_quotes(attribute.name()));
  }
  return "";
}

}  // namespace byoc::onnx_import
