// SPDX-License-Identifier: Apache-2.0
// The copies that passes insert: each value once per direction, with names and bytes.
#include <gmock/gmock.h>

#include "runtime/session/profile.h"
#include "split.h"

namespace byoc::test {
namespace {

constexpr const char* kDiamond = R"(
fn main(%x: f32[64]) {
  %0 = tanh(%x) loc("a")
  %1 = add(%0, %x) loc("b")
  %2 = multiply(%0, %x) loc("c")
  %3 = add(%1, %2) loc("d")
  return %3
})";

TEST(DeviceCopies, AValueWithSeveralReadersIsCopiedOnce) {
  const auto plugins = sim_plugins();
  // a on the host; b, c and d on the device read x and a.
  const Executable executable = split(
      simplified(parse(kDiamond), plugins), [](size_t op) { return op != 0; }, plugins);
  const CopiedBytes bytes = copied_bytes(executable.program);
  EXPECT_EQ(bytes.in, 2u * 64 * 4);
  EXPECT_EQ(bytes.out, 64u * 4);
  ASSERT_EQ(executable.program.devices.size(), 1u);
  EXPECT_EQ(executable.program.devices[0].plugin, "sim");
  EXPECT_GT(executable.program.devices[0].arena_bytes, 0u);
}

TEST(DeviceCopies, ARunCopiesWhatTheProgramLists) {
  sim::Counts counts;
  const auto plugins = sim_plugins(counted(counts));
  const IRModule module = simplified(import("digits/model.onnx", {{"N", {1}}}), plugins);
  const Executable executable = split(
      module, [](size_t op) { return op % 3 != 1; }, plugins);
  auto session = Session::load(executable, plugins);
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  const uint64_t constants = counts.in_bytes;
  EXPECT_GT(constants, 0u);
  const CopiedBytes bytes = copied_bytes(executable.program);
  Tensor in = *Tensor::make((*session)->inputs()[0].type);
  const Tensor out = *Tensor::make((*session)->outputs()[0].type);
  fill_random(in, 1);
  std::vector<DLTensor> outputs{out.view()}, inputs{in.view()};
  auto context = (*session)->make_context();
  ASSERT_TRUE(context.ok()) << context.status().to_string();
  for (uint64_t runs = 1; runs <= 3; ++runs) {
    ASSERT_TRUE((*session)->run(**context, inputs, outputs).ok());
    EXPECT_EQ(counts.in_bytes, constants + runs * bytes.in);
    EXPECT_EQ(counts.out_bytes, runs * bytes.out);
  }
}

TEST(DeviceCopies, AnArtifactKeepsDevicesAndCopies) {
  const auto plugins = sim_plugins();
  const Executable executable = split(
      simplified(parse(kDiamond), plugins), [](size_t op) { return op > 1; }, plugins);
  const std::string path = testing::TempDir() + "/devices.byoc";
  ASSERT_TRUE(save_artifact(executable, path).ok());
  Result<Executable> read = load_artifact(path);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->program.devices, executable.program.devices);
  expect_same_bytes(execute(*read, plugins), execute(executable, plugins));
}

TEST(DeviceCopies, AProfileListsCopiesWithNamesAndBytes) {
  const auto plugins = sim_plugins({{"copy_us", "2000"}});
  const Executable executable = split(
      simplified(parse(kDiamond), plugins), [](size_t op) { return op != 0; }, plugins);
  auto session = Session::load(executable, plugins);
  ASSERT_TRUE(session.ok());
  auto context = (*session)->make_context();
  ASSERT_TRUE(context.ok());
  (*session)->set_profiling(**context, true);
  Tensor in = *Tensor::make({DType::kF32, {64}}), out = *Tensor::make({DType::kF32, {64}});
  fill_random(in, 1);
  std::vector<DLTensor> outputs{out.view()}, inputs{in.view()};
  ASSERT_TRUE((*session)->run(**context, inputs, outputs).ok());
  int copies = 0;
  for (const ProfileRow& row : profile_rows(**session, **context)) {
    if (row.runner != "copy") continue;
    ++copies;
    EXPECT_EQ(row.copied_bytes, 256u);
    EXPECT_GE(row.total_ns, 2'000'000u) << "the time of the copy, not of its enqueueing";
    EXPECT_THAT(row.symbol, testing::StartsWith("copy_to_"));
    EXPECT_THAT(row.locs, testing::Not(testing::IsEmpty()));
  }
  EXPECT_EQ(copies, 3);
}

}  // namespace
}  // namespace byoc::test
