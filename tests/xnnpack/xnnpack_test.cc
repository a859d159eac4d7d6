// SPDX-License-Identifier: Apache-2.0
// Regions run by XNNPACK: what is taken, and that results are right.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <thread>

#include "byoc/pass/bind.h"
#include "support/flow.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr float kInf = std::numeric_limits<float>::infinity();

/// Parses `text`; parameters named w... become random constants.
IRModule with_constants(const std::string& text) {
  IRModule module = parse(text);
  std::map<std::string, BoundTensor> values;
  const Function& main = module.function("main");
  for (uint32_t k = 0; k < main.num_params(); ++k) {
    std::string name = std::get<Param>(main.nodes[k].kind).name.str();
    if (name[0] != 'w') continue;
    const TypeId type = main.nodes[k].types[0];
    Tensor tensor = *Tensor::make({type->dtype, static_extents(type->shape)});
    fill_random(tensor, 100 + k);
    values[name] = {*type, Buffer::copy({tensor.data(), tensor.size_bytes()})};
  }
  Result<IRModule> bound = bind_params(module, values, PassContext());
  EXPECT_TRUE(bound.ok()) << bound.status().to_string();
  return bound.ok() ? *std::move(bound) : IRModule();
}

Executable built(const std::string& text, const std::string& compiler) {
  BuildOptions options;
  options.plugins = built_plugins();
  options.compilers = {compiler};
  options.default_codegen = "json";
  Result<Executable> out = build(with_constants(text), options);
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  return out.ok() ? *std::move(out) : Executable();
}

uint64_t ops_of(const Executable& executable, const std::string& plugin) {
  uint64_t ops = 0;
  for (const Step& step : executable.program.steps) {
    const ExternalModule& module = executable.modules[step.module];
    if (module.plugin == plugin) ops += module.functions[step.function].ops;
  }
  return ops;
}

struct Program {
  const char* name;
  const char* text;
  int ops;  // that xnnpack takes
};
std::ostream& operator<<(std::ostream& out, const Program& program) { return out << program.name; }

const Program kPrograms[] = {
    {"conv", "fn main(%x: f32[2,3,8,7], %w: f32[5,3,3,3]) { %0 = conv2d(%x, %w)  return %0 }", 1},
    {"conv_uneven",
     "fn main(%x: f32[1,3,9,7], %w: f32[5,3,2,3]) { %0 = conv2d(%x, %w) {pads=[0,1,2,0], "
     "strides=[1,2], dilations=[2,1]}  return %0 }",
     1},
    {"conv_grouped",
     "fn main(%x: f32[1,8,5,5], %w: f32[6,4,3,3]) { %0 = conv2d(%x, %w) {group=2}  return %0 }", 1},
    {"conv_depthwise_bias_clip",
     "fn main(%x: f32[2,17,7,7], %w: f32[17,1,3,3], %w1: f32[17,1,1]) { %0 = conv2d(%x, %w) "
     "{group=17, pads=[1,1,1,1]}  %1 = add(%0, %w1)  %2 = clip(%1) {min=-0.5, max=0.75}  return "
     "%2 }",
     3},
    {"conv_depthwise_twice_the_channels",
     "fn main(%x: f32[1,6,7,7], %w: f32[12,1,3,3]) { %0 = conv2d(%x, %w) {group=6}  return %0 }",
     1},
    {"conv_bias_relu",
     "fn main(%x: f32[1,3,8,8], %w: f32[8,3,3,3], %w1: f32[1,8,1,1]) { %0 = conv2d(%x, %w)  %1 = "
     "add(%w1, %0)  %2 = relu(%1)  return %2 }",
     3},
    {"conv_run_time_weights",
     "fn main(%x: f32[1,3,8,8], %v: f32[8,3,3,3]) { %0 = conv2d(%x, %v)  return %0 }", 0},
    {"conv_bias_per_line",
     "fn main(%x: f32[1,3,8,8], %w: f32[8,3,3,3], %w1: f32[6,1]) { %0 = conv2d(%x, %w)  %1 = "
     "add(%0, %w1)  return %1 }",
     2},
    {"conv_doubles",
     "fn main(%x: f64[1,3,8,8], %w: f64[8,3,3,3]) { %0 = conv2d(%x, %w)  return %0 }", 0},
    {"residual_block",
     "fn main(%x: f32[1,16,6,6], %w: f32[16,16,3,3], %w1: f32[16,16,1,1], %wb: f32[16,1,1]) { %0 = "
     "conv2d(%x, %w) {pads=[1,1,1,1]}  %1 = add(%0, %wb)  %2 = relu(%1)  %3 = conv2d(%2, %w1)  %4 "
     "= add(%3, %x)  %5 = relu(%4)  %6 = max_pool(%5) {kernel_shape=[2,2], strides=[2,2]}  return "
     "%6, %4 }",
     7},
    {"squeeze_and_excite",
     "fn main(%x: f32[2,12,5,6], %w: f32[12,12,1,1], %w1: f32[4,12,1,1], %w2: f32[12,4,1,1]) { %0 "
     "= conv2d(%x, %w)  %1 = hard_swish(%0)  %2 = global_average_pool(%1)  %3 = conv2d(%2, %w1)  "
     "%4 = relu(%3)  %5 = conv2d(%4, %w2)  %6 = sigmoid(%5)  %7 = multiply(%1, %6)  return %7 }",
     8},
    {"broadcast_of_lower_rank_to_an_image",
     "fn main(%x: f32[2,3,5,6], %c: f32[5,1], %d: f32[3,1,1], %w: f32[3,3,1,1]) { %0 = conv2d(%x, "
     "%w)  %1 = add(%c, %0)  %2 = subtract(%1, %d)  return %2 }",
     3},
    {"image_and_plain",
     "fn main(%x: f32[2,3,5,6], %w: f32[3,3,1,1]) { %0 = conv2d(%x, %w)  %1 = softmax(%0)  %2 = "
     "conv2d(%1, %w)  %3 = abs(%x)  %4 = add(%2, %3)  return %1, %4, %0, %4 }",
     5},
    {"one_channel",
     "fn main(%x: f32[2,1,5,6], %w: f32[1,1,3,3]) { %0 = conv2d(%x, %w)  return %0, %x }", 1},
    {"max_pool",
     "fn main(%x: f32[2,5,9,8]) { %0 = max_pool(%x) {kernel_shape=[3,2], strides=[2,1], "
     "pads=[1,0,1,1], dilations=[1,2]}  return %0 }",
     1},
    {"max_pool_rounded_up",
     "fn main(%x: f32[2,5,8,8]) { %0 = max_pool(%x) {kernel_shape=[3,3], strides=[2,2], "
     "ceil_mode=true}  return %0 }",
     0},
    {"max_pool_with_indices",
     "fn main(%x: f32[2,5,8,8]) { %0 = max_pool(%x) {kernel_shape=[2,2], with_indices=true}  "
     "return %0#0, %0#1 }",
     0},
    {"average_pool",
     "fn main(%x: f32[2,5,9,8]) { %0 = average_pool(%x) {kernel_shape=[3,3], strides=[2,2], "
     "pads=[1,1,1,1]}  return %0 }",
     1},
    {"average_pool_counting_padding",
     "fn main(%x: f32[2,5,9,8]) { %0 = average_pool(%x) {kernel_shape=[3,3], pads=[1,1,1,1], "
     "count_include_pad=true}  return %0 }",
     0},
    {"average_pool_without_padding",
     "fn main(%x: f32[2,5,9,8]) { %0 = average_pool(%x) {kernel_shape=[3,2], "
     "count_include_pad=true}  return %0 }",
     1},
    {"pool_of_one_cell",
     "fn main(%x: f32[2,5,9,8]) { %0 = max_pool(%x) {kernel_shape=[1,1]}  return %0 }", 0},
    {"matmul_bias_relu",
     "fn main(%x: f32[2,5,7], %w: f32[7,9], %w1: f32[9]) { %0 = matmul(%x, %w)  %1 = add(%0, %w1)  "
     "%2 = relu(%1)  return %2 }",
     3},
    {"matmul_of_a_vector", "fn main(%x: f32[7], %w: f32[7,9]) { %0 = matmul(%x, %w)  return %0 }",
     1},
    {"matmul_of_two_inputs",
     "fn main(%x: f32[5,7], %y: f32[7,9]) { %0 = matmul(%x, %y)  return %0 }", 0},
    {"gemm_transposed",
     "fn main(%x: f32[5,7], %w: f32[9,7]) { %0 = gemm(%x, %w) {trans_b=true}  return %0 }", 1},
    {"gemm_with_a_factor",
     "fn main(%x: f32[5,7], %w: f32[7,9]) { %0 = gemm(%x, %w) {alpha=0.5}  return %0 }", 0},
    {"softmax_of_the_first_axis", "fn main(%x: f32[5,7]) { %0 = softmax(%x) {axis=0}  return %0 }",
     0},
    {"add_broadcast_both",
     "fn main(%x: f32[2,1,5], %y: f32[3,1]) { %0 = add(%x, %y)  %1 = relu(%0)  return %1 }", 2},
    {"scalars", "fn main(%x: f32[], %y: f32[]) { %0 = multiply(%x, %y)  return %0 }", 1},
    {"seven_dims", "fn main(%x: f32[1,2,1,2,1,2,3], %y: f32[3]) { %0 = add(%x, %y)  return %0 }",
     0},
    {"rounding",
     "fn main(%x: f32[3,33]) { %0 = floor(%x)  %1 = ceil(%x)  %2 = round(%x)  %3 = negative(%x)  "
     "%4 = abs(%x)  %5 = sqrt(%4)  return %0, %1, %2, %3, %5 }",
     6},
    {"activations",
     "fn main(%x: f32[3,33]) { %0 = leaky_relu(%x) {alpha=0.2}  %1 = elu(%x) {alpha=0.7}  %2 = "
     "sigmoid(%x)  %3 = hard_swish(%x)  %4 = clip(%x) {max=0.25}  return %0, %1, %2, %3, %4 }",
     5},
    {"bounds_that_leave_nothing",
     "fn main(%x: f32[3,33]) { %0 = clip(%x) {min=1.0, max=1.0}  return %0 }", 0},
    {"nothing", "fn main(%x: f32[0,33]) { %0 = relu(%x)  return %0 }", 0},
};

class Xnnpack : public testing::TestWithParam<Program> {};

TEST_P(Xnnpack, AgreesWithTheReference) {
  auto plugins = built_plugins();
  Executable program = built(GetParam().text, "xnnpack");
  EXPECT_EQ(ops_of(program, "xnnpack"), static_cast<uint64_t>(GetParam().ops));
  expect_close(execute(program, plugins, {}, 1, 2),
               execute(built(GetParam().text, "json"), plugins));
}
INSTANTIATE_TEST_SUITE_P(Programs, Xnnpack, testing::ValuesIn(kPrograms),
                         [](const auto& info) { return std::string(info.param.name); });

std::vector<float> run(const std::string& text, const std::vector<int64_t>& dims,
                       const std::vector<float>& x) {
  Executable program = built(text, "xnnpack");
  EXPECT_EQ(ops_of(program, "json"), 0u);
  std::vector<Tensor> inputs;
  inputs.push_back(tensor_f32(dims, x));
  return floats(execute(program, built_plugins(), inputs)[0]);
}

// One channel of ones: the sums of 2 x 2 cells of 1..9.
TEST(XnnpackNumbers, AreThoseOfTheDefinition) {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_EQ(run("fn main(%x: f32[1,1,3,3]) { %w = const([1,1,1,1]) : f32[1,1,2,2]  %0 = conv2d(%x, "
                "%w)  return %0 }",
                {1, 1, 3, 3}, x),
            (std::vector<float>{12, 16, 24, 28}));
  EXPECT_EQ(run("fn main(%x: f32[1,1,3,3]) { %0 = max_pool(%x) {kernel_shape=[2,2]}  return %0 }",
                {1, 1, 3, 3}, x),
            (std::vector<float>{5, 6, 8, 9}));
  EXPECT_EQ(run("fn main(%x: f32[1,1,3,3]) { %0 = average_pool(%x) {kernel_shape=[2,2], "
                "pads=[1,1,0,0]}  return %0 }",
                {1, 1, 3, 3}, x),
            (std::vector<float>{1, 1.5, 2.5, 2.5, 3, 4, 5.5, 6, 7}));
}

// XNNPACK's bounds turn NaN into a number, with infinite bounds, too.
TEST(XnnpackNumbers, KeepNanAndInfinities) {
  auto of = [](const std::string& op) {
    return run("fn main(%x: f32[4]) { %0 = " + op + "  return %0 }", {4}, {NAN, kInf, -kInf, 2});
  };
  for (const char* op : {"relu(%x)", "clip(%x) {min=-3.0, max=3.0}", "add(%x, %x)", "sigmoid(%x)",
                         "floor(%x)", "elu(%x)", "hard_swish(%x)", "multiply(%x, %x)"})
    EXPECT_TRUE(std::isnan(of(op)[0])) << op;
  EXPECT_EQ(of("relu(%x)")[1], kInf);
  EXPECT_EQ(of("relu(%x)")[2], 0);
  EXPECT_TRUE(std::isnan(of("subtract(%x, %x)")[1]));
  EXPECT_EQ(of("clip(%x) {min=-3.0, max=3.0}")[2], -3);
}

TEST(XnnpackNumbers, KeepNanInWindows) {
  for (const char* op : {"conv2d(%x, %w)", "max_pool(%x) {kernel_shape=[1,2]}",
                         "average_pool(%x) {kernel_shape=[1,2]}"}) {
    const std::vector<float> y =
        run(std::string("fn main(%x: f32[1,1,1,4]) { %w = const([1,1]) : f32[1,1,1,2]  %0 = ") +
                op + "  %1 = relu(%0)  return %1 }",
            {1, 1, 1, 4}, {NAN, 1, 2, 3});
    EXPECT_TRUE(std::isnan(y[0])) << op;
    EXPECT_FALSE(std::isnan(y[1])) << op;
  }
}

// Finite operands whose sum is infinity minus infinity on the way.
TEST(XnnpackNumbers, KeepWhatOverflows) {
  const std::vector<float> y =
      run("fn main(%x: f32[1,2]) { %w = const([3e38, -3e38]) : f32[2,1]  %0 = matmul(%x, %w)  %1 = "
          "relu(%0)  return %1 }",
          {1, 2}, {2, 2});
  EXPECT_TRUE(std::isnan(y[0]));
}

// XNNPACK takes denormals for 0.
TEST(XnnpackNumbers, KeepDenormals) {
  const float tiny = 1e-40F;
  auto of = [&](const std::string& op) {
    return run("fn main(%x: f32[2]) { %0 = " + op + "  return %0 }", {2}, {tiny, -tiny});
  };
  EXPECT_EQ(of("ceil(%x)"), (std::vector<float>{1, 0}));
  EXPECT_EQ(of("add(%x, %x)")[0], 2 * tiny);
  EXPECT_EQ(of("relu(%x)")[0], tiny);
}

TEST(XnnpackThreads, ShareAKernel) {
  auto plugins = built_plugins();
  const std::string text =
      "fn main(%x: f32[1,4,9,9], %w: f32[8,4,3,3]) { %0 = conv2d(%x, %w)  %1 = relu(%0)  return %1 "
      "}";
  Executable program = built(text, "xnnpack");
  const std::vector<float> wanted = floats(execute(program, plugins)[0]);
  Result<std::unique_ptr<Session>> session = Session::load(program, plugins);
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  std::vector<int> wrong(3);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      auto context = (*session)->make_context();
      Tensor x = *Tensor::make({DType::kF32, {1, 4, 9, 9}});
      fill_random(x, 1);
      Tensor out = *Tensor::make({DType::kF32, {1, 8, 7, 7}});
      for (int k = 0; k < 200; ++k) {
        DLTensor in[] = {x.view()}, results[] = {out.view()};
        if (!(*session)->run(**context, in, results).ok() || floats(out) != wanted) ++wrong[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, testing::Each(0));
}

// Between the operators of a region an image keeps its channels last.
TEST(XnnpackCommands, ShowTheChangesOfLayout) {
  Byoc byoc;
  const std::string model = byoc.write(
      "m.ir",
      "fn main(%x: f32[1,4,9,9]) { %0 = max_pool(%x) {kernel_shape=[2,2]}  %1 = abs(%0)  %2 = "
      "average_pool(%1) {kernel_shape=[2,2]}  %3 = add(%2, %2)  return %3 }");
  const std::string out = byoc("run " + model + " --compiler xnnpack --profile").out;
  EXPECT_THAT(out, HasSubstr("to channels last"));
}

TEST(XnnpackCommands, UseItWhenItIsNamedAlone) {
  Byoc byoc;
  const std::string model =
      byoc.write("m.ir", "fn main(%x: f32[3,5]) { %0 = relu(%x) loc(\"act\")  return %0 }");
  EXPECT_THAT(byoc("explain " + model).out, Not(HasSubstr("xnnpack")));
  EXPECT_THAT(byoc("explain " + model + " --compiler xnnpack --op act").out,
              HasSubstr("xnnpack: taken"));
}

}  // namespace
}  // namespace byoc::test
