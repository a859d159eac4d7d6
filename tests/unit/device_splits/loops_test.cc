// SPDX-License-Identifier: Apache-2.0
// Values that bodies of loops read from outside are copied once per run, not in each iteration.
#include <gmock/gmock.h>

#include "split.h"

namespace byoc::test {
namespace {

// Eight iterations; the body reads w and x of outside, and the carried v.
constexpr const char* kLoop = R"(
module {
  fn main(%v: f32[64], %w: f32[64], %x: f32[64]) {
    %n = const(8) : i64[]
    %true = const(true) : bool[]
    %0 = loop(%n, %true, @step, %v, %w, %x) {carried=1} : f32[64]
    return %0
  }
  fn step(%i: i64[], %v: f32[64], %w: f32[64], %x: f32[64]) {
    %true = const(true) : bool[]
    %0 = multiply(%v, %w)
    %1 = tanh(%0)
    %2 = add(%1, %x)
    return %true, %2
  }
})";

// An outer loop of 3 around an inner one of 4, which reads w of outside and u of the outer body.
constexpr const char* kNested = R"(
module {
  fn main(%v: f32[32], %w: f32[32]) {
    %n = const(3) : i64[]
    %true = const(true) : bool[]
    %0 = loop(%n, %true, @outer, %v, %w) {carried=1} : f32[32]
    return %0
  }
  fn outer(%i: i64[], %v: f32[32], %w: f32[32]) {
    %n = const(4) : i64[]
    %true = const(true) : bool[]
    %u = exp(%v)
    %0 = loop(%n, %true, @inner, %v, %w, %u) {carried=1} : f32[32]
    %1 = tanh(%0)
    return %true, %1
  }
  fn inner(%i: i64[], %v: f32[32], %w: f32[32], %u: f32[32]) {
    %true = const(true) : bool[]
    %0 = multiply(%v, %w)
    %1 = add(%0, %u)
    return %true, %1
  }
})";

struct Counted {
  uint64_t in_copies, out_copies;
};

/// Runs a model on sim and json, expects what json alone computes, and counts the copies of a run.
Counted copies_of_a_run(const char* text,
                        const std::function<bool(const std::string&)>& is_on_sim) {
  sim::Counts counts;
  const auto plugins = sim_plugins(counted(counts, "50"));
  const IRModule module = parse(text);
  std::vector<std::string> ops;  // in the order in which split() numbers them
  const std::vector<Symbol> functions = *callees_first(module, module.entry);
  for (Symbol name : functions)
    for (const Node& node : module.function(name).nodes)
      if (const auto* call = std::get_if<Call>(&node.kind))
        ops.push_back(std::string(call->op->name));
  const Executable whole = split(
      module, [](size_t) { return false; }, plugins);
  const Executable mixed = split(
      module, [&](size_t k) { return is_on_sim(ops[k]); }, plugins);
  std::vector<Tensor> inputs;
  for (const NamedTensor& input : mixed.program.inputs) {
    inputs.push_back(*Tensor::make(input.type));
    fill_random(inputs.back(), 5 + inputs.size());
  }
  auto session = Session::load(mixed, plugins);
  EXPECT_TRUE(session.ok()) << session.status().to_string();
  auto context = *(*session)->make_context();
  std::vector<Tensor> outputs;
  std::vector<DLTensor> in, out;
  for (const Tensor& tensor : inputs) in.push_back(tensor.view());
  for (const NamedTensor& output : (*session)->outputs())
    outputs.push_back(*Tensor::make(output.type));
  for (const Tensor& tensor : outputs) out.push_back(tensor.view());
  const std::vector<Tensor> expected = execute(whole, plugins, inputs);
  for (int run = 0; run < 3; ++run) {
    counts.in_copies = counts.out_copies = 0;
    const Status status = (*session)->run(*context, in, out);
    EXPECT_TRUE(status.ok()) << status.to_string();
    expect_same_bytes(outputs, expected);
  }
  return {counts.in_copies, counts.out_copies};
}

TEST(DeviceLoops, ValuesOfOutsideAreCopiedOncePerRun) {
  const Counted all = copies_of_a_run(kLoop, [](const std::string&) { return true; });
  EXPECT_EQ(all.in_copies, 8u + 2) << "v in each iteration, w and x once";
  EXPECT_EQ(all.out_copies, 8u);
  const Counted some = copies_of_a_run(kLoop, [](const std::string& op) { return op == "add"; });
  EXPECT_EQ(some.in_copies, 8u + 1) << "the result of tanh in each iteration, x once";
}

TEST(DeviceLoops, ACopyLeavesAllLoopsThatDoNotWriteItsValue) {
  const Counted all = copies_of_a_run(
      kNested, [](const std::string& op) { return op == "multiply" || op == "add"; });
  EXPECT_EQ(all.in_copies, 3u * 4 + 1 + 3)
      << "v in each of 12 iterations, w once, u in each of 3 of the outer loop";
  EXPECT_EQ(all.out_copies, 12u);
}

}  // namespace
}  // namespace byoc::test
