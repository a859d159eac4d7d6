// SPDX-License-Identifier: Apache-2.0
// Functions of a plugin with `weights_as_inputs` that differ in weights alone are compiled once.
#include "unit/kept/keeping.h"

namespace byoc::test {
namespace {

using testing::ElementsAre;

/// Returns "const([value, value, ...]) : f32[10,10]".
std::string weight(double value, int n = 100, const char* type = "f32[10,10]") {
  std::string list;
  for (int k = 0; k < n; ++k) list += cat(k > 0 ? ", " : "", value);
  return cat("const([", list, "]) : ", type);
}

class Lifted : public Keeping {
 protected:
  Executable built(const std::string& model, const std::string& id = "lifted", int level = 1) {
    BuildOptions with;
    with.plugins = selective_plugins(options(id, {{"ops", "matmul"}}));
    with.compilers = {id};
    with.level = level;
    Result<Executable> out = build(parse(model), with);
    EXPECT_TRUE(out.ok()) << out.status().to_string();
    return out.ok() ? *std::move(out) : Executable();
  }
  std::vector<float> run(const Executable& executable, const std::string& id = "lifted") {
    std::vector<Tensor> inputs;
    inputs.push_back(tensor_f32({1, 10}, std::vector<float>(10, 1)));
    return floats(execute(executable, selective_plugins(options(id)), inputs)[0]);
  }
};

/// Three products of equal elements, with relu, which another plugin takes, between them.
std::string layers(const std::string& a, const std::string& b, const std::string& c) {
  return cat("fn main(%x: f32[1,10]) {\n %a = ", a, "\n %b = ", b, "\n %c = ", c,
             "\n %0 = matmul(%x, %a) %1 = relu(%0) %2 = matmul(%1, %b) %3 = relu(%2)"
             " %4 = matmul(%3, %c) return %4 }");
}

TEST_F(Lifted, LayersOfOtherWeightsAreCompiledOnce) {
  const Executable made = built(layers(weight(0.5), weight(0.25), weight(2)));
  EXPECT_EQ(compiled(), 1);
  EXPECT_EQ(made.program.constants.size(), 3u);
  // 10 * 0.5 = 5; 10 * 5 * 0.25 = 12.5; 10 * 12.5 * 2 = 250
  EXPECT_THAT(run(made), ElementsAre(250, 250, 250, 250, 250, 250, 250, 250, 250, 250));
}

TEST_F(Lifted, PluginsWithoutThePromiseCompileEach) {
  built(layers(weight(0.5), weight(0.25), weight(2)), "kept");
  EXPECT_EQ(compiled(), 3);
}

TEST_F(Lifted, ASingleFunctionKeepsItsWeights) {
  const Executable made =
      built(cat("fn main(%x: f32[1,10]) { %a = ", weight(0.5), " %0 = matmul(%x, %a) return %0 }"));
  EXPECT_EQ(compiled(), 1);
  EXPECT_TRUE(made.program.constants.empty());
}

TEST_F(Lifted, EqualWeightsStayInTheFunction) {
  const Executable made = built(layers(weight(0.5), weight(0.5), weight(0.5)));
  EXPECT_EQ(compiled(), 1);
  EXPECT_TRUE(made.program.constants.empty());
  EXPECT_EQ(run(made)[0], 125);
}

TEST_F(Lifted, OtherTypesAreOtherFunctions) {
  const Executable made = built(cat("fn main(%x: f32[1,10]) { %a = ", weight(0.5),
                                    " %b = ", weight(0.5, 200, "f32[10,20]"),
                                    " %0 = matmul(%x, %a) %1 = relu(%0) %2 = matmul(%1, %b)"
                                    " return %2 }"));
  EXPECT_EQ(compiled(), 2);
  EXPECT_TRUE(made.program.constants.empty());
}

TEST_F(Lifted, ConstantsOfAFewElementsAreInTheGraph) {
  const auto few = [](const char* value) { return cat("const(", value, ") : f32[]"); };
  BuildOptions with;
  with.plugins = selective_plugins(options("lifted", {{"ops", "multiply"}}));
  with.compilers = {"lifted"};
  auto out = build(parse(cat("fn main(%x: f32[10]) { %a = ", few("2.0"), " %b = ", few("3.0"),
                             " %0 = multiply(%x, %a) %1 = relu(%0) %2 = multiply(%1, %b)"
                             " return %2 }")),
                   with);
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(compiled(), 2);
}

TEST_F(Lifted, ALowLevelLiftsNothing) {
  built(layers(weight(0.5), weight(0.25), weight(2)), "lifted", 0);
  EXPECT_EQ(compiled(), 3);
}

}  // namespace
}  // namespace byoc::test
