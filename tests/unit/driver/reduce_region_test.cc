#include "core/tools/verify/reduce_region.h"

#include <gtest/gtest.h>

#include "byoc/text/text.h"

namespace byoc::test {
namespace {

TEST(ReduceRegion, RefusesARegionWithoutOps) {
  auto module = parse_module(R"(
    fn main(%x: f32[2]) { %0 = @f(%x)  return %0 }
    fn f(%x: f32[2]) {compiler="json", primitive=true} { return %x })",
                             all_ops());
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  auto input = Tensor::make({DType::kF32, {2}});
  ASSERT_TRUE(input.ok());
  std::vector<Tensor> inputs;
  inputs.push_back(*std::move(input));
  Status status = driver::reduce_region(*module, "f", std::move(inputs), {}).status();
  EXPECT_EQ(status.slug(), "no-ops");
  EXPECT_EQ(status.message(), "@f gives a wrong result and has no ops");
}

}  // namespace
}  // namespace byoc::test
