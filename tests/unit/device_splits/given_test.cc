// SPDX-License-Identifier: Apache-2.0
// Runs whose inputs and outputs are on a device: nothing is copied that is there already.
#include <gmock/gmock.h>

#include "byoc/runtime/devices.h"
#include "split.h"

namespace byoc::test {
namespace {

constexpr const char* kModel = R"(
fn main(%x: f32[64], %y: f32[64]) {
  %0 = tanh(%x)
  %1 = add(%0, %y)
  %2 = multiply(%1, %0)
  %3 = exp(%2)
  return %1, %3
})";

/// A model split to sim, with tensors on both sides.
struct Fixture {
  explicit Fixture(const std::function<bool(size_t)>& is_on_sim, const char* text = kModel)
      : plugins(sim_plugins(counted(counts, "200"))),
        executable(split(simplified(parse(text), plugins), is_on_sim, plugins)) {
    auto loaded = Session::load(executable, plugins);
    EXPECT_TRUE(loaded.ok()) << loaded.status().to_string();
    session = *std::move(loaded);
    context = *session->make_context();
    for (const NamedTensor& input : session->inputs()) {
      inputs.push_back(*Tensor::make(input.type));
      fill_random(inputs.back(), 3 + inputs.size());
    }
    for (const NamedTensor& output : session->outputs())
      outputs.push_back(*Tensor::make(output.type));
    expected = execute(executable, plugins, inputs);
    counts.in_bytes = counts.out_bytes = 0;
  }
  DeviceBuffer buffer(uint64_t bytes = 256) {
    auto made = DeviceBuffer::make(plugins, "sim", 0, bytes);
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    return *std::move(made);
  }
  DeviceBuffer buffer_of(const Tensor& tensor) {
    DeviceBuffer out = buffer(tensor.size_bytes());
    EXPECT_TRUE(out.write(tensor.data(), tensor.size_bytes()).ok());
    counts.in_bytes = 0;
    return out;
  }
  Tensor read(const DeviceBuffer& from, const Tensor& like) {
    Tensor out = *Tensor::make(like.spec());
    EXPECT_TRUE(from.read(out.data(), out.size_bytes()).ok());
    return out;
  }
  Status run(std::vector<DLTensor> in, std::vector<DLTensor> out) {
    return session->run(*context, in, out);
  }

  sim::Counts counts;
  std::shared_ptr<const PluginSet> plugins;
  Executable executable;
  std::unique_ptr<Session> session;
  std::unique_ptr<Context> context;
  std::vector<Tensor> inputs, outputs, expected;
};

TEST(GivenOnDevice, NothingIsCopiedWhenAllTensorsAreThere) {
  Fixture f([](size_t) { return true; });
  const DeviceBuffer x = f.buffer_of(f.inputs[0]), y = f.buffer_of(f.inputs[1]);
  const DeviceBuffer a = f.buffer(), b = f.buffer();
  for (int run = 0; run < 20; ++run) {
    const Status status = f.run({x.view(f.inputs[0].spec()), y.view(f.inputs[1].spec())},
                                {a.view(f.outputs[0].spec()), b.view(f.outputs[1].spec())});
    ASSERT_TRUE(status.ok()) << status.to_string();
    EXPECT_EQ(f.counts.in_bytes, 0u);
    EXPECT_EQ(f.counts.out_bytes, 0u);
    std::vector<Tensor> got;
    got.push_back(f.read(a, f.outputs[0]));
    got.push_back(f.read(b, f.outputs[1]));
    expect_same_bytes(got, f.expected);
    f.counts.out_bytes = 0;
  }
  EXPECT_EQ(device_of_input(f.executable.program, 0), 0u);
  EXPECT_EQ(device_of_output(f.executable.program, 1), 0u);
  EXPECT_EQ(device_of_input(f.executable.program, 2), std::nullopt);
}

TEST(GivenOnDevice, EachTensorMayBeOnEitherSideInEachRun) {
  // Every split of the four ops, and every choice of sides for the four tensors.
  for (uint32_t on_sim = 0; on_sim < 16; ++on_sim) {
    Fixture f([&](size_t op) { return (on_sim >> op & 1) != 0; });
    const DeviceBuffer x = f.buffer_of(f.inputs[0]), y = f.buffer_of(f.inputs[1]);
    const DeviceBuffer a = f.buffer(), b = f.buffer();
    for (uint32_t sides = 0; sides < 16; ++sides) {
      SCOPED_TRACE(cat("ops ", on_sim, ", tensors ", sides));
      auto there = [&](int k) { return (sides >> k & 1) != 0; };
      for (Tensor& output : f.outputs) fill_random(output, 99);
      const Status status = f.run({there(0) ? x.view(f.inputs[0].spec()) : f.inputs[0].view(),
                                   there(1) ? y.view(f.inputs[1].spec()) : f.inputs[1].view()},
                                  {there(2) ? a.view(f.outputs[0].spec()) : f.outputs[0].view(),
                                   there(3) ? b.view(f.outputs[1].spec()) : f.outputs[1].view()});
      if (on_sim == 0 && sides != 0) {
        EXPECT_EQ(status.slug().substr(status.slug().find('-')), "-data") << status.to_string();
        continue;
      }
      ASSERT_TRUE(status.ok()) << status.to_string();
      std::vector<Tensor> got;
      got.push_back(there(2) ? f.read(a, f.outputs[0]) : *f.outputs[0].copy());
      got.push_back(there(3) ? f.read(b, f.outputs[1]) : *f.outputs[1].copy());
      expect_same_bytes(got, f.expected);
    }
  }
}

TEST(GivenOnDevice, ATensorThatIsNotAlignedIsCopiedOnTheDevice) {
  Fixture f([](size_t) { return true; });
  DeviceBuffer x = f.buffer(512);
  const DeviceBuffer a = f.buffer(512), b = f.buffer();
  std::vector<float> two(128);
  std::memcpy(two.data() + 1, f.inputs[0].data(), 256);
  ASSERT_TRUE(x.write(two.data(), 512).ok());
  f.counts.in_bytes = 0;
  DLTensor in = x.view(f.inputs[0].spec()), out = a.view(f.outputs[0].spec());
  in.byte_offset = out.byte_offset = 4;
  const Status status = f.run({in, f.inputs[1].view()}, {out, b.view(f.outputs[1].spec())});
  ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(f.counts.in_bytes, 256u) << "of the other input";
  EXPECT_EQ(f.counts.out_bytes, 0u);
  ASSERT_TRUE(a.read(two.data(), 512).ok());
  EXPECT_EQ(std::memcmp(two.data() + 1, f.expected[0].data(), 256), 0);
}

TEST(GivenOnDevice, AnotherDeviceIsAnErrorThatNamesBoth) {
  Fixture f([](size_t) { return true; });
  DLTensor wrong = f.inputs[0].view();
  wrong.device = {kDLCUDA, 3};
  const Status status =
      f.run({wrong, f.inputs[1].view()}, {f.outputs[0].view(), f.outputs[1].view()});
  EXPECT_EQ(status.slug(), "input-data");
  EXPECT_THAT(status.message(), testing::AllOf(testing::HasSubstr("\"x\" is on device 3 of type 2"),
                                               testing::HasSubstr("sim:0")));
  const int later = 1000;  // of a DLPack that has more types
  std::memcpy(&wrong.device.device_type, &later, sizeof later);
  const Status unknown =
      f.run({wrong, f.inputs[1].view()}, {f.outputs[0].view(), f.outputs[1].view()});
  EXPECT_EQ(unknown.slug(), "input-data");
  EXPECT_THAT(unknown.message(), testing::HasSubstr("\"x\" is on device 3 of type 1000"));
  const DeviceBuffer x = f.buffer();
  const Status overlap = f.run({x.view(f.inputs[0].spec()), f.inputs[1].view()},
                               {x.view(f.outputs[0].spec()), f.outputs[1].view()});
  EXPECT_EQ(overlap.slug(), "output-overlap");
}

TEST(GivenOnDevice, ABufferChecksItsBytesAndItsDevice) {
  Fixture f([](size_t) { return true; });
  DeviceBuffer small = f.buffer(16);
  char bytes[32] = {};
  EXPECT_EQ(small.write(bytes, 32).code(), Code::kOutOfRange);
  EXPECT_EQ(DeviceBuffer::make(f.plugins, "sim", 7, 16).status().slug(), "device-unavailable");
  EXPECT_EQ(DeviceBuffer::make(f.plugins, "none", 0, 16).status().slug(), "missing-plugin");
  EXPECT_EQ(DeviceBuffer::make(f.plugins, "sim", 0, uint64_t{1} << 40).status().slug(),
            "device-memory");
}

}  // namespace
}  // namespace byoc::test
