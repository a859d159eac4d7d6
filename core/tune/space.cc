// SPDX-License-Identifier: Apache-2.0
#include "byoc/tune/space.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "byoc/base/json.h"

namespace byoc::tune {
namespace {

std::string json_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Status bad(std::string message) { return invalid(std::move(message)).with_slug("knob-space"); }

Json to_json(const Point& point) {
  Json out = Json::object();
  for (const auto& [name, value] : point) out[name] = value;
  return out;
}

Result<Point> point_of(const Json& json) {
  if (!json.is_object())
    return invalid(cat("a point is an object, not ", json_text(json))).with_slug("point");
  Point out;
  for (const auto& [name, value] : json.items()) {
    if (!value.is_string()) {
      return invalid(cat("knob \"", name, "\" of a point is ", json_text(value), ", not a string"))
          .with_slug("point");
    }
    out[name] = value.get<std::string>();
  }
  return out;
}

constexpr const char* kMembers[] = {"task", "kind", "flops", "bytes", "knobs", "guesses"};
constexpr const char *kCosts = "cost_ns", *kBytes = "constant_bytes";  // may be missing

Status check_members(const Json& json) {
  if (!json.is_object()) return bad("a knob space is a JSON object");
  for (const auto& [name, value] : json.items()) {
    if (std::ranges::find(kMembers, name) == std::end(kMembers) && name != kCosts && name != kBytes)
      return bad(cat("unknown field \"", name, "\""));
  }
  for (const char* name : kMembers) {
    if (!json.contains(name)) return bad(cat("the field \"", name, "\" is missing"));
  }
  return {};
}

Result<std::string> text_in(const Json& json, const char* name) {
  const Json& value = json[name];
  if (!value.is_string() || value.get_ref<const std::string&>().empty())
    return bad(cat("the field \"", name, "\" is ", json_text(value), ", expected a text"));
  return value.get<std::string>();
}

Result<double> amount_in(const Json& json, const char* name) {
  const Json& value = json[name];
  if (value.is_number() && value.get<double>() >= 0 && std::isfinite(value.get<double>()))
    return value.get<double>();
  return bad(cat("the field \"", name, "\" is ", json_text(value), ", expected a number from 0"));
}

Result<Knob> knob_of(const Json& json) {
  if (!json.is_object() || json.size() != 2 || !json.contains("name") || !json.contains("values"))
    return bad(cat("\"knobs\" has ", json_text(json), ", expected \"name\" and \"values\""));
  Knob out;
  BYOC_TRY(out.name, text_in(json, "name"));
  if (!json["values"].is_array() || json["values"].empty())
    return bad(cat("knob \"", out.name, "\" has no values"));
  std::set<std::string> seen;
  for (const Json& value : json["values"]) {
    if (!value.is_string())
      return bad(cat("knob \"", out.name, "\" has the value ", json_text(value), ", not a string"));
    out.values.push_back(value.get<std::string>());
    if (!seen.insert(out.values.back()).second)
      return bad(cat("knob \"", out.name, "\" has the value \"", out.values.back(), "\" twice"));
  }
  return out;
}

Result<std::vector<Knob>> knobs_of(const Json& json) {
  if (!json.is_array() || json.empty()) return bad("the field \"knobs\" is no list, or empty");
  std::vector<Knob> out;
  std::set<std::string> seen;
  for (const Json& entry : json) {
    BYOC_TRY(Knob knob, knob_of(entry));
    if (!seen.insert(knob.name).second) return bad(cat("knob \"", knob.name, "\" is there twice"));
    out.push_back(std::move(knob));
  }
  return out;
}

Result<std::vector<Point>> guesses_of(const Json& json, const Space& space) {
  if (!json.is_array() || json.empty()) return bad("the field \"guesses\" is no list, or empty");
  std::vector<Point> out;
  for (const Json& entry : json) {
    Result<Point> point = point_of(entry);
    if (!point.ok()) return bad(cat("\"guesses\": ", point.status().message()));
    if (!contains(space, *point))
      return bad(cat("the guess ", print(*point), " is outside of the space"));
    out.push_back(*std::move(point));
  }
  return out;
}

const Knob* knob_named(const Space& space, const std::string& name) {
  auto at = std::ranges::find(space.knobs, name, &Knob::name);
  return at == space.knobs.end() ? nullptr : &*at;
}

bool has_value(const Knob& knob, const std::string& value) {
  return std::ranges::find(knob.values, value) != knob.values.end();
}

using ByValue = std::map<std::string, std::map<std::string, double>>;  // by knob

// Reads numbers by knob and value, which the field may lack.
Status read_by_value(const Json& space_json, const char* field, const Space& space, ByValue& out) {
  if (!space_json.contains(field)) return {};
  const Json& json = space_json[field];
  if (!json.is_object()) return bad(cat("the field \"", field, "\" is no object"));
  for (const auto& [name, numbers] : json.items()) {
    const Knob* knob = knob_named(space, name);
    if (knob == nullptr || !numbers.is_object())
      return bad(cat("\"", field, "\" has \"", name, "\", expected a knob with its values"));
    auto& by_value = out[name];
    for (const auto& [value, number] : numbers.items()) {
      if (!has_value(*knob, value))
        return bad(cat("\"", field, "\" has a cost of \"", value, "\", which knob \"", name,
                       "\" does not have"));
      BYOC_TRY(by_value[value], amount_in(numbers, value.c_str()));
    }
  }
  return {};
}

// Drops the numbers of the knob's other values.
void narrow(ByValue& numbers, const std::string& name, const std::string& value) {
  if (auto known = numbers.find(name); known != numbers.end())
    std::erase_if(known->second, [&](const auto& entry) { return entry.first != value; });
}

}  // namespace

Result<Space> narrowed(Space space, const std::string& name, const std::string& value) {
  const Knob* knob = knob_named(space, name);
  const std::string text = cat(name, " \"", value, "\"");
  if (knob == nullptr) {
    return not_found(cat("there is no ", text, ": the function has no such choice"))
        .with_slug("unknown-compute");
  }
  if (!has_value(*knob, value)) {
    std::string known;
    for (const std::string& other : knob->values) known += cat(known.empty() ? "" : ", ", other);
    return not_found(cat("there is no ", text, " for the function"))
        .with_slug("unknown-compute")
        .with_help(cat("it has ", known));
  }
  Point first = space.guesses.at(0);
  first[name] = value;
  std::erase_if(space.guesses, [&](const Point& guess) { return guess.at(name) != value; });
  if (space.guesses.empty()) space.guesses = {std::move(first)};
  for (Knob& other : space.knobs) {
    if (other.name == name) other.values = {value};
  }
  narrow(space.cost_ns, name, value);
  narrow(space.constant_bytes, name, value);
  return space;
}

double size_of(const Space& space) {
  double out = 1;
  for (const Knob& knob : space.knobs) out *= static_cast<double>(knob.values.size());
  return out;
}

bool contains(const Space& space, const Point& point) {
  if (point.size() != space.knobs.size()) return false;
  return std::ranges::all_of(space.knobs, [&](const Knob& knob) {
    auto at = point.find(knob.name);
    return at != point.end() && has_value(knob, at->second);
  });
}

double estimated_ns(const Space& space) {
  constexpr double kFlopsPerNs = 50, kBytesPerNs = 10;  // one core with AVX2, and its L3 or memory
  return std::max({space.flops / kFlopsPerNs, space.bytes / kBytesPerNs, 1.0});
}

ContentKey key_of(const std::string& plugin, const std::string& task) {
  const std::string text = plugin + '\0' + task;
  return content_key(std::as_bytes(std::span(text)));
}

ContentKey key_of(const std::string& plugin, const Space& space) {
  return key_of(plugin, space.task);
}

std::string print(const Point& point) { return json_text(to_json(point)); }

Result<Point> parse_point(std::string_view json) {
  auto parsed = parse_json(json);
  if (!parsed.ok()) return invalid(parsed.status().message()).with_slug("point");
  return point_of(*parsed);
}

std::string print(const Space& space) {
  Json knobs = Json::array(), guesses = Json::array();
  for (const Knob& knob : space.knobs)
    knobs.push_back({{"name", knob.name}, {"values", knob.values}});
  for (const Point& point : space.guesses) guesses.push_back(to_json(point));
  Json out = {{"task", space.task},   {"kind", space.kind}, {"flops", space.flops},
              {"bytes", space.bytes}, {"knobs", knobs},     {"guesses", guesses}};
  if (!space.cost_ns.empty()) out[kCosts] = space.cost_ns;
  if (!space.constant_bytes.empty()) out[kBytes] = space.constant_bytes;
  return json_text(out);
}

Result<Space> parse_space(std::string_view text) {
  auto json = parse_json(text);
  if (!json.ok()) return bad(json.status().message());
  BYOC_TRY_STATUS(check_members(*json));
  Space out;
  BYOC_TRY(out.task, text_in(*json, "task"));
  BYOC_TRY(out.kind, text_in(*json, "kind"));
  BYOC_TRY(out.flops, amount_in(*json, "flops"));
  BYOC_TRY(out.bytes, amount_in(*json, "bytes"));
  BYOC_TRY(out.knobs, knobs_of((*json)["knobs"]));
  BYOC_TRY(out.guesses, guesses_of((*json)["guesses"], out));
  BYOC_TRY_STATUS(read_by_value(*json, kCosts, out, out.cost_ns));
  BYOC_TRY_STATUS(read_by_value(*json, kBytes, out, out.constant_bytes));
  return out;
}

}  // namespace byoc::tune
