// SPDX-License-Identifier: Apache-2.0
// Values whose dims each run counts: what kernels write, and what programs may have.
#include <gmock/gmock.h>

#include <cstring>

#include "byoc/runtime/session.h"
#include "support/faults.h"
#include "unit/runtime/executables.h"

namespace byoc::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const TensorSpec kFour{DType::kF32, {4}}, kUpToFour{DType::kF32, {4}, 1};

/// Returns y = relu(relu(x) + 10) + 10, of which each kernel gives as many elements as the fault of
/// the plugin sets.
Executable counted_relus() {
  Executable executable = two_relus();
  Program& program = executable.program;
  program.outputs[0].type = kUpToFour;
  program.arena_bytes = 128;
  program.steps[0].types = {kFour, kUpToFour};
  program.steps[1].types = {kUpToFour, kUpToFour};
  program.steps[1].args[1] = arena(64);
  program.copies[0].from = arena(64);
  for (ExternalFunction& function : executable.modules[0].functions) {
    function.inplace.clear();
    function.flags = BYOC_KERNEL_OUT_SHAPES;
  }
  return executable;
}

Result<std::unique_ptr<Session>> load(Executable executable,
                                      const std::string& fault = "count-two") {
  return Session::load(std::move(executable), load_fault("faulty_none", fault));
}

/// Runs on four elements; returns those that the output has.
Result<std::vector<float>> run(const Session& session) {
  BYOC_TRY(Tensor x, Tensor::make(kFour));
  BYOC_TRY(Tensor y, Tensor::make(kUpToFour));
  const float values[] = {-1, 2, 3, 4};
  std::memcpy(x.data(), values, sizeof values);
  BYOC_TRY(auto context, session.make_context());
  DLTensor in = x.view(), out = y.view();
  BYOC_TRY_STATUS(session.run(*context, {&in, 1}, {&out, 1}));
  y.shrink(session.output_dims(*context, 0));
  const auto* first = reinterpret_cast<const float*>(y.data());
  return std::vector<float>(first, first + num_elements(y.spec()));
}

TEST(CountedSession, PassesTheDimsOfARunOn) {
  auto session = load(counted_relus());
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  EXPECT_EQ(cat((*session)->outputs()[0].type), "f32[<=4]");
  auto y = run(**session);
  ASSERT_TRUE(y.ok()) << y.status().to_string();
  EXPECT_THAT(*y, ElementsAre(20, 22));
}

TEST(CountedSession, RefusesDimsOutsideOfTheBounds) {
  for (const char* fault : {"count-five", "count-minus", "count-none"}) {
    auto session = load(counted_relus(), fault);
    ASSERT_TRUE(session.ok()) << session.status().to_string();
    auto y = run(**session);
    ASSERT_FALSE(y.ok()) << fault;
    EXPECT_EQ(y.status().slug(), "counted-dims");
    EXPECT_THAT(y.status().message(), HasSubstr("the program has memory for f32[<=4]"));
  }
}

TEST(CountedSession, RefusesAnInputThatIsCounted) {
  Executable executable = counted_relus();
  executable.program.inputs[0].type = executable.program.steps[0].types[0] = kUpToFour;
  EXPECT_THAT(load(std::move(executable)).status().message(),
              HasSubstr("input \"x\" is f32[<=4], a run counts no inputs"));
}

TEST(CountedSession, RefusesProgramsThatTheKernelsDoNotFit) {
  Executable numbers = counted_relus();
  numbers.program.steps[1].types[1] = numbers.program.outputs[0].type = kFour;
  EXPECT_THAT(load(std::move(numbers)).status().message(), HasSubstr("its kernel counts some"));

  Executable silent = counted_relus();
  for (ExternalFunction& function : silent.modules[0].functions) function.flags = 0;
  EXPECT_THAT(load(std::move(silent), "no-inplace").status().message(),
              HasSubstr("its kernel writes no dims"));

  EXPECT_THAT(load(counted_relus(), "no-inplace").status().message(),
              HasSubstr("has no flag OUT_SHAPES"));
  EXPECT_THAT(load(two_relus(), "count-two").status().message(),
              HasSubstr("has the flag OUT_SHAPES"));
}

TEST(CountedSession, RefusesPluginsAndHostFunctionsThatTakeNone) {
  auto old = Session::load(counted_relus(), load_fault("faulty_no_show", "count-two"));
  EXPECT_THAT(old.status().message(), HasSubstr("which its kernel does not take"));
  Executable host = counted_relus();
  host.modules.clear();
  for (Step& step : host.program.steps) step.module = Step::kHostExtern;
  EXPECT_EQ(load(std::move(host)).status().slug(), "counted-kernel");
}

TEST(CountedSession, RefusesCountedValuesThatShareMemory) {
  Executable executable = counted_relus();
  executable.program.steps[1].args[1] = arena(0);
  executable.program.copies[0].from = arena(0);
  for (ExternalFunction& function : executable.modules[0].functions) function.inplace = {{0, 0}};
  EXPECT_THAT(load(std::move(executable)).status().message(), HasSubstr("overlap in the arena"));
}

TEST(CountedSession, IsTheSameFromAFile) {
  const std::string path = cat(testing::TempDir(), "/counted.byoc");
  ASSERT_TRUE(save_artifact(counted_relus(), path).ok());
  auto loaded = load_artifact(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
  auto session = load(*std::move(loaded));
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  EXPECT_THAT(*run(**session), ElementsAre(20, 22));
}

}  // namespace
}  // namespace byoc::test
