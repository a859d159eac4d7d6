// SPDX-License-Identifier: Apache-2.0
// Models split between the device and the host, at every op in turn and at random, give what the
// host gives, and copy each value at most once per direction.
#include <gmock/gmock.h>

#include <random>
#include <set>
#include <thread>

#include "split.h"

namespace byoc::test {
namespace {

struct Case {
  const char* name;
  std::function<IRModule()> module;
};

void PrintTo(const Case& model, std::ostream* out) { *out << model.name; }

class Splits : public testing::TestWithParam<Case> {};

std::vector<Tensor> inputs_of(const Executable& executable, uint64_t seed) {
  std::vector<Tensor> out;
  for (const NamedTensor& input : executable.program.given()) {
    out.push_back(*Tensor::make(input.type));
    fill_random(out.back(), seed++);
  }
  return out;
}

/// No copy of one direction has a source that another one has. Bodies of loops copy what they read
/// themselves.
void expect_no_value_twice(const Program& program) {
  if (!program.code.empty()) return;
  std::set<std::tuple<bool, std::string>> seen;
  for (const Step& step : program.steps) {
    if (step.module != Step::kDeviceCopy) continue;
    const bool goes_in = step.args[1].kind == Place::kDevice;
    const Place& from = step.args[0];
    if (from.kind != Place::kInput && from.kind != Place::kConstant) continue;
    const auto kind = static_cast<uint32_t>(from.kind);
    EXPECT_TRUE(seen.insert({goes_in, cat(kind, " ", from.index)}).second) << step.symbol;
  }
}

TEST_P(Splits, AtEveryOpGiveWhatTheHostGives) {
  const auto plugins = sim_plugins({{"delay_us", "30"}});
  const IRModule module = simplified(GetParam().module(), plugins);
  const size_t n = count_ops(module);
  const Executable whole = split(
      module, [](size_t) { return false; }, plugins);
  const std::vector<Tensor> inputs = inputs_of(whole, 7);
  const std::vector<Tensor> expected = execute(whole, plugins, inputs);
  for (size_t at = 0; at <= n; ++at) {
    for (const bool begins : {false, true}) {
      SCOPED_TRACE(cat("op ", at, begins ? " and after" : " and before"));
      const Executable executable = split(
          module, [&](size_t k) { return begins ? k >= at : k < at; }, plugins);
      expect_no_value_twice(executable.program);
      const bool has_ops = begins ? at < n : at > 0;
      EXPECT_EQ(executable.program.devices.size(), has_ops ? 1u : 0u);
      expect_same_bytes(execute(executable, plugins, inputs), expected);
      if (HasFailure()) return;
    }
  }
}

TEST_P(Splits, AtRandomGiveWhatTheHostGives) {
  const int splits = std::getenv("BYOC_SPLITS") ? std::atoi(std::getenv("BYOC_SPLITS")) : 20;
  std::minstd_rand random(3);
  const auto plugins = sim_plugins({{"delay_us", "30"}});
  const IRModule module = simplified(GetParam().module(), plugins);
  const Executable whole = split(
      module, [](size_t) { return false; }, plugins);
  for (int k = 0; k < splits; ++k) {
    SCOPED_TRACE(cat("split ", k));
    const std::vector<Tensor> inputs = inputs_of(whole, static_cast<uint64_t>(k));
    const uint32_t seed = random();
    auto chosen = [&](size_t op) { return std::minstd_rand(seed + op)() % 1000 < 500; };
    const Executable executable = split(module, chosen, plugins);
    expect_same_bytes(execute(executable, plugins, inputs), execute(whole, plugins, inputs));
    if (HasFailure()) return;
  }
}

TEST_P(Splits, BesideLlvmGiveWhatTheHostGives) {
  const auto plugins = sim_plugins({{"delay_us", "50"}});
  if (plugins->find("llvm") == nullptr) GTEST_SKIP() << "the plugin llvm is not built";
  const IRModule module = simplified(GetParam().module(), plugins);
  const Executable whole = split(
      module, [](size_t) { return false; }, plugins);
  const std::vector<Tensor> inputs = inputs_of(whole, 17);
  const std::vector<Tensor> expected = execute(whole, plugins, inputs);
  for (size_t odd : {0u, 1u}) {
    const Executable mixed = split(
        module, [&](size_t op) { return op % 2 == odd; }, plugins, "llvm");
    for (uint32_t threads : {1u, 4u}) {
      SCOPED_TRACE(cat("every second op from ", odd, ", ", threads, " threads"));
      auto session = Session::load(mixed, plugins, {.threads = threads});
      ASSERT_TRUE(session.ok()) << session.status().to_string();
      const auto context = *(*session)->make_context();
      std::vector<Tensor> outputs;
      std::vector<DLTensor> in, out;
      for (const Tensor& tensor : inputs) in.push_back(tensor.view());
      for (const NamedTensor& output : (*session)->outputs())
        outputs.push_back(*Tensor::make(output.type));
      for (const Tensor& tensor : outputs) out.push_back(tensor.view());
      for (int run = 0; run < 5; ++run) {
        const Status status = (*session)->run(*context, in, out);
        ASSERT_TRUE(status.ok()) << status.to_string();
      }
      for (size_t k = 0; k < outputs.size(); ++k)
        outputs[k].shrink((*session)->output_dims(*context, k));
      expect_close(outputs, expected);
    }
  }
}

TEST_P(Splits, RunManyTimesWithDelaysOnOneThreadAndFour) {
  const int runs = std::getenv("BYOC_RUNS") ? std::atoi(std::getenv("BYOC_RUNS")) : 20;
  const auto plugins = sim_plugins({{"delay_us", "50"}});
  const IRModule module = simplified(GetParam().module(), plugins);
  const Executable whole = split(
      module, [](size_t) { return false; }, plugins);
  const Executable mixed = split(
      module, [](size_t op) { return op % 2 == 0; }, plugins);
  auto session = Session::load(mixed, plugins, {.threads = 1});
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  std::vector<std::vector<Tensor>> inputs, expected;
  for (uint64_t k = 0; k < 4; ++k) {
    inputs.push_back(inputs_of(whole, 100 + k));
    expected.push_back(execute(whole, plugins, inputs.back()));
  }
  auto run_with = [&](size_t t) {
    auto context = (*session)->make_context();
    ASSERT_TRUE(context.ok());
    for (int r = 0; r < runs; ++r) {
      const size_t set = (t + static_cast<size_t>(r)) % 4;
      std::vector<Tensor> outputs;
      std::vector<DLTensor> in, out;
      for (const Tensor& tensor : inputs[set]) in.push_back(tensor.view());
      for (const NamedTensor& output : (*session)->outputs())
        outputs.push_back(*Tensor::make(output.type));
      for (const Tensor& tensor : outputs) out.push_back(tensor.view());
      const Status status = (*session)->run(**context, in, out);
      ASSERT_TRUE(status.ok()) << status.to_string();
      for (size_t k = 0; k < outputs.size(); ++k)
        outputs[k].shrink((*session)->output_dims(**context, k));
      expect_same_bytes(outputs, expected[set]);
    }
  };
  run_with(0);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) threads.emplace_back([&, t] { run_with(t); });
  for (std::thread& thread : threads) thread.join();
}

INSTANTIATE_TEST_SUITE_P(
    Models, Splits,
    testing::Values(Case{"chain",
                         [] {
                           return parse(R"(
fn main(%x: f32[64]) {
  %0 = tanh(%x)
  %1 = add(%0, %x)
  %2 = multiply(%1, %0)
  %3 = exp(%2)
  %4 = add(%3, %1)
  return %4, %2
})");
                         }},
                    Case{"digits",
                         [] {
                           return import("digits/model.onnx", {{"N", {1}}});
                         }},
                    Case{"resnet", [] { return import("blocks/resnet_basic/model.onnx"); }},
                    Case{"bert_layer", [] { return import("blocks/transformer_17/model.onnx"); }},
                    Case{"lstm",
                         [] {
                           return parse(R"(
fn main(%x: f32[5,2,8], %w: f32[1,64,8], %r: f32[1,64,16], %v: f32[1,64,16], %s: f32[1,64,16]) {
  %0 = lstm(%x, %w, %r)
  %1 = reshape(%0) {shape=[5,2,16]}
  %2 = tanh(%1)
  %3 = lstm(%2, %v, %s)
  %4 = reshape(%3) {shape=[5,2,16]}
  %5 = add(%4, %2)
  return %5, %4
})");
                         }},
                    Case{"if_in_loop", [] { return import("control/if_in_loop/model.onnx"); }},
                    Case{"scans", [] { return import("control/scans/model.onnx"); }},
                    Case{"nested", [] { return import("control/nested/model.onnx"); }}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace byoc::test
