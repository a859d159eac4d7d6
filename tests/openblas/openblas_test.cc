// SPDX-License-Identifier: Apache-2.0
// Products by OpenBLAS: what is taken, and that results are right.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <thread>

#include "support/flow.h"
#include "support/paths.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr float kInf = std::numeric_limits<float>::infinity();

Executable built(const std::string& text, const std::string& compiler) {
  BuildOptions options;
  options.plugins = built_plugins();
  options.compilers = {compiler};
  options.default_codegen = "json";
  Result<Executable> out = build(parse(text), options);
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
  int ops;  // that openblas takes
};
std::ostream& operator<<(std::ostream& out, const Program& program) { return out << program.name; }

const Program kPrograms[] = {
    {"matmul", "fn main(%x: f32[5,7], %y: f32[7,3]) { %0 = matmul(%x, %y)  return %0 }", 1},
    {"doubles", "fn main(%x: f64[5,7], %y: f64[7,3]) { %0 = matmul(%x, %y)  return %0 }", 1},
    {"halves", "fn main(%x: f16[5,7], %y: f16[7,3]) { %0 = matmul(%x, %y)  return %0 }", 1},
    {"integers", "fn main(%x: i32[5,7], %y: i32[7,3]) { %0 = matmul(%x, %y)  return %0 }", 0},
    {"vectors", "fn main(%x: f32[7], %y: f32[7]) { %0 = matmul(%x, %y)  return %0 }", 1},
    {"row", "fn main(%x: f32[7], %y: f32[2,7,3]) { %0 = matmul(%x, %y)  return %0 }", 1},
    {"column", "fn main(%x: f32[2,5,7], %y: f32[7]) { %0 = matmul(%x, %y)  return %0 }", 1},
    {"one_row", "fn main(%x: f32[1,300], %y: f32[300,40]) { %0 = matmul(%x, %y)  return %0 }", 1},
    {"rows_of_a_batch",
     "fn main(%x: f32[4,3,5,7], %y: f32[7,9]) { %0 = matmul(%x, %y)  return %0 }", 1},
    {"broadcast_batches",
     "fn main(%x: f32[4,1,5,7], %y: f32[3,7,9]) { %0 = matmul(%x, %y)  return %0 }", 1},
    {"broadcast_both_ways",
     "fn main(%x: f32[4,1,2,5,7], %y: f32[3,1,7,9]) { %0 = matmul(%x, %y)  return %0 }", 1},
    {"batch_of_nothing", "fn main(%x: f32[0,5,7], %y: f32[7,9]) { %0 = matmul(%x, %y)  return %0 }",
     1},
    {"sum_of_nothing", "fn main(%x: f32[5,0], %y: f32[0,9]) { %0 = matmul(%x, %y)  return %0 }", 1},
    {"gemm", "fn main(%x: f32[5,7], %y: f32[7,3]) { %0 = gemm(%x, %y) {alpha=0.5}  return %0 }", 1},
    {"gemm_transposed_a",
     "fn main(%x: f32[7,5], %y: f32[7,3]) { %0 = gemm(%x, %y) {trans_a=true}  return %0 }", 1},
    {"gemm_transposed_b",
     "fn main(%x: f32[5,7], %y: f32[3,7]) { %0 = gemm(%x, %y) {trans_b=true}  return %0 }", 1},
    {"gemm_transposed_both_one_row",
     "fn main(%x: f32[7,1], %y: f32[3,7]) { %0 = gemm(%x, %y) {trans_a=true, trans_b=true}  return "
     "%0 }",
     1},
    {"gemm_bias_and_more",
     "fn main(%x: f32[5,7], %y: f32[7,3], %c: f32[3], %d: f32[5,1]) { %0 = gemm(%x, %y) "
     "{alpha=2.0}  %1 = add(%0, %c)  %2 = add(%d, %1)  return %2 }",
     2},
    {"bias_of_a_batch",
     "fn main(%x: f32[2,5,7], %y: f32[7,3], %c: f32[2,1,3]) { %0 = matmul(%x, %y)  %1 = add(%0, "
     "%c)  return %1 }",
     2},
    {"bias_per_row",
     "fn main(%x: f32[2,5,7], %y: f32[7,3], %c: f32[2,5,1]) { %0 = matmul(%x, %y)  %1 = add(%0, "
     "%c)  return %1 }",
     2},
    {"bias_that_is_larger",
     "fn main(%x: f32[1,7], %y: f32[7,3], %c: f32[4,3]) { %0 = matmul(%x, %y)  %1 = add(%0, %c)  "
     "return %1 }",
     1},
    {"bias_of_a_vector",
     "fn main(%x: f32[7], %y: f32[7], %c: f32[]) { %0 = matmul(%x, %y)  %1 = add(%0, %c)  return "
     "%1 }",
     2},
    {"added_to_itself",
     "fn main(%x: f32[5,7], %y: f32[7,3]) { %0 = matmul(%x, %y)  %1 = add(%0, %0)  return %1 }", 1},
    {"attention",
     "fn main(%q: f32[2,9,3,8], %k: f32[2,9,3,8], %v: f32[2,9,3,8]) { %0 = transpose(%q) "
     "{perm=[0,2,1,3]}  %1 = transpose(%k) {perm=[0,2,3,1]}  %2 = matmul(%0, %1)  %3 = "
     "transpose(%v) {perm=[0,2,1,3]}  %4 = matmul(%2, %3)  return %4 }",
     5},
    {"transposed_with_no_dense_dim",
     "fn main(%x: f32[3,4,5], %y: f32[4,6]) { %0 = transpose(%x) {perm=[2,0,1]}  %1 = matmul(%0, "
     "%y)  return %1 }",
     1},
    {"one_pixel", "fn main(%x: f32[2,6,4,5], %w: f32[8,6,1,1]) { %0 = conv2d(%x, %w)  return %0 }",
     1},
    {"one_pixel_in_groups_bias",
     "fn main(%x: f32[2,6,4,5], %w: f32[8,3,1,1], %c: f32[8,1,1]) { %0 = conv2d(%x, %w) {group=2}  "
     "%1 = add(%0, %c)  return %1 }",
     2},
    {"one_pixel_residual",
     "fn main(%x: f32[2,6,4,5], %w: f32[8,6,1,1], %c: f32[2,8,4,5]) { %0 = conv2d(%x, %w)  %1 = "
     "add(%c, %0)  return %1 }",
     2},
    {"one_pixel_bias_per_line",
     "fn main(%x: f32[2,6,4,5], %w: f32[8,6,1,1], %c: f32[4,1]) { %0 = conv2d(%x, %w)  %1 = "
     "add(%0, %c)  return %1 }",
     1},
    {"one_cell_of_a_volume",
     "fn main(%x: f32[2,6,3,4,5], %w: f32[8,6,1,1,1]) { %0 = conv3d(%x, %w)  return %0 }", 1},
    {"one_cell_of_a_line",
     "fn main(%x: f32[2,6,5], %w: f32[8,6,1]) { %0 = conv1d(%x, %w)  return %0 }", 1},
    {"strided",
     "fn main(%x: f32[2,6,4,5], %w: f32[8,6,1,1]) { %0 = conv2d(%x, %w) {strides=[2,1]}  "
     "return %0 }",
     0},
    {"padded",
     "fn main(%x: f32[2,6,4,5], %w: f32[8,6,1,1]) { %0 = conv2d(%x, %w) "
     "{pads=[0,1,0,0]}  return %0 }",
     0},
    {"larger_kernel",
     "fn main(%x: f32[2,6,4,5], %w: f32[8,6,1,2]) { %0 = conv2d(%x, %w)  return %0 }", 0},
    {"tiles",
     "fn main(%x: f32[200,300], %y: f32[300,500], %c: f32[500]) { %0 = matmul(%x, %y)  %1 "
     "= add(%0, %c)  return %1 }",
     2},
    {"chain_with_outputs",
     "fn main(%x: f32[5,5], %y: f32[5,5]) { %0 = matmul(%x, %y)  %1 = matmul(%0, %y)  %2 = "
     "matmul(%1, %0)  return %2, %1, %x, %1 }",
     3},
};

class Openblas : public testing::TestWithParam<Program> {};

TEST_P(Openblas, AgreesWithTheReference) {
  auto plugins = built_plugins();
  Executable program = built(GetParam().text, "openblas");
  EXPECT_EQ(ops_of(program, "openblas"), static_cast<uint64_t>(GetParam().ops));
  std::vector<Tensor> reference = execute(built(GetParam().text, "json"), plugins);
  for (uint32_t threads : {1, 2, 3}) {
    SCOPED_TRACE(threads);
    expect_close(execute(program, plugins, {}, 1, threads), reference);
  }
}
INSTANTIATE_TEST_SUITE_P(Programs, Openblas, testing::ValuesIn(kPrograms),
                         [](const auto& info) { return std::string(info.param.name); });

// Runs a program of two matrices [2, 2].
std::vector<float> run(const std::string& op, const std::vector<float>& a,
                       const std::vector<float>& b) {
  std::vector<Tensor> inputs;
  inputs.push_back(tensor_f32({2, 2}, a));
  inputs.push_back(tensor_f32({2, 2}, b));
  const std::string text = "fn main(%a: f32[2,2], %b: f32[2,2]) { %0 = " + op + "  return %0 }";
  return floats(execute(built(text, "openblas"), built_plugins(), inputs)[0]);
}

// By hand: [1 2; 3 4] [5 6; 7 8] = [19 22; 43 50].
TEST(OpenblasNumbers, AreThoseOfTheDefinition) {
  auto of = [](const std::string& op) { return run(op, {1, 2, 3, 4}, {5, 6, 7, 8}); };
  EXPECT_EQ(of("matmul(%a, %b)"), (std::vector<float>{19, 22, 43, 50}));
  EXPECT_EQ(of("gemm(%a, %b) {trans_a=true}"), (std::vector<float>{26, 30, 38, 44}));
  EXPECT_EQ(of("gemm(%a, %b) {trans_b=true, alpha=2.0}"), (std::vector<float>{34, 46, 78, 106}));
}

// BLAS returns 0 for a factor of 0 without a look at the operands.
TEST(OpenblasNumbers, KeepNanAndInfinityWhenTheFactorIsZero) {
  const std::vector<float> y = run("gemm(%a, %b) {alpha=0.0}", {NAN, 1, 1, 1}, {1, kInf, 1, 1});
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_TRUE(std::isnan(y[1]));
  EXPECT_EQ(y[2], 0);
  EXPECT_TRUE(std::isnan(y[3]));
}

// OpenBLAS needs locks for this: Debian's serial flavour has none (plugins/openblas/README.md).
TEST(OpenblasThreads, MayRunProductsAtTheSameTime) {
  auto plugins = built_plugins();
  const std::string text =
      "fn main(%x: f32[60,70], %y: f32[70,80]) { %0 = matmul(%x, %y)  return %0 }";
  Result<std::unique_ptr<Session>> session = Session::load(built(text, "openblas"), plugins);
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      auto context = (*session)->make_context();
      Tensor x = tensor_f32({60, 70}, std::vector<float>(60 * 70, static_cast<float>(t + 1)));
      Tensor y = tensor_f32({70, 80}, std::vector<float>(70 * 80, 2));
      Tensor out = *Tensor::make({DType::kF32, {60, 80}});
      for (int k = 0; k < 300; ++k) {
        DLTensor in[] = {x.view(), y.view()}, results[] = {out.view()};
        if (!(*session)->run(**context, in, results).ok()) ++wrong[t];
        for (float value : floats(out)) wrong[t] += value != 140 * static_cast<float>(t + 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, testing::Each(0));
}

TEST(OpenblasCommands, UseItWhenItIsNamedAlone) {
  Byoc byoc;
  Json plugins = byoc.json("plugins");
  EXPECT_THAT(plugins["order"], Not(testing::Contains("openblas")));
  std::vector<std::string> unopened;
  for (const Json& plugin : plugins["not_opened"]) unopened.push_back(plugin["id"]);
  EXPECT_THAT(unopened, testing::Contains("openblas")) << "its library was loaded";
  const std::string model = byoc.write(
      "m.ir",
      "fn main(%x: f32[5,7], %y: f32[7,3]) { %0 = matmul(%x, %y) loc(\"dot\")  return %0 }");
  EXPECT_THAT(byoc("explain " + model).out, Not(HasSubstr("openblas")));
  EXPECT_THAT(byoc("explain " + model + " --compiler auto").out, Not(HasSubstr("openblas")));
  EXPECT_THAT(byoc("explain " + model + " --compiler openblas --op dot").out,
              HasSubstr("openblas: taken: gemm"));
}

TEST(OpenblasCommands, NameTheReasonOfARefusal) {
  Byoc byoc;
  const std::string model = byoc.write(
      "m.ir",
      "fn main(%x: f32[2,6,4,5], %w: f32[8,6,1,1]) { %0 = conv2d(%x, %w) {strides=[2,1]} "
      "loc(\"conv\")  return %0 }");
  EXPECT_THAT(byoc("explain " + model + " --compiler openblas --op conv").out,
              HasSubstr("a product has no strides"));
}

}  // namespace
}  // namespace byoc::test
