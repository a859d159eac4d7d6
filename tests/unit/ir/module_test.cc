// SPDX-License-Identifier: Apache-2.0
#include "byoc/ir/module.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support.h"

namespace byoc {
namespace {

TEST(IRModule, StoresEqualConstantsOnce) {
  IRModule module;
  const Buffer* a = module.add_constant(f32_buffer({1, 2, 3}));
  EXPECT_EQ(a, module.add_constant(f32_buffer({1, 2, 3})));
  EXPECT_NE(a, module.add_constant(f32_buffer({1, 2, 4})));
  EXPECT_EQ(module.constants.size(), 2u);
}

TEST(IRModule, TellsDifferentConstantsWithOneKeyApart) {
  IRModule module;
  auto real = f32_buffer({1, 2});
  module.add_constant(real);
  auto other = f32_buffer({3, 4});
  auto forged = Buffer::adopt_keyed(other->bytes(), other, real->key());
  EXPECT_DEATH(module.add_constant(forged), "two different constants have the key");
}

TEST(IRModule, ACopySharesConstantsAndOutlivesTheOriginal) {
  auto original = std::make_unique<IRModule>(small_module());
  IRModule copy = *original;
  const Buffer* data = std::get<Constant>(copy.function("main").nodes[1].kind).data;
  original.reset();
  EXPECT_EQ(data->size(), 8u);
  EXPECT_EQ(copy.constants.begin()->second.get(), data);
}

TEST(IRModule, FindsNamesNobodyHas) {
  IRModule module = small_module();
  ExternalModule external;
  external.functions.push_back({.symbol = "main_1"});
  external.functions[0].aliases = {{"main_2", {}}};
  module.external_mods.push_back(external);
  EXPECT_EQ(module.unique_name("f"), Symbol("f"));
  EXPECT_EQ(module.unique_name("main"), Symbol("main_3"));
  EXPECT_EQ(module.find_external("main_1")->symbol, "main_1");
  EXPECT_EQ(module.find_external("main_2")->symbol, "main_1") << "an alias";
  EXPECT_EQ(module.find_external("main"), nullptr);
}

TEST(IRModule, NamesAMissingFunction) {
  IRModule module = small_module();
  EXPECT_EQ(module.find("f"), nullptr);
  EXPECT_DEATH(module.function("f"), "no function f");
}

}  // namespace
}  // namespace byoc
