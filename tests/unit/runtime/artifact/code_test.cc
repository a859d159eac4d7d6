// SPDX-License-Identifier: Apache-2.0
// Programs with control flow: what is refused before anything runs.
#include <gmock/gmock.h>

#include "runtime/artifact/check_executable.h"
#include "unit/runtime/executables.h"

namespace byoc::test {
namespace {

using ::testing::HasSubstr;

const TensorSpec kFlag{DType::kBool, {}}, kNumber{DType::kI64, {}}, kRow{DType::kF32, {4}},
    kRows{DType::kF32, {3, 4}};

Instruction call(uint32_t step) { return {Instruction::kCall, step, {}, {}}; }
Instruction end_of(Instruction::Kind kind) { return {kind, 0, {}, {}}; }

/// Returns y = c ? add(x) : mul(x), rows = x, x, x.
Executable program_with_code() {
  Executable executable;
  Program& program = executable.program;
  program.inputs = {{"c", kFlag}, {"n", kNumber}, {"x", kRow}};
  program.outputs = {{"y", kRow}, {"rows", kRows}};
  program.steps = {host_step("add", 1, {in(2), out(0)}, kRow),
                   host_step("mul", 1, {in(2), out(0)}, kRow)};
  program.code = {{Instruction::kIf, 0, {in(0)}, {kFlag}},
                  call(0),
                  end_of(Instruction::kElse),
                  call(1),
                  end_of(Instruction::kEnd),
                  {Instruction::kCopy, 0, {in(0), arena(64)}, {kFlag, kFlag}},
                  {Instruction::kLoop, 0, {in(1), arena(64), arena(0)}, {kNumber, kFlag, kNumber}},
                  {Instruction::kAppend, 0, {in(2), out(1), arena(0)}, {kRow, kRows, kNumber}},
                  end_of(Instruction::kEnd)};
  program.arena_bytes = 128;
  return executable;
}

TEST(Code, IsAcceptedAsTheCompilerWritesIt) {
  Status status = check_executable(program_with_code());
  EXPECT_TRUE(status.ok()) << status.to_string();
}

/// Checks that `change` to the instructions is refused with `message`.
template <class Change>
void expect_refused(const char* message, Change change) {
  Executable executable = program_with_code();
  change(executable.program.code);
  Status status = check_executable(executable);
  ASSERT_FALSE(status.ok()) << message;
  EXPECT_EQ(status.slug(), "executable");
  EXPECT_THAT(status.to_string(), HasSubstr(message));
}

using Code = std::vector<Instruction>;

TEST(Code, HasBlocksThatNest) {
  expect_refused("a block of the code has no end", [](Code& code) { code.pop_back(); });
  expect_refused("an if without an else", [](Code& code) { code.erase(code.begin() + 2); });
  expect_refused("an else without an if", [](Code& code) { code[3] = code[2]; });
  expect_refused("an end without a block", [](Code& code) { code.push_back(code[4]); });
}

TEST(Code, CallsEveryStepOnceAndInOrder) {
  expect_refused("step 1 is called, out of order", [](Code& code) { code[1].index = 1; });
  expect_refused("step 2 is called, out of order", [](Code& code) { code.push_back(call(2)); });
  expect_refused("the code calls 1 of 2 steps", [](Code& code) { code[3] = code[5]; });
}

TEST(Code, HasTheOperandsOfItsKind) {
  expect_refused("0 operands and 1 types, expected 1", [](Code& code) { code[0].args.clear(); });
  expect_refused("operand 0 is f32[4], expected bool[]", [](Code& code) {
    code[0].args[0] = in(2);
    code[0].types[0] = kRow;
  });
  expect_refused("operand 0 is bool[], expected i64[]", [](Code& code) {
    code[6].args[0] = in(0);
    code[6].types[0] = kFlag;
  });
  expect_refused("the counter is outside of the arena",
                 [](Code& code) { code[6].args[2] = in(1); });
  expect_refused("but input 2 is f32[4]", [](Code& code) { code[0].args[0] = in(2); });
}

TEST(Code, WritesOutputsAndTheArenaAlone) {
  expect_refused("an input or constant would be written",
                 [](Code& code) { code[5].args[1] = in(0); });
  expect_refused("arena offset 128", [](Code& code) { code[5].args[1] = arena(128); });
}

TEST(Code, WritesEveryOutputOnEveryWay) {
  Executable executable = program_with_code();
  executable.program.steps[1].args[1] = arena(64);  // the second branch does not write y
  EXPECT_THAT(check_executable(executable).to_string(), HasSubstr("nothing writes output \"y\""));
  expect_refused("nothing writes output \"rows\"",
                 [](Code& code) { code.erase(code.begin() + 7); });
}

TEST(Code, AppendsRowsInTheLoopThatCountsThem) {
  expect_refused("rows are appended outside of the loop with that counter",
                 [](Code& code) { std::swap(code[7], code[8]); });
  expect_refused("operand 0 is f32[3,4], expected f32[4]", [](Code& code) {
    code[7].args[0] = out(1);
    code[7].types[0] = kRows;
  });
}

}  // namespace
}  // namespace byoc::test
