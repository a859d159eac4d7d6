// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the printer and the writer of module files must agree on.
#include "byoc/ir/module.h"

namespace byoc {

inline constexpr size_t kInlineElements = 64;  // constants of more stand in the side file

/// True when the text holds the elements themselves.
bool is_inline_constant(const Buffer& data, const TensorType& type, size_t limit = kInlineElements);
/// "[0.5,nan]", the elements in row-major order; for JSON, words become strings.
void print_elements(std::string& out, const Buffer& data, DType dtype, bool as_json);
/// `external_mods=[{...}]`.
void print_external_modules(std::string& out, const std::vector<ExternalModule>& modules);

}  // namespace byoc
