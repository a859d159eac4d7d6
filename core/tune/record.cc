// SPDX-License-Identifier: Apache-2.0
#include "byoc/tune/record.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "byoc/base/json.h"
#include "byoc/te/target.h"
#include "core/measure/statistic.h"

namespace byoc::tune {
namespace {

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Reads the members of one record; remembers the first fault.
class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}
  void read(const char* name, std::string& to) {
    if (const Json* value = find(name, &Json::is_string, "a text")) to = value->get<std::string>();
  }
  void read(const char* name, double& to) {
    const Json* value = find(name, &Json::is_number, "a number");
    if (value == nullptr) return;
    to = value->get<double>();
    if (!(to >= 0) || !std::isfinite(to)) fail(name, *value, "a number from 0");
  }
  void read(const char* name, std::vector<double>& to) {
    const Json* value = find(name, &Json::is_array, "a list of times");
    if (value == nullptr) return;
    for (const Json& sample : *value) {
      if (!sample.is_number() || !(sample.get<double>() >= 0))
        return fail(name, sample, "a time in ns");
      to.push_back(sample.get<double>());
    }
  }
  void read(const char* name, Point& to) {
    const Json* value = find(name, &Json::is_object, "an object of strings");
    if (value == nullptr) return;
    Result<Point> point = parse_point(dump(*value));
    if (!point.ok()) return fail(name, *value, "an object of strings");
    to = *std::move(point);
  }
  void read(const char* name, ContentKey& to) {
    const Json* value = find(name, &Json::is_string, "32 hexadecimal digits");
    if (value != nullptr && !ContentKey::parse(value->get<std::string>(), to))
      fail(name, *value, "32 hexadecimal digits");
  }
  void read(const char* name, int64_t& to) {
    if (const Json* value = find(name, &Json::is_number_integer, "an integer"))
      to = value->get<int64_t>();
  }
  void read(const char* name, uint32_t& to) {
    const Json* value = find(name, &Json::is_number_unsigned, "a number from 1");
    if (value == nullptr) return;
    const auto number = value->get<uint64_t>();
    if (number == 0 || number > std::numeric_limits<uint32_t>::max())
      return fail(name, *value, "a number from 1");
    to = static_cast<uint32_t>(number);
  }
  void fail(const char* name, const Json& value, std::string_view expected) {
    if (!fault_.empty()) return;
    fault_ = cat("the field \"", name, "\" is ", dump(value), ", expected ", expected);
  }
  Status status() const {
    return fault_.empty() ? Status() : invalid(fault_).with_slug("tuning-record");
  }

 private:
  const Json* find(const char* name, bool (Json::*is_kind)() const noexcept,
                   std::string_view expected) {
    auto at = json_.find(name);
    if (at == json_.end()) {
      if (fault_.empty()) fault_ = cat("the field \"", name, "\" is missing");
      return nullptr;
    }
    if (((*at).*is_kind)()) return &*at;
    fail(name, *at, expected);
    return nullptr;
  }
  const Json& json_;
  std::string fault_;
};

Result<int64_t> version_of(const Json& json) {
  int64_t version = 0;
  Reader reader(json);
  reader.read("v", version);
  BYOC_TRY_STATUS(reader.status());
  return version;
}

// Calls visit(name, member) for every member but the version, in the order of printing.
template <class R, class Visit>
void for_members(R& record, Visit&& visit) {
  visit("key", record.key);
  visit("plugin", record.plugin);
  visit("plugin_version", record.plugin_version);
  visit("kind", record.kind);
  visit("task", record.task);
  visit("target", record.target);
  visit("threads", record.threads);
  visit("flops", record.flops);
  visit("bytes", record.bytes);
  visit("point", record.point);
  visit("samples_ns", record.samples_ns);
  visit("error", record.error);
  visit("build_ns", record.build_ns);
  visit("ref_ns", record.ref_ns);
  visit("time", record.time);
  visit("worker", record.worker);
}

// Calls visit for the members that a line may lack.
template <class R, class Visit>
void for_optional_members(R& record, Visit&& visit) {
  visit("machine", record.machine);
  visit("lost_to", record.lost_to);
}

}  // namespace

double Record::best_ns() const { return measure::time_of(samples_ns); }

Result<std::string> record_target(const std::string& target_json) {
  BYOC_TRY(te::Target target, te::parse_target(target_json));
  // Records of floats serve with and without instructions for integers of 8 bits.
  std::erase_if(target.features,
                [](const std::string& feature) { return feature.ends_with("vnni"); });
  Json json = Json::parse(te::print(target));
  json.erase("threads");
  return dump(json);
}

std::string print(const Record& record) {
  Json json = {{"v", Record::kVersion}};
  for_members(record, [&](const char* name, const auto& member) {
    if constexpr (std::is_same_v<std::decay_t<decltype(member)>, ContentKey>)
      json[name] = member.hex();
    else json[name] = member;
  });
  for_optional_members(record, [&](const char* name, const auto& member) {
    if (!member.empty()) json[name] = member;
  });
  return dump(json);
}

Result<Record> parse_record(std::string_view line) {
  auto json = parse_json(line);
  if (!json.ok() || !json->is_object())
    return invalid(json.ok() ? "a record is a JSON object" : json.status().message())
        .with_slug("tuning-record");
  BYOC_TRY(int64_t version, version_of(*json));
  if (version != Record::kVersion) {
    return unimplemented(
               cat("a record of version ", version, ", this byoc reads version ", Record::kVersion))
        .with_slug("tuning-record");
  }
  Record out;
  Reader reader(*json);
  for_members(out, [&](const char* name, auto& member) { reader.read(name, member); });
  for_optional_members(out, [&](const char* name, auto& member) {
    if (json->contains(name)) reader.read(name, member);
  });
  if (out.key != key_of(out.plugin, out.task))
    reader.fail("key", (*json)["key"], "that of plugin and task");
  BYOC_TRY_STATUS(reader.status());
  return out;
}

}  // namespace byoc::tune
