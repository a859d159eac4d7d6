// SPDX-License-Identifier: Apache-2.0
// Ops that move elements keep the sign of zeros, which oneDNN's reorders of 16 bits lose.
#include <gtest/gtest.h>

#include <cstring>

#include "support/flow.h"

namespace byoc::test {
namespace {

TEST(OnednnMoves, KeepTheSignOfZerosOf16Bits) {
  for (const char* dtype : {"bf16", "f16"}) {
    BuildOptions options;
    options.plugins = built_plugins();
    options.compilers = {"onednn", "json"};
    IRModule module = parse(cat("fn main(%x: ", dtype,
                                "[2,3]) {\n  %0 = concat(%x, %x) {axis=1}\n"
                                "  %1 = reshape(%0) {shape=[3,4]}\n"
                                "  %2 = transpose(%1) {perm=[1,0]}\n"
                                "  %3 = bit_cast(%2) {to=u16}\n  return %3\n}\n"));
    Result<Executable> executable = build(std::move(module), options);
    ASSERT_TRUE(executable.ok()) << executable.status().to_string();
    Result<Tensor> x = Tensor::make(executable->program.inputs[0].type);
    ASSERT_TRUE(x.ok());
    for (size_t k = 0; k < 6; ++k) {
      const uint16_t negative_zero = 0x8000;
      std::memcpy(x->data() + 2 * k, &negative_zero, 2);
    }
    std::vector<Tensor> inputs;
    inputs.push_back(*std::move(x));
    const std::vector<Tensor> y = execute(*executable, options.plugins, inputs);
    for (size_t k = 0; k < 12; ++k) {
      uint16_t got = 0;
      std::memcpy(&got, y[0].data() + 2 * k, 2);
      EXPECT_EQ(got, 0x8000) << dtype << " element " << k;
    }
  }
}

}  // namespace
}  // namespace byoc::test
