// SPDX-License-Identifier: Apache-2.0
// transpose, expand, tile, depth_to_space, space_to_depth, slice, reverse_sequence, pad, trilu,
// eye_like. Expected values: numpy on arange.
#include "byoc/ir/dim.h"
#include "pattern.h"

namespace byoc::testing {
namespace {

const Dim kMovedN = Dim::symbol("N");

Values range(const std::vector<int64_t>& dims, DType dtype = DType::kF32) {
  return pattern(dims, 1, 1000, 0, dtype);
}

TEST(Transpose, PermutesDims) {
  Values y = run_op1("transpose", {range({2, 3, 4})}, {{"perm", Ints{1, 2, 0}}});
  expect_close(y, f32({3, 4, 2}, {0, 12, 1, 13, 2, 14, 3, 15, 4,  16, 5,  17,
                                  6, 18, 7, 19, 8, 20, 9, 21, 10, 22, 11, 23}));
  for (DType dtype : {DType::kBool, DType::kF16, DType::kI64}) {
    expect_close(run_op1("transpose", {tensor(dtype, {1, 2}, {1, 0})}),
                 tensor(dtype, {2, 1}, {1, 0}));
  }
  EXPECT_EQ(run_op1("transpose", {range({0, 2})}).type, f32_type({2, 0}));
  expect_close(run_op1("transpose", {f32({}, {3})}), f32({}, {3}));
}

TEST(Transpose, RejectsWhatIsNoPermutation) {
  auto permuted = [](const Shape& x, Ints perm) {
    return infer("transpose", {f32_type(x)}, {{"perm", std::move(perm)}});
  };
  EXPECT_EQ(permuted({kMovedN, 3}, {1, 0}), "f32[3,N]");
  EXPECT_EQ(permuted({kMovedN, 3, 4}, {}), "f32[4,3,N]");
  EXPECT_EQ(permuted({2, 3}, {0, 0}),
            "transpose: perm [0,0] is no permutation of the dims (x f32[2,3])");
  EXPECT_EQ(permuted({2, 3}, {0, 2}),
            "transpose: perm [0,2] is no permutation of the dims (x f32[2,3])");
  EXPECT_EQ(permuted({2, 3}, {-1, 0}),
            "transpose: perm [-1,0] is no permutation of the dims (x f32[2,3])");
  EXPECT_EQ(permuted({2, 3}, {1}),
            "transpose: perm [1] is no permutation of the dims (x f32[2,3])");
}

TEST(Expand, BroadcastsBothWays) {
  expect_close(run_op1("expand", {f32({2, 1}, {1, 2})}, {{"shape", Ints{2, 1, 3}}}),
               f32({2, 2, 3}, {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2}));
  expect_close(run_op1("expand", {f32({2, 1}, {1, 2})}, {{"shape", Ints{}}}), f32({2, 1}, {1, 2}));
  EXPECT_EQ(run_op1("expand", {f32({1}, {1})}, {{"shape", Ints{3, 0}}}).type, f32_type({3, 0}));
  EXPECT_EQ(infer("expand", {f32_type({kMovedN, 1})}, {{"shape", Ints{1, 4}}}), "f32[N,4]");
}

TEST(Expand, RejectsWhatDoesNotBroadcast) {
  EXPECT_EQ(infer("expand", {f32_type({2, 3})}, {{"shape", Ints{4}}}),
            "expand: dims 3 and 4 do not broadcast (f32[2,3], f32[4])");
  EXPECT_EQ(infer("expand", {f32_type({2})}, {{"shape", Ints{-1}}}),
            "expand: shape holds -1 (x f32[2])");
}

TEST(Tile, RepeatsDims) {
  expect_close(
      run_op1("tile", {range({2, 3})}, {{"repeats", Ints{2, 2}}}),
      f32({4, 6}, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5, 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}));
  EXPECT_EQ(run_op1("tile", {range({2, 3})}, {{"repeats", Ints{0, 2}}}).type, f32_type({0, 6}));
  EXPECT_EQ(infer("tile", {f32_type({kMovedN, 3})}, {{"repeats", Ints{1, 2}}}), "f32[N,6]");
}

TEST(Tile, RejectsWhatDoesNotFit) {
  auto tiled = [](const Shape& x, Ints repeats) {
    return infer("tile", {f32_type(x)}, {{"repeats", std::move(repeats)}});
  };
  EXPECT_EQ(tiled({2, 3}, {2}), "tile: repeats has 1 entries, expected 2 (x f32[2,3])");
  EXPECT_EQ(tiled({2}, {-1}), "tile: repeats holds -1 (x f32[2])");
  EXPECT_EQ(tiled({kMovedN}, {2}), "f32[(2*N : N)]");
  EXPECT_EQ(tiled({4, 0}, {int64_t{1} << 62, 1}),
            "tile: dim 0 times 4611686018427387904 does not fit in 63 bits (x f32[4,0])");
}

TEST(DepthToSpace, HasBothOrders) {
  expect_close(run_op1("depth_to_space", {range({1, 8, 1, 2})}, {{"blocksize", 2}}),
               f32({1, 2, 2, 4}, {0, 4, 1, 5, 8, 12, 9, 13, 2, 6, 3, 7, 10, 14, 11, 15}));
  expect_close(
      run_op1("depth_to_space", {range({1, 8, 1, 2})}, {{"blocksize", 2}, {"mode", "CRD"}}),
      f32({1, 2, 2, 4}, {0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15}));
}

TEST(SpaceToDepth, IsTheInverse) {
  expect_close(run_op1("space_to_depth", {range({1, 2, 2, 4})}, {{"blocksize", 2}}),
               f32({1, 8, 1, 2}, {0, 2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15}));
  Values x = range({2, 3, 6, 9}), y = run_op1("space_to_depth", {x}, {{"blocksize", 3}});
  expect_close(run_op1("depth_to_space", {y}, {{"blocksize", 3}}), x);
}

TEST(DepthToSpace, RejectsWhatDoesNotFit) {
  std::vector<TensorType> x = {f32_type({1, 8, 3, 4})};
  EXPECT_EQ(infer("depth_to_space", x, {{"blocksize", 3}}),
            "depth_to_space: channels do not divide into blocks of 3 x 3 (x f32[1,8,3,4])");
  EXPECT_EQ(infer("depth_to_space", x, {{"blocksize", 2}, {"mode", "RCD"}}),
            "depth_to_space: mode is \"RCD\", expected DCR or CRD (x f32[1,8,3,4])");
  EXPECT_EQ(
      infer("depth_to_space", x, {{"blocksize", 0}}),
      "depth_to_space: blocksize is 0, expected at least 1 and less than 2^31 (x f32[1,8,3,4])");
  EXPECT_EQ(infer("depth_to_space", {f32_type({8, 3, 4})}, {{"blocksize", 2}}),
            "depth_to_space: x has rank 3, expects 4 (x f32[8,3,4])");
  EXPECT_EQ(infer("depth_to_space", {f32_type({1, 4, kMovedN, 4})}, {{"blocksize", 2}}),
            "f32[1,1,(2*N : N),8]");
  EXPECT_EQ(infer("depth_to_space", {f32_type({1, kMovedN, 4, 4})}, {{"blocksize", 2}}),
            "depth_to_space: dim 1 must be known (x f32[1,N,4,4])");
  EXPECT_EQ(infer("space_to_depth", {f32_type({1, 4, kMovedN, 4})}, {{"blocksize", 2}}),
            "space_to_depth: whether blocks of 2 divide the image must be known (x f32[1,4,N,4])");
  EXPECT_EQ(infer("space_to_depth", x, {{"blocksize", 2}}),
            "space_to_depth: extents do not divide into blocks of 2 (x f32[1,8,3,4])");
}

Values sliced(const Values& x, Ints starts, Ints ends, Ints axes, Ints steps) {
  return run_op1("slice", {x},
                 {{"starts", starts}, {"ends", ends}, {"axes", axes}, {"steps", steps}});
}

// The inverse of depth_to_space in the same mode.
TEST(SpaceToDepth, OrdersChannelsByMode) {
  Values x = f32({1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(run_op1("space_to_depth", {x}, {{"blocksize", 2}}).values,
            (std::vector<double>{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(run_op1("space_to_depth", {x}, {{"blocksize", 2}, {"mode", "CRD"}}).values,
            (std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(infer("space_to_depth", {x.type}, {{"blocksize", 2}, {"mode", "RCD"}}),
            "space_to_depth: mode is \"RCD\", expected DCR or CRD (x f32[1,2,2,2])");
}

TEST(Slice, StepsBothWays) {
  expect_close(sliced(range({4, 5}), {1, -1}, {4, INT64_MIN}, {0, 1}, {2, -2}),
               f32({2, 3}, {9, 7, 5, 19, 17, 15}));
  expect_close(sliced(range({5}), {-2}, {INT64_MIN}, {0}, {-3}), f32({2}, {3, 0}));
  expect_close(sliced(range({2, 3}), {1}, {2}, {-1}, {}), f32({2, 1}, {1, 4}));
  expect_close(sliced(range({2, 3}), {1}, {INT64_MAX}, {}, {}), f32({1, 3}, {3, 4, 5}));
}

TEST(Slice, ClampsWhatLiesOutside) {
  expect_close(sliced(range({3}), {-9}, {9}, {0}, {1}), f32({3}, {0, 1, 2}));
  expect_close(sliced(range({3}), {9}, {-9}, {0}, {-1}), f32({3}, {2, 1, 0}));
  expect_close(sliced(range({3}), {0}, {3}, {0}, {INT64_MAX}), f32({1}, {0}));
  expect_close(sliced(range({3}), {5}, {9}, {0}, {1}), f32({0}, {}));
  expect_close(sliced(range({3}), {2}, {1}, {0}, {1}), f32({0}, {}));
  expect_close(sliced(range({0}), {0}, {1}, {0}, {-1}), f32({0}, {}));
}

TEST(Slice, GivesOpenDims) {
  Attrs all = {{"starts", Ints{0}}, {"ends", Ints{INT64_MAX}}},
        part = {{"starts", Ints{0}}, {"ends", Ints{2}}};
  EXPECT_EQ(infer("slice", {f32_type({kMovedN, 2})}, all), "f32[N,2]");
  EXPECT_EQ(infer("slice", {f32_type({kMovedN, 2})}, part), "f32[(min(2,N) : N),2]");
  EXPECT_EQ(infer("slice", {f32_type({Dim::symbol("B", 0, 2), 2})}, part), "f32[B<=2,2]");
}

Dim sliced_dim(Dim dim, const Attrs& given) {
  const OpDef* op = *all_ops().get("slice");
  const Attrs attrs = *complete_attrs(*op, given);
  const std::vector<TypeId> types = {f32_type({dim})};
  auto out = infer_types(*op, types, attrs);
  return out.ok() ? (*out)[0]->shape[0] : Dim(-1);
}

// Positions are counted as numpy does: an end from the back is the dim less than it, at least 0.
int64_t numpy_cells(int64_t n, int64_t start, int64_t end, int64_t step) {
  auto at = [&](int64_t p) { return p < 0 ? std::max<int64_t>(n + p, 0) : std::min(p, n); };
  int64_t cells = 0;
  for (int64_t p = at(start); p < at(end); p += step) ++cells;
  return cells;
}

TEST(Slice, OfAnOpenDimHasAsManyCellsAsOfEachNumber) {
  for (int64_t start : {-9, -3, -1, 0, 1, 3}) {
    for (int64_t end : {INT64_MAX, int64_t{-2}, int64_t{0}, int64_t{2}, int64_t{5}}) {
      for (int64_t step : {1, 2, 3}) {
        const Dim dim = sliced_dim(
            kMovedN, {{"starts", Ints{start}}, {"ends", Ints{end}}, {"steps", Ints{step}}});
        for (int64_t n = 0; n < 8; ++n) {
          const auto number = with_sizes(dim, [&](Dim) { return std::optional(Dim(n)); });
          ASSERT_TRUE(number.ok()) << cat(dim);
          EXPECT_EQ(*number, Dim(numpy_cells(n, start, end, step)))
              << cat(dim, " of ", n, " [", start, ":", end, ":", step, "]");
        }
      }
    }
  }
}

TEST(Slice, OfSlicesHasNoExpressionThatDoubles) {
  Dim dim = kMovedN;
  for (int k = 0; k < 8; ++k)
    dim = sliced_dim(dim, {{"starts", Ints{1}}, {"ends", Ints{INT64_MAX}}, {"steps", Ints{2}}});
  EXPECT_LE(dim.name().text().size(), 8 * std::string_view("div(max(1,N),2)").size());
}

TEST(Slice, RejectsWhatDoesNotFit) {
  std::vector<TensorType> x = {f32_type({2, 3})};
  EXPECT_EQ(infer("slice", x, {{"starts", Ints{0}}, {"ends", Ints{1, 1}}}),
            "slice: 1 starts, 2 ends, 1 axes and 1 steps, expected equally many (x f32[2,3])");
  EXPECT_EQ(infer("slice", x, {{"starts", Ints{0}}, {"ends", Ints{1}}, {"steps", Ints{0}}}),
            "slice: a step is 0 (x f32[2,3])");
  EXPECT_EQ(infer("slice", x, {{"starts", Ints{0}}, {"ends", Ints{1}}, {"axes", Ints{2}}}),
            "slice: axis 2 is outside [-2, 2) (x f32[2,3])");
  EXPECT_EQ(
      infer("slice", x, {{"starts", Ints{0, 0}}, {"ends", Ints{1, 1}}, {"axes", Ints{1, -1}}}),
      "slice: axis 1 is named twice (x f32[2,3])");
}

TEST(ReverseSequence, ReversesEachBeginning) {
  // Source: the examples of ONNX for both layouts.
  Values x = f32({4, 4}, {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15});
  expect_close(run_op1("reverse_sequence", {x, i64({4}, {4, 3, 2, 1})}),
               f32({4, 4}, {3, 6, 9, 12, 2, 5, 8, 13, 1, 4, 10, 14, 0, 7, 11, 15}));
  expect_close(run_op1("reverse_sequence", {range({2, 3, 2}), i64({2}, {2, 3})},
                       {{"batch_axis", 0}, {"time_axis", 1}}),
               f32({2, 3, 2}, {2, 3, 0, 1, 4, 5, 10, 11, 8, 9, 6, 7}));
  expect_close(run_op1("reverse_sequence", {range({3, 1}), i64({1}, {0})}), range({3, 1}));
}

TEST(ReverseSequence, RefusesLengthsOutside) {
  for (double length : {-1.0, 4.0}) {
    auto got = run_op("reverse_sequence", {range({3, 2}), i64({2}, {3, length})});
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.status().code(), Code::kOutOfRange);
    EXPECT_EQ(got.status().message(),
              cat("reverse_sequence: lengths holds ", length, ", expected 0 to 3"));
  }
}

TEST(ReverseSequence, RejectsWhatDoesNotFit) {
  TensorType x = f32_type({4, 3}), lengths = type_of(DType::kI64, {3});
  EXPECT_EQ(infer("reverse_sequence", {f32_type({4}), lengths}),
            "reverse_sequence: x has rank 1, expects at least 2 (x f32[4])");
  EXPECT_EQ(infer("reverse_sequence", {x, lengths}, {{"batch_axis", 0}}),
            "reverse_sequence: batch_axis 0 and time_axis 0 are not 0 and 1 (x f32[4,3])");
  EXPECT_EQ(infer("reverse_sequence", {x, type_of(DType::kI64, {4})}),
            "reverse_sequence: expects one length per entry of dim 1 (x f32[4,3], lengths i64[4])");
  EXPECT_EQ(infer("reverse_sequence", {x, type_of(DType::kI32, {3})}),
            "reverse_sequence: lengths is i32[3], expects one of i64");
}

Values padded(const Values& x, Ints pads, std::string mode) {
  return run_op1("pad", {x}, {{"pads", pads}, {"mode", mode}, {"value", 7.0}});
}

TEST(Pad, HasFourModes) {
  expect_close(padded(range({2, 2}), {1, 0, 0, 2}, "constant"),
               f32({3, 4}, {7, 7, 7, 7, 0, 1, 7, 7, 2, 3, 7, 7}));
  expect_close(padded(range({2, 3}), {1, 0, 0, 2}, "edge"),
               f32({3, 5}, {0, 1, 2, 2, 2, 0, 1, 2, 2, 2, 3, 4, 5, 5, 5}));
  expect_close(padded(range({2, 4}), {1, 2, 0, 3}, "reflect"),
               f32({3, 9}, {6, 5, 4, 5, 6, 7, 6, 5, 4, 2, 1, 0, 1, 2,
                            3, 2, 1, 0, 6, 5, 4, 5, 6, 7, 6, 5, 4}));
  expect_close(
      padded(range({2, 3}), {1, 2, 0, 3}, "wrap"),
      f32({3, 8}, {4, 5, 3, 4, 5, 3, 4, 5, 1, 2, 0, 1, 2, 0, 1, 2, 4, 5, 3, 4, 5, 3, 4, 5}));
}

TEST(Pad, TakesCellsAwayWithNegativePads) {
  expect_close(padded(range({4}), {-1, 2}, "constant"), f32({5}, {1, 2, 3, 7, 7}));
  expect_close(padded(range({4}), {-1, -2}, "reflect"), f32({1}, {1}));
  expect_close(padded(range({4}), {-4, 0}, "constant"), f32({0}, {}));
}

TEST(Pad, FillsInAnyDtype) {
  for (DType dtype :
       {DType::kF64, DType::kF16, DType::kBF16, DType::kI8, DType::kU16, DType::kI64}) {
    expect_close(padded(tensor(dtype, {1}, {3}), {1, 0}, "constant"), tensor(dtype, {2}, {7, 3}));
  }
  expect_close(padded(f32({0}, {}), {1, 1}, "constant"), f32({2}, {7, 7}));
  expect_close(padded(f32({}, {3}), {}, "constant"), f32({}, {3}));
}

TEST(Pad, RejectsWhatDoesNotFit) {
  auto inferred = [](const Shape& x, Ints pads, std::string mode) {
    return infer("pad", {f32_type(x)}, {{"pads", std::move(pads)}, {"mode", std::move(mode)}});
  };
  EXPECT_EQ(inferred({kMovedN, 2}, {0, 1, 0, 1}, "constant"), "f32[N,4]");
  EXPECT_EQ(inferred({kMovedN, 2}, {1, 1, 0, 1}, "constant"), "f32[(N+1 : N),4]");
  EXPECT_EQ(inferred({2}, {1}, "constant"), "pad: pads has 1 entries, expected 2 (x f32[2])");
  EXPECT_EQ(inferred({2}, {1, 1}, "mirror"),
            "pad: mode is \"mirror\", expected constant, reflect, edge or wrap (x f32[2])");
  EXPECT_EQ(inferred({3}, {0, 3}, "reflect"),
            "pad: mode reflect needs at least 4 cells in dim 0 (x f32[3])");
  EXPECT_EQ(inferred({0}, {0, 1}, "edge"),
            "pad: mode edge needs at least 1 cells in dim 0 (x f32[0])");
  EXPECT_EQ(inferred({3}, {-2, -2}, "constant"), "pad: pads -2 and -2 do not fit dim 0 (x f32[3])");
  EXPECT_EQ(inferred({3}, {INT64_MAX, 0}, "constant"),
            "pad: pads 9223372036854775807 and 0 of dim 0 do not fit (x f32[3])");
}

TEST(Trilu, KeepsATriangle) {
  Values x = pattern({1, 3, 4}, 1, 100, -1);
  expect_close(run_op1("trilu", {x}, {{"k", 1}}),
               f32({1, 3, 4}, {0, 2, 3, 4, 0, 0, 7, 8, 0, 0, 0, 12}));
  expect_close(run_op1("trilu", {x}, {{"upper", false}, {"k", -1}}),
               f32({1, 3, 4}, {0, 0, 0, 0, 5, 0, 0, 0, 9, 10, 0, 0}));
  expect_close(run_op1("trilu", {x}, {{"k", INT64_MAX}}),
               f32({1, 3, 4}, std::vector<double>(12, 0)));
  EXPECT_EQ(run_op1("trilu", {f32({3, 0}, {})}).type, f32_type({3, 0}));
  EXPECT_EQ(infer("trilu", {f32_type({3})}), "trilu: x has rank 1, expects at least 2 (x f32[3])");
}

TEST(EyeLike, PutsOnesOnADiagonal) {
  expect_close(run_op1("eye_like", {range({2, 3})}), f32({2, 3}, {1, 0, 0, 0, 1, 0}));
  expect_close(run_op1("eye_like", {range({2, 3})}, {{"k", 1}, {"dtype", DType::kI64}}),
               i64({2, 3}, {0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(infer("eye_like", {f32_type({3})}), "eye_like: x has rank 1, expects 2 (x f32[3])");
}

}  // namespace
}  // namespace byoc::testing
