// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "byoc/compile.h"
#include "byoc/pass/codegen.h"
#include "byoc/plugin/abi.h"
#include "byoc/text/text.h"

namespace byoc {
namespace {

IRModule parse(std::string_view text) {
  Result<IRModule> module = parse_module(text, all_ops());
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  return module.ok() ? *std::move(module) : IRModule();
}

IRModule planned(std::string_view text, std::vector<ExternalFunction> externals = {}) {
  IRModule module = parse(text);
  if (!externals.empty()) {
    ExternalModule compiled;
    compiled.plugin = "a";
    compiled.functions = std::move(externals);
    module.external_mods.push_back(std::move(compiled));
  }
  Result<IRModule> out = plan_memory(std::move(module), PassContext());
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  return out.ok() ? *std::move(out) : IRModule();
}

ExternalFunction external(std::string symbol, std::vector<std::pair<uint32_t, uint32_t>> inplace) {
  ExternalFunction out;
  out.symbol = std::move(symbol);
  out.inplace = std::move(inplace);
  return out;
}

constexpr std::string_view kChain = R"(
fn main(%x: f32[16]) {
  %0 = call_dps_packed(@a, %x) : f32[16]
  %1 = call_dps_packed(@b, %0) : f32[16]
  %2 = call_dps_packed(@c, %1) : f32[16]
  return %2
})";

TEST(PlanMemory, ResultsAreWrittenToOutputsAndTheRestSharesAnArena) {
  IRModule module = planned(kChain);
  const Attrs& attrs = module.function("main").attrs;
  EXPECT_EQ(attrs.i("arena_bytes"), 128);
  EXPECT_EQ(attrs.i("arena_peak_live"), 128);
  EXPECT_EQ(attrs.ints("arena_offsets")[2], -1);
  EXPECT_NE(attrs.ints("arena_offsets")[0], attrs.ints("arena_offsets")[1]);
}

TEST(PlanMemory, HonoursInPlacePairs) {
  IRModule module = planned(kChain, {external("b", {{0, 0}})});
  EXPECT_EQ(module.function("main").attrs.i("arena_bytes"), 64);
  EXPECT_EQ(module.function("main").attrs.ints("arena_offsets"), (Ints{0, 0, -1}));
}

TEST(PlanMemory, HonoursInPlacePairsOfAliases) {
  ExternalFunction kernel = external("d", {{0, 0}});
  kernel.aliases = {{"b", {}}};
  IRModule module = planned(kChain, {kernel});
  EXPECT_EQ(module.function("main").attrs.ints("arena_offsets"), (Ints{0, 0, -1}));
}

TEST(PlanMemory, NeverInPlaceWhereTheInputIsReadAgain) {
  IRModule module = planned(R"(
fn main(%x: f32[16]) {
  %0 = call_dps_packed(@a, %x) : f32[16]
  %1 = call_dps_packed(@b, %0) : f32[16]
  %2 = call_dps_packed(@c, %1, %0) : f32[16]
  return %2
})",
                            {external("b", {{0, 0}})});
  EXPECT_EQ(module.function("main").attrs.i("arena_bytes"), 128);
}

TEST(PlanMemory, NeverInPlaceOnInputsOfTheProgramOrTwiceInOneCall) {
  IRModule module = planned(R"(
fn main(%x: f32[16]) {
  %0 = call_dps_packed(@b, %x) : f32[16]
  %1 = call_dps_packed(@two, %0, %0) : f32[16]
  %2 = call_dps_packed(@c, %1) : f32[16]
  return %2
})",
                            {external("b", {{0, 0}}), external("two", {{0, 0}})});
  EXPECT_EQ(module.function("main").attrs.i("arena_bytes"), 128);
}

TEST(PlanMemory, TwiceChangesNothingMore) {
  IRModule once = planned(kChain);
  Result<IRModule> twice = plan_memory(once, PassContext());
  ASSERT_TRUE(twice.ok());
  EXPECT_TRUE(equal(once, *twice));
}

// @v leaves its operand's elements as they are.
IRModule planned_views(const std::string& text, const std::vector<ExternalFunction>& functions) {
  auto module = parse_module(text, all_ops());
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  module->external_mods.push_back({.plugin = "p", .functions = functions});
  module->function("main").attrs.set(kJoinsAttr, Strings{"v", "w"});
  Result<IRModule> out = plan_memory(*std::move(module), PassContext());
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  return *std::move(out);
}

TEST(PlanMemory, PlacesViewsInTheValueThatTheyShow) {
  const IRModule module = planned_views(R"(
fn main(%x: f32[16]) {
  %0 = call_dps_packed(@v, %x) : f32[4,4]
  %1 = call_dps_packed(@a, %0) : f32[4,4]
  %2 = call_dps_packed(@v, %1) : f32[2,8]
  %3 = call_dps_packed(@b, %2) : f32[2,8]
  %4 = call_dps_packed(@w, %3) : f32[16]
  return %4
})",
                                        {external("a", {}), external("b", {{0, 0}})});
  EXPECT_EQ(module.function("main").attrs.ints("arena_offsets"), (Ints{-2, 0, 0, -1, -2}));
  EXPECT_EQ(module.function("main").attrs.i("arena_bytes"), 64);
}

TEST(PlanMemory, KeepsAValueWhileAViewOfItIsRead) {
  const IRModule module = planned_views(R"(
fn main(%x: f32[16]) {
  %0 = call_dps_packed(@a, %x) : f32[16]
  %1 = call_dps_packed(@v, %0) : f32[4,4]
  %2 = call_dps_packed(@b, %0) : f32[16]
  %3 = call_dps_packed(@c, %2) : f32[16]
  %4 = call_dps_packed(@d, %3, %1) : f32[16]
  return %4
})",
                                        {external("b", {{0, 0}}), external("c", {})});
  const Ints offsets = module.function("main").attrs.ints("arena_offsets");
  EXPECT_EQ(offsets[1], offsets[0]);
  EXPECT_NE(offsets[2], offsets[0]) << "in place, though @d reads the view";
  EXPECT_NE(offsets[3], offsets[0]);
}

TEST(PlanMemory, CopiesAViewOfAParameterThatIsAResult) {
  const IRModule module = planned_views(R"(
fn main(%x: f32[16]) {
  %0 = call_dps_packed(@v, %x) : f32[4,4]
  %1 = call_dps_packed(@a, %x) : f32[16]
  %2 = call_dps_packed(@w, %1) : f32[4,4]
  return %0, %1, %2
})",
                                        {external("a", {})});
  EXPECT_EQ(module.function("main").attrs.ints("arena_offsets"), (Ints{-1, -1, -1}));
}

// Bounds whose products fit in no memory cost nothing: each run has the bytes of its sizes.
TEST(PlanMemory, GivesValuesOfOpenSizesBlocks) {
  IRModule module = planned(R"(
fn main(%x: f32[1<=B<=1000000000,1<=T<=1000000000]) {
  %0 = call_dps_packed(@a, %x) : f32[1<=B<=1000000000,1<=T<=1000000000,1<=T<=1000000000]
  %1 = call_dps_packed(@b, %0) : f32[1<=B<=1000000000,1<=T<=1000000000]
  %2 = call_dps_packed(@c, %1) : f32[1<=B<=1000000000,1<=T<=1000000000]
  %3 = call_dps_packed(@d, %2) : f32[1<=B<=1000000000,1<=T<=1000000000]
  return %3
})",
                            {external("c", {{0, 0}})});
  const Attrs& attrs = module.function("main").attrs;
  EXPECT_EQ(attrs.ints("arena_blocks"), (Ints{0, 1, 1, -1}));  // in place
  EXPECT_EQ(attrs.ints("arena_offsets"), (Ints{0, 0, 0, -1}));
  EXPECT_FALSE(attrs.has("arena_bytes"));
  Result<Executable> made = make_executable(module);
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  const Program& program = made->program;
  EXPECT_EQ(program.arena_bytes, 0u);
  EXPECT_EQ(program.blocks(), 2u);
  EXPECT_EQ(program.steps[1].args,
            (std::vector<Place>{{Place::kArena, 0, 0}, {Place::kArena, 1, 0}}));
  EXPECT_EQ(program.steps[3].args,
            (std::vector<Place>{{Place::kArena, 1, 0}, {Place::kOutput, 0, 0}}));
}

TEST(PlanMemory, NamesWhatHasNotBeenCompiled) {
  Result<IRModule> out = plan_memory(
      parse("fn main(%x: f32[2]) { %0 = relu(%x) loc(\"r1\")  return %0 }"), PassContext());
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.status().slug(), "not-compiled");
  EXPECT_EQ(out.status().message(), "relu \"r1\" has not been compiled");
}

TEST(MakeExecutable, CopiesWhatNoStepWrites) {
  IRModule module = planned(R"(
fn main(%x: f32[2], %y: f32[2]) {
  %c = const([1.0,2.0]) : f32[2]
  %0 = call_dps_packed(@a, %x, %c) : f32[2]
  return %0, %y, %0, %c
})");
  Result<Executable> made = make_executable(module);
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  const Program& program = made->program;
  ASSERT_EQ(program.steps.size(), 1u);
  EXPECT_EQ(program.steps[0].module, Step::kHostExtern);
  EXPECT_EQ(program.steps[0].args,
            (std::vector<Place>{
                {Place::kInput, 0, 0}, {Place::kConstant, 0, 0}, {Place::kOutput, 0, 0}}));
  ASSERT_EQ(program.copies.size(), 3u);
  EXPECT_EQ(program.copies[0].from, (Place{Place::kInput, 1, 0}));
  EXPECT_EQ(program.copies[1].from, (Place{Place::kOutput, 0, 0}));
  EXPECT_EQ(program.copies[2].from, (Place{Place::kConstant, 0, 0}));
  EXPECT_EQ(made->constants.size(), 1u);
}

TEST(MakeExecutable, HasTheConstantsOfNativeCodeThatItKeeps) {
  IRModule module = planned(kChain);
  ExternalFunction function = external("a", {});
  for (uint8_t use : {BYOC_CONST_UNUSED, BYOC_CONST_COPIED, BYOC_CONST_KEPT}) {
    const auto bytes = Buffer::copy(std::as_bytes(std::span(&use, 1)));
    module.add_constant(bytes);
    function.constants.push_back({"c", bytes->key(), {DType::kU8, {1}}, use});
  }
  for (bool is_native : {false, true}) {
    module.external_mods = {{.plugin = "a",
                             .flags = is_native ? uint64_t{BYOC_MODULE_NATIVE} : 0,
                             .functions = {function}}};
    Result<Executable> made = make_executable(module);
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    EXPECT_EQ(made->constants.size(), is_native ? 1u : 3u);
    EXPECT_TRUE(made->constants.contains(function.constants[2].key));
  }
}

TEST(MakeExecutable, NeedsNumbersAndAPlan) {
  Result<Executable> unplanned = make_executable(parse(kChain));
  ASSERT_FALSE(unplanned.ok());
  EXPECT_EQ(unplanned.status().slug(), "not-compiled");
  IRModule symbolic = planned("fn main(%x: f32[N]) { return %x }");
  Result<Executable> made = make_executable(symbolic);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().slug(), "symbolic-shape");
}

}  // namespace
}  // namespace byoc
