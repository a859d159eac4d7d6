// SPDX-License-Identifier: Apache-2.0
#include "byoc/op/registry.h"

#include <gmock/gmock.h>

namespace byoc {
namespace {

OpDef named(std::string name) {
  OpDef op{.name = std::move(name)};
  op.infer = [](Types, const Attrs&) -> Result<std::vector<TensorType>> {
    return std::vector<TensorType>{};
  };
  return op;
}

TEST(OpRegistry, FindsWhatWasAdded) {
  OpRegistry ops;
  ops.add(named("relu"));
  EXPECT_EQ(ops.find("relu")->name, "relu");
  EXPECT_EQ(ops.find("tanh"), nullptr);
}

TEST(OpRegistry, ListsByName) {
  OpRegistry ops;
  for (const char* name : {"tanh", "add", "relu"}) ops.add(named(name));
  std::vector<std::string> names;
  for (const OpDef* op : ops.all()) names.push_back(op->name);
  EXPECT_THAT(names, ::testing::ElementsAre("add", "relu", "tanh"));
}

TEST(OpRegistry, NamesTheNearestOpWhenOneIsUnknown) {
  OpRegistry ops;
  for (const char* name : {"softmax", "softplus"}) ops.add(named(name));
  auto missing = ops.get("sofmax");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.status().slug(), "unknown-op");
  EXPECT_EQ(missing.status().code(), Code::kNotFound);
  EXPECT_EQ(missing.status().message(), "no op is called \"sofmax\"; did you mean \"softmax\"?");
}

TEST(OpRegistry, AbortsOnASecondOpOfTheSameName) {
  OpRegistry ops;
  ops.add(named("relu"));
  EXPECT_DEATH(ops.add(named("relu")), "op relu is registered twice");
}

}  // namespace
}  // namespace byoc
