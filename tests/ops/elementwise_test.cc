// SPDX-License-Identifier: Apache-2.0
// Elementwise ops of one input. Expected values: torch 1.13 in f64.
#include <cmath>
#include <limits>

#include "ops/constants.h"
#include "support/run_op.h"

namespace byoc::testing {
namespace {

struct FunctionCase {
  const char* op;
  std::vector<double> x, y;
  Attrs attrs = {};
};

const FunctionCase kFunctionCases[] = {
    {"sqrt",
     {0.25, 0.5, 1, 2.5, 10},
     {0.5, 0.707106781186548, 1, 1.58113883008419, 3.16227766016838}},
    {"rsqrt",
     {0.25, 0.5, 1, 2.5, 10},
     {2, 1.41421356237309, 1, 0.632455532033676, 0.316227766016838}},
    {"reciprocal", {0.25, 0.5, 1, 2.5, 10}, {4, 2, 1, 0.4, 0.1}},
    {"exp",
     {-3, -1.25, -0.5, 0, 0.5, 1.25, 3},
     {0.0497870683678639, 0.28650479686019, 0.606530659712633, 1, 1.64872127070013,
      3.49034295746184, 20.0855369231877}},
    {"log",
     {0.25, 0.5, 1, 2.5, 10},
     {-1.38629436111989, -0.693147180559945, 0, 0.916290731874155, 2.30258509299405}},
    {"erf",
     {-3, -1.25, -0.5, 0, 0.5, 1.25, 3},
     {-0.999977909503001, -0.922900128256458, -0.520499877813047, 0, 0.520499877813047,
      0.922900128256458, 0.999977909503001}},
    {"sin",
     {-3, -1.25, -0.5, 0, 0.5, 1.25, 3},
     {-0.141120008059867, -0.948984619355586, -0.479425538604203, 0, 0.479425538604203,
      0.948984619355586, 0.141120008059867}},
    {"cos",
     {-3, -1.25, -0.5, 0, 0.5, 1.25, 3},
     {-0.989992496600445, 0.315322362395269, 0.877582561890373, 1, 0.877582561890373,
      0.315322362395269, -0.989992496600445}},
    {"tan",
     {-0.875, -0.5, 0, 0.25, 0.875},
     {-1.19742162923435, -0.54630248984379, 0, 0.255341921221036, 1.19742162923435}},
    {"asin",
     {-0.875, -0.5, 0, 0.25, 0.875},
     {-1.06543581651074, -0.523598775598299, 0, 0.252680255142079, 1.06543581651074}},
    {"acos",
     {-0.875, -0.5, 0, 0.25, 0.875},
     {2.63623214330564, 2.0943951023932, 1.5707963267949, 1.31811607165282, 0.505360510284157}},
    {"atan",
     {-3, -1.25, -0.5, 0, 0.5, 1.25, 3},
     {-1.24904577239825, -0.896055384571344, -0.463647609000806, 0, 0.463647609000806,
      0.896055384571344, 1.24904577239825}},
    {"sinh",
     {-3, -1.25, -0.5, 0, 0.5, 1.25, 3},
     {-10.0178749274099, -1.60191908030083, -0.521095305493747, 0, 0.521095305493747,
      1.60191908030083, 10.0178749274099}},
    {"cosh",
     {-3, -1.25, -0.5, 0, 0.5, 1.25, 3},
     {10.0676619957778, 1.88842387716102, 1.12762596520638, 1, 1.12762596520638, 1.88842387716102,
      10.0676619957778}},
    {"tanh",
     {-3, -1.25, -0.5, 0, 0.5, 1.25, 3},
     {-0.99505475368673, -0.848283639957513, -0.46211715726001, 0, 0.46211715726001,
      0.848283639957513, 0.99505475368673}},
    {"asinh",
     {-3, -1.25, -0.5, 0, 0.5, 1.25, 3},
     {-1.81844645923207, -1.04759301264926, -0.481211825059603, 0, 0.481211825059603,
      1.04759301264926, 1.81844645923207}},
    {"acosh", {1, 1.25, 2.5, 10}, {0, 0.693147180559945, 1.56679923697241, 2.99322284612638}},
    {"atanh",
     {-0.875, -0.5, 0, 0.25, 0.875},
     {-1.35402510055111, -0.549306144334055, 0, 0.255412811882995, 1.35402510055111}},

    {"sigmoid",
     {-3, -1.25, -0.5, 0, 0.5, 1.25, 3},
     {0.0474258731775668, 0.222700138825309, 0.377540668798145, 0.5, 0.622459331201855,
      0.777299861174691, 0.952574126822433}},
    {"softplus",
     {-3, -1.25, -0.5, 0, 0.5, 1.25, 3},
     {0.0485873515737421, 0.251929081345373, 0.474076984180107, 0.693147180559945,
      0.974076984180107, 1.50192908134537, 3.04858735157374}},
    {"softsign",
     {-3, -1.25, -0.5, 0, 0.5, 1.25, 3},
     {-0.75, -0.555555555555556, -0.333333333333333, 0, 0.333333333333333, 0.555555555555556,
      0.75}},
    {"hard_swish",
     {-3, -1.25, -0.5, 0, 0.5, 1.25, 3},
     {0, -0.364583333333333, -0.208333333333333, 0, 0.291666666666667, 0.885416666666667, 3}},
    {"mish",
     {-3, -1.25, -0.5, 0, 0.5, 1.25, 3},
     {-0.145647461275625, -0.308413961141528, -0.22074377465173, 0, 0.375245211304895,
      1.13187030424104, 2.98653500496796}},
    {"leaky_relu",
     {-3, -1.25, -0.5, 0, 0.5, 1.25, 3},
     {-0.3, -0.125, -0.05, 0, 0.5, 1.25, 3},
     {{"alpha", 0.1}}},
    {"elu",
     {-3, -1.25, -0.5, 0, 0.5, 1.25, 3},
     {-1.4253193974482, -1.07024280470971, -0.59020401043105, 0, 0.5, 1.25, 3},
     {{"alpha", 1.5}}},
    {"selu",
     {-3, -1.25, -0.5, 0, 0.5, 1.25, 3},
     {-1.67056872876711, -1.25439544633786, -0.691758187802871, 0, 0.52535049367774,
      1.31337623419435, 3.15210296206644},
     {{"alpha", 1.6732632423543772}, {"gamma", 1.0507009873554805}}},
    {"celu",
     {-3, -1.25, -0.5, 0, 0.5, 1.25, 3},
     {-1.55373967970314, -0.929477142962019, -0.44239843385719, 0, 0.5, 1.25, 3},
     {{"alpha", 2.0}}},
    {"hard_sigmoid",
     {-3, -1.25, -0.5, 0, 0.5, 1.25, 3},
     {0, 0.291666666666667, 0.416666666666667, 0.5, 0.583333333333333, 0.708333333333333, 1},
     {{"alpha", 1.0 / 6}, {"beta", 0.5}}},
    {"thresholded_relu", {-3, -1.25, -0.5, 0, 0.5, 1.25, 3}, {0, 0, 0, 0, 0, 1.25, 3}},
    {"swish",
     {-3, -1.25, -0.5, 0, 0.5, 1.25, 3},
     {-0.1422776195327, -0.278375173531636, -0.188770334399073, 0, 0.311229665600927,
      0.971624826468364, 2.8577223804673}},
    {"gelu",
     {-3, -1.25, -0.5, 0, 0.5, 1.25, 3},
     {-0.00404969409489031, -0.132062217083569, -0.154268769362993, 0, 0.345731230637007,
      1.11793778291643, 2.99595030590511}},
    {"gelu",
     {-3, -1.25, -0.5, 0, 0.5, 1.25, 3},
     {-0.00363739208177299, -0.132285797030285, -0.154285990174856, 0, 0.345714009825144,
      1.11771420296971, 2.99636260791823},
     {{"approximate", "tanh"}}},
    {"shrink",
     {-3, -1.25, -0.5, 0, 0.5, 1.25, 3},
     {-3, -1.25, 0, 0, 0, 1.25, 3},
     {{"lambd", 0.75}}},
    {"shrink",
     {-3, -1.25, -0.5, 0, 0.5, 1.25, 3},
     {-2.25, -0.5, 0, 0, 0, 0.5, 2.25},
     {{"lambd", 0.75}, {"bias", 0.75}}},
    {"relu", {-3, -1.25, -0.5, 0, 0.5, 1.25, 3}, {0, 0, 0, 0, 0.5, 1.25, 3}},
};

// Every x is exact in every dtype, so 16-bit floats add one rounding, that of the result.
TEST(Elementwise, AgreesWithPublishedValuesInEveryFloat) {
  for (const FunctionCase& row : kFunctionCases) {
    for (DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
      SCOPED_TRACE(cat(row.op, row.attrs, " ", dtype));
      auto n = static_cast<int64_t>(row.x.size());
      expect_close(run_op1(row.op, {tensor(dtype, {n}, row.x)}, row.attrs),
                   tensor(dtype, {n}, row.y));
    }
  }
}

TEST(Elementwise, RoundsHalvesToEven) {
  Values x = f32({6}, {-2.5, -1.5, -0.5, 0.5, 1.5, 2.4});
  expect_close(run_op1("round", {x}), f32({6}, {-2, -2, 0, 0, 2, 2}));
  expect_close(run_op1("floor", {x}), f32({6}, {-3, -2, -1, 0, 1, 2}));
  expect_close(run_op1("ceil", {x}), f32({6}, {-2, -1, 0, 1, 2, 3}));
}

TEST(Elementwise, TakesSigns) {
  Values x = f32({4}, {-2, 0, 3, kNaN});
  expect_close(run_op1("sign", {x}), f32({4}, {-1, 0, 1, kNaN}));
  expect_close(run_op1("abs", {x}), f32({4}, {2, 0, 3, kNaN}));
  expect_close(run_op1("negative", {x}), f32({4}, {2, 0, -3, kNaN}));
}

TEST(Elementwise, WrapsAroundInIntegers) {
  Values x = tensor(DType::kI8, {3}, {-128, -1, 5});
  expect_close(run_op1("negative", {x}), tensor(DType::kI8, {3}, {-128, 1, -5}));
  expect_close(run_op1("abs", {x}), tensor(DType::kI8, {3}, {-128, 1, 5}));
  expect_close(run_op1("sign", {tensor(DType::kU8, {2}, {0, 200})}),
               tensor(DType::kU8, {2}, {0, 1}));
}

TEST(Elementwise, InvertsTruthAndBits) {
  expect_close(run_op1("logical_not", {tensor(DType::kBool, {2}, {0, 1})}),
               tensor(DType::kBool, {2}, {1, 0}));
  expect_close(run_op1("bitwise_not", {tensor(DType::kU8, {2}, {0, 0x0f})}),
               tensor(DType::kU8, {2}, {255, 240}));
  expect_close(run_op1("bitwise_not", {i64({2}, {0, 5})}), i64({2}, {-1, -6}));
}

TEST(Elementwise, FindsWhatIsNoNumber) {
  Values x = f32({5}, {1, kNaN, kInf, -kInf, 0});
  auto truth = [](std::vector<double> values) {
    return tensor(DType::kBool, {5}, std::move(values));
  };
  expect_close(run_op1("is_nan", {x}), truth({0, 1, 0, 0, 0}));
  expect_close(run_op1("is_inf", {x}), truth({0, 0, 1, 1, 0}));
  expect_close(run_op1("is_inf", {x}, {{"detect_negative", false}}), truth({0, 0, 1, 0, 0}));
  expect_close(run_op1("is_inf", {x}, {{"detect_positive", false}}), truth({0, 0, 0, 1, 0}));
}

TEST(Elementwise, CopiesEveryDtype) {
  for (int k = 0; k < kDTypeCount; ++k) {
    Values x = tensor(static_cast<DType>(k), {3}, {0, 1, 1});
    expect_close(run_op1("identity", {x}), x);
  }
}

TEST(Elementwise, AcceptsAnEmptyTensor) {
  expect_close(run_op1("exp", {f32({0, 3}, {})}), f32({0, 3}, {}));
}

TEST(Activation, StaysFiniteFarFromZero) {
  Values x = f32({2}, {-1000, 1000});
  expect_close(run_op1("softplus", {x}), f32({2}, {0, 1000}));
  expect_close(run_op1("sigmoid", {x}), f32({2}, {0, 1}));
  expect_close(run_op1("mish", {x}), f32({2}, {0, 1000}));
  expect_close(run_op1("elu", {x}), f32({2}, {-1, 1000}));
}

TEST(Activation, KeepsNaN) {
  for (const char* op : {"relu", "clip", "leaky_relu", "elu"})
    expect_close(run_op1(op, {f32({1}, {kNaN})}), f32({1}, {kNaN}));
}

TEST(Relu, TakesIntegers) {
  expect_close(run_op1("relu", {tensor(DType::kI32, {3}, {-5, 0, 7})}),
               tensor(DType::kI32, {3}, {0, 0, 7}));
}

TEST(Clip, BindsOnlyWhatIsGiven) {
  Values x = f32({4}, {-7, -1, 1, 7});
  expect_close(run_op1("clip", {x}), x);
  expect_close(run_op1("clip", {x}, {{"min", -2.0}}), f32({4}, {-2, -1, 1, 7}));
  expect_close(run_op1("clip", {x}, {{"max", 2.0}}), f32({4}, {-7, -1, 1, 2}));
  expect_close(run_op1("clip", {x}, {{"min", 0}, {"max", 6}}), f32({4}, {0, 0, 1, 6}));
}

TEST(Clip, GivesTheUpperBoundWhenBoundsCross) {
  expect_close(run_op1("clip", {f32({2}, {-7, 7})}, {{"min", 2.0}, {"max", 1.0}}),
               f32({2}, {1, 1}));
}

TEST(Clip, CutsBoundsToTheRangeOfIntegers) {
  Values x = tensor(DType::kU8, {3}, {0, 100, 255});
  expect_close(run_op1("clip", {x}, {{"min", -5.0}, {"max", 1e9}}), x);
  expect_close(run_op1("clip", {x}, {{"min", 10.0}, {"max", 99.0}}),
               tensor(DType::kU8, {3}, {10, 99, 99}));
}

TEST(ElementwiseInfer, KeepsTypeAndSymbols) {
  TensorType x{DType::kF16, {Dim::symbol("N"), Dim(3)}};
  EXPECT_EQ(infer("tanh", {x}), "f16[N,3]");
  EXPECT_EQ(infer("is_nan", {x}), "bool[N,3]");
  EXPECT_EQ(infer("identity", {x}), "f16[N,3]");
}

TEST(ElementwiseInfer, RejectsOtherDtypes) {
  EXPECT_EQ(infer("tanh", {type_of(DType::kI64, {2})}),
            "tanh: x is i64[2], expects one of f32 f64 f16 bf16");
  EXPECT_EQ(infer("is_nan", {type_of(DType::kBool, {2})}),
            "is_nan: x is bool[2], expects one of f32 f64 f16 bf16");
  EXPECT_EQ(infer("logical_not", {type_of(DType::kF32, {2})}),
            "logical_not: x is f32[2], expects one of bool");
}

TEST(GeluInfer, RejectsAnUnknownApproximation) {
  EXPECT_EQ(infer("gelu", {type_of(DType::kF32, {2})}, {{"approximate", "fast"}}),
            "gelu: approximate is \"fast\", expects \"none\" or \"tanh\"");
}

TEST(ClipInfer, RejectsABoundThatIsNoNumber) {
  EXPECT_EQ(infer("clip", {type_of(DType::kF32, {2})}, {{"min", kNaN}}),
            "clip: min is not a number");
}

}  // namespace
}  // namespace byoc::testing
