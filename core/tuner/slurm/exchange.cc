// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/slurm/exchange.h"

#include "byoc/base/json.h"

namespace byoc::tune {
namespace {

using std::chrono::milliseconds;

// Calls visit(name, member) for every member of each form.
template <class S, class Visit>
void for_members(S& sitting,
                 Visit&& visit) requires std::is_same_v<std::remove_const_t<S>, SittingFile> {
  auto& measure = sitting.measure;
  visit("target", sitting.target_json);
  visit("threads", sitting.threads);
  visit("options", sitting.options);
  visit("tasks", sitting.tasks);
  visit("reference", measure.reference);
  visit("builders", measure.builders);
  visit("build_limit_ms", measure.build_limit);
  visit("run_limit_ms", measure.run_limit);
  visit("reference_limit_ms", measure.reference_limit);
  visit("seed", measure.seed);
  visit("shows_errors", measure.shows_errors);
}

template <class S, class Visit>
void for_members(S& item,
                 Visit&& visit) requires std::is_same_v<std::remove_const_t<S>, Batch::Item> {
  visit("point", item.point);
  visit("artifact", item.artifact);
}

template <class S, class Visit>
void for_members(S& batch, Visit&& visit) requires std::is_same_v<std::remove_const_t<S>, Batch> {
  visit("task", batch.task);
  visit("items", batch.items);
  visit("champion", batch.champion);
  visit("champion_ns", batch.champion_ns);
  visit("champion_ref_ns", batch.champion_ref_ns);
}

template <class S, class Visit>
void for_members(S& state,
                 Visit&& visit) requires std::is_same_v<std::remove_const_t<S>, WorkerState> {
  visit("beat", state.beat);
  visit("pid", state.pid);
  visit("host", state.host);
  visit("machine", state.machine);
  visit("target", state.target);
  visit("versions", state.versions);
  visit("done", state.done);
  visit("champion", state.champion);
  visit("champion_ns", state.champion_ns);
  visit("ref_ns", state.ref_ns);
  visit("drift", state.drift);
  visit("defects", state.defects);
  visit("error", state.error);
}

template <class T>
Json json_of(const T& form);
Json value_of(const milliseconds& time) { return time.count(); }
Json value_of(const Batch::Item& item) { return json_of(item); }
Json value_of(const std::vector<Batch::Item>& items) {
  Json out = Json::array();
  for (const Batch::Item& item : items) out.push_back(json_of(item));
  return out;
}
Json value_of(const Point& texts) {
  Json out = Json::object();
  for (const auto& [name, text] : texts) out[name] = text;
  return out;
}
template <class T>
Json value_of(const T& value) {
  return value;
}

template <class T>
Json json_of(const T& form) {
  Json out = Json::object();
  for_members(form, [&](const char* name, const auto& member) { out[name] = value_of(member); });
  return out;
}

template <class T>
bool read_form(const Json& json, T& to, std::string& fault);

bool read(const Json& json, bool& to, std::string&) {
  if (json.is_boolean()) to = json.get<bool>();
  return json.is_boolean();
}
bool read(const Json& json, std::string& to, std::string&) {
  if (json.is_string()) to = json.get<std::string>();
  return json.is_string();
}
bool read(const Json& json, double& to, std::string&) {
  if (json.is_number()) to = json.get<double>();
  return json.is_number();
}
bool read(const Json& json, milliseconds& to, std::string&) {
  if (json.is_number_integer()) to = milliseconds(json.get<int64_t>());
  return json.is_number_integer();
}
bool read(const Json& json, Point& to, std::string&) {
  if (!json.is_object()) return false;
  for (const auto& [name, value] : json.items()) {
    if (!value.is_string()) return false;
    to[name] = value.get<std::string>();
  }
  return true;
}
bool read(const Json& json, Batch::Item& to, std::string& fault) {
  return read_form(json, to, fault);
}
bool read(const Json& json, std::vector<Batch::Item>& to, std::string& fault) {
  if (!json.is_array()) return false;
  for (const Json& item : json) {
    if (!read_form(item, to.emplace_back(), fault)) return false;
  }
  return true;
}
template <std::integral T>
bool read(const Json& json, T& to, std::string&) {
  if (!json.is_number_integer()) return false;
  to = json.get<T>();
  return true;
}

template <class T>
bool read_form(const Json& json, T& to, std::string& fault) {
  if (!json.is_object()) return false;
  bool is_good = true;
  for_members(to, [&](const char* name, auto& member) {
    if (!is_good) return;
    auto at = json.find(name);
    is_good = at != json.end() && read(*at, member, fault);
    if (!is_good && fault.empty()) fault = cat("\"", name, "\" is missing or of another kind");
  });
  return is_good;
}

template <class T>
Result<T> parsed(std::string_view text) {
  BYOC_TRY(Json json, parse_json(text));
  T out;
  std::string fault;
  if (read_form(json, out, fault)) return out;
  return invalid(fault.empty() ? "no JSON object" : fault);
}

template <class T>
std::string printed(const T& form) {
  return json_of(form).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string print(const SittingFile& sitting) { return printed(sitting); }
std::string print(const Batch& batch) { return printed(batch); }
std::string print(const WorkerState& state) { return printed(state); }
Result<SittingFile> parse_sitting(std::string_view text) { return parsed<SittingFile>(text); }
Result<Batch> parse_batch(std::string_view text) { return parsed<Batch>(text); }
Result<WorkerState> parse_state(std::string_view text) { return parsed<WorkerState>(text); }

}  // namespace byoc::tune
