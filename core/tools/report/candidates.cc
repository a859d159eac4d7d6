// SPDX-License-Identifier: Apache-2.0
#include "core/tools/report/candidates.h"

#include "byoc/base/file.h"
#include "byoc/base/json.h"

namespace byoc::driver {
namespace {

constexpr const char* kSchema = "byoc.explain-placement/1";

/// Returns a number or null.
Json number(const Json& json, const char* member) {
  const Json& value = json.at(member);
  return value.is_null() ? Json() : Json(value.get<double>());
}

Json candidate_json(const Json& from) {
  return {{"plugin", from.at("plugin").get<std::string>()},
          {"name", from.at("name").get<std::string>()},
          {"ns", number(from, "ns")},
          {"source", from.at("source").get<std::string>()},
          {"note", from.at("note").get<std::string>()},
          {"chosen", from.at("chosen").get<bool>()}};
}

Status another_form(const std::string& path, const std::string& why) {
  return invalid(cat(path, " has no costs of candidates: ", why))
      .with_slug("placement")
      .with_help(cat("byoc explain MODEL --placement --json=", path, " writes them"));
}

}  // namespace

Json candidates_of(const Json& from) {
  Json functions = Json::array();
  for (const Json& function : from.at("functions")) {
    Json ops = Json::array();
    for (const Json& op : function.at("ops")) {
      Json candidates = Json::array();
      for (const Json& one : op.at("candidates")) candidates.push_back(candidate_json(one));
      ops.push_back({{"op", op.at("op").get<std::string>()},
                     {"name", op.at("name").get<std::string>()},
                     {"candidates", candidates}});
    }
    functions.push_back({{"function", function.at("function").get<std::string>()},
                         {"predicted_ns", number(function, "predicted_ns")},
                         {"ops", ops}});
  }
  return functions;
}

Result<Json> read_candidates(const std::string& path) {
  BYOC_TRY(std::string text, read_file(path));
  Result<Json> json = parse_json(text);
  if (!json.ok()) return another_form(path, json.status().message());
  try {
    if (json->at("schema") != kSchema) return another_form(path, cat("no \"", kSchema, "\""));
    return candidates_of(*json);
  } catch (const Json::exception& error) {
    return another_form(path, error.what());
  }
}

}  // namespace byoc::driver
