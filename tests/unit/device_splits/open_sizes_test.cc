// SPDX-License-Identifier: Apache-2.0
// Models with open sizes, split between the device and the host, run at several sizes; states stay
// on the host.
#include <gmock/gmock.h>

#include "split.h"

namespace byoc::test {
namespace {

constexpr const char* kOpen = R"(
fn main(%x: f32[N<=64,8], %y: f32[N<=64,8]) {
  %0 = tanh(%x)
  %1 = add(%0, %y)
  %2 = multiply(%1, %0)
  %3 = exp(%2)
  %4 = add(%3, %y)
  return %4, %1
})";

TEST(DeviceOpenSizes, RunAtSeveralSizesAndCopyTheBytesOfEach) {
  sim::Counts counts;
  const auto plugins = sim_plugins(counted(counts, "100"));
  const IRModule module = simplified(parse(kOpen), plugins);
  const Executable whole = split(
      module, [](size_t) { return false; }, plugins);
  // tanh and multiply on the device: x and the result of add go in, both results come out.
  const Executable mixed = split(
      module, [](size_t op) { return op % 2 == 0 && op < 4; }, plugins);
  ASSERT_EQ(mixed.program.devices.size(), 1u);
  auto session = Session::load(mixed, plugins);
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  auto context = *(*session)->make_context();
  auto right = *Session::load(whole, plugins);
  auto right_context = *right->make_context();
  for (int64_t n : {1, 64, 3, 17, 64, 2}) {
    SCOPED_TRACE(n);
    std::vector<Tensor> inputs, outputs, expected;
    std::vector<DLTensor> in, out, wanted;
    for (int k = 0; k < 2; ++k) {
      inputs.push_back(*Tensor::make({DType::kF32, {n, 8}}));
      fill_random(inputs.back(), 3 + static_cast<uint64_t>(k));
      outputs.push_back(*Tensor::make({DType::kF32, {n, 8}}));
      expected.push_back(*Tensor::make({DType::kF32, {n, 8}}));
    }
    for (int k = 0; k < 2; ++k) {
      in.push_back(inputs[static_cast<size_t>(k)].view());
      out.push_back(outputs[static_cast<size_t>(k)].view());
      wanted.push_back(expected[static_cast<size_t>(k)].view());
    }
    counts.in_bytes = counts.out_bytes = 0;
    const Status status = (*session)->run(*context, in, out);
    ASSERT_TRUE(status.ok()) << status.to_string();
    ASSERT_TRUE(right->run(*right_context, in, wanted).ok());
    expect_same_bytes(outputs, expected);
    EXPECT_EQ(counts.in_bytes, 2u * static_cast<uint64_t>(n) * 8 * 4);
    EXPECT_EQ(counts.out_bytes, 2u * static_cast<uint64_t>(n) * 8 * 4);
  }
}

TEST(DeviceOpenSizes, ATensorOnTheDeviceIsRefusedThere) {
  const auto plugins = sim_plugins();
  const Executable mixed = split(
      simplified(parse(kOpen), plugins), [](size_t) { return true; }, plugins);
  auto session = *Session::load(mixed, plugins);
  auto context = *session->make_context();
  std::vector<Tensor> tensors;
  for (int k = 0; k < 4; ++k) tensors.push_back(*Tensor::make({DType::kF32, {2, 8}}));
  std::vector<DLTensor> in{tensors[0].view(), tensors[1].view()};
  std::vector<DLTensor> out{tensors[2].view(), tensors[3].view()};
  in[1].device = {kDLExtDev, 0};
  Status status = session->run(*context, in, out);
  EXPECT_EQ(status.slug(), "input-data");
  EXPECT_THAT(status.message(), testing::HasSubstr("\"y\""));
  in[1].device = {kDLCPU, 0};
  out[0].device = {kDLExtDev, 0};
  status = session->run(*context, in, out);
  EXPECT_EQ(status.slug(), "output-data");
  EXPECT_THAT(status.message(), testing::HasSubstr("open sizes"));
}

/// Runs five times: past becomes past + x. Returns the last output and the state.
std::vector<Tensor> after_five_runs(Executable executable,
                                    const std::shared_ptr<const PluginSet>& plugins) {
  executable.program.states.push_back({});  // the last input and the last output
  auto loaded = Session::load(std::move(executable), plugins);
  EXPECT_TRUE(loaded.ok()) << loaded.status().to_string();
  const auto session = *std::move(loaded);
  const auto context = *session->make_context();
  Tensor x = *Tensor::make({DType::kF32, {16}});
  fill_random(x, 5);
  std::vector<Tensor> out;
  out.push_back(*Tensor::make({DType::kF32, {16}}));
  out.push_back(*Tensor::make({DType::kF32, {16}}));
  std::vector<DLTensor> inputs{x.view()}, outputs{out[0].view()};
  for (int run = 0; run < 5; ++run) {
    const Status status = session->run(*context, inputs, outputs);
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
  EXPECT_TRUE(session->get_state(*context, "past", out[1].view()).ok());
  return out;
}

TEST(DeviceStates, AreOnTheHostAndRunsCopyThem) {
  sim::Counts counts;
  const auto plugins = sim_plugins(counted(counts, "100"));
  const IRModule module = simplified(
      parse("fn main(%x: f32[16], %past: f32[16]) {\n  %0 = add(%past, %x)\n  %1 = tanh(%0)\n"
            "  return %1, %0\n}"),
      plugins);
  const Executable whole = split(
      module, [](size_t) { return false; }, plugins);
  const Executable mixed = split(
      module, [](size_t op) { return op == 0; }, plugins);
  expect_same_bytes(after_five_runs(mixed, plugins), after_five_runs(whole, plugins));
  EXPECT_EQ(counts.in_bytes, 5u * 2 * 64) << "x and the state, in each run";
  EXPECT_EQ(counts.out_bytes, 5u * 64);
}

}  // namespace
}  // namespace byoc::test
