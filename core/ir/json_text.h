#pragma once
// Small values as JSON text, for writers that stream.
#include "byoc/ir/attrs.h"

namespace byoc {

/// Quoted and escaped; bytes that are no UTF-8 become U+FFFD, for JSON has no other text.
void print_json_string(std::string& out, std::string_view text);
/// 3, or {"symbol":"N","min":1,"max":64}; bounds that bind nothing are left out.
void print_json_dim(std::string& out, Dim dim);
/// As graph_json.h says; all kinds but constants.
void print_json_attr(std::string& out, const AttrValue& value);

}  // namespace byoc
