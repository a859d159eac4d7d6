// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cstdlib>

#include "byoc/pass/pass.h"
#include "byoc/text/text.h"
#include "support/temp_folder.h"

namespace byoc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Sets an environment variable for one test.
class Env {
 public:
  Env(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~Env() { unsetenv(name_); }
  Env(const Env&) = delete;

 private:
  const char* name_;
};

IRModule a_module() {
  auto module = parse_module("fn main(%x: f32[2]) { %0 = relu(%x)  return %0 }", all_ops());
  EXPECT_TRUE(module.ok());
  return *std::move(module);
}

Result<IRModule> keep(IRModule module, const PassContext&, const PassArgs&) { return module; }

Pass nothing(const std::string& name) { return {name, keep, {}}; }

// Returns a pass that appends its name to the module, so that a test can check the order of passes.
Pass note(const std::string& name) {
  return {name,
          [name](IRModule module, const PassContext&, const PassArgs&) -> Result<IRModule> {
            Strings ran = module.attrs.strings("ran");
            ran.push_back(name);
            module.attrs.set("ran", ran);
            return module;
          },
          {}};
}

Strings run_order(const std::vector<Pass>& passes, const PassContext& context = {}) {
  auto module = run_passes(a_module(), passes, context);
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  return module.ok() ? module->attrs.strings("ran") : Strings();
}

TEST(RunPasses, RunsThemInOrder) {
  EXPECT_THAT(run_order({note("a"), note("b"), note("a")}), ElementsAre("a", "b", "a"));
}

TEST(RunPasses, LeavesOutDisabledOnes) {
  PassContext context;
  context.disabled = {"b"};
  Env skip("BYOC_SKIP", "c,d");
  EXPECT_THAT(run_order({note("a"), note("b"), note("c"), note("d"), note("e")}, context),
              ElementsAre("a", "e"));
}

TEST(RunPasses, StopsAfterAPass) {
  Env stop("BYOC_STOP_AFTER", "b");
  EXPECT_THAT(run_order({note("a"), note("b"), note("c")}), ElementsAre("a", "b"));
}

// Returns a pass that leaves a declined function the first `times` that it runs, and the pass that
// places it.
Pass declines(int times) {
  Pass out = note("compile");
  out.run = [left = times, noted = out.run](IRModule module, const PassContext& context,
                                            const PassArgs& args) mutable -> Result<IRModule> {
    if (left-- > 0) module.function("main").attrs.set(kDeclinedAttr, "a");
    return noted(std::move(module), context, args);
  };
  Pass place = note("place");
  place.run = [noted = place.run](IRModule module, const PassContext& context,
                                  const PassArgs& args) -> Result<IRModule> {
    module.function("main").attrs.erase(kDeclinedAttr);
    return noted(std::move(module), context, args);
  };
  out.on_declined = {place, note("choose")};
  return out;
}

TEST(RunPasses, RunsAPassAgainAfterPlacingWhatWasDeclinedInIt) {
  EXPECT_THAT(
      run_order({note("a"), declines(2), note("b")}),
      ElementsAre("a", "compile", "place", "choose", "compile", "place", "choose", "compile", "b"));
  EXPECT_THAT(run_order({declines(0), note("b")}), ElementsAre("compile", "b"));
}

TEST(RunPasses, EndsWhenPlacingIsLeftOut) {
  PassContext context;
  context.disabled = {"place"};
  EXPECT_THAT(run_order({declines(9), note("b")}, context), ElementsAre("compile", "choose", "b"));
}

TEST(RunPasses, StopsAfterAPassOfThoseForDeclinedFunctions) {
  Env stop("BYOC_STOP_AFTER", "place");
  EXPECT_THAT(run_order({declines(1), note("b")}), ElementsAre("compile", "place"));
}

TEST(RunPasses, NamesThePassThatFailed) {
  Pass fails{"fails",
             [](IRModule, const PassContext&, const PassArgs&) -> Result<IRModule> {
               return invalid("no such thing").at("@main");
             },
             {}};
  Pass passes[] = {nothing("a"), fails};
  Status status = run_passes(a_module(), passes, {}).status();
  EXPECT_EQ(status.message(), "no such thing");
  EXPECT_EQ(status.where(), "pass fails: @main");
}

TEST(RunPasses, RefusesAnUnknownOption) {
  PassContext context;
  context.options["verfy"] = "1";
  Status status = run_passes(a_module(), {}, context).status();
  EXPECT_EQ(status.message(), "no option \"verfy\"; did you mean \"verify\"?");
  EXPECT_EQ(status.slug(), "unknown-option");
}

TEST(RunPasses, VerifiesWhenAskedAndShowsTheModuleBefore) {
  Pass breaks{"breaks",
              [](IRModule module, const PassContext&, const PassArgs&) -> Result<IRModule> {
                module.function("main").nodes[1].types = TypeId(TensorType{DType::kI64, {Dim(2)}});
                return module;
              },
              {}};
  PassContext context;
  context.options["verify"] = "1";
  testing::internal::CaptureStderr();
  Status status = run_passes(a_module(), std::vector<Pass>{breaks}, context).status();
  std::string shown = testing::internal::GetCapturedStderr();
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_EQ(status.slug(), "broken-module");
  EXPECT_THAT(status.message(), StartsWith("breaks broke the module: its type is i64[2]"));
  EXPECT_THAT(shown, HasSubstr("// the module before breaks\n"));
  EXPECT_THAT(shown, HasSubstr("= relu(%x)"));
}

TEST(RunPasses, BlamesNoPassForWhatItWasGiven) {
  PassContext context;
  context.options["verify"] = "1";
  Status status = run_passes(IRModule(), std::vector<Pass>{nothing("a")}, context).status();
  EXPECT_EQ(status.message(), "the module has no entry function @main");
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
}

TEST(RunPasses, CallsInstrumentsAroundEveryPass) {
  std::vector<std::string> seen;
  PassContext context;
  context.instruments.push_back(
      {.before = [&](const Pass& pass, const IRModule&) { seen.push_back("before " + pass.name); },
       .after = [&](const Pass& pass, const IRModule& before, const IRModule& after,
                    uint64_t) -> Status {
         seen.push_back(cat("after ", pass.name, " ", before.attrs.strings("ran").size(), " ",
                            after.attrs.strings("ran").size()));
         return {};
       }});
  run_order({note("a"), note("b")}, context);
  EXPECT_THAT(seen, ElementsAre("before a", "after a 0 1", "before b", "after b 1 2"));
}

TEST(RunPasses, StopsWhenAnInstrumentObjects) {
  PassContext context;
  context.instruments.push_back(
      {.before = nullptr,
       .after = [](const Pass& pass, const IRModule&, const IRModule&, uint64_t) {
         return failed("enough after " + pass.name);
       }});
  Status status = run_passes(a_module(), std::vector<Pass>{note("a"), note("b")}, context).status();
  EXPECT_EQ(status.message(), "enough after a");
}

TEST(RunPasses, DumpsWhatChangedAsTextThatReadsBack) {
  test::TempFolder folder;
  std::string path = folder.file("dump");
  Env dump("BYOC_DUMP", path);
  run_order({note("a"), nothing("b"), note("c")});
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    std::string text = test::get(entry.path());
    EXPECT_TRUE(parse_module(text, all_ops()).ok()) << text;
    names.push_back(entry.path().filename().string().substr(3));
  }
  std::sort(names.begin(), names.end());
  EXPECT_THAT(names, ElementsAre("_a.ir", "_c.ir"));
}

TEST(RunPasses, SaysWhenItCannotDump) {
  Env dump("BYOC_DUMP", "/dev/null/nowhere");
  Status status = run_passes(a_module(), std::vector<Pass>{note("a")}, {}).status();
  EXPECT_THAT(status.message(), StartsWith("cannot write /dev/null/nowhere/"));
}

TEST(RunPasses, PrintsTheTimeOfEveryPass) {
  Env time("BYOC_TIME", "1");
  testing::internal::CaptureStderr();
  run_order({note("a")});
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::MatchesRegex("a +[0-9.]+ (us|ms|s ) +2 nodes\n"));
}

}  // namespace
}  // namespace byoc
