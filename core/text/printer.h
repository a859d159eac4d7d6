// SPDX-License-Identifier: Apache-2.0
#pragma once
// Definitions that the printer and the writer of module files share.
#include "byoc/ir/module.h"

namespace byoc {

inline constexpr size_t kInlineElements = 64;  // larger constants are in the side file

/// Returns true when the text holds the elements themselves.
bool is_inline_constant(const Buffer& data, const TensorType& type, size_t limit = kInlineElements);
/// Returns true for a larger constant of which one element is left; the text repeats it.
bool is_one_element(const Buffer& data, const TensorType& type);
/// Prints "[0.5,nan]", the elements in row-major order; for JSON, words become strings.
void print_elements(std::string& out, const Buffer& data, DType dtype, bool as_json);
/// Prints `external_mods=[{...}]`.
void print_external_modules(std::string& out, const std::vector<ExternalModule>& modules);

}  // namespace byoc
