// SPDX-License-Identifier: Apache-2.0
// byoc report: its options and errors. tests/report has the figures and the page.
#include "unit/driver/command.h"
#include "support/paths.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kQuick = " --compiler json --min-time 0.01 --warmup 0";

TEST(ReportCommand, WritesAPageAndTheSameAsJson) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", kTwoOps);
  Ran ran = byoc("report " + model + kQuick + " -o " + byoc.file("m.html") +
                 " --json=" + byoc.file("m.json"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("2 ops, 1 regions"));
  EXPECT_THAT(ran.out, HasSubstr("m.html, for a browser"));
  std::string page = get(byoc.file("m.html")), begin = "id=\"data\">";
  size_t at = page.find(begin) + begin.size();
  auto data = parse_json(page.substr(at, page.find("</script>", at) - at));
  ASSERT_TRUE(data.ok()) << data.status().to_string();
  EXPECT_EQ(*data, *parse_json(get(byoc.file("m.json"))));
  EXPECT_EQ((*data)["configurations"][0]["bench"]["configurations"][0]["outputs"][0]["equal"],
            true);
}

TEST(ReportCommand, WithoutRunsHasGraphAndReasonsAlone) {
  Byoc byoc;
  Json data = byoc.json("report " + byoc.write("m.ir", kTwoOps) + " --compiler json --no-run -o " +
                        byoc.file("m.html"));
  const Json& configuration = data["configurations"][0];
  EXPECT_EQ(configuration["explain"]["ops"].size(), 2u);
  EXPECT_EQ(configuration["graph"]["nodes"].size(), 4u);
  for (const char* part : {"bench", "trace", "memory", "steps"})
    EXPECT_TRUE(configuration[part].is_null()) << part;
}

TEST(ReportCommand, OfAModelThatDoesNotCompileWarnsAndHasAPage) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", "fn main(%x: f32[N]) { %0 = relu(%x) return %0 }");
  Ran ran = byoc("report " + model + kQuick + " -o " + byoc.file("m.html"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("the model does not compile: inputs have open sizes: x f32[N]"));
  EXPECT_THAT(get(byoc.file("m.html")), HasSubstr("</html>"));
}

TEST(ReportCommand, PrintsThePage) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", kTwoOps);
  Ran ran = byoc("report " + model + " --no-run -o -");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, testing::StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(ran.out, testing::EndsWith("</html>\n"));
}

TEST(ReportCommand, RefusesCostsOfAnotherForm) {
  Byoc byoc;
  std::string line =
      "report " + byoc.write("m.ir", kTwoOps) + " --no-run -o " + byoc.file("m.html") + " --costs ";
  for (const char* text : {"{}", "[]", "{\"schema\":\"byoc.explain/1\"}", "{", "",
                           "{\"schema\":\"byoc.explain-placement/1\",\"functions\":[{}]}"}) {
    Ran ran = byoc(line + byoc.write("c.json", text));
    EXPECT_EQ(ran.code, 1) << text;
    EXPECT_THAT(ran.err, HasSubstr("error[placement]")) << text;
    EXPECT_THAT(ran.err, HasSubstr("byoc explain MODEL --placement --json=")) << text;
  }
  EXPECT_THAT(byoc(line + byoc.file("none.json")).err, HasSubstr("none.json"));
}

TEST(ReportCommand, RefusesWhatItCannotDo) {
  Byoc byoc;
  std::string report = "report " + byoc.write("m.ir", kTwoOps) + kQuick;
  EXPECT_EQ(byoc(report + " --rounds 0").code, 2);
  EXPECT_EQ(byoc(report + " --min-time -1").code, 2);
  EXPECT_EQ(byoc(report + " -o - --json").code, 2);
  EXPECT_THAT(byoc(report + " --vs colour=red").err, HasSubstr("\"colour=red\" is no setting"));
  EXPECT_THAT(byoc(report + " --vs compiler=nobyoc").err, HasSubstr("error[unknown-plugin]"));
  EXPECT_THAT(byoc(report + " --input y=1").err, HasSubstr("error[unknown-input]"));
  Ran ran = byoc(report + " -o " + byoc.file("none/m.html"));
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("none/m.html"));
}

TEST(ReportCommand, OfACompiledModelIsAnErrorWithTheCause) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", kTwoOps), compiled = byoc.file("m.byoc");
  ASSERT_EQ(byoc("compile " + model + " --compiler json -o " + compiled).code, 0);
  Ran ran = byoc("report " + compiled + " -o " + byoc.file("m.html"));
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("error[model-file]"));
  EXPECT_FALSE(std::filesystem::exists(byoc.file("m.html")));
}

}  // namespace
}  // namespace byoc::test
