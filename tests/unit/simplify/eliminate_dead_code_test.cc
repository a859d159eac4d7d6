// SPDX-License-Identifier: Apache-2.0
#include "modules.h"

namespace byoc {
namespace {

TEST(EliminateDeadCode, DropsConstantsThatNothingNames) {
  IRModule module = module_of(
      "fn main(%x: f32[1]) { %a = const([1.0]) : f32[1]  %b = const([2.0]) : f32[1]\n"
      "  %0 = add(%x, %a)  %1 = add(%x, %b)  return %1 }");
  EXPECT_EQ(module.constants.size(), 2u);
  auto cleaned = after(module, "eliminate_dead_code");
  ASSERT_TRUE(cleaned.ok());
  EXPECT_EQ(cleaned->constants.size(), 1u);
}

TEST(EliminateDeadCode, KeepsConstantsOfExternalModulesAndAttributes) {
  IRModule module = module_of("fn main(%x: f32[1]) { return %x }");
  auto add = [&](float value) {
    return module.add_constant(Buffer::copy(std::as_bytes(std::span(&value, 1))))->key();
  };
  ExternalFunction function{.symbol = "f"};
  function.constants.push_back({"w", add(1), {DType::kF32, {1}}, 2});
  function.packed.push_back({add(2), 64});
  module.external_mods.push_back({.plugin = "p", .functions = {function}});
  module.attrs.set("kept", ConstantRef{add(3), TensorType{DType::kF32, {Dim(1)}}});
  add(4);
  auto cleaned = eliminate_dead_code(module, {});
  ASSERT_TRUE(cleaned.ok());
  EXPECT_EQ(cleaned->constants.size(), 3u);
}

TEST(EliminateDeadCode, RefusesAModuleWithoutItsEntry) {
  EXPECT_EQ(eliminate_dead_code(IRModule(), {}).status().message(),
            "the module has no function @main");
}

}  // namespace
}  // namespace byoc
