// SPDX-License-Identifier: Apache-2.0
#pragma once
// The only entry for JSON from plugins, logs, artifacts and users. Size and depth are checked
// before the parser reads the text, so that hostile nesting cannot overflow the stack.
#include <nlohmann/json.hpp>

#include "byoc/base/status.h"

namespace byoc {

using Json = nlohmann::ordered_json;  ///< JSON whose members keep their order.

/// The most bytes of a text that is parsed.
inline constexpr size_t kJsonMaxBytes = size_t{1} << 31;
inline constexpr int kJsonMaxDepth = 64;  ///< the most brackets inside of each other

/// Parses `text`. Errors: kInvalidArgument with slug "json-size", "json-depth" or "json-syntax".
Result<Json> parse_json(std::string_view text, size_t max_bytes = kJsonMaxBytes,
                        int max_depth = kJsonMaxDepth);
/// Makes the checks alone, for readers that stream (SAX) instead of building a tree.
Status scan_json(std::string_view text, size_t max_bytes = kJsonMaxBytes,
                 int max_depth = kJsonMaxDepth);

}  // namespace byoc
