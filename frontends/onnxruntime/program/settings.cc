// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnxruntime/program/settings.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "byoc/base/json.h"
#include "byoc/base/nearest.h"

namespace byoc::ort {
namespace {

constexpr std::string_view kOfSession = "byoc.", kOfProvider = "ep.byoc.",
                           kOfContexts = "ep.context_";
constexpr const char* kCacheDir = "cache_dir";
constexpr const char* kExplain = "explain";

/// Sizes, values and states of inputs are of one model, and a session compiles parts of one.
bool is_of_models(std::string_view name) {
  constexpr std::string_view kNames[] = {"shape", "bind", "state", "entry"};
  return std::ranges::count(kNames, name) > 0;
}

/// The options of compiling: their names, and which of them are flags without a value.
struct Known {
  std::vector<std::string> names = {kCacheDir, kExplain};
  std::set<std::string> flags;
};

Result<Known> known_options() {
  char* text = nullptr;
  BYOC_TRY_STATUS(status_of(byoc_option_names(&text)));
  const std::unique_ptr<char, Frees<byoc_text_free>> owner(text);
  BYOC_TRY(Json rows, parse_json(text));
  Known out;
  for (const Json& row : rows) {
    const std::string name = row.value("name", "");
    if (is_of_models(name)) continue;
    out.names.push_back(name);
    if (row.value("value", "").empty()) out.flags.insert(name);
  }
  return out;
}

Status unknown_option(const std::string& name, const std::vector<std::string>& known) {
  return invalid(cat("byoc's execution provider has no option \"", name, "\"",
                     did_you_mean(name, known)))
      .with_slug("usage")
      .with_help("docs/onnxruntime.md lists the options");
}

/// Sets a flag from "1" or "0", as entries of ONNX Runtime are written.
Status set_flag(const std::string& name, const std::string& value, Settings& to) {
  if (value == "1" || value == "true") return to.compiling[name] = "", Status();
  if (value == "0" || value == "false") return {};
  return invalid(cat("the option ", name, " is \"", value, "\"; it is a flag, 1 or 0"))
      .with_slug("usage");
}

/// Returns the entries that begin with the prefix, by what follows it.
std::map<std::string, std::string> entries_with(std::string_view prefix, const Calls& calls,
                                                const OrtKeyValuePairs* pairs) {
  const char *const *keys = nullptr, *const *values = nullptr;
  size_t count = 0;
  calls.GetKeyValuePairs(pairs, &keys, &values, &count);
  std::map<std::string, std::string> out;
  for (size_t k = 0; k < count; ++k) {
    const std::string_view key = keys[k];
    if (key.starts_with(prefix)) out[std::string(key.substr(prefix.size()))] = values[k];
  }
  return out;
}

std::map<std::string, std::string> entries_for_byoc(const Calls& calls,
                                                    const OrtKeyValuePairs* pairs) {
  std::map<std::string, std::string> out = entries_with(kOfSession, calls, pairs);
  for (const auto& [name, value] : entries_with(kOfProvider, calls, pairs)) {
    const bool is_long = name.starts_with(kOfSession);  // the option "byoc.NAME" of the provider
    out[is_long ? name.substr(kOfSession.size()) : name] = value;
  }
  return out;
}

ContextSettings context_settings(const Calls& calls, const OrtKeyValuePairs* pairs) {
  std::map<std::string, std::string> entries = entries_with(kOfContexts, calls, pairs);
  return {entries["enable"] == "1", entries["embed_mode"] == "1", entries["file_path"]};
}

}  // namespace

Result<OptionsHandle> Settings::options() const {
  byoc_options* made = nullptr;
  BYOC_TRY_STATUS(status_of(byoc_options_new(&made)));
  OptionsHandle out(made);
  for (const auto& [name, value] : compiling)
    BYOC_TRY_STATUS(status_of(byoc_options_set(made, name.c_str(), value.c_str())));
  return out;
}

std::string Settings::to_text() const {
  std::string out;
  for (const auto& [name, value] : compiling) out += cat(name, "=", value, "\n");
  return out;
}

Result<Settings> read_settings(const Calls& calls, const OrtSessionOptions* session) {
  BYOC_TRY(const Known known, known_options());
  OrtKeyValuePairs* pairs = nullptr;
  BYOC_ORT_TRY(calls, GetSessionOptionsConfigEntries(session, &pairs));
  std::map<std::string, std::string> entries = entries_for_byoc(calls, pairs);
  Settings out;
  out.contexts = context_settings(calls, pairs);
  calls.ReleaseKeyValuePairs(pairs);
  for (auto& [name, value] : entries) {
    if (name == kCacheDir) out.cache_dir = value;
    else if (name == kExplain) out.explain_file = value;
    else if (known.flags.contains(name)) BYOC_TRY_STATUS(set_flag(name, value, out));
    else if (std::ranges::count(known.names, name) > 0) out.compiling[name] = value;
    else return unknown_option(name, known.names);
  }
  return out;
}

}  // namespace byoc::ort
