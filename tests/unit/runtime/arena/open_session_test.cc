// SPDX-License-Identifier: Apache-2.0
// Runs of a program whose arena is packed for their sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "byoc/runtime/allocator.h"
#include "runtime/arena/context_memory.h"
#include "unit/runtime/open_program.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;

struct OpenRun {
  explicit OpenRun(Executable executable = sums_of_pairs()) {
    auto loaded = Session::load(std::move(executable), nullptr);
    EXPECT_TRUE(loaded.ok()) << loaded.status().to_string();
    if (!loaded.ok()) return;
    session = *std::move(loaded);
    provide_sums(*session);
    context = *session->make_context();
  }
  /// Runs and compares with the sums in closed form: x[b, i] = b + 1 + i.
  Status run(int64_t rows, int64_t n, bool is_aligned = true) {
    Tensor x = *Tensor::make({DType::kF32, {rows * n + 1}}), y = *x.copy();
    DLTensor in = x.view(), out = y.view();
    int64_t dims[] = {rows, n};
    in.shape = out.shape = dims;
    in.ndim = out.ndim = 2;
    if (!is_aligned) in.byte_offset = out.byte_offset = 4;
    float* first = reinterpret_cast<float*>(x.data()) + (is_aligned ? 0 : 1);
    for (int64_t k = 0; k < rows * n; ++k) first[k] = static_cast<float>(k / n + 1 + k % n);
    BYOC_TRY_STATUS(session->run(*context, {&in, 1}, {&out, 1}));
    const float* got = reinterpret_cast<const float*>(y.data()) + (is_aligned ? 0 : 1);
    for (int64_t k = 0; k < rows * n; ++k) {
      const auto b = static_cast<float>(k / n), size = static_cast<float>(n);
      EXPECT_EQ(got[k], 2 * first[k] * (size * (b + 1) + size * (size - 1) / 2)) << k;
    }
    return {};
  }
  std::unique_ptr<Session> session;
  std::unique_ptr<Context> context;
};

TEST(OpenSession, GivesRightValuesAtAnySize) {
  OpenRun open;
  for (auto [rows, n] : {std::pair{1, 1}, {2, 64}, {3, 17}, {1, 100}, {64, 1}, {2, 64}}) {
    for (bool is_aligned : {true, false}) {
      const Status status = open.run(rows, n, is_aligned);
      EXPECT_TRUE(status.ok()) << status.to_string();
    }
  }
}

/// Counts what contexts allocate.
class CountingAllocator {
 public:
  CountingAllocator() {
    set_allocator(std::make_shared<Allocator>(Allocator{
        [this](size_t size, size_t alignment) -> void* {
          if (size > most) return nullptr;
          ++count;
          bytes += size;
          peak = std::max(peak, bytes);
          return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
        },
        [this](void* memory, size_t size) {
          bytes -= size;
          std::free(memory);
        }}));
  }
  ~CountingAllocator() { set_allocator(nullptr); }
  size_t count = 0, bytes = 0, peak = 0, most = SIZE_MAX;
};

TEST(OpenSession, AllocatesForLargerSizesAlone) {
  CountingAllocator counted;
  {
    OpenRun open;
    EXPECT_EQ(counted.bytes, 0u);  // nothing for the bounds
    ASSERT_TRUE(open.run(4, 50).ok());
    EXPECT_EQ(counted.count, 1u);
    EXPECT_EQ(counted.bytes, 40000u + 832u);  // the pairs, and the sums
    std::mt19937 random(4);
    for (int k = 0; k < 200; ++k)
      ASSERT_TRUE(
          open.run(1 + static_cast<int64_t>(random() % 4), 1 + static_cast<int64_t>(random() % 50))
              .ok());
    EXPECT_EQ(counted.count, 1u);
    ASSERT_TRUE(open.run(4, 51).ok());
    EXPECT_EQ(counted.count, 2u);
    EXPECT_LE(counted.peak, 40000u * 5 / 4);  // the old memory is released first
  }
  EXPECT_EQ(counted.bytes, 0u);
}

TEST(OpenSession, GrowsRarelyWhereSizesGrowStepByStep) {
  CountingAllocator counted;
  OpenRun open;
  for (int64_t n = 1; n <= 200; ++n) ASSERT_TRUE(open.run(1, n).ok());
  EXPECT_LE(counted.count, 100u);  // an eighth more each time: log(40000) / log(9/8) = 90
}

TEST(OpenSession, GoesOnAfterASizeWithoutMemory) {
  CountingAllocator counted;
  OpenRun open;
  ASSERT_TRUE(open.run(1, 20).ok());
  counted.most = 100000;
  for (int turn = 0; turn < 2; ++turn) {
    const Status status = open.run(1, 400);
    EXPECT_EQ(status.slug(), "no-memory");
    EXPECT_THAT(status.message(), HasSubstr("an arena of 641600 bytes"));
    EXPECT_THAT(status.message(), HasSubstr("B = 1, T = 400"));
  }
  EXPECT_TRUE(open.run(1, 20).ok());
  EXPECT_TRUE(open.run(2, 30).ok());
}

TEST(OpenSession, NamesSizesWhoseProductDoesNotFit) {
  const int64_t most = int64_t{1} << 40;
  OpenRun open(sums_of_pairs(most));
  int64_t dims[] = {most, most};
  DLTensor in{nullptr, {kDLCPU, 0}, 2, to_dlpack(DType::kF32), dims, nullptr, 0};
  const auto types = open.session->output_types({&in, 1});
  ASSERT_FALSE(types.ok());
  EXPECT_EQ(types.status().slug(), "size-overflow");
  EXPECT_THAT(types.status().message(), HasSubstr("B = 1099511627776, T = 1099511627776"));
  // The input and the output fit in 63 bits, the pairs do not.
  dims[0] = 1;
  alignas(64) static std::byte some[64];
  DLTensor out = in;
  in.data = some;
  int64_t far[] = {1, int64_t{1} << 40};
  in.shape = out.shape = far;
  const auto far_away = reinterpret_cast<uintptr_t>(some) + (uintptr_t{1} << 43);
  out.data = reinterpret_cast<void*>(far_away);  // neither is read nor written
  const Status status = open.session->run(*open.context, {&in, 1}, {&out, 1});
  EXPECT_EQ(status.slug(), "size-overflow");
  EXPECT_THAT(status.message(), HasSubstr("B = 1, T = 1099511627776"));
}

TEST(OpenSession, RefusesWrongInputsBeforeItAllocates) {
  CountingAllocator counted;
  OpenRun open;
  Tensor x = *Tensor::make({DType::kF32, {1000}});
  DLTensor in = x.view(), out = x.view();
  EXPECT_FALSE(open.session->run(*open.context, {&in, 1}, {&out, 1}).ok());
  EXPECT_EQ(counted.count, 0u);
}

// Programs of fixed orders that a reader may get: each block once per order, no more than places.
TEST(OpenSession, RefusesPackingThatDoesNotFit) {
  for (std::vector<std::vector<uint32_t>> packing : std::vector<std::vector<std::vector<uint32_t>>>{
           {{0, 1}}, {{0, 1, 1}}, {{0, 1, 3}}, {{0, 1, 2}, {0, 1}}, {{}}}) {
    Executable executable = sums_of_pairs();
    executable.program.packing = packing;
    const auto loaded = Session::load(std::move(executable), nullptr);
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.status().slug(), "executable") << loaded.status().to_string();
  }
  Executable executable = sums_of_pairs();
  std::vector<uint32_t> many(100);
  for (uint32_t k = 0; k < 100; ++k) many[k] = k;
  executable.program.packing = {many};
  EXPECT_EQ(Session::load(std::move(executable), nullptr).status().slug(), "executable");
  executable = sums_of_pairs();
  executable.program.steps[2].args[1] = block(1);  // an output on its input, which no pair allows
  EXPECT_THAT(Session::load(std::move(executable), nullptr).status().message(),
              HasSubstr("overlap in the arena"));
}

TEST(GrowingMemory, KeepsTheLargest) {
  GrowingMemory memory;
  ASSERT_TRUE(memory.reserve(1000, 64, "a test").ok());
  const std::byte* first = memory.get();
  EXPECT_EQ(memory.bytes(), 1000u);
  ASSERT_TRUE(memory.reserve(10, 64, "a test").ok());
  EXPECT_EQ(memory.get(), first);
  ASSERT_TRUE(memory.reserve(2000, 64, "a test").ok());
  EXPECT_EQ(memory.bytes(), 2000u + 192u);  // an eighth more, in whole lines
  EXPECT_EQ(memory.reserve(UINT64_MAX, 64, "a test").slug(), "no-memory");
  EXPECT_EQ(memory.bytes(), 0u);
  ASSERT_TRUE(memory.reserve(10, 64, "a test").ok());
}

}  // namespace
}  // namespace byoc::test
