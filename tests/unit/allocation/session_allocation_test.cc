// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <thread>

#include "byoc/runtime/session.h"
#include "support/allocations.h"
#include "unit/runtime/executables.h"
#include "unit/runtime/host_functions.h"

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

}  // namespace
}  // namespace byoc
