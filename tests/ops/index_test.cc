// SPDX-License-Identifier: Apache-2.0
// gather*, scatter*, one_hot. Expected values: numpy's take and take_along_axis, or calculated by
// hand. Source of the range of indices: ONNX (Gather, GatherElements, GatherND, ScatterElements,
// ScatterND). Along an axis of size s they are in [-s, s - 1]; any other index is an error.
#include "pattern.h"

namespace byoc::testing {
namespace {

const Dim kRowsN = Dim::symbol("N");

Values counting(const std::vector<int64_t>& dims) { return pattern(dims, 1, 1000, 0); }
TensorType i64_type(const std::vector<int64_t>& dims) { return type_of(DType::kI64, dims); }

TEST(Gather, PicksEntriesAlongAnAxis) {
  expect_close(run_op1("gather", {counting({2, 3, 2}), i64({2, 2}, {0, 2, 1, -3})}, {{"axis", 1}}),
               f32({2, 2, 2, 2}, {0, 1, 4, 5, 2, 3, 0, 1, 6, 7, 10, 11, 8, 9, 6, 7}));
  expect_close(run_op1("gather", {counting({3}), tensor(DType::kI32, {}, {-1})}), f32({}, {2}));
  EXPECT_EQ(run_op1("gather", {counting({3, 2}), i64({0}, {})}).type, f32_type({0, 2}));
  EXPECT_EQ(run_op1("gather", {f32({0, 2}, {}), i64({0}, {})}).type, f32_type({0, 2}));
}

std::string error_of(const char* op, const std::vector<Values>& inputs, Attrs attrs = {}) {
  auto made = run_op(op, inputs, std::move(attrs));
  if (made.ok()) return "no error";
  EXPECT_EQ(made.status().code(), Code::kOutOfRange);
  return made.status().message();
}

TEST(Gather, RefusesIndicesOutside) {
  for (double index : {3.0, -4.0, 9e15, -9e15}) {
    EXPECT_EQ(error_of("gather", {counting({3}), i64({4}, {2, -3, index, 77})}),
              cat("gather: index ", static_cast<int64_t>(index),
                  " is outside of [-3, 3), the extent is 3"));
  }
  EXPECT_EQ(error_of("gather", {counting({2, 3}), tensor(DType::kI32, {}, {-4})}, {{"axis", 1}}),
            "gather: index -4 is outside of [-3, 3), the extent is 3");
}

TEST(Gather, RefusesIndicesOutsideOfAnEmptyTable) {
  EXPECT_EQ(error_of("gather", {f32({3, 0}, {}), i64({1}, {3})}),
            "gather: index 3 is outside of [-3, 3), the extent is 3");
}

TEST(CheckRange, NamesTheOperandOfANumberOutside) {
  const Attrs attrs{{"end", 5}, {"of", "lstm.lengths"}};
  expect_close(run_op1("check_range", {i64({3}, {0, 4, 2})}, attrs), i64({3}, {0, 4, 2}));
  for (double number : {-1.0, 5.0}) {
    EXPECT_EQ(error_of("check_range", {tensor(DType::kI32, {2}, {0, number})}, attrs),
              cat("lstm: lengths holds ", number, ", expected 0 to 4"));
  }
  EXPECT_EQ(infer("check_range", {type_of(DType::kI64, {2})}, {{"end", -1}, {"of", "a.b"}}),
            "check_range: end is -1, expected at least 0");
  EXPECT_EQ(infer("check_range", {f32_type({2})}, attrs),
            "check_range: x is f32[2], expects one of i32 i64");
  EXPECT_EQ(infer("check_range", {type_of(DType::kI64, {2})}, {{"end", 1}, {"of", ""}}),
            "check_range: the attribute \"of\" is empty");
}

TEST(Gather, RejectsWhatDoesNotFit) {
  EXPECT_EQ(infer("gather", {f32_type({kRowsN, 5}), i64_type({2})}, {{"axis", 1}}), "f32[N,2]");
  EXPECT_EQ(infer("gather", {f32_type({3}), f32_type({2})}),
            "gather: indices is f32[2], expects one of i32 i64");
  EXPECT_EQ(infer("gather", {f32_type({3}), i64_type({2})}, {{"axis", 1}}),
            "gather: axis 1 is outside [-1, 1) (x f32[3])");
  EXPECT_EQ(infer("gather", {f32_type({0}), i64_type({2})}),
            "gather: dim 0 has no entries to choose from (x f32[0], indices i64[2])");
}

TEST(GatherElements, PicksOneEntryAnElement) {
  expect_close(run_op1("gather_elements", {counting({3, 3}), i64({2, 3}, {1, 2, 0, 2, -3, 0})}),
               f32({2, 3}, {3, 7, 2, 6, 1, 2}));
  expect_close(run_op1("gather_elements", {counting({2, 2}), i64({2, 3}, {1, 0, 1, 0, 0, 1})},
                       {{"axis", 1}}),
               f32({2, 3}, {1, 0, 1, 2, 2, 3}));
  EXPECT_EQ(run_op1("gather_elements", {counting({2, 2}), i64({0, 2}, {})}).type, f32_type({0, 2}));
}

TEST(GatherElements, RefusesIndicesOutside) {
  for (double index : {2.0, -3.0}) {
    EXPECT_EQ(error_of("gather_elements", {counting({2, 2}), i64({1, 2}, {0, index})}),
              cat("gather_elements: index ", index, " is outside of [-2, 2), the extent is 2"));
  }
}

TEST(GatherElements, RejectsWhatDoesNotFit) {
  EXPECT_EQ(infer("gather_elements", {f32_type({2, 2}), i64_type({3, 3})}),
            "gather_elements: indices must have x's rank and lie inside of it except for dim 0 (x "
            "f32[2,2], indices i64[3,3])");
  EXPECT_EQ(infer("gather_elements", {f32_type({2, 2}), i64_type({2})}),
            "gather_elements: indices must have x's rank and lie inside of it except for dim 0 (x "
            "f32[2,2], indices i64[2])");
  EXPECT_EQ(infer("gather_elements", {f32_type({0, 2}), i64_type({2, 2})}),
            "gather_elements: dim 0 has no entries to choose from (x f32[0,2], indices i64[2,2])");
}

TEST(GatherNd, PicksSlices) {
  // Source: examples 1, 2 and 5 of ONNX.
  expect_close(run_op1("gather_nd", {f32({2, 2}, {0, 1, 2, 3}), i64({2, 2}, {0, 0, 1, 1})}),
               f32({2}, {0, 3}));
  expect_close(run_op1("gather_nd", {f32({2, 2}, {0, 1, 2, 3}), i64({2, 1}, {1, 0})}),
               f32({2, 2}, {2, 3, 0, 1}));
  expect_close(
      run_op1("gather_nd", {counting({2, 2, 2}), i64({2, 1}, {1, 0})}, {{"batch_dims", 1}}),
      f32({2, 2}, {2, 3, 4, 5}));
  expect_close(run_op1("gather_nd", {counting({2, 2}), i64({1, 2}, {-1, 1})}), f32({1}, {3}));
  expect_close(run_op1("gather_nd", {counting({2, 2}), i64({1, 0}, {})}),
               f32({1, 2, 2}, {0, 1, 2, 3}));
}

TEST(GatherNd, RefusesIndicesOutsideOfTheirOwnDim) {
  EXPECT_EQ(error_of("gather_nd", {counting({4, 2}), i64({2, 2}, {3, 1, -4, 2})}),
            "gather_nd: index 2 is outside of [-2, 2), the extent is 2");
  EXPECT_EQ(error_of("gather_nd", {counting({4, 2}), i64({2, 2}, {3, 1, -5, 0})}),
            "gather_nd: index -5 is outside of [-4, 4), the extent is 4");
}

TEST(GatherNd, RejectsWhatDoesNotFit) {
  auto error = [](const Shape& x, const Shape& indices, int64_t batch_dims) {
    return infer("gather_nd", {f32_type(x), {DType::kI64, indices}}, {{"batch_dims", batch_dims}});
  };
  EXPECT_EQ(
      error({2, 2}, {2, 3}, 0),
      "gather_nd: rows of 3 indices name more dims than x has (x f32[2,2], indices i64[2,3])");
  EXPECT_EQ(error({2, 2}, {2, kRowsN}, 0),
            "gather_nd: the last dim of indices must be known (x f32[2,2], indices i64[2,N])");
  EXPECT_EQ(error({2, 2}, {}, 0),
            "gather_nd: the last dim of indices must be known (x f32[2,2], indices i64[])");
  EXPECT_EQ(error({2, 2}, {2, 1}, 2), "gather_nd: batch_dims is 2 (x f32[2,2], indices i64[2,1])");
  EXPECT_EQ(error({2, 2}, {3, 1}, 1),
            "gather_nd: batch dim 0 differs (x f32[2,2], indices i64[3,1])");
  EXPECT_EQ(error({0, 2}, {3, 1}, 0),
            "gather_nd: dim 0 has no entries to choose from (x f32[0,2], indices i64[3,1])");
}

Values scattered(const char* op, std::vector<Values> in, const char* reduction, Attrs attrs = {}) {
  attrs.set("reduction", reduction);
  return run_op1(op, in, attrs);
}

TEST(ScatterElements, WritesOneElementEach) {
  // Source: the two examples of ONNX.
  expect_close(scattered("scatter_elements",
                         {f32({3, 3}, std::vector<double>(9, 0)), i64({2, 3}, {1, 0, 2, 0, 2, 1}),
                          f32({2, 3}, {1, 1.1, 1.2, 2, 2.1, 2.2})},
                         "none"),
               f32({3, 3}, {2, 1.1, 0, 1, 0, 2.2, 0, 2.1, 1.2}));
  expect_close(
      scattered("scatter_elements",
                {f32({1, 5}, {1, 2, 3, 4, 5}), i64({1, 2}, {1, -2}), f32({1, 2}, {1.1, 2.1})},
                "none", {{"axis", 1}}),
      f32({1, 5}, {1, 1.1, 3, 2.1, 5}));
}

TEST(ScatterElements, ReducesInOrder) {
  std::vector<Values> in = {f32({3}, {1, 2, 3}), i64({3}, {0, 2, 0}), f32({3}, {5, -2, 4})};
  expect_close(scattered("scatter_elements", in, "none"), f32({3}, {4, 2, -2}));
  expect_close(scattered("scatter_elements", in, "add"), f32({3}, {10, 2, 1}));
  expect_close(scattered("scatter_elements", in, "mul"), f32({3}, {20, 2, -6}));
  expect_close(scattered("scatter_elements", in, "max"), f32({3}, {5, 2, 3}));
  expect_close(scattered("scatter_elements", in, "min"), f32({3}, {1, 2, -2}));
}

TEST(ScatterElements, RefusesIndicesOutside) {
  for (double index : {3.0, -4.0}) {
    EXPECT_EQ(error_of("scatter_elements", {f32({3}, {1, 2, 3}), i64({1}, {index}), f32({1}, {9})}),
              cat("scatter_elements: index ", index, " is outside of [-3, 3), the extent is 3"));
  }
  EXPECT_EQ(error_of("scatter_elements", {f32({0}, {}), i64({1}, {0}), f32({1}, {9})}),
            "scatter_elements: index 0 is outside of [0, 0), the extent is 0");
}

TEST(ScatterElements, WorksOnAnyDtype) {
  for (DType dtype : {DType::kF16, DType::kI8, DType::kU32, DType::kI64, DType::kBool}) {
    Values y = scattered(
        "scatter_elements",
        {tensor(dtype, {2}, {1, 1}), tensor(DType::kI32, {1}, {1}), tensor(dtype, {1}, {0})},
        "none");
    expect_close(y, tensor(dtype, {2}, {1, 0}));
  }
  Values wrapped = scattered(
      "scatter_elements",
      {tensor(DType::kI8, {1}, {100}), i64({1}, {0}), tensor(DType::kI8, {1}, {100})}, "add");
  expect_close(wrapped, tensor(DType::kI8, {1}, {-56}));
}

TEST(ScatterElements, RejectsWhatDoesNotFit) {
  TensorType x = f32_type({3}), indices = i64_type({2});
  EXPECT_EQ(
      infer("scatter_elements", {x, indices, f32_type({3})}),
      "scatter_elements: updates must have shape [2] (x f32[3], indices i64[2], updates f32[3])");
  EXPECT_EQ(infer("scatter_elements", {x, indices, i64_type({2})}),
            "scatter_elements: x is f32[3], updates are i64[2], expects one dtype");
  EXPECT_EQ(infer("scatter_elements", {x, indices, f32_type({2})}, {{"reduction", "mean"}}),
            "scatter_elements: reduction is \"mean\", expected none, add, mul, max or min");
  EXPECT_EQ(
      infer("scatter_elements", {type_of(DType::kBool, {3}), indices, type_of(DType::kBool, {2})},
            {{"reduction", "add"}}),
      "scatter_elements: x is bool[3], expects one of f32 f64 f16 bf16 i8 u8 i16 u16 i32 u32 i64 "
      "u64");
}

TEST(ScatterNd, WritesSlices) {
  // Source: example 1 of ONNX. The second case has slices of two elements.
  expect_close(scattered("scatter_nd",
                         {f32({8}, {1, 2, 3, 4, 5, 6, 7, 8}), i64({4, 1}, {4, 3, 1, 7}),
                          f32({4}, {9, 10, 11, 12})},
                         "none"),
               f32({8}, {1, 11, 3, 10, 9, 6, 7, 12}));
  std::vector<Values> in = {counting({3, 2}), i64({2, 1}, {-1, 0}), f32({2, 2}, {5, 6, 7, 8})};
  expect_close(scattered("scatter_nd", in, "none"), f32({3, 2}, {7, 8, 2, 3, 5, 6}));
  expect_close(scattered("scatter_nd", in, "add"), f32({3, 2}, {7, 9, 2, 3, 9, 11}));
  expect_close(scattered("scatter_nd",
                         {counting({2}), tensor(DType::kI32, {0, 1}, {}), f32({0}, {})}, "none"),
               counting({2}));
}

TEST(ScatterNd, RefusesIndicesOutside) {
  EXPECT_EQ(error_of("scatter_nd", {counting({3, 2}), i64({1, 2}, {0, -3}), f32({1}, {5})}),
            "scatter_nd: index -3 is outside of [-2, 2), the extent is 2");
  EXPECT_EQ(error_of("scatter_nd", {f32({0, 2}, {}), i64({1, 1}, {0}), f32({1, 2}, {5, 6})}),
            "scatter_nd: index 0 is outside of [0, 0), the extent is 0");
}

TEST(ScatterNd, RejectsWhatDoesNotFit) {
  EXPECT_EQ(
      infer("scatter_nd", {f32_type({3, 2}), i64_type({4, 1}), f32_type({4, 3})}),
      "scatter_nd: updates must have shape [4,2] (x f32[3,2], indices i64[4,1], updates f32[4,3])");
}

TEST(OneHot, MarksThePositionOfTheIndex) {
  Values values = f32({2}, {2, 5});
  expect_close(run_op1("one_hot", {i64({4}, {0, 2, -1, 3}), values}, {{"depth", 3}}),
               f32({4, 3}, {5, 2, 2, 2, 2, 5, 2, 2, 5, 2, 2, 2}));
  expect_close(
      run_op1("one_hot", {tensor(DType::kI32, {2}, {1, 0}), values}, {{"depth", 3}, {"axis", 0}}),
      f32({3, 2}, {2, 5, 5, 2, 2, 2}));
  EXPECT_EQ(run_op1("one_hot", {i64({2}, {1, 0}), values}, {{"depth", 0}}).type, f32_type({2, 0}));
}

TEST(OneHot, RejectsWhatDoesNotFit) {
  EXPECT_EQ(infer("one_hot", {i64_type({4}), f32_type({3})}, {{"depth", 3}}),
            "one_hot: values must have shape [2] (values f32[3])");
  EXPECT_EQ(infer("one_hot", {i64_type({4}), f32_type({2})}, {{"depth", -1}}),
            "one_hot: depth is -1, expected at least 0");
  EXPECT_EQ(infer("one_hot", {i64_type({4}), f32_type({2})}, {{"depth", 3}, {"axis", 2}}),
            "one_hot: axis 2 is outside [-2, 2) (x f32[4,3])");
  EXPECT_EQ(infer("one_hot", {type_of(DType::kI64, std::vector<int64_t>(16, 1)), f32_type({2})},
                  {{"depth", 3}}),
            "one_hot: the result has more than 16 dims");
}

}  // namespace
}  // namespace byoc::testing
