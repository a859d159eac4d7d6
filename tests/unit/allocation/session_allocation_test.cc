// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <thread>

#include "byoc/runtime/session.h"
#include "support/allocations.h"
#include "unit/runtime/executables.h"
#include "unit/runtime/host_functions.h"
#include "unit/runtime/open_program.h"

namespace byoc {
namespace {

using test::allocations;
using test::Floats;

TEST(CountAllocations, SeesNewMallocAndAlignedMemory) {
  uint64_t before = allocations();
  delete new int;
  std::free(std::malloc(1));
  std::free(std::aligned_alloc(64, 64));
  EXPECT_GE(allocations() - before, 3u);
}

/// Returns the number of allocations of 100 runs after one warm-up run.
uint64_t allocations_of_runs(Session& session, std::span<const DLTensor> in,
                             std::span<DLTensor> out, bool profiling = false) {
  auto context = *session.make_context();
  session.set_profiling(*context, profiling);
  EXPECT_TRUE(session.run(*context, in, out).ok());  // libgomp creates its team, once per thread
  uint64_t before = allocations();
  bool ok = true;
  for (int k = 0; k < 100; ++k) ok &= session.run(*context, in, out).ok();
  uint64_t after = allocations();
  EXPECT_TRUE(ok);
  return after - before;
}

TEST(SessionRun, AllocatesNothing) {
  for (uint32_t threads : {1u, 3u}) {
    auto session = *Session::load(test::add_mul(), nullptr, {.threads = threads});
    test::provide(*session);
    Floats x({1, 2, 3, 4}), y = x, z = x;
    DLTensor in = x.view(), out[] = {y.view(), z.view()};
    EXPECT_EQ(allocations_of_runs(*session, {&in, 1}, out), 0u);
    EXPECT_EQ(allocations_of_runs(*session, {&in, 1}, out, true), 0u);
  }
}

TEST(SessionRun, AllocatesNothingForStridedMisalignedAndAliasedArguments) {
  auto session = *Session::load(test::add_mul(), nullptr);
  test::provide(*session);
  Floats x({1, 2, 3, 4, 5, 6, 7, 8, 9}), y({0, 0, 0, 0}), z({0, 0, 0, 0, 0});
  int64_t stride = 2;
  DLTensor in = y.view(), out[] = {y.view(), y.view()};
  in.data = x.view().data, in.strides = &stride;
  out[1].data = z.view().data, out[1].byte_offset = 4;
  EXPECT_EQ(allocations_of_runs(*session, {&in, 1}, out), 0u);
  in = y.view();
  EXPECT_EQ(allocations_of_runs(*session, {&in, 1}, out), 0u);
}

TEST(SessionRun, AllocatesNothingForOpenSizesUpToTheLargestSoFar) {
  auto session = *Session::load(test::sums_of_pairs(), nullptr);
  test::provide_sums(*session);
  auto context = *session->make_context();
  std::vector<float> x(4 * 60 + 1), y(x.size());
  auto run = [&](int64_t rows, int64_t n, bool is_aligned) {
    int64_t dims[] = {rows, n};
    DLTensor in{x.data(), {kDLCPU, 0}, 2, to_dlpack(DType::kF32), dims, nullptr, 0}, out = in;
    out.data = y.data();
    if (!is_aligned) in.byte_offset = out.byte_offset = 4;
    return session->run(*context, {&in, 1}, {&out, 1}).ok();
  };
  bool ok = run(4, 50, true) && run(4, 50, false);
  const uint64_t before = allocations();
  for (int64_t k = 0; k < 1000; ++k) ok &= run(1 + k % 4, 1 + k * 7 % 50, k % 3 == 0);
  EXPECT_EQ(allocations() - before, 0u);
  EXPECT_TRUE(ok);
  ok = run(4, 60, true);  // a larger size than all before
  EXPECT_TRUE(ok);
  EXPECT_GT(allocations() - before, 0u);
}

}  // namespace
}  // namespace byoc
