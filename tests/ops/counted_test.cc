// SPDX-License-Identifier: Apache-2.0
// Ops that count their results. Expected numbers: numpy's nonzero, compress, unique and arange; for
// boxes, worked out by hand.
#include <map>
#include <random>

#include "support/run_op.h"

namespace byoc::testing {
namespace {

using ::testing::HasSubstr;

Attrs sized(Attrs attrs = {}) {
  attrs.set("size", std::string("n"));
  return attrs;
}

Values b8(const std::vector<int64_t>& dims, std::vector<double> values) {
  return tensor(DType::kBool, dims, std::move(values));
}

// ---- nonzero

TEST(Nonzero, HasAColumnPerElementInRowMajorOrder) {
  expect_close(run_op1("nonzero", {f32({2, 3}, {0, 5, NAN, 7, 0, -0.0})}, sized()),
               i64({2, 3}, {0, 0, 1, 1, 2, 0}));
  expect_close(run_op1("nonzero", {b8({4}, {1, 0, 0, 1})}, sized()), i64({1, 2}, {0, 3}));
}

TEST(Nonzero, OfNothingAndOfAScalar) {
  expect_close(run_op1("nonzero", {f32({2}, {0, 0})}, sized()), i64({1, 0}, {}));
  expect_close(run_op1("nonzero", {f32({}, {3})}, sized()), i64({0, 1}, {}));
  expect_close(run_op1("nonzero", {f32({0, 3}, {})}, sized()), i64({2, 0}, {}));
}

TEST(NonzeroInfer, IsAtMostAllElements) {
  EXPECT_EQ(infer("nonzero", {type_of(DType::kF32, {3, 4})}, sized()), "i64[2,?n<=12]");
  TensorType counted{DType::kF32, {Dim::counted("m", 5), Dim(2)}};
  EXPECT_EQ(infer("nonzero", {counted}, sized()), "i64[2,?n<=10]");
  TensorType open{DType::kF32, {Dim::symbol("N"), Dim(2)}};
  EXPECT_THAT(infer("nonzero", {open}, sized()), HasSubstr("dim N needs an upper bound"));
}

// ---- compress

TEST(Compress, SelectsEntriesOfAnAxis) {
  Values x = f32({3, 2}, {1, 2, 3, 4, 5, 6});
  expect_close(run_op1("compress", {x, b8({3}, {0, 1, 1})}, sized({{"axis", 0}})),
               f32({2, 2}, {3, 4, 5, 6}));
  expect_close(run_op1("compress", {x, b8({2}, {0, 1})}, sized({{"axis", -1}})),
               f32({3, 1}, {2, 4, 6}));
  expect_close(run_op1("compress", {x, b8({5}, {0, 1, 0, 0, 1})}, sized()), f32({2}, {2, 5}));
}

TEST(Compress, EndsWithTheShorterOfConditionAndAxis) {
  Values x = i64({2}, {7, 8});
  expect_close(run_op1("compress", {x, b8({1}, {1})}, sized({{"axis", 0}})), i64({1}, {7}));
  expect_close(run_op1("compress", {x, b8({3}, {0, 1, 1})}, sized({{"axis", 0}})), i64({1}, {8}));
}

TEST(CompressInfer, ChecksTheCondition) {
  TensorType x = type_of(DType::kF32, {3, 2});
  EXPECT_EQ(infer("compress", {x, type_of(DType::kBool, {2})}, sized({{"axis", 0}})),
            "f32[?n<=2,2]");
  EXPECT_EQ(infer("compress", {x, type_of(DType::kBool, {9})}, sized()), "f32[?n<=6]");
  EXPECT_THAT(infer("compress", {x, type_of(DType::kF32, {2})}, sized()),
              HasSubstr("condition is f32[2]"));
  EXPECT_THAT(infer("compress", {x, type_of(DType::kBool, {2, 1})}, sized()),
              HasSubstr("condition has rank 2, expects 1"));
  EXPECT_THAT(infer("compress", {x, type_of(DType::kBool, {2})}, sized({{"axis", 2}})),
              HasSubstr("axis 2 is outside"));
}

// ---- unique

void expect_unique(const Values& x, Attrs attrs, const std::vector<Values>& expected) {
  auto got = run_op("unique", {x}, sized(std::move(attrs)));
  ASSERT_TRUE(got.ok()) << got.status().to_string();
  for (size_t k = 0; k < 4; ++k) expect_close((*got)[k], expected[k]);
}

TEST(Unique, SortsValues) {
  expect_unique(f32({6}, {2, 1, 1, 3, 4, 3}), {},
                {f32({4}, {1, 2, 3, 4}), i64({4}, {1, 0, 3, 4}), i64({6}, {1, 0, 0, 2, 3, 2}),
                 i64({4}, {2, 1, 2, 1})});
}

TEST(Unique, KeepsTheOrderOfFirstOccurrence) {
  expect_unique(f32({6}, {2, 1, 1, 3, 4, 3}), {{"sorted", false}},
                {f32({4}, {2, 1, 3, 4}), i64({4}, {0, 1, 3, 4}), i64({6}, {0, 1, 1, 2, 3, 2}),
                 i64({4}, {1, 2, 2, 1})});
}

TEST(Unique, ComparesSlicesOfAnAxis) {
  expect_unique(
      i64({3, 3}, {1, 0, 0, 1, 0, 0, 2, 3, 4}), {{"axis", 0}},
      {i64({2, 3}, {1, 0, 0, 2, 3, 4}), i64({2}, {0, 2}), i64({3}, {0, 0, 1}), i64({2}, {2, 1})});
  expect_unique(
      i64({2, 3}, {1, 1, 0, 5, 5, 5}), {{"axis", 1}},
      {i64({2, 2}, {0, 1, 5, 5}), i64({2}, {2, 0}), i64({3}, {1, 1, 0}), i64({2}, {1, 2})});
}

TEST(Unique, TakesNanAsOneValueAndTheGreatest) {
  expect_unique(f32({4}, {NAN, 1, NAN, INFINITY}), {},
                {f32({3}, {1, INFINITY, NAN}), i64({3}, {1, 3, 0}), i64({4}, {2, 0, 2, 1}),
                 i64({3}, {1, 1, 2})});
}

TEST(Unique, OfNothingIsNothing) {
  expect_unique(f32({0}, {}), {}, {f32({0}, {}), i64({0}, {}), i64({0}, {}), i64({0}, {})});
}

// Compares with a map from each value to the places that have it.
TEST(UniqueRandom, GroupsNumbersOfEveryTypeAsAMapDoes) {
  std::mt19937 random(7);
  auto pick = [&](int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); };
  for (DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI8, DType::kU8,
                      DType::kI16, DType::kU16, DType::kI32, DType::kI64, DType::kBool}) {
    const bool is_signed = is_float(dtype) || is_signed_int(dtype);
    for (int round = 0; round < 20; ++round) {
      const int n = 1 + pick(400), range = dtype == DType::kBool ? 2 : 1 + pick(120);
      const double scale = dtype == DType::kI32 || dtype == DType::kI64 ? 1e6 + 1 : 1;
      Values x{type_of(dtype, {n}), {}};
      std::map<double, std::vector<double>> places;
      for (int k = 0; k < n; ++k) {
        x.values.push_back(scale * (pick(range) - (is_signed ? range / 2 : 0)));
        places[x.values.back()].push_back(k);
      }
      const auto groups = static_cast<int64_t>(places.size());
      Values y{type_of(dtype, {groups}), {}}, first{type_of(DType::kI64, {groups}), {}};
      Values counts = first;
      Values inverse = i64({n}, std::vector<double>(static_cast<size_t>(n)));
      for (const auto& [value, at] : places) {
        for (double k : at)
          inverse.values[static_cast<size_t>(k)] = static_cast<double>(y.values.size());
        y.values.push_back(value);
        first.values.push_back(at.front());
        counts.values.push_back(static_cast<double>(at.size()));
      }
      expect_unique(x, {}, {y, first, inverse, counts});
    }
  }
}

TEST(Unique, TakesBothZerosAsOneValue) {
  expect_unique(
      f32({4}, {0, -1, -0.0, 1}), {},
      {f32({3}, {-1, 0, 1}), i64({3}, {1, 0, 3}), i64({4}, {1, 0, 1, 2}), i64({3}, {1, 2, 1})});
}

TEST(UniqueInfer, HasOneCountedDim) {
  EXPECT_EQ(infer("unique", {type_of(DType::kF32, {3, 4})}, sized()),
            "f32[?n<=12] i64[?n<=12] i64[12] i64[?n<=12]");
  EXPECT_EQ(infer("unique", {type_of(DType::kF32, {3, 4})}, sized({{"axis", 1}})),
            "f32[3,?n<=4] i64[?n<=4] i64[4] i64[?n<=4]");
  TensorType counted{DType::kF32, {Dim::counted("m", 5), Dim(2)}};
  EXPECT_THAT(infer("unique", {counted}, sized()), HasSubstr("the dims of x must be known"));
}

// ---- non_max_suppression

// Boxes 0 and 1 overlap by 9/11, 2 is elsewhere.
const Values kBoxes = f32({1, 3, 4}, {0, 0, 1, 1, 0, 0.1, 1, 1.1, 0, 10, 1, 11});

Values nms(const Values& scores, double most, double iou, std::vector<double> least = {}) {
  std::vector<Values> in = {kBoxes, scores, i64({1}, {most}), f32({1}, {iou})};
  if (!least.empty()) in.push_back(f32({1}, least));
  return run_op1("non_max_suppression", in, sized());
}

TEST(NonMaxSuppression, DropsBoxesThatOverlapABetterOne) {
  Values scores = f32({1, 1, 3}, {0.9, 0.75, 0.6});
  expect_close(nms(scores, 3, 0.5), i64({2, 3}, {0, 0, 0, 0, 0, 2}));
  expect_close(nms(scores, 3, 0.9), i64({3, 3}, {0, 0, 0, 0, 0, 1, 0, 0, 2}));
  expect_close(nms(scores, 1, 0.5), i64({1, 3}, {0, 0, 0}));
  expect_close(nms(scores, 0, 0.5), i64({0, 3}, {}));
}

TEST(NonMaxSuppression, KeepsScoresAboveTheThresholdAlone) {
  Values scores = f32({1, 2, 3}, {0.9, 0.75, 0.6, 0.1, 0.2, 0.6});
  expect_close(nms(scores, 3, 0.5, {0.6}), i64({1, 3}, {0, 0, 0}));
  expect_close(nms(scores, 3, 0.5, {0.15}), i64({4, 3}, {0, 0, 0, 0, 0, 2, 0, 1, 2, 0, 1, 1}));
}

TEST(NonMaxSuppression, KeepsTheEarlierOfEqualScores) {
  expect_close(nms(f32({1, 1, 3}, {0.5, 0.5, 0.5}), 3, 0.5), i64({2, 3}, {0, 0, 0, 0, 0, 2}));
}

TEST(NonMaxSuppression, TakesBoxesWithoutAScoreLast) {
  expect_close(nms(f32({1, 1, 3}, {NAN, 0.5, -INFINITY}), 3, 0.9),
               i64({3, 3}, {0, 0, 1, 0, 0, 2, 0, 0, 0}));
}

// Selects by the definition: the best box that is left, then all that overlap it are dropped.
std::vector<double> greedy(const Values& boxes, const Values& scores, size_t most, double iou,
                           double least) {
  const std::vector<double>&b = boxes.values, &s = scores.values;
  std::vector<bool> is_left(s.size());
  for (size_t k = 0; k < s.size(); ++k) is_left[k] = s[k] > least;
  auto share = [&](size_t p, size_t q) {  // in f32, as the threshold is compared
    auto low = [&](size_t k, size_t d) { return static_cast<float>(b[4 * k + d]); };
    auto high = [&](size_t k, size_t d) { return static_cast<float>(b[4 * k + 2 + d]); };
    auto side = [&](size_t d) {
      return std::min(high(p, d), high(q, d)) - std::max(low(p, d), low(q, d));
    };
    auto area = [&](size_t k) { return (high(k, 1) - low(k, 1)) * (high(k, 0) - low(k, 0)); };
    if (side(0) <= 0 || side(1) <= 0) return 0.0f;
    const float common = side(1) * side(0);
    return common / (area(p) + area(q) - common);
  };
  std::vector<double> out;
  while (out.size() < 3 * most) {
    size_t best = s.size();
    for (size_t k = 0; k < s.size(); ++k)
      if (is_left[k] && (best == s.size() || s[k] > s[best])) best = k;
    if (best == s.size()) break;
    is_left[best] = false;
    out.insert(out.end(), {0, 0, static_cast<double>(best)});
    for (size_t k = 0; k < s.size(); ++k)
      if (is_left[k] && share(k, best) > static_cast<float>(iou)) is_left[k] = false;
  }
  return out;
}

TEST(NonMaxSuppressionRandom, SelectsTheBestThatIsLeftEachTime) {
  std::mt19937 random(11);
  auto draw = [&] { return static_cast<double>(random() % 64) / 64; };  // many equal scores
  for (int round = 0; round < 60; ++round) {
    const int64_t n = 1 + static_cast<int64_t>(random() % 500);
    const auto most = static_cast<size_t>(random() % 300);
    Values boxes{type_of(DType::kF32, {1, n, 4}), {}}, scores{type_of(DType::kF32, {1, 1, n}), {}};
    for (int64_t k = 0; k < n; ++k) {
      const double y = draw(), x = draw();
      for (double value : {y, x, y + 0.3 * draw(), x + 0.3 * draw()}) boxes.values.push_back(value);
      scores.values.push_back(draw());
    }
    const double iou = draw(), least = draw() / 2;
    std::vector<double> expected = greedy(boxes, scores, most, iou, least);
    const auto rows = static_cast<int64_t>(expected.size() / 3);
    expect_close(run_op1("non_max_suppression",
                         {boxes, scores, i64({1}, {static_cast<double>(most)}), f32({1}, {iou}),
                          f32({1}, {least})},
                         sized()),
                 i64({rows, 3}, std::move(expected)));
  }
}

TEST(NonMaxSuppression, ReadsCentersWhenAsked) {
  Values boxes = f32({1, 2, 4}, {0.5, 0.5, 1, 1, 0.5, 0.6, 1, 1});
  auto got = run_op("non_max_suppression",
                    {boxes, f32({1, 1, 2}, {0.4, 0.5}), i64({}, {2}), f32({}, {0.5})},
                    sized({{"center_point_box", true}}));
  ASSERT_TRUE(got.ok()) << got.status().to_string();
  expect_close(got->front(), i64({1, 3}, {0, 0, 1}));
}

TEST(NonMaxSuppression, RefusesAThresholdThatIsNoShare) {
  auto got = run_op("non_max_suppression",
                    {kBoxes, f32({1, 1, 3}, {1, 1, 1}), i64({}, {2}), f32({}, {1.5})}, sized());
  ASSERT_FALSE(got.ok());
  EXPECT_THAT(got.status().message(), HasSubstr("iou_threshold is 1.5, outside of [0, 1]"));
}

TEST(NonMaxSuppressionInfer, IsAtMostTheBoxesOfAllClasses) {
  std::vector<TensorType> in = {type_of(DType::kF32, {2, 10, 4}), type_of(DType::kF32, {2, 3, 10}),
                                type_of(DType::kI64, {}), type_of(DType::kF32, {1})};
  EXPECT_EQ(infer("non_max_suppression", in, sized()), "i64[?n<=60,3]");
  EXPECT_EQ(infer("non_max_suppression", in, sized({{"most_per_class", 4}})), "i64[?n<=24,3]");
  in[1] = type_of(DType::kF32, {2, 3, 9});
  EXPECT_THAT(infer("non_max_suppression", in, sized()), HasSubstr("boxes [b, n, 4] and scores"));
  in[1] = type_of(DType::kF32, {2, 3, 10});
  in[3] = type_of(DType::kF32, {2});
  EXPECT_THAT(infer("non_max_suppression", in, sized()),
              HasSubstr("iou_threshold must have one element"));
}

// ---- range, topk_counted

TEST(Range, CountsUpAndDown) {
  Attrs most = sized({{"most", 8}});
  expect_close(run_op1("range", {i64({}, {2}), i64({}, {9}), i64({}, {3})}, most),
               i64({3}, {2, 5, 8}));
  expect_close(run_op1("range", {i64({}, {2}), i64({}, {-2}), i64({}, {-1})}, most),
               i64({4}, {2, 1, 0, -1}));
  expect_close(run_op1("range", {f32({}, {0}), f32({}, {1}), f32({}, {0.25})}, most),
               f32({4}, {0, 0.25, 0.5, 0.75}));
  expect_close(run_op1("range", {i64({}, {5}), i64({}, {5}), i64({}, {1})}, most), i64({0}, {}));
}

TEST(Range, RefusesMoreThanItsBoundAndNoStep) {
  Attrs most = sized({{"most", 8}});
  auto longer = run_op("range", {i64({}, {0}), i64({}, {9}), i64({}, {1})}, most);
  ASSERT_FALSE(longer.ok());
  EXPECT_THAT(longer.status().message(), HasSubstr("it has 9 elements, at most 8 are possible"));
  auto message = [&](const std::vector<Values>& in) {
    auto got = run_op("range", in, most);
    return got.ok() ? std::string("no error") : got.status().message();
  };
  EXPECT_EQ(message({i64({}, {0}), i64({}, {9}), i64({}, {0})}),
            "range: from 0 to 9 by 0: delta must not be 0");
  EXPECT_EQ(message({f32({}, {9}), f32({}, {0}), f32({}, {0})}),
            "range: from 9 to 0 by 0: delta must not be 0");
  EXPECT_FALSE(run_op("range", {f32({}, {0}), f32({}, {NAN}), f32({}, {1})}, most).ok());
}

TEST(RangeInfer, ChecksOperands) {
  TensorType one = type_of(DType::kI64, {});
  EXPECT_EQ(infer("range", {one, one, one}, sized({{"most", 8}})), "i64[?n<=8]");
  EXPECT_THAT(infer("range", {one, one, type_of(DType::kI32, {})}, sized({{"most", 8}})),
              HasSubstr("expects one dtype"));
  EXPECT_THAT(infer("range", {one, type_of(DType::kI64, {2}), one}, sized({{"most", 8}})),
              HasSubstr("operands must have one element"));
  EXPECT_THAT(infer("range", {one, one, one}, sized({{"most", -1}})), HasSubstr("most is -1"));
}

TEST(TopkCounted, TakesAsManyAsItIsGiven) {
  auto got = run_op("topk_counted", {f32({2, 3}, {1, 3, 2, 6, 5, 4}), i64({1}, {2})}, sized());
  ASSERT_TRUE(got.ok()) << got.status().to_string();
  expect_close((*got)[0], f32({2, 2}, {3, 2, 6, 5}));
  expect_close((*got)[1], i64({2, 2}, {1, 2, 0, 1}));
  auto more = run_op("topk_counted", {f32({3}, {1, 3, 2}), i64({1}, {4})}, sized());
  ASSERT_FALSE(more.ok());
  EXPECT_THAT(more.status().message(), HasSubstr("k is 4, axis 0 has 3 elements"));
}

TEST(TopkCountedInfer, IsAtMostTheAxis) {
  TensorType x = type_of(DType::kF32, {2, 3});
  EXPECT_EQ(infer("topk_counted", {x, type_of(DType::kI64, {1})}, sized()),
            "f32[2,?n<=3] i64[2,?n<=3]");
  EXPECT_THAT(infer("topk_counted", {x, type_of(DType::kI64, {2})}, sized()),
              HasSubstr("k must have one element"));
}

// ---- ops on counted dims

TEST(CountedDims, PassThroughOtherOps) {
  const Dim n = Dim::counted("n", 12);
  TensorType x{DType::kF32, {n, Dim(4)}};
  EXPECT_EQ(infer("relu", {x}), "f32[?n<=12,4]");
  EXPECT_EQ(infer("transpose", {x}, {{"perm", Ints{1, 0}}}), "f32[4,?n<=12]");
  EXPECT_EQ(infer("add", {x, type_of(DType::kF32, {4})}), "f32[?n<=12,4]");
  EXPECT_EQ(infer("sum", {x}, {{"axes", Ints{0}}, {"keepdims", false}}), "f32[4]");
  EXPECT_EQ(infer("shape", {x}), "i64[2]");
  EXPECT_EQ(infer("gather", {type_of(DType::kF32, {9, 4}), {DType::kI64, {n}}}), "f32[?n<=12,4]");
  EXPECT_EQ(infer("matmul", {x, type_of(DType::kF32, {4, 5})}), "f32[?n<=12,5]");
}

TEST(CountedDims, AddUpAndMultiply) {
  const Dim n = Dim::counted("n", 12);
  TensorType x{DType::kF32, {n, Dim(4)}};
  EXPECT_EQ(infer("concat", {x, type_of(DType::kF32, {3, 4})}, {{"axis", 0}}),
            "f32[?\"n+3\"<=15,4]");
  EXPECT_EQ(infer("concat", {x, x}, {{"axis", 0}}), "f32[?\"n+n\"<=24,4]");
  EXPECT_EQ(infer("reshape", {x}, {{"shape", Ints{-1}}}), "f32[?\"n*4\"<=48]");
  EXPECT_EQ(infer("reshape", {x}, {{"shape", Ints{-1, 2, 2}}}), "f32[?n<=12,2,2]");
  EXPECT_EQ(infer("flatten", {x}, {{"axis", 0}}), "f32[1,?\"n*4\"<=48]");
}

TEST(CountedDims, AreSlicedWithTheBoundThatHoldsForAll) {
  TensorType x{DType::kF32, {Dim::counted("n", 12), Dim(4)}};
  auto slice = [&](int64_t start, int64_t end, int64_t step) {
    return infer(
        "slice", {x},
        {{"starts", Ints{start}}, {"ends", Ints{end}}, {"axes", Ints{0}}, {"steps", Ints{step}}});
  };
  EXPECT_EQ(slice(0, 5, 1), "f32[?\"n[0:5:1]\"<=5,4]");
  EXPECT_EQ(slice(-5, -1, 1), "f32[?\"n[-5:-1:1]\"<=4,4]");
  EXPECT_EQ(slice(0, -1, 1), "f32[?\"n[0:-1:1]\"<=11,4]");
  EXPECT_EQ(slice(-1, 1000, 1), "f32[?\"n[-1:1000:1]\"<=1,4]");
  EXPECT_EQ(slice(-3, INT64_MAX, 2), "f32[?\"n[-3:9223372036854775807:2]\"<=2,4]");
  EXPECT_EQ(slice(-7, 2, 1), "f32[?\"n[-7:2:1]\"<=2,4]");
  EXPECT_EQ(slice(3, -9, -1), "f32[?\"n[3:-9:-1]\"<=4,4]");
  EXPECT_EQ(slice(-1, INT64_MIN, -1), "f32[?\"n[-1:-9223372036854775808:-1]\"<=12,4]");
  EXPECT_EQ(slice(0, -1, 5), "f32[?\"n[0:-1:5]\"<=3,4]");
  EXPECT_EQ(slice(3, 3, 1), "f32[0,4]");
  EXPECT_EQ(slice(0, INT64_MAX, 1), "f32[?n<=12,4]");
}

TEST(CountedDims, BroadcastTogetherAsEachRunFindsThem) {
  TensorType a{DType::kF32, {Dim::counted("n", 12)}}, b{DType::kF32, {Dim::counted("m", 7)}};
  EXPECT_EQ(infer("add", {a, b}), "f32[?\"m~n\"<=12]");
  EXPECT_EQ(infer("add", {b, a}), "f32[?\"m~n\"<=12]");
  EXPECT_EQ(infer("add", {a, type_of(DType::kF32, {5})}), "f32[5]");
  EXPECT_EQ(infer("add", {a, type_of(DType::kF32, {1})}), "f32[?n<=12]");
  EXPECT_EQ(infer("add", {a, type_of(DType::kF32, {0})}), "f32[0]");
  TensorType open{DType::kF32, {Dim::symbol("N")}};
  EXPECT_THAT(infer("add", {a, open}), HasSubstr("before their sizes are known"));
}

}  // namespace
}  // namespace byoc::testing
