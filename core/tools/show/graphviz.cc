// SPDX-License-Identifier: Apache-2.0
#include "core/tools/show/graphviz.h"

#include <cstring>

#include "core/ir/quote.h"
#include "core/process/program.h"

namespace byoc::driver {
namespace {

Status graphviz_error(std::string message) {
  return failed(std::move(message)).with_slug("graphviz");
}

// Escapes a text by way of JSON, whose strings are almost those of dot: well-formed UTF-8, with the
// same escapes of quotes and backslashes.
std::string escaped(std::string_view text, std::string_view backslash) {
  std::string json, out;
  print_json_string(json, text);
  for (size_t k = 0; k < json.size(); ++k) {
    if (json[k] == '&') {
      out += "&amp;";
    } else if (json[k] != '\\') {
      out += json[k];
    } else if (json[++k] == '\\') {
      out += backslash;
    } else if (json[k] != 'u') {
      out.append({'\\', json[k]});
    } else {  // \u000a, a control byte, or \ufffd
      std::string_view code = std::string_view(json).substr(k + 1, 4);
      out += code == "000a" ? "\\n" : code == "fffd" ? "\xef\xbf\xbd" : " ";
      k += 4;
    }
  }
  return out;
}

}  // namespace

std::string dot_string(std::string_view text) { return escaped(text, R"(\\)"); }
std::string dot_tooltip(std::string_view text) { return escaped(text, R"(\\\\)"); }

Result<std::string> dot_to_svg(std::string_view graph, std::chrono::seconds limit) {
  using process::End;
  BYOC_TRY(process::ProgramResult dot, process::run_program({"dot", "-Tsvg"}, graph, limit));
  if (dot.end.is_success()) return std::move(dot.out);
  switch (dot.end.kind) {
    case End::kNotStarted:
      return graphviz_error(cat("cannot run Graphviz's dot: ", std::strerror(dot.end.code)))
          .with_help(
              "install graphviz (on Debian: apt install graphviz); the table needs none of it");
    case End::kTimedOut:
      return graphviz_error(cat("Graphviz's dot was ended after ", limit.count(), " s"))
          .with_help("fewer plugins make fewer regions; byoc partition MODEL -o - has it as text");
    case End::kSignal:
      return graphviz_error(cat("Graphviz's dot failed: signal ", strsignal(dot.end.code)));
    default:
      return graphviz_error(cat("Graphviz's dot failed: ", dot.err.substr(0, dot.err.find('\n'))));
  }
}

}  // namespace byoc::driver
