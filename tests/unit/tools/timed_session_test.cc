// SPDX-License-Identifier: Apache-2.0
// Sessions under the clock: other memory for a turn changes no result.
#include "core/tools/measure/measure.h"
#include "support/flow.h"

namespace byoc::test {
namespace {

TEST(TimedSession, ComputesTheSameInRenewedMemory) {
  auto plugins = built_plugins();
  BuildOptions options;
  options.plugins = plugins;
  options.compilers = {"json"};
  auto executable = build(parse("fn main(%x: f32[3]) { %0 = relu(%x) return %0 }"), options);
  ASSERT_TRUE(executable.ok()) << executable.status().to_string();
  auto session = Session::load(*std::move(executable), plugins, {});
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  std::vector<Tensor> inputs;
  inputs.push_back(tensor_f32({3}, {-1, 2, -3}));
  auto timed = driver::TimedSession::make(*std::move(session), inputs);
  ASSERT_TRUE(timed.ok()) << timed.status().to_string();
  const void* before = (*timed)->outputs()[0].view().data;
  ASSERT_TRUE((*timed)->renew().ok());
  EXPECT_NE((*timed)->outputs()[0].view().data, before);
  ASSERT_TRUE((*timed)->run().ok());
  EXPECT_EQ(floats((*timed)->outputs()[0]), (std::vector<float>{0, 2, 0}));
}

}  // namespace
}  // namespace byoc::test
