// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/profile.h"

#include <gtest/gtest.h>

#include <thread>

#include "unit/runtime/executables.h"
#include "unit/runtime/host_functions.h"

namespace byoc {
namespace {

using test::Floats;

TEST(Profile, AddsUpTimesPerStepWhileItIsOn) {
  auto session = *Session::load(test::add_mul(), nullptr);
  test::provide(*session);
  auto slow = [add = test::elementwise(std::plus<float>())](auto in, auto out) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return add(in, out);
  };
  ASSERT_TRUE(session->register_extern("add", slow).ok());
  auto context = *session->make_context();
  Floats x({1, 2, 3, 4}), y = x, z = x;
  DLTensor in = x.view(), out[] = {y.view(), z.view()};
  ASSERT_TRUE(session->run(*context, {&in, 1}, out).ok());
  EXPECT_EQ(session->profile(*context)[0].runs, 0u);
  session->set_profiling(*context, true);
  for (int k = 0; k < 3; ++k) ASSERT_TRUE(session->run(*context, {&in, 1}, out).ok());
  auto rows = profile_rows(*session, *context);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].symbol, "add");
  EXPECT_EQ(rows[0].runner, "host");
  EXPECT_EQ(rows[0].locs, std::vector<std::string>{"Add_0"});
  EXPECT_EQ(rows[0].runs, 3u);
  EXPECT_GE(rows[0].min_ns, 2000000u);
  EXPECT_GE(rows[0].total_ns, 3 * rows[0].min_ns);
  EXPECT_GE(rows[0].mean_ns(), static_cast<double>(rows[0].min_ns));
  EXPECT_LT(rows[1].min_ns, rows[0].min_ns);
}

}  // namespace
}  // namespace byoc
