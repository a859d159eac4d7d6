// SPDX-License-Identifier: Apache-2.0
#include "byoc/ir/type.h"

#include <gtest/gtest.h>

#include <thread>

namespace byoc {
namespace {

TEST(Symbol, IsItsTextAndSortsByIt) {
  Symbol late = "zebra", early = "apple";  // interned in the opposite order
  EXPECT_EQ(late.text(), "zebra");
  EXPECT_EQ(late, Symbol(std::string("zebra")));
  EXPECT_TRUE(early < late);
  EXPECT_FALSE(late < early);
  EXPECT_FALSE(late < late);
  EXPECT_EQ(Symbol(), Symbol(""));
  EXPECT_TRUE(Symbol().empty());
}

TEST(Symbol, IsTheSameFromAnyThread) {
  std::vector<std::vector<uint32_t>> ids(4);
  std::vector<std::thread> threads;
  for (auto& list : ids) {
    threads.emplace_back([&list] {
      for (int k = 0; k < 10000; ++k) list.push_back(Symbol(cat("thread_name_", k)).id());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& list : ids) EXPECT_EQ(list, ids[0]);
  EXPECT_EQ(Symbol("thread_name_9999").text(), "thread_name_9999");
}

TEST(Dim, PrintsNumberNameAndBounds) {
  EXPECT_EQ(cat(Dim(3)), "3");
  EXPECT_EQ(cat(Dim::symbol("N")), "N");
  EXPECT_EQ(cat(Dim::symbol("N", 0, 64)), "N<=64");
  EXPECT_EQ(cat(Dim::symbol("N", 2, 64)), "2<=N<=64");
  EXPECT_EQ(cat(Dim::symbol("N", 2)), "2<=N");
  EXPECT_EQ(cat(Dim::symbol("batch size", 1)), "1<=\"batch size\"");
}

TEST(Dim, IsEqualWhenNameAndBoundsAre) {
  EXPECT_EQ(Dim::symbol("N", 1, 8), Dim::symbol("N", 1, 8));
  EXPECT_NE(Dim::symbol("N", 1, 8), Dim::symbol("N", 1, 9));
  EXPECT_NE(Dim::symbol("N"), Dim::symbol("M"));
  EXPECT_NE(Dim::symbol("N"), Dim(1));
  EXPECT_EQ(sizeof(Dim), 8u);
}

TEST(Dim, IsCountedOnceItHasABoundAndIsMadeSo) {
  const Dim n = Dim::counted("n", 12);
  EXPECT_EQ(cat(n), "?n<=12");
  EXPECT_TRUE(n.is_counted());
  EXPECT_FALSE(n.is_static());
  EXPECT_EQ(n.min(), 0);
  EXPECT_EQ(n.max(), 12);
  EXPECT_NE(n, Dim::symbol("n", 0, 12));
  EXPECT_EQ(n, Dim::counted("n", 12));
  EXPECT_FALSE(Dim::symbol("n", 0, 12).is_counted());
  EXPECT_FALSE(Dim(12).is_counted());
}

TEST(Shape, HasNumbersForCountedDimsAtTheirBounds) {
  const Shape shape = {Dim(2), Dim::counted("n", 12), Dim::symbol("N")};
  EXPECT_TRUE(has_counted(shape));
  EXPECT_EQ(at_bounds(shape), (Shape{2, 12, Dim::symbol("N")}));
  EXPECT_FALSE(has_counted({Dim(2), Dim::symbol("N", 0, 3)}));
}

TEST(Dim, KnowsItsBounds) {
  EXPECT_EQ(Dim(7).min(), 7);
  EXPECT_EQ(Dim(7).max(), 7);
  EXPECT_EQ(Dim::symbol("N", 2, 9).min(), 2);
  EXPECT_EQ(Dim::symbol("N", 2, 9).max(), 9);
  EXPECT_EQ(Dim::symbol("N").max(), Dim::kUnbounded);
}

TEST(Shape, CountsElements) {
  EXPECT_EQ(*num_elements(Shape{2, 3, 4}), 24);
  EXPECT_EQ(*num_elements(Shape{}), 1);
  EXPECT_EQ(*num_elements(Shape{0, int64_t{1} << 62, int64_t{1} << 62}), 0);
}

TEST(Shape, RefusesToCountWhatDoesNotFit) {
  auto many = num_elements(Shape{int64_t{1} << 40, int64_t{1} << 40});
  EXPECT_EQ(many.status().code(), Code::kOutOfRange);
  EXPECT_EQ(many.status().slug(), "tensor-size");
  // 2^60 elements fit, 2^63 bytes do not.
  EXPECT_FALSE(num_elements(Shape{int64_t{1} << 60}).ok());
  auto symbolic = num_elements(Shape{2, Dim::symbol("N")});
  EXPECT_EQ(symbolic.status().slug(), "symbolic-shape");
  EXPECT_EQ(symbolic.status().message(), "shape [2,N] is not known: dim N is symbolic");
}

TEST(TensorType, HasASize) {
  EXPECT_EQ(*size_bytes(TensorType{DType::kF16, {3, 5}}), 30);
  EXPECT_EQ(*size_bytes(TensorType{DType::kBool, {}}), 1);
  EXPECT_EQ(*size_bytes(TensorType{DType::kI64, {4, 0}}), 0);
}

TEST(TypeId, IsOneNumberPerType) {
  TypeId a = TensorType{DType::kF32, {1, 3}}, b = TensorType{DType::kF32, {1, 3}};
  EXPECT_EQ(a, b);
  EXPECT_NE(a, TypeId(TensorType{DType::kF64, {1, 3}}));
  EXPECT_NE(a, TypeId(TensorType{DType::kF32, {1, Dim::symbol("N")}}));
  EXPECT_EQ(cat(a), "f32[1,3]");
  EXPECT_EQ(cat(TypeId()), "f32[]");
}

TEST(TypeIds, HoldNoneOneOrMany) {
  TypeId f = TensorType{DType::kF32, {2}}, i = TensorType{DType::kI64, {}};
  EXPECT_EQ(TypeIds().size(), 0u);
  EXPECT_EQ(TypeIds(f)[0], f);
  TypeIds both(std::vector<TypeId>{f, i});
  EXPECT_EQ(both.size(), 2u);
  EXPECT_EQ(both[1], i);
  EXPECT_EQ(both, TypeIds(std::vector<TypeId>{f, i}));
  EXPECT_FALSE(both == TypeIds(std::vector<TypeId>{i, f}));
  EXPECT_FALSE(TypeIds() == TypeIds(TypeId()));
  EXPECT_EQ(TypeIds(std::vector<TypeId>{f}), TypeIds(f));
}

}  // namespace
}  // namespace byoc
