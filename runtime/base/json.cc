// SPDX-License-Identifier: Apache-2.0
#include "byoc/base/json.h"

namespace byoc {

Status scan_json(std::string_view text, size_t max_bytes, int max_depth) {
  if (text.size() > max_bytes) {
    return invalid(cat("JSON of ", text.size(), " bytes, at most ", max_bytes, " are accepted"))
        .with_slug("json-size");
  }
  int depth = 0;
  bool in_string = false;
  for (size_t k = 0; k < text.size(); ++k) {
    char c = text[k];
    if (in_string) {
      if (c == '\\') ++k;
      else if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > max_depth) {
        return invalid(cat("JSON nested deeper than ", max_depth, " at byte ", k))
            .with_slug("json-depth");
      }
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return {};
}

Result<Json> parse_json(std::string_view text, size_t max_bytes, int max_depth) {
  BYOC_TRY_STATUS(scan_json(text, max_bytes, max_depth));
  try {
    return Json::parse(text);
  } catch (const std::exception& e) {
    return invalid(cat("not valid JSON: ", e.what())).with_slug("json-syntax");
  }
}

}  // namespace byoc
