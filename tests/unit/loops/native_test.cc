// SPDX-License-Identifier: Apache-2.0
// The open route: a function of ops or a compute of the user's own becomes a Dag, is scheduled by
// primitives or by a trace, and is compiled to native code as a function of a module.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "byoc/te/module.h"
#include "byoc/translate/translate.h"
#include "support/flow.h"

namespace byoc::test {
namespace {

std::vector<Tensor> one_tensor(Tensor tensor) {
  std::vector<Tensor> out;
  out.push_back(std::move(tensor));
  return out;
}

constexpr std::string_view kTwoConvs = R"(
  fn main(%x: f32[1,8,64,64], %w1: f32[8,8,3,3], %w2: f32[8,8,3,3]) {
    %0 = conv2d(%x, %w1) {pads=[1,1,1,1]}
    %1 = relu(%0)
    %2 = conv2d(%1, %w2) {pads=[1,1,1,1]}
    %3 = sigmoid(%2)
    return %3
  })";

Result<te::Dag> dag_of(const IRModule& module) {
  BYOC_TRY(te::Target target, te::parse_target("native"));
  return te::translate_to_te(module, module.function("main"), target, te::by_level());
}

/// Tiles the rows of the last stage and computes all stages before it inside the loop over tiles.
Result<te::Schedule> cascade(te::Dag dag, int64_t rows) {
  std::vector<std::string> stages;
  for (const te::Stage& stage : dag.stages) {
    if (!std::holds_alternative<te::Placeholder>(stage.kind)) stages.push_back(stage.name);
  }
  te::Schedule schedule(std::move(dag));
  const std::string last = stages.back();
  BYOC_TRY_STATUS(schedule.split(last, "i2", rows));
  BYOC_TRY_STATUS(schedule.reorder(last, {"i2.o", "i1", "i2.i"}));
  BYOC_TRY_STATUS(schedule.vectorize(last, "i3"));
  stages.pop_back();
  for (size_t k = stages.size(); k-- > 0;)
    BYOC_TRY_STATUS(schedule.compute_at(stages[k], last, "i2.o"));
  for (const std::string& stage : stages) {
    const std::vector<std::string> loops = schedule.loops(stage);
    if (std::find(loops.begin(), loops.end(), "r0") == loops.end()) continue;
    BYOC_TRY_STATUS(schedule.reorder(stage, {"i0", "i1", "i2", "r0", "r1", "r2", "i3"}));
    BYOC_TRY_STATUS(schedule.vectorize(stage, "i3"));
  }
  return schedule;
}

/// Returns a module whose main calls @f with all of its parameters.
IRModule calling_main(std::string_view params, std::string_view args) {
  return parse(cat("fn f(", params, ") { return %x }\nfn main(", params, ") { %0 = @f(", args,
                   ")  return %0 }"));
}

Result<Executable> built(IRModule module, const std::string& compiler) {
  BuildOptions options;
  options.plugins = built_plugins();
  options.compilers = {compiler};
  options.strict = true;
  return build(std::move(module), options);
}

/// The best of several runs, in microseconds.
double microseconds(const Executable& executable) {
  double best = INFINITY;
  for (int k = 0; k < 5; ++k) {
    auto session = Session::load(executable, built_plugins());
    auto context = (*session)->make_context();
    std::vector<Tensor> in, out;
    for (const NamedTensor& tensor : (*session)->inputs()) in.push_back(*Tensor::make(tensor.type));
    for (const NamedTensor& tensor : (*session)->outputs())
      out.push_back(*Tensor::make(tensor.type));
    std::vector<DLTensor> inputs, outputs;
    for (Tensor& tensor : in) inputs.push_back(tensor.view());
    for (Tensor& tensor : out) outputs.push_back(tensor.view());
    for (int run = 0; run < 3; ++run) {
      const auto begin = std::chrono::steady_clock::now();
      EXPECT_TRUE((*session)->run(**context, inputs, outputs).ok());
      const std::chrono::duration<double, std::micro> time =
          std::chrono::steady_clock::now() - begin;
      best = std::min(best, time.count());
    }
  }
  return best;
}

class Native : public ::testing::Test {
 protected:
  void SetUp() override {
    if (built_plugins()->find("llvm") == nullptr) GTEST_SKIP() << "llvm is not built";
  }
};

TEST_F(Native, TwoConvolutionsAsACascadeGiveWhatTheOpsGive) {
  const IRModule graph = parse(kTwoConvs);
  auto dag = dag_of(graph);
  ASSERT_TRUE(dag.ok()) << dag.status().to_string();
  auto schedule = cascade(*dag, 8);
  ASSERT_TRUE(schedule.ok()) << schedule.status().to_string();
  IRModule module;
  Status status = te::add_loops(module, "f", te::lower(*schedule));
  ASSERT_TRUE(status.ok()) << status.to_string();
  FunctionSignature types = signature(module.function("f"));
  Function main;
  std::vector<ValueId> args;
  for (const char* name : {"x", "w1", "w2"})
    args.push_back({main.add_param(name, types.params[args.size()]), 0});
  main.results = {{main.add_invoke("f", args, types.results), 0}};
  module.functions["main"] = main;
  auto native = built(module, "llvm"), ops = built(graph, "llvm"), reference = built(graph, "json");
  ASSERT_TRUE(native.ok()) << native.status().to_string();
  ASSERT_TRUE(ops.ok() && reference.ok());
  ASSERT_EQ(native->modules.size(), 1u);
  EXPECT_EQ(native->modules[0].plugin, "llvm");
  const std::vector<Tensor> expected = execute(*reference, built_plugins());
  expect_close(execute(*native, nullptr), expected);
  expect_close(execute(*ops, nullptr), expected);
  std::printf("two convolutions: cascade of loops %.0f us, ops by llvm %.0f us\n",
              microseconds(*native), microseconds(*ops));
}

TEST_F(Native, AComputeOfTheUsersOwnWithATraceInText) {
  te::Builder b;
  te::Tensor x = b.placeholder("x", DType::kF32, {50, 37});
  te::Tensor y = b.compute("y", {50, 37}, [&](const te::Indices& i) {
    return te::select(x(i) < te::constant(DType::kF32, 0), x(i) * te::constant(DType::kF32, 0.5),
                      te::unary(te::UnaryOp::kSqrt, x(i)));
  });
  auto trace = te::parse_trace("split(y, i1, 8); parallel(y, i0); vectorize(y, i1.i)");
  ASSERT_TRUE(trace.ok());
  auto schedule = te::replay(b.finish("half_root", {x}, {y}), *trace);
  ASSERT_TRUE(schedule.ok()) << schedule.status().to_string();
  IRModule module = calling_main("%x: f32[50,37]", "%x");
  module.functions.erase("f");
  Status status = te::add_loops(module, "f", te::lower(*schedule));
  ASSERT_TRUE(status.ok()) << status.to_string();
  ASSERT_TRUE(verify(module).ok()) << verify(module).to_string();
  std::vector<float> in(50 * 37), expected;
  for (size_t k = 0; k < in.size(); ++k) {
    in[k] = static_cast<float>(k) / 16 - 50;
    expected.push_back(in[k] < 0 ? in[k] / 2 : std::sqrt(in[k]));
  }
  for (const char* compiler : {"llvm", "json"}) {
    auto executable = built(module, compiler);
    ASSERT_TRUE(executable.ok()) << executable.status().to_string();
    expect_close(execute(*executable, built_plugins(), one_tensor(tensor_f32({50, 37}, in))),
                 one_tensor(tensor_f32({50, 37}, expected)));
  }
}

}  // namespace
}  // namespace byoc::test
