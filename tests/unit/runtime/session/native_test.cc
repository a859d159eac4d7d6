// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/native.h"

#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "byoc/runtime/session.h"
#include "support/temp_folder.h"
#include "unit/runtime/executables.h"
#include "unit/runtime/host_functions.h"

namespace byoc {
namespace {

using test::Floats;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const TensorSpec kType{DType::kF32, {4}};

/// Returns y = copy((x + k) * p), computed by the object of native/native_module.c.
Executable native_program(const std::string& object) {
  auto k = test::floats({1, 2, 3, 4}), p = test::floats({2, 2, 2, 10}), unused = test::floats({9});
  ExternalFunction add_mul{
      .symbol = "add_mul",
      .n_in = 1,
      .n_out = 1,
      .constants = {{"u", unused->key(), {DType::kF32, {1}}, BYOC_CONST_UNUSED},
                    {"k", k->key(), kType, BYOC_CONST_KEPT}},
      .packed = {{p->key(), 64}}};
  ExternalFunction copy{.symbol = "copy", .n_in = 1, .n_out = 1};
  std::string bytes = test::get(object);
  Executable executable;
  executable.modules = {{.plugin = "llvm",
                         .plugin_version = "1.0.0",
                         .compat = "cpu=",
                         .flags = BYOC_MODULE_NATIVE,
                         .functions = {add_mul, copy},
                         .blob = Buffer::copy(std::as_bytes(std::span(bytes)))}};
  for (const auto& buffer : {k, p, unused}) executable.constants.emplace(buffer->key(), buffer);
  executable.program.inputs = {{"x", kType}};
  executable.program.outputs = {{"y", kType}};
  executable.program.arena_bytes = 64;
  executable.program.steps = {test::host_step("add_mul", 1, {test::in(0), test::arena(0)}, kType),
                              test::host_step("copy", 1, {test::arena(0), test::out(0)}, kType)};
  for (uint32_t step = 0; step < 2; ++step) {
    executable.program.steps[step].module = 0;
    executable.program.steps[step].function = step;
  }
  return executable;
}

Status run_once(Session& session, const Floats& x, const Floats& y) {
  DLTensor in = x.view(), out = y.view();
  auto context = session.make_context();
  return context.ok() ? session.run(**context, {&in, 1}, {&out, 1}) : context.status();
}

TEST(Native, RunsWithoutAnyPluginOnOneAndOnTwoThreads) {
  for (uint32_t threads : {1u, 2u}) {
    auto session = Session::load(native_program(NATIVE_GOOD), nullptr, {.threads = threads});
    ASSERT_TRUE(session.ok()) << session.status().to_string();
    Floats x({0, 1, 2, 3}), y({0, 0, 0, 0});
    ASSERT_TRUE(run_once(**session, x, y).ok());
    EXPECT_THAT(y.values(), ElementsAre(2, 6, 10, 70));
  }
}

TEST(Native, RunsFromAnArtifact) {
  test::TempFolder folder;
  ASSERT_TRUE(save_artifact(native_program(NATIVE_GOOD), folder.file("m.byoc")).ok());
  auto executable = load_artifact(folder.file("m.byoc"));
  ASSERT_TRUE(executable.ok()) << executable.status().to_string();
  auto session = Session::load(*std::move(executable), nullptr);
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  Floats x({0, 1, 2, 3}), y({0, 0, 0, 0});
  ASSERT_TRUE(run_once(**session, x, y).ok());
  EXPECT_THAT(y.values(), ElementsAre(2, 6, 10, 70));
}

TEST(Native, TwoModulesDoNotBecomeOne) {  // each is closed with its session
  auto first = Session::load(native_program(NATIVE_GOOD), nullptr);
  Executable both = native_program(NATIVE_GOOD);
  both.modules.push_back(both.modules[0]);
  both.program.steps[1].module = 1;
  auto second = Session::load(std::move(both), nullptr);
  ASSERT_TRUE(first.ok() && second.ok());
  *first = nullptr;
  Floats x({0, 1, 2, 3}), y({0, 0, 0, 0});
  ASSERT_TRUE(run_once(**second, x, y).ok());
  EXPECT_THAT(y.values(), ElementsAre(2, 6, 10, 70));
}

TEST(Native, AFailingFunctionGivesItsNumberAndSymbol) {
  auto session = Session::load(native_program(NATIVE_GOOD), nullptr);
  Floats x({-1, 1, 2, 3}), y({0, 0, 0, 0});
  EXPECT_EQ(run_once(**session, x, y).to_string(),
            "error[run-failed]: native code returned 42\n  add_mul");
}

TEST(Native, CanBeRefused) {
  Status status =
      Session::load(native_program(NATIVE_GOOD), nullptr, {.allow_native = false}).status();
  EXPECT_EQ(status.code(), Code::kPermissionDenied);
  EXPECT_THAT(status.to_string(), HasSubstr("error[native-refused]: this artifact holds native "
                                            "code, made by plugin \"llvm\", for add_mul, copy"));
}

std::string types_error(Executable executable) {
  Status status = Session::load(std::move(executable), nullptr).status();
  EXPECT_EQ(status.slug(), "kernel-types") << status.to_string();
  EXPECT_THAT(status.where(), HasSubstr("add_mul"));
  return status.message();
}

TEST(Native, ComparesTheTypesOfTheModuleWithThoseOfTheCall) {
  Executable executable = native_program(NATIVE_GOOD);
  executable.program.steps[0].types[0] = executable.program.inputs[0].type = {DType::kF32, {3}};
  EXPECT_EQ(types_error(executable),
            "as argument 0 its kernel reads f32[4], the program has f32[3] there");
  executable = native_program(NATIVE_GOOD);
  executable.program.steps[0].types[1] = {DType::kF16, {4}};  // in the arena
  EXPECT_EQ(types_error(executable),
            "as output 0 its kernel writes f32[4], the program has f16[4] there");
}

TEST(Native, ComparesItsConstantsToo) {
  Executable executable = native_program(NATIVE_GOOD);
  executable.modules[0].functions[0].constants[1].use = BYOC_CONST_UNUSED;
  EXPECT_EQ(types_error(executable),
            "as argument 1 its kernel reads f32[4], the program has u8[16] there");
  executable = native_program(NATIVE_GOOD);
  executable.modules[0].functions[0].packed.clear();
  EXPECT_EQ(types_error(executable),
            "as argument 2 its kernel reads u8[16], the program has nothing there");
}

std::string error_of(Executable executable) {
  Status status = Session::load(std::move(executable), nullptr).status();
  EXPECT_EQ(status.slug(), "native-module") << status.to_string();
  EXPECT_THAT(status.where(), HasSubstr("plugin \"llvm\": add_mul, copy"));
  return status.message();
}

std::string error_with_bytes(const std::string& bytes) {
  Executable executable = native_program(NATIVE_GOOD);
  executable.modules[0].blob = Buffer::copy(std::as_bytes(std::span(bytes)));
  return error_of(std::move(executable));
}

TEST(Native, RefusesObjectsThatBreakTheContract) {
  EXPECT_THAT(error_of(native_program(NATIVE_ENTRY)), HasSubstr("no symbol byoc_native_entry_v1"));
  EXPECT_THAT(error_of(native_program(NATIVE_ABI)), HasSubstr("has ABI 2, this byoc 1"));
  EXPECT_THAT(error_of(native_program(NATIVE_FUNCTION)),
              HasSubstr("a function of the native module is missing"));
}

TEST(Native, RefusesWhatIsNoObjectForThisMachine) {
  EXPECT_THAT(error_with_bytes(""), HasSubstr("no ELF object"));
  EXPECT_THAT(error_with_bytes(std::string(100, 'x')), HasSubstr("no ELF object"));
  std::string object = test::get(NATIVE_GOOD);
  std::string other = object;
  other[18] = 8;  // e_machine: EM_MIPS
  EXPECT_THAT(error_with_bytes(other), HasSubstr("is for ELF machine 8"));
  EXPECT_THAT(error_with_bytes(object.substr(0, 200)),
              HasSubstr("native module: cannot be loaded"));
}

TEST(Native, LeavesNoFilesBehind) {
  test::TempFolder folder;
  ::setenv("TMPDIR", folder.path().c_str(), 1);
  auto session = Session::load(native_program(NATIVE_GOOD), nullptr);
  (void)error_with_bytes(test::get(NATIVE_GOOD).substr(0, 200));
  ::unsetenv("TMPDIR");
  EXPECT_TRUE(session.ok());
  EXPECT_EQ(folder.count(), 0u);
}

TEST(Native, GoesElsewhereWhenTheTemporaryFolderCannotBeUsed) {
  ::setenv("TMPDIR", "/nowhere", 1);
  auto session = Session::load(native_program(NATIVE_GOOD), nullptr);
  ::unsetenv("TMPDIR");
  EXPECT_TRUE(session.ok()) << session.status().to_string();
}

TEST(NativeCompat, AsksTheProcessorForWhatTheCodeNeeds) {
  EXPECT_TRUE(check_cpu("").ok());
  EXPECT_TRUE(check_cpu("triple=x86_64-linux-gnu cpu=").ok());
#if defined(__x86_64__)
  EXPECT_TRUE(check_cpu("cpu=sse2 tuned=yes").ok());  // every x86-64 has it
#endif
  Status status = check_cpu("llvm=19 cpu=sse2,avx9000");
  EXPECT_EQ(status.code(), Code::kStaleArtifact);
  EXPECT_THAT(status.to_string(),
              HasSubstr("error[stale-artifact]: native code needs the CPU feature"));
}

}  // namespace
}  // namespace byoc
