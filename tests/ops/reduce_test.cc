// SPDX-License-Identifier: Apache-2.0
// Reductions, argmax and argmin, topk, the softmax family and cumsum.
#include <cmath>
#include <limits>

#include "ops/constants.h"
#include "support/run_op.h"

namespace byoc::testing {
namespace {

const TensorType kCube{DType::kF32, {Dim(2), Dim(3), Dim(4)}};
constexpr const char* kReductions[] = {"sum", "mean", "max",        "min",     "prod",
                                       "l1",  "l2",   "sum_square", "log_sum", "log_sum_exp"};

TEST(ReduceInfer, DropsOrKeepsAxes) {
  for (const char* op : kReductions) {
    EXPECT_EQ(infer(op, {kCube}), "f32[1,1,1]");
    EXPECT_EQ(infer(op, {kCube}, {{"keepdims", false}}), "f32[]");
    EXPECT_EQ(infer(op, {kCube}, {{"axes", Ints{-1, 0}}}), "f32[1,3,1]");
    EXPECT_EQ(infer(op, {kCube}, {{"axes", Ints{1}}, {"keepdims", false}}), "f32[2,4]");
    EXPECT_EQ(infer(op, {kCube}, {{"noop_with_empty_axes", true}}), "f32[2,3,4]");
  }
}

TEST(ReduceInfer, KeepsSymbolicDims) {
  TensorType x{DType::kF32, {Dim::symbol("N"), Dim(3)}};
  EXPECT_EQ(infer("sum", {x}, {{"axes", Ints{1}}}), "f32[N,1]");
  EXPECT_EQ(infer("sum", {x}, {{"axes", Ints{0}}}), "f32[1,3]");
}

TEST(ReduceInfer, RejectsBadAxes) {
  EXPECT_EQ(infer("mean", {kCube}, {{"axes", Ints{3}}}),
            "mean: axis 3 is outside [-3, 3) (x f32[2,3,4])");
  EXPECT_EQ(infer("mean", {kCube}, {{"axes", Ints{0, -3}}}),
            "mean: axis 0 is named twice (x f32[2,3,4])");
}

TEST(ReduceInfer, RejectsOtherDtypes) {
  EXPECT_EQ(infer("sum", {type_of(DType::kBool, {2})}),
            "sum: x is bool[2], expects one of f32 f64 f16 bf16 i8 u8 i16 u16 i32 u32 i64 u64");
}

struct ReduceCase {
  const char* op;
  std::vector<double> rows, columns;  // over axis 1, over axis 0
};

// x = [[1, -2, 4], [0.5, 3, 2]]
const ReduceCase kReduceCases[] = {
    {"sum", {3, 5.5}, {1.5, 1, 6}},
    {"mean", {1, 5.5 / 3}, {0.75, 0.5, 3}},
    {"max", {4, 3}, {1, 3, 4}},
    {"min", {-2, 0.5}, {0.5, -2, 2}},
    {"prod", {-8, 3}, {0.5, -6, 8}},
    {"l1", {7, 5.5}, {1.5, 5, 6}},
    {"l2",
     {std::sqrt(21.0), std::sqrt(13.25)},
     {std::sqrt(1.25), std::sqrt(13.0), std::sqrt(20.0)}},
    {"sum_square", {21, 13.25}, {1.25, 13, 20}},
    {"log_sum", {std::log(3.0), std::log(5.5)}, {std::log(1.5), 0, std::log(6.0)}},
    {"log_sum_exp",
     {std::log(std::exp(1.0) + std::exp(-2.0) + std::exp(4.0)),
      std::log(std::exp(0.5) + std::exp(3.0) + std::exp(2.0))},
     {std::log(std::exp(1.0) + std::exp(0.5)), std::log(std::exp(-2.0) + std::exp(3.0)),
      std::log(std::exp(4.0) + std::exp(2.0))}},
};

TEST(Reduce, FollowsItsFormulaInEveryFloat) {
  for (const ReduceCase& row : kReduceCases) {
    for (DType dtype : kFloats) {
      SCOPED_TRACE(cat(row.op, " ", dtype));
      Values x = tensor(dtype, {2, 3}, {1, -2, 4, 0.5, 3, 2});
      expect_close(run_op1(row.op, {x}, {{"axes", Ints{1}}}), tensor(dtype, {2, 1}, row.rows));
      expect_close(run_op1(row.op, {x}, {{"axes", Ints{0}}, {"keepdims", false}}),
                   tensor(dtype, {3}, row.columns));
    }
  }
}

TEST(Reduce, TakesOuterAndInnerAxesTogether) {
  Values x = f32({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  expect_close(run_op1("sum", {x}, {{"axes", Ints{0, 2}}}), f32({1, 2, 1}, {14, 22}));
  expect_close(run_op1("max", {x}, {{"axes", Ints{0, 2}}, {"keepdims", false}}), f32({2}, {6, 8}));
  expect_close(run_op1("sum", {x}), f32({1, 1, 1}, {36}));
}

TEST(Reduce, TakesEveryElementAloneWithoutAxes) {
  Values x = f32({2}, {-3, 2});
  expect_close(run_op1("sum", {x}, {{"noop_with_empty_axes", true}}), x);
  expect_close(run_op1("sum_square", {x}, {{"noop_with_empty_axes", true}}), f32({2}, {9, 4}));
}

TEST(Reduce, OfAScalarIsThatScalar) { expect_close(run_op1("sum", {f32({}, {3})}), f32({}, {3})); }

TEST(Reduce, OfNothingIsTheNeutralElement) {
  Values x = f32({2, 0}, {});
  Attrs attrs{{"axes", Ints{1}}};
  expect_close(run_op1("sum", {x}, attrs), f32({2, 1}, {0, 0}));
  expect_close(run_op1("prod", {x}, attrs), f32({2, 1}, {1, 1}));
  expect_close(run_op1("max", {x}, attrs), f32({2, 1}, {-kInf, -kInf}));
  expect_close(run_op1("min", {x}, attrs), f32({2, 1}, {kInf, kInf}));
  expect_close(run_op1("mean", {x}, attrs), f32({2, 1}, {kNaN, kNaN}));
  expect_close(run_op1("mean", {i64({0}, {})}), i64({1}, {0}));
}

TEST(Reduce, ComputesInIntegers) {
  Values x = tensor(DType::kI8, {3}, {-100, -90, 3});
  expect_close(run_op1("sum", {x}), tensor(DType::kI8, {1}, {-187 + 256}));
  expect_close(run_op1("mean", {x}), tensor(DType::kI8, {1}, {-62}));
  expect_close(run_op1("min", {x}), tensor(DType::kI8, {1}, {-100}));
  expect_close(run_op1("l1", {tensor(DType::kI32, {3}, {-100, -90, 3})}),
               tensor(DType::kI32, {1}, {193}));
  expect_close(run_op1("l2", {tensor(DType::kI32, {2}, {3, -4})}), tensor(DType::kI32, {1}, {5}));
  expect_close(run_op1("mean", {tensor(DType::kU64, {2}, {10, 5})}), tensor(DType::kU64, {1}, {7}));
  expect_close(run_op1("max", {tensor(DType::kBool, {2}, {0, 1})}), tensor(DType::kBool, {1}, {1}));
}

// A running sum in f16 would not exceed 2048.
TEST(Reduce, SumsHalvesWithoutLosingThem) {
  Values x = tensor(DType::kF16, {4096}, std::vector<double>(4096, 1));
  expect_close(run_op1("sum", {x}), tensor(DType::kF16, {1}, {4096}));
}

TEST(Reduce, LetsNaNWin) {
  Values x = f32({3}, {1, kNaN, 3});
  for (const char* op : kReductions) expect_close(run_op1(op, {x}), f32({1}, {kNaN}));
}

TEST(LogSumExp, StaysFiniteForLargeNumbers) {
  expect_close(run_op1("log_sum_exp", {f32({2}, {1000, 1000})}), f32({1}, {1000 + std::log(2.0)}));
  expect_close(run_op1("log_sum_exp", {f32({2}, {-kInf, -kInf})}), f32({1}, {-kInf}));
  expect_close(run_op1("log_sum_exp", {f32({2}, {kInf, kInf})}), f32({1}, {kInf}));
}

TEST(ArgInfer, GivesIndices) {
  EXPECT_EQ(infer("argmax", {kCube}), "i64[1,3,4]");
  EXPECT_EQ(infer("argmin", {kCube}, {{"axis", -1}, {"keepdims", false}}), "i64[2,3]");
  EXPECT_EQ(infer("argmax", {kCube}, {{"axis", 3}}),
            "argmax: axis 3 is outside [-3, 3) (x f32[2,3,4])");
  EXPECT_EQ(infer("argmax", {type_of(DType::kF32, {2, 0})}, {{"axis", 1}}),
            "argmax: nothing to choose from along axis 1 (x f32[2,0])");
  EXPECT_EQ(infer("argmin", {type_of(DType::kBool, {2})}),
            "argmin: x is bool[2], expects one of f32 f64 f16 bf16 i8 u8 i16 u16 i32 u32 i64 u64");
}

TEST(Arg, FindsTheFirstOrTheLastOfEquals) {
  Values x = f32({2, 3}, {2, 1, 2, 3, 4, 3});
  expect_close(run_op1("argmax", {x}, {{"axis", 1}}), i64({2, 1}, {0, 1}));
  expect_close(run_op1("argmax", {x}, {{"axis", 1}, {"select_last_index", true}}),
               i64({2, 1}, {2, 1}));
  expect_close(run_op1("argmin", {x}, {{"axis", 1}, {"keepdims", false}}), i64({2}, {1, 0}));
  expect_close(run_op1("argmin", {x}, {{"axis", 1}, {"select_last_index", true}}),
               i64({2, 1}, {1, 2}));
  expect_close(run_op1("argmax", {x}), i64({1, 3}, {1, 1, 1}));
  expect_close(run_op1("argmax", {f32({3}, {1, kNaN, 5})}), i64({1}, {1}));
}

TEST(TopKInfer, ChecksK) {
  EXPECT_EQ(infer("topk", {kCube}, {{"k", 2}}), "f32[2,3,2] i64[2,3,2]");
  EXPECT_EQ(infer("topk", {kCube}, {{"k", 5}}),
            "topk: k is 5, axis 2 has 4 elements (x f32[2,3,4])");
  EXPECT_EQ(infer("topk", {kCube}, {{"k", -1}}),
            "topk: k is -1, axis 2 has 4 elements (x f32[2,3,4])");
  EXPECT_EQ(infer("topk", {{DType::kF32, {Dim::symbol("N")}}}, {{"k", 2}}),
            "topk: k is 2, axis 0 may have fewer elements (x f32[N])");
  EXPECT_EQ(infer("topk", {{DType::kF32, {Dim::symbol("N", 2)}}}, {{"k", 2}}), "f32[2] i64[2]");
  EXPECT_EQ(infer("topk", {kCube}, {{"k", 1}, {"axis", 7}}),
            "topk: axis 7 is outside [-3, 3) (x f32[2,3,4])");
  EXPECT_EQ(infer("topk", {type_of(DType::kBool, {2})}, {{"k", 1}}),
            "topk: x is bool[2], expects one of f32 f64 f16 bf16 i8 u8 i16 u16 i32 u32 i64 u64");
}

TEST(TopK, SortsTheBest) {
  Values x = f32({2, 5}, {3, 1, 4, 1, 5, 9, 2, 6, 5, 3});
  auto best = *run_op("topk", {x}, {{"k", 3}});
  expect_close(best[0], f32({2, 3}, {5, 4, 3, 9, 6, 5}));
  expect_close(best[1], i64({2, 3}, {4, 2, 0, 0, 2, 3}));
  auto least = *run_op("topk", {x}, {{"k", 2}, {"largest", false}});
  expect_close(least[0], f32({2, 2}, {1, 1, 2, 3}));
  expect_close(least[1], i64({2, 2}, {1, 3, 1, 4}));
}

TEST(TopK, WorksAlongAnOuterAxis) {
  auto best = *run_op("topk", {f32({3, 2}, {1, 6, 5, 2, 3, 4})}, {{"k", 2}, {"axis", 0}});
  expect_close(best[0], f32({2, 2}, {5, 6, 3, 4}));
  expect_close(best[1], i64({2, 2}, {1, 0, 2, 2}));
}

TEST(TopK, OfNoneIsEmpty) {
  auto none = *run_op("topk", {f32({3}, {1, 2, 3})}, {{"k", 0}});
  expect_close(none[0], f32({0}, {}));
}

TEST(SoftmaxInfer, ChecksAxisAndDtype) {
  EXPECT_EQ(infer("softmax", {kCube}), "f32[2,3,4]");
  EXPECT_EQ(infer("softmax", {kCube}, {{"axis", -4}}),
            "softmax: axis -4 is outside [-3, 3) (x f32[2,3,4])");
  EXPECT_EQ(infer("hardmax", {type_of(DType::kI64, {2})}),
            "hardmax: x is i64[2], expects one of f32 f64 f16 bf16");
  EXPECT_EQ(infer("cumsum", {kCube}, {{"axis", 3}}),
            "cumsum: axis 3 is outside [-3, 3) (x f32[2,3,4])");
  EXPECT_EQ(infer("cumsum", {type_of(DType::kBool, {2})}, {{"axis", 0}}),
            "cumsum: x is bool[2], expects one of f32 f64 f16 bf16 i8 u8 i16 u16 i32 u32 i64 u64");
}

const std::vector<double> kRows = {-2, 1.5, -0.5, 3, 1, -1};  // [2, 3]

// Expected values: torch.softmax and torch.log_softmax in f64.
TEST(CumProd, MultipliesAlongALine) {
  Values x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  expect_close(run_op1("cumprod", {x}, {{"axis", 1}}), f32({2, 3}, {1, 2, 6, 4, 20, 120}));
  expect_close(run_op1("cumprod", {x}, {{"axis", 0}}), f32({2, 3}, {1, 2, 3, 4, 10, 18}));
  expect_close(run_op1("cumprod", {x}, {{"axis", 1}, {"exclusive", true}}),
               f32({2, 3}, {1, 1, 2, 1, 4, 20}));
  expect_close(run_op1("cumprod", {x}, {{"axis", 1}, {"exclusive", true}, {"reverse", true}}),
               f32({2, 3}, {6, 3, 1, 30, 6, 1}));
  EXPECT_EQ(run_op1("cumprod", {tensor(DType::kI8, {3}, {100, 2, 2})}, {{"axis", 0}}).values,
            (std::vector<double>{100, -56, -112}));  // wraps around
}

TEST(Softmax, AgreesWithTorch) {
  for (DType dtype : kFloats) {
    Values x = tensor(dtype, {2, 3}, kRows);
    expect_close(run_op1("softmax", {x}),
                 tensor(dtype, {2, 3},
                        {0.0259086547174015, 0.857976810608457, 0.116114534674141,
                         0.866813332197335, 0.117310427826198, 0.0158762399764668}));
    expect_close(run_op1("log_softmax", {x}),
                 tensor(dtype, {2, 3},
                        {-3.65317820712229, -0.153178207122288, -2.15317820712229, -0.1429316284999,
                         -2.1429316284999, -4.1429316284999}));
  }
}

TEST(Softmax, WorksAlongAnOuterAxis) {
  double a = 1 / (1 + std::exp(5.0)), b = 1 / (1 + std::exp(-0.5)), c = 1 / (1 + std::exp(-0.5));
  expect_close(
      run_op1("softmax", {f32({2, 3}, kRows)}, {{"axis", 0}}),
      f32({2, 3}, {a, 1 / (1 + std::exp(-0.5)), 1 / (1 + std::exp(-0.5)), 1 - a, 1 - b, 1 - c}));
}

TEST(Softmax, StaysFiniteForLargeNumbers) {
  expect_close(run_op1("softmax", {f32({2}, {1000, 1000})}), f32({2}, {0.5, 0.5}));
  expect_close(run_op1("log_softmax", {f32({2}, {0, -1000})}), f32({2}, {0, -1000}));
}

TEST(Hardmax, MarksTheFirstGreatest) {
  expect_close(run_op1("hardmax", {f32({2, 3}, {1, 3, 3, 2, 0, 1})}),
               f32({2, 3}, {0, 1, 0, 1, 0, 0}));
}

TEST(Cumsum, RunsBothWays) {
  Values x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  expect_close(run_op1("cumsum", {x}, {{"axis", 1}}), f32({2, 3}, {1, 3, 6, 4, 9, 15}));
  expect_close(run_op1("cumsum", {x}, {{"axis", 0}}), f32({2, 3}, {1, 2, 3, 5, 7, 9}));
  expect_close(run_op1("cumsum", {x}, {{"axis", 1}, {"exclusive", true}}),
               f32({2, 3}, {0, 1, 3, 0, 4, 9}));
  expect_close(run_op1("cumsum", {x}, {{"axis", 1}, {"reverse", true}}),
               f32({2, 3}, {6, 5, 3, 15, 11, 6}));
  expect_close(run_op1("cumsum", {x}, {{"axis", 1}, {"reverse", true}, {"exclusive", true}}),
               f32({2, 3}, {5, 3, 0, 11, 6, 0}));
  expect_close(run_op1("cumsum", {i64({3}, {1, -2, 4})}, {{"axis", 0}}), i64({3}, {1, -1, 3}));
}

}  // namespace
}  // namespace byoc::testing
