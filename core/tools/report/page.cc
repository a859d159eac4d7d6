// SPDX-License-Identifier: Apache-2.0
#include "core/tools/report/page.h"

#include <string_view>

#include "byoc/base/check.h"
#include "byoc/base/json.h"
#include "byoc/base/version.h"

namespace byoc::driver {
namespace {

#include <report_page.inc>  // kMarkup, kStyle, kScript: the files of page/

/// Escapes '<', so that no text of a model ends the element or begins a comment; in JSON the
/// character occurs in strings alone.
std::string json_in_html(const Json& data) {
  std::string out;
  for (char c : data.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    if (c == '<') out += "\\u003c";
    else out += c;
  }
  return out;
}

std::string html_escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '<') out += "&lt;";
    else if (c == '&') out += "&amp;";
    else out += c;
  }
  return out;
}

void replace_one(std::string& page, std::string_view mark, std::string_view text) {
  size_t at = page.find(mark);
  BYOC_CHECK(at != std::string::npos, "the page has no ", mark);
  page.replace(at, mark.size(), text);
}

}  // namespace

std::string report_page(const Json& data) {
  Json whole = {{"schema", "byoc.report/1"}, {"byoc", version()}, {"ok", true}};
  whole.update(data);
  std::string page(kMarkup);
  replace_one(page, "{{title}}", html_escaped(data["model"].get<std::string>()));
  replace_one(page, "{{style}}", kStyle);
  replace_one(page, "{{script}}", kScript);  // before the data, which may hold anything
  replace_one(page, "{{data}}", json_in_html(whole));
  return page;
}

}  // namespace byoc::driver
