// SPDX-License-Identifier: Apache-2.0
// Functions that are too large for one kernel: the number of pieces, and the
// operands of the calls in the sequence.
#include "plugins/llvm/split.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "byoc/text/builder.h"
#include "plugins/llvm/lower.h"
#include "plugins/llvm/machine/machine.h"

namespace byoc::llvm_plugin {
namespace {

const TensorType kSmall{DType::kF32, {64}};
constexpr const char* kUnary[] = {"relu", "tanh", "sigmoid", "negative", "abs", "sin"};
constexpr const char* kBinary[] = {"add", "subtract", "multiply", "maximum"};

te::Target avx512() {
  te::Target target;
  target.cpu = "x86-64-v4";
  target.features = {"avx", "avx2", "fma", "avx512f"};
  return target;
}

IRModule chain(const std::vector<std::string>& ops, size_t n, const TensorType& type = kSmall) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId x = f.param("x", type);
  for (size_t k = 0; k < n; ++k) x = f.call(ops[k % ops.size()], {x});
  Status status = f.finish("main", {x});
  EXPECT_TRUE(status.ok()) << status.to_string();
  return module;
}

IRModule random_dag(size_t ops) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  std::mt19937 random(7);
  std::vector<ValueId> values = {f.param("x", kSmall)};
  auto recent = [&] {
    return values[values.size() - 1 - random() % std::min<size_t>(values.size(), 16)];
  };
  while (values.size() <= ops) {
    if (random() % 2 == 0) values.push_back(f.call(kUnary[random() % 6], {recent()}));
    else values.push_back(f.call(kBinary[random() % 4], {recent(), recent()}));
  }
  Status status = f.finish("main", {values.back(), values[ops / 2]});
  EXPECT_TRUE(status.ok()) << status.to_string();
  return module;
}

std::optional<Split> split(const IRModule& module, SplitWhen when = SplitWhen::kTooLarge) {
  Result<std::optional<Split>> out = split_function(module, avx512(), when);
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  return out.ok() ? *std::move(out) : std::nullopt;
}

TEST(Split, LeavesFunctionsOfOrdinarySizeWhole) {
  EXPECT_FALSE(split(chain({"relu", "tanh", "sigmoid"}, 8)));
  EXPECT_FALSE(split(chain({"relu", "abs"}, 64)));
}

TEST(Split, CountsInstructionsAndNotOps) {
  EXPECT_FALSE(split(chain({"abs"}, 64)));
  EXPECT_TRUE(split(chain({"tanh"}, 64)));
}

TEST(Split, AChainHasAPieceForEachDifferentOpHoweverLongItIs) {
  for (size_t n : {1000u, 10000u}) {
    auto out = split(chain({"relu", "tanh", "sigmoid", "abs"}, n));
    ASSERT_TRUE(out);
    EXPECT_EQ(out->pieces.size(), 4u);
    EXPECT_EQ(out->sequence.calls.size(), n);
    EXPECT_EQ(out->sequence.arena_bytes, 2u * 256) << "one operand and one result";
  }
}

TEST(Split, ARandomDagSharesPiecesToo) {
  for (size_t n : {1000u, 10000u}) {
    auto out = split(random_dag(n));
    ASSERT_TRUE(out);
    // There are unary ops, binary ops of two values, and binary ops of one value twice.
    EXPECT_LE(out->pieces.size(), 6u + 2 * 4u);
    EXPECT_LE(out->sequence.calls.size(), n);
    EXPECT_LE(out->sequence.arena_bytes, 40u * 256);
  }
}

// Follows the sequence: every place that is read was written before, and no call overwrites a
// place that it reads.
TEST(Split, ReadsWhatWasWritten) {
  IRModule module = random_dag(2000);
  auto out = split(module);
  ASSERT_TRUE(out);
  std::map<int32_t, size_t> writer;  // place -> call
  writer[0] = 0;                     // the parameter
  size_t n = 0;
  for (const Sequence::Call& call : out->sequence.calls) {
    const Function& piece = out->pieces[call.piece];
    size_t params = piece.num_params();
    ASSERT_EQ(call.args.size(), params + piece.results.size());
    for (size_t k = 0; k < params; ++k)
      EXPECT_TRUE(writer.contains(call.args[k])) << "place " << call.args[k];
    for (size_t k = params; k < call.args.size(); ++k) {
      for (size_t read = 0; read < params; ++read) EXPECT_NE(call.args[k], call.args[read]);
      EXPECT_NE(call.args[k], 0) << "an input is never written";
      writer[call.args[k]] = ++n;
    }
  }
  EXPECT_TRUE(writer.contains(1)) << "the first result";
  EXPECT_TRUE(writer.contains(2)) << "the second result";
}

TEST(Split, ResultsThatAreInputsOrRepeatedAreCopied) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId x = f.param("x", kSmall), y = x;
  for (int k = 0; k < 100; ++k) y = f.call("tanh", {y});
  ASSERT_TRUE(f.finish("main", {y, x, y}).ok());
  auto out = split(module);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->pieces.size(), 2u);  // tanh and identity
  ASSERT_EQ(out->sequence.calls.size(), 102u);
  EXPECT_EQ(out->sequence.calls[100].args, (std::vector<int32_t>{0, 2}));
  EXPECT_EQ(out->sequence.calls[101].args, (std::vector<int32_t>{1, 3}));
}

TEST(Split, LargeTensorsShareTripsToMemory) {
  const TensorType large{DType::kF32, {1 << 20}};
  auto out = split(chain({"tanh", "abs"}, 1000, large));
  ASSERT_TRUE(out);
  EXPECT_LT(out->sequence.calls.size(), 1000u);
  for (const Function& piece : out->pieces) EXPECT_LE(piece.nodes.size(), 64u);
}

TEST(Split, ConcatsOfManyOperandsBecomeTrees) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  std::vector<ValueId> parts;
  for (int k = 0; k < 5000; ++k) parts.push_back(f.param(cat("x", k), kSmall));
  ValueId y = f.call("concat", parts, Attrs{{Symbol("axis"), AttrValue(int64_t{0})}});
  ASSERT_TRUE(f.finish("main", {y}).ok());
  auto out = split(module);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->sequence.calls.size(), 79u + 2 + 1);  // one per 64 inputs, per 64 of these, all
  for (const Function& piece : out->pieces) EXPECT_LE(piece.num_params(), 64u);
}

// A piece gets what its call names: no constants that are made at compile, as the matrix of a
// Fourier transform's steps.
TEST(Split, KernelsHaveTheOperandsOfTheirCalls) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId y = f.call("dft", {f.param("x", {DType::kF32, {2, 34, 2}})}, {{"axis", int64_t{1}}});
  for (int k = 0; k < 100; ++k) y = f.call("tanh", {y});
  ASSERT_TRUE(f.finish("main", {y}).ok());
  Result<Lowered> out = lower_function(module, avx512(), SplitWhen::kTooLarge, {});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  ASSERT_EQ(out->kernels.size(), 2u);
  ASSERT_TRUE(out->sequence.has_value());
  for (const Sequence::Call& call : out->sequence->calls) {
    const te::LoopFunction& kernel = out->kernels[call.piece];
    EXPECT_EQ(kernel.inputs.size() + kernel.outputs.size(), call.args.size());
  }
}

TEST(Split, LeavesFunctionsOfOpenSizesWhole) {
  IRModule module = chain({"tanh"}, 100);
  Function& main = module.function("main");
  TypeId open = TensorType{DType::kF32, {Dim::symbol("N")}};
  for (Node& node : main.nodes) node.types = open;
  Result<std::optional<Split>> out = split_function(module, avx512());
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_FALSE(out->has_value());
}

}  // namespace
}  // namespace byoc::llvm_plugin
