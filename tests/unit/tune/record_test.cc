// SPDX-License-Identifier: Apache-2.0
#include "byoc/tune/record.h"

#include <gmock/gmock.h>

#include <limits>
#include <regex>

#include "byoc/base/file.h"
#include "byoc/base/json.h"
#include "byoc/te/target.h"
#include "records.h"
#include "support/paths.h"

namespace byoc::tune {
namespace {

using test::point;
using test::record_of;
using testing::HasSubstr;

Record failed_record() {
  Record record = record_of("conv \"1\" é\n", point("8"), 1);
  record.samples_ns.clear();
  record.error = "crash: signal 11";
  return record;
}

TEST(Record, ReadsWhatItPrints) {
  for (const Record& record : {record_of("t", point("4"), 0.1), failed_record()}) {
    const std::string line = print(record);
    EXPECT_EQ(line.find('\n'), line.npos);
    Result<Record> back = parse_record(line);
    ASSERT_TRUE(back.ok()) << back.status().to_string();
    EXPECT_EQ(*back, record);
    EXPECT_EQ(print(*back), line);
  }
}

// Written down by hand from docs/tuning.md; the key is that of ReadsWhatItPrints's plugin and task.
TEST(Record, ReadsALineOfAnotherProgram) {
  const std::string line =
      R"({"worker":"w","v":1,"plugin":"llvm","plugin_version":"2","kind":"k","task":"t","key":")" +
      key_of("llvm", std::string("t")).hex() +
      R"(","target":"{}","threads":2,"flops":10,"bytes":0,"point":{"tile":"8"},)"
      R"("samples_ns":[3,2e2,1.5],"error":"","build_ns":1,"ref_ns":0,"time":-1,"new":[{}]})";
  Result<Record> record = parse_record(line);
  ASSERT_TRUE(record.ok()) << record.status().to_string();
  EXPECT_EQ(record->best_ns(), 1.5);
  EXPECT_EQ(record->threads, 2u);
  EXPECT_EQ(record->time, -1);
  EXPECT_EQ(record->samples_ns, (std::vector<double>{3, 200, 1.5}));
  EXPECT_TRUE(record->is_ok());
}

TEST(Record, HasNoTimeWithAnErrorOrWithoutSamples) {
  EXPECT_FALSE(failed_record().is_ok());
  EXPECT_EQ(failed_record().best_ns(), std::numeric_limits<double>::infinity());
  Record empty = record_of("t", point("1"), 1);
  empty.samples_ns.clear();
  EXPECT_FALSE(empty.is_ok());
  Record both = record_of("t", point("1"), 1);
  both.error = "wrong: max error 1";
  EXPECT_FALSE(both.is_ok());
}

TEST(Record, MayLackWhatOldLogsDoNotHave) {
  Record record = record_of("t", point("4"), 1);
  record.machine = "a processor", record.lost_to = point("8");
  EXPECT_EQ(*parse_record(print(record)), record);
  Json json = *parse_json(print(record));
  json.erase("machine"), json.erase("lost_to");
  const auto old = parse_record(json.dump());
  ASSERT_TRUE(old.ok()) << old.status().to_string();
  EXPECT_EQ(old->machine, "");
  EXPECT_TRUE(old->lost_to.empty());
  json["lost_to"] = 3;
  EXPECT_THAT(parse_record(json.dump()).status().message(), testing::HasSubstr("lost_to"));
}

TEST(Record, OfAnotherVersionIsNotImplemented) {
  std::string line = print(record_of("t", point("1"), 1));
  line.replace(line.find("\"v\":1"), 5, "\"v\":2");
  const Status status = parse_record(line).status();
  EXPECT_EQ(status.code(), Code::kUnimplemented);
  EXPECT_THAT(status.message(), HasSubstr("version 2"));
  EXPECT_EQ(parse_record(R"({"v":9})").status().code(), Code::kUnimplemented);
}

struct BadRecord {
  const char *member, *value, *message;
};
class RefusesARecord : public testing::TestWithParam<BadRecord> {};

TEST_P(RefusesARecord, NamingTheField) {
  auto json = parse_json(print(record_of("t", point("4"), 1)));
  ASSERT_TRUE(json.ok());
  ASSERT_TRUE(json->contains(GetParam().member));
  if (*GetParam().value == '\0') json->erase(GetParam().member);
  else (*json)[GetParam().member] = Json::parse(GetParam().value);
  const Status status = parse_record(json->dump()).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.slug(), "tuning-record");
  EXPECT_THAT(status.message(), HasSubstr(cat("\"", GetParam().member, "\"")));
  EXPECT_THAT(status.message(), HasSubstr(GetParam().message));
}

const BadRecord kBadRecords[] = {
    {"v", "", "missing"},
    {"v", "\"1\"", "is \"1\", expected an integer"},
    {"key", "", "missing"},
    {"key", "\"12\"", "32 hexadecimal digits"},
    {"key", "\"00000000000000000000000000000000\"", "that of plugin and task"},
    {"task", "1", "is 1, expected a text"},
    {"plugin", "1", "is 1, expected a text"},
    {"threads", "0", "a number from 1"},
    {"threads", "4294967296", "a number from 1"},
    {"threads", "-1", "a number from 1"},
    {"flops", "-1", "a number from 0"},
    {"bytes", "null", "expected a number"},
    {"point", "[]", "an object of strings"},
    {"point", "{\"tile\":4}", "an object of strings"},
    {"samples_ns", "1", "a list of times"},
    {"samples_ns", "[1,\"2\"]", "is \"2\", expected a time in ns"},
    {"samples_ns", "[1,-2]", "is -2, expected a time in ns"},
    {"error", "", "missing"},
    {"time", "1.5", "expected an integer"},
    {"worker", "{}", "expected a text"},
};
INSTANTIATE_TEST_SUITE_P(Record, RefusesARecord, testing::ValuesIn(kBadRecords));

TEST(Record, RefusesTheKeyOfAnotherTask) {
  auto json = parse_json(print(record_of("t", point("4"), 1)));
  (*json)["task"] = "u";
  EXPECT_THAT(parse_record(json->dump()).status().message(), HasSubstr("\"key\""));
}

TEST(Record, SurvivesDamage) {
  const std::string line = print(record_of("t", point("4"), 1));
  for (size_t k = 0; k < line.size(); ++k) {
    EXPECT_FALSE(parse_record(line.substr(0, k)).ok()) << k;
    for (char c : {'\0', '"', '{', ']', '9', '\xff'}) {
      std::string damaged = line;
      damaged[k] = c;
      (void)parse_record(damaged);  // returns
    }
  }
}

TEST(Record, HasATargetWithoutThreads) {
  te::Target target = *te::parse_target("x86-64-v3");
  target.threads = 7;
  Result<std::string> text = record_target(te::print(target));
  ASSERT_TRUE(text.ok()) << text.status().to_string();
  EXPECT_EQ(text->find("threads"), text->npos);
  target.threads = 1;
  EXPECT_EQ(te::print(*te::parse_target(*text)), te::print(target));
}

TEST(Record, HasThisMachineAsTheTargetOfAnEmptyObject) {
  EXPECT_EQ(*record_target("{}"), *record_target(te::print(*te::parse_target("native"))));
  EXPECT_EQ(record_target("{\"cpu\":").status().slug(), "target-json");
}

// ---- the schema

/// Returns the faults of `value` by the schema's keywords that the file uses.
std::vector<std::string> faults(const Json& schema, const Json& value, const std::string& at) {
  std::vector<std::string> out;
  const std::string type = schema.value("type", "");
  const bool fits = type == "object"    ? value.is_object()
                    : type == "array"   ? value.is_array()
                    : type == "string"  ? value.is_string()
                    : type == "integer" ? value.is_number_integer()
                                        : value.is_number();
  if (!fits) return {cat(at, ": no ", type)};
  if (schema.contains("const") && schema["const"] != value) out.push_back(at + ": const");
  if (schema.contains("minimum") && value < schema["minimum"]) out.push_back(at + ": minimum");
  if (schema.contains("pattern") &&
      !std::regex_search(value.get<std::string>(), std::regex(schema["pattern"])))
    out.push_back(at + ": pattern");
  for (const Json& name : schema.value("required", Json::array())) {
    if (!value.contains(name)) out.push_back(cat(at, ": no ", name.get<std::string>()));
  }
  const Json properties = schema.value("properties", Json::object());
  auto add = [&](const Json& part, const Json& member, const std::string& name) {
    for (std::string& fault : faults(part, member, at + "/" + name)) out.push_back(fault);
  };
  const Json members = value.is_object() ? value : Json::object();
  for (const auto& [name, member] : members.items()) {
    if (properties.contains(name)) add(properties[name], member, name);
    else if (schema["additionalProperties"].is_object())
      add(schema["additionalProperties"], member, name);
  }
  for (const Json& item : value.is_array() ? value : Json::array()) add(schema["items"], item, "*");
  return out;
}

class Schema : public testing::Test {
 protected:
  Schema() {
    schema_ = *parse_json(*read_file(BYOC_SOURCE_DIR "/core/tune/tuning-record.schema.json"));
  }
  Json schema_;
};

TEST_F(Schema, HoldsForRecords) {
  for (const Record& record : {record_of("t", point("4"), 1), failed_record()})
    EXPECT_THAT(faults(schema_, *parse_json(print(record)), ""), testing::IsEmpty());
}

TEST_F(Schema, ListsTheMembersOfARecord) {
  std::set<std::string> printed, required, described;
  Record whole = record_of("t", point("4"), 1);
  whole.machine = "a processor", whole.lost_to = point("8");
  const Json record = *parse_json(print(whole));
  for (const auto& [name, value] : record.items()) printed.insert(name);
  EXPECT_THAT(faults(schema_, record, ""), testing::IsEmpty());
  for (const auto& [name, value] : schema_["properties"].items()) described.insert(name);
  for (const Json& name : schema_["required"]) required.insert(name.get<std::string>());
  EXPECT_EQ(described, printed);
  for (const char* optional : {"machine", "lost_to"}) EXPECT_EQ(printed.erase(optional), 1u);
  EXPECT_EQ(required, printed);
}

TEST_F(Schema, RefusesWhatTheReaderRefuses) {
  for (const BadRecord& bad : kBadRecords) {
    const std::string value = bad.value;
    const bool is_beyond_schemas = value.find("00000") != value.npos || value == "4294967296";
    if (is_beyond_schemas) continue;
    Json json = *parse_json(print(record_of("t", point("4"), 1)));
    if (value.empty()) json.erase(bad.member);
    else json[bad.member] = Json::parse(value);
    EXPECT_THAT(faults(schema_, json, ""), testing::Not(testing::IsEmpty())) << json.dump();
  }
}

}  // namespace
}  // namespace byoc::tune
