// SPDX-License-Identifier: Apache-2.0
// Loop functions in modules: text, verification, passes, graph JSON.
#include "byoc/te/module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "byoc/te/tensor.h"
#include "byoc/text/graph_json.h"
#include "support/flow.h"

namespace byoc::test {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kScaled = R"(module {
  loops scale(x: f32[2,3], s: f32[]) -> (y: f32[2,3]) {
    for i in 0..2 {
      vectorized j in 0..3 { y[i, j] = x[i, j] * s[] }
    }
  }
  fn main(%x: f32[2,3], %s: f32[]) {
    %0 = relu(%x)
    %1 = @scale(%0, %s)
    %2 = tanh(%1)
    return %2
  }
}
)";

Status parse_error(std::string_view text) {
  Result<IRModule> module = parse_module(text, all_ops());
  EXPECT_FALSE(module.ok()) << text;
  return module.ok() ? Status() : module.status();
}

TEST(LoopsInModules, PrintAndParseBack) {
  IRModule module = parse(kScaled);
  const std::string text = print(module);
  EXPECT_THAT(text, HasSubstr(R"(  loops scale(x: f32[2, 3], s: f32[]) -> (y: f32[2, 3]) {
    for i in 0..2 {
      vectorized j in 0..3 {
        y[i, j] = (x[i, j] * s[])
      }
    }
  }
)"));
  IRModule again = parse(text);
  expect_equal(module, again);
  EXPECT_EQ(print(again), text);
  EXPECT_EQ(print(module.function("scale"), "scale"),
            "loops scale(x: f32[2, 3], s: f32[]) -> (y: f32[2, 3]) {\n  for i in 0..2 {\n"
            "    vectorized j in 0..3 {\n      y[i, j] = (x[i, j] * s[])\n    }\n  }\n}\n");
}

TEST(LoopsInModules, HaveParametersResultsAndAttributes) {
  IRModule module = parse(R"(
    loops "my loops"("a b": i64[2]) -> (y: i64[2], z: f64[1]) { y[0] = "a b"[1] }
    {compiler="json", note=3}
    fn main(%x: i64[2]) { %0 = @"my loops"(%x)  return %0#1, %0 })");
  const Function& loops = module.function("my loops");
  EXPECT_TRUE(te::has_loops(loops));
  EXPECT_EQ(cat(TypeIds(signature(loops).params)), "i64[2]");
  EXPECT_EQ(cat(TypeIds(signature(loops).results)), "i64[2], f64[1]");
  EXPECT_EQ(loops.attr("compiler"), "json");
  EXPECT_EQ(loops.attrs.i("note"), 3);
  EXPECT_EQ(te::loops_of(loops, "my loops")->name, "my loops");
  expect_equal(module, parse(print(module)));
}

TEST(LoopsInModules, AreAddedFromTensorExpressions) {
  te::Builder b;
  te::Tensor x = b.placeholder("x", DType::kF32, {8});
  te::Tensor y = b.compute("y", {8}, [&](const te::Indices& i) { return x(i) * x(i); });
  IRModule module = parse("fn main(%x: f32[8]) { %0 = relu(%x)  return %0 }");
  te::LoopFunction loops{
      "f", {x}, {y}, te::loop("i", 8, [&](te::Expr i) { return te::make_store(y, {i}, x(i)); })};
  ASSERT_TRUE(te::add_loops(module, "copy", loops, {{"compiler", "json"}}).ok());
  EXPECT_EQ(module.function("copy").attr("compiler"), "json");
  EXPECT_TRUE(verify(module).ok()) << verify(module).to_string();
  EXPECT_EQ(te::add_loops(module, "copy", loops).slug(), "loops-name");
  EXPECT_EQ(te::add_loops(module, "other", invalid("no schedule")).message(), "no schedule");
  te::Var n("n");
  te::Tensor any("any", DType::kF32, {n});
  EXPECT_THAT(te::add_loops(module, "open",
                            te::LoopFunction{"f", {any}, {y}, te::make_store(y, {0}, any(0))})
                  .to_string(),
              HasSubstr("tensor any has the extent n"));
  te::LoopFunction unbound{"f", {x}, {y}, te::make_store(y, {n}, x(0))};
  EXPECT_THAT(te::add_loops(module, "unbound", unbound).to_string(),
              HasSubstr("there is no variable n here"));
  te::LoopFunction nothing{"f", {x}, {}, {}};
  EXPECT_THAT(te::add_loops(module, "nothing", nothing).to_string(), HasSubstr("one output"));
}

TEST(LoopsInModules, HaveSizesThatEachRunGives) {
  constexpr std::string_view kOpen = R"(module {
  fn main(%x: f32[1<=T<=64,3]) {
    %0 = @pairs(%x)
    return %0
  }
  loops pairs sizes 1<=T<=64 (x: f32[T, 3]) -> (y: f32[(2 * T), 3]) {
    parallel i in 0..(2 * T) {
      for j in 0..3 {
        y[i, j] = x[(i / 2), j]
      }
    }
  }
}
)";
  IRModule module = parse(kOpen);
  EXPECT_EQ(print(module), kOpen);
  expect_equal(module, parse(print(module)));
  EXPECT_EQ(cat(TypeIds(signature(module.function("pairs")).results)), "f32[(2*T : 1<=T<=64),3]");
  const std::string head = "fn main(%x: f32[8]) { return %x } loops f ";
  EXPECT_THAT(parse_error(head + "sizes 4<=T<=2 (x: f32[T]) -> (y: f32[T]) { }").message(),
              HasSubstr("the size T is from 4 to 2"));
  EXPECT_THAT(parse_error(head + "sizes 1<=T<=2, 1<=T<=3 (x: f32[T]) -> (y: f32[T]) { }").message(),
              HasSubstr("two sizes are called T"));
  EXPECT_THAT(parse_error(head + "sizes 1<=T<=2 (x: f32[2]) -> (y: f32[2]) { }").message(),
              HasSubstr("no parameter and no result has the size T"));
  EXPECT_THAT(parse_error(head + "sizes 1<=T<=2 (x: f32[T & 1]) -> (y: f32[2]) { }").message(),
              HasSubstr("tensor x has the extent (T & 1)"));
}

TEST(LoopsInModules, HaveErrorsWithLineAndColumn) {
  Status status = parse_error(R"(module {
  fn main(%x: f32[8]) {
    %0 = @f(%x)
    return %0
  }
  loops f(x: f32[8]) -> (y: f32[8]) {
    y[i] = x[0]
  }
})");
  EXPECT_EQ(status.where(), "7:7");
  EXPECT_EQ(status.message(), "there is no variable i here");
  const std::string loops = "loops f(x: f32[8]) -> (y: f32[8]) { y[0] = x[0] }\n";
  EXPECT_THAT(parse_error(loops + loops + "fn main(%x: f32[8]) { return %x }").message(),
              HasSubstr("@f is defined twice"));
  EXPECT_THAT(parse_error(loops + "fn main(%x: f32[4]) { %0 = @f(%x)  return %0 }").message(),
              HasSubstr("operand 0 of @f is f32[8], f32[4] is given"));
  EXPECT_THAT(parse_error(loops + "{loops=\"\"} fn main(%x: f32[8]) { return %x }").message(),
              HasSubstr("not for users"));
}

TEST(LoopsInModules, AreRefusedWhenTheyDoNotFitTheirFunction) {
  const IRModule module = parse(kScaled);
  auto refused = [&](auto&& change) {
    IRModule changed = module;
    change(changed.function("scale"));
    Status status = verify(changed);
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(status.where(), HasSubstr("@scale"));
    return status.slug();
  };
  EXPECT_EQ(refused([](Function& f) { f.attrs.set("loops", "(x: f32[]"); }), "loops-syntax");
  EXPECT_EQ(refused([](Function& f) { f.attrs.set("loops", int64_t{1}); }), "ir-invalid");
  EXPECT_EQ(refused([](Function& f) { f.attrs.erase("primitive"); }), "loops-signature");
  EXPECT_EQ(refused([](Function& f) { f.results.push_back(f.results[0]); }), "loops-signature");
  EXPECT_EQ(refused([](Function& f) { f.results[0] = {0, 0}; }), "loops-signature");
  EXPECT_EQ(refused([](Function& f) { std::get<Extern>(f.nodes[2].kind).symbol = "other"; }),
            "loops-signature");
  EXPECT_EQ(refused([](Function& f) { std::get<Param>(f.nodes[0].kind).name = "z"; }),
            "loops-signature");
  EXPECT_EQ(refused([](Function& f) { f.attrs.set("loops", f.attrs.s("loops") + " "); }),
            "loops-signature");
}

TEST(LoopsInModules, AreNotChangedByAnyPassAndCompiledInTheEnd) {
  IRModule module = parse(kScaled);
  auto plugins = built_plugins();
  PassContext context = context_of(module, plugins);
  const std::string loops = module.function("scale").attr("loops");
  for (const Pass& pass : partition_pipeline(context)) {
    module = *pass.run(std::move(module), context, pass.args);
    Status status = verify(module);
    ASSERT_TRUE(status.ok()) << pass.name << ": " << status.to_string();
    ASSERT_NE(module.find("scale"), nullptr) << pass.name;
    EXPECT_EQ(module.function("scale").attr("loops"), loops) << pass.name;
    expect_equal(module, parse(print(module)));
  }
  EXPECT_FALSE(module.function("scale").attr("compiler").empty());
  for (const Pass& pass : codegen_pipeline(context)) {
    module = *pass.run(std::move(module), context, pass.args);
    Status status = verify(module);
    ASSERT_TRUE(status.ok()) << pass.name << ": " << status.to_string();
  }
  EXPECT_EQ(module.find("scale"), nullptr);
  EXPECT_NE(module.find_external("scale"), nullptr);
}

TEST(LoopsInModules, CrossAsGraphsThatRequireLoops) {
  IRModule module = parse(kScaled);
  std::string json;
  write_graph_json(module, module.function("scale"), "scale", json);
  EXPECT_THAT(json, HasSubstr(R"("requires":["loops"],"symbol":"scale",)"));
  auto read = read_graph_json(json, all_ops(), nullptr);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  std::string why;
  EXPECT_TRUE(equal(read->function("scale"), module.function("scale"), &why)) << why;
  auto replaced = [&](std::string_view from, std::string_view to) {
    std::string text = json;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    auto wrong = read_graph_json(text, all_ops(), nullptr);
    EXPECT_EQ(wrong.status().code(), Code::kBadGraph) << text;
    return wrong.ok() ? std::string() : wrong.status().message();
  };
  EXPECT_THAT(replaced(R"(["loops"])", "[]"), HasSubstr("do not fit together"));
  EXPECT_THAT(replaced(R"(["loops"])", R"(["loops","spirits"])"), HasSubstr("spirits"));
  EXPECT_THAT(replaced("x[i, j] * ", "x[i] * "), HasSubstr("expected 2 values, found 1"));
  EXPECT_THAT(replaced("f32[2, 3], s", "f32[2, 4], s"), HasSubstr("that of its loops"));
}

}  // namespace
}  // namespace byoc::test
