// SPDX-License-Identifier: Apache-2.0
#include "byoc/ir/intern.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "byoc/ir/attrs.h"

namespace byoc {
namespace {

/// Interns one value of each kind, all of which contain the name `text`.
void intern_values(const std::string& text, int64_t extent) {
  Symbol name = text;
  TypeId type = TensorType{DType::kF16, {Dim::symbol(name, 1, extent), extent}};
  TypeIds list = std::vector<TypeId>{type, TensorType{DType::kU16, {extent, 3}}};
  intern({{name, extent}, {cat(text, "_c"), ConstantRef{{}, type}}});
  EXPECT_EQ(cat(list), cat("f16[1<=", text, "<=", extent, ",", extent, "], u16[", extent, ",3]"));
}

TEST(InternArena, FreesWhatWasInternedUnderItsScope) {
  const InternCounts before = intern_counts();
  {
    InternArena arena;
    InternScope scope(arena);
    intern_values("freed_name", 901);
    InternCounts now = intern_counts();
    EXPECT_EQ(now.symbols, before.symbols + 2);
    EXPECT_EQ(now.named_sizes, before.named_sizes + 1);
    EXPECT_EQ(now.types, before.types + 2);
    EXPECT_EQ(now.type_lists, before.type_lists + 1);
    EXPECT_EQ(now.attrs, before.attrs + 1);
  }
  EXPECT_EQ(intern_counts(), before);
}

TEST(InternArena, NumbersAreUsedAgain) {
  std::set<uint32_t> symbols, types;
  for (int64_t k = 0; k < 1000; ++k) {
    InternArena arena;
    InternScope scope(arena);
    intern_values(cat("again_", k), 1000 + k);
    symbols.insert(Symbol(cat("again_", k)).id());
    types.insert(TypeId(TensorType{DType::kU16, {1000 + k, 3}}).id());
  }
  EXPECT_LE(symbols.size(), 8u);
  EXPECT_LE(types.size(), 8u);
}

TEST(InternArena, FreesWhenItIsDestroyedAndNotWhenItsScopeEnds) {
  InternArena arena;
  Symbol name;
  {
    InternScope scope(arena);
    name = "outlives_the_scope";
  }
  EXPECT_EQ(name.text(), "outlives_the_scope");
}

TEST(InternArena, KeepsWhatWasInternedWithoutAScope) {
  intern_values("kept_name", 902);
  const InternCounts before = intern_counts();
  {
    InternArena arena;
    InternScope scope(arena);
    intern_values("kept_name", 902);
  }
  EXPECT_EQ(intern_counts(), before);
  intern_values("kept_name", 902);
  EXPECT_EQ(intern_counts(), before);
}

TEST(InternArena, KeepsWhatWasInternedWithoutAScopeLater) {
  const Attrs* attrs = nullptr;
  {
    InternArena arena;
    InternScope scope(arena);
    intern({{"pinned_late", TypeId(TensorType{DType::kI16, {903}})->shape[0].extent()}});
    // Another thread has no scope, so its attributes last, and so do the names in them.
    std::thread([&] { attrs = intern({{"pinned_late", 903}}); }).join();
  }
  InternArena arena;
  InternScope scope(arena);
  for (int k = 0; k < 100; ++k) Symbol(cat("would_take_the_number_", k));
  EXPECT_EQ(cat(*attrs), "{pinned_late=903}");
}

TEST(InternArena, KeepsPartsForAnotherArenaThatOwnsTheWhole) {
  auto first = std::make_unique<InternArena>();
  InternArena second;
  const Attrs* attrs = nullptr;
  {
    InternScope outer(*first);
    Attrs value = {{"part_of_the_whole", ConstantRef{{}, TensorType{DType::kI8, {904}}}}};
    InternScope scope(second);
    attrs = intern(value);
  }
  first.reset();
  InternScope scope(second);
  for (int k = 0; k < 100; ++k) {
    Symbol(cat("would_take_the_part_", k));
    TypeId(TensorType{DType::kI8, {2000 + k}});
  }
  EXPECT_NE(cat(*attrs).find("part_of_the_whole=const<"), std::string::npos) << cat(*attrs);
  EXPECT_NE(cat(*attrs).find("i8[904]"), std::string::npos) << cat(*attrs);
}

TEST(InternArena, NestedScopesOwnApart) {
  const InternCounts before = intern_counts();
  {
    InternArena outer;
    InternScope outer_scope(outer);
    Symbol kept = "of_the_outer_scope";
    {
      InternArena inner;
      InternScope scope(inner);
      Symbol("of_the_inner_scope");
      EXPECT_EQ(Symbol("of_the_outer_scope"), kept);
    }
    EXPECT_EQ(kept.text(), "of_the_outer_scope");
    EXPECT_EQ(intern_counts().symbols, before.symbols + 1);
  }
  EXPECT_EQ(intern_counts(), before);
}

TEST(LastingSymbol, OutlivesTheScopeItWasMadeIn) {
  Symbol lasting;
  {
    InternArena arena;
    InternScope scope(arena);
    lasting = lasting_symbol("lasting_name");
  }
  EXPECT_EQ(lasting.text(), "lasting_name");
  EXPECT_EQ(lasting, Symbol("lasting_name"));
}

// Threads intern shared and private values while all of them create and destroy arenas.
TEST(InternArena, ManyThreadsShareValues) {
  const InternCounts before = intern_counts();
  auto work = [](int thread) {
    for (int k = 0; k < 2000; ++k) {
      InternArena arena;
      InternScope scope(arena);
      Symbol shared = cat("shared_", k % 7);
      const Attrs* attrs = intern({{shared, k % 5}, {cat("own_", thread, "_", k), true}});
      TypeIds types = std::vector<TypeId>{TensorType{DType::kF64, {Dim::symbol(shared), k % 3}},
                                          TensorType{DType::kF64, {5000 + k}}};
      std::string text = cat("f64[shared_", k % 7, ",", k % 3, "], f64[", 5000 + k, "]");
      ASSERT_EQ(cat(types), text);
      ASSERT_EQ(attrs->i(cat("shared_", k % 7)), k % 5);
      ASSERT_EQ(shared.text(), cat("shared_", k % 7));
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) threads.emplace_back(work, t);
  }
  EXPECT_EQ(intern_counts(), before);
}

}  // namespace
}  // namespace byoc
