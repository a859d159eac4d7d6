// SPDX-License-Identifier: Apache-2.0
// Interning while allocations fail. This program's operator new fails where a test requires it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "byoc/ir/attrs.h"
#include "byoc/ir/intern.h"

namespace {

constinit thread_local int64_t allocations_left = -1;  // negative: no end

}  // namespace

void* operator new(size_t size) {
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left > 0) --allocations_left;
  void* memory = std::malloc(size != 0 ? size : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace byoc {
namespace {

/// A value that contains names, sizes, types and lists of them.
struct Nested {
  TypeId type;
  const Attrs* attrs = nullptr;
};
Nested make_nested(int64_t extent) {
  const Dim open = Dim::symbol("fails_n", 1, extent);
  const TypeId type = TensorType{DType::kF16, {open, extent}};
  const TypeIds list = std::vector<TypeId>{type, TensorType{DType::kU16, {open, 3}}};
  return {list[0], intern({{"fails_a", extent}, {"fails_c", ConstantRef{{}, type}}})};
}

/// Returns false when an allocation failed.
bool intern_with(int64_t allocations, int64_t extent) {
  allocations_left = allocations;
  try {
    make_nested(extent);
    allocations_left = -1;
    return true;
  } catch (const std::bad_alloc&) {
    allocations_left = -1;
    return false;
  }
}

TEST(InternFailures, LeaveNothingInTheTables) {
  const InternCounts before = intern_counts();
  int64_t failures = 0;
  for (bool has_worked = false; !has_worked; ++failures) {
    InternArena arena;
    InternScope scope(arena);
    has_worked = intern_with(failures, 907);
    if (has_worked) break;
    InternArena inner;  // the second time finds tables that have grown
    InternScope inner_scope(inner);
    (void)intern_with(failures, 907);
  }
  EXPECT_GT(failures, 10);
  EXPECT_EQ(intern_counts(), before);
}

TEST(InternFailures, AreFollowedByValuesThatTheArenaOwns) {
  for (int64_t failing = 0; failing < 60; ++failing) {
    InternArena arena;
    InternScope scope(arena);
    (void)intern_with(failing, 908);
    const Nested kept = make_nested(908);
    {
      InternArena other;  // another owner comes and goes
      InternScope other_scope(other);
      make_nested(908);
    }
    for (int64_t k = 0; k < 8; ++k) Symbol(cat("fails_other_", k));  // numbers are used again
    ASSERT_EQ(cat(kept.type), "f16[1<=fails_n<=908,908]") << failing;
    ASSERT_EQ(kept.attrs,
              intern({{"fails_a", int64_t{908}}, {"fails_c", ConstantRef{{}, kept.type}}}))
        << failing;
  }
}

}  // namespace
}  // namespace byoc
