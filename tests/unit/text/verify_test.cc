// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "byoc/ir/composite.h"
#include "byoc/text/text.h"

namespace byoc {
namespace {

// Returns the error of verify after `change` was applied to a valid module.
std::string refusal(const std::function<void(IRModule&, Function&)>& change) {
  auto module = parse_module(R"(
    fn main(%x: f32[2], %y: f32[2]) { %0 = const([1,2]) : f32[2]  %1 = add(%x, %0) loc("Add_0")  %2 = @f(%1)  return %2 }
    fn f(%a: f32[2]) { %0 = relu(%a)  return %0 })",
                             all_ops());
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  change(*module, module->function("main"));
  Status status = verify(*module);
  return status.ok() ? "ok" : cat(status.slug(), " ", status.where(), " | ", status.message());
}

TEST(Verify, AcceptsASoundModule) {
  EXPECT_EQ(refusal([](IRModule&, Function&) {}), "ok");
}

TEST(Verify, WantsAnEntry) {
  EXPECT_EQ(refusal([](IRModule& m, Function&) { m.entry = "net"; }),
            "ir-invalid  | the module has no entry function @net");
}

TEST(Verify, WantsOperandsFromEarlierNodes) {
  EXPECT_EQ(refusal([](IRModule&, Function& f) {
              f.operands[0] = {4, 0};
            }),
            "ir-invalid @main: %1 (add \"Add_0\") | node 4 is read before it is computed");
  EXPECT_EQ(refusal([](IRModule&, Function& f) {
              f.operands[0] = {0, 1};
            }),
            "ir-invalid @main: %1 (add \"Add_0\") | output 1 of %x (parameter) is read, it has 1");
  EXPECT_EQ(refusal([](IRModule&, Function& f) { f.operands.pop_back(); }),
            "ir-invalid @main: %2 (@f) | its operands are outside the function's list of operands");
  EXPECT_EQ(refusal([](IRModule&, Function& f) {
              f.results[0] = {9, 0};
            }),
            "ir-invalid @main: return | node 9 is read before it is computed");
}

TEST(Verify, WantsTypesThatInferenceGives) {
  EXPECT_EQ(refusal([](IRModule&, Function& f) { f.nodes[3].types = TypeIds(TypeId()); }),
            "ir-invalid @main: %1 (add \"Add_0\") | its type is f32[], inference gives f32[2]");
  EXPECT_EQ(refusal([](IRModule&, Function& f) { f.nodes[4].types = TypeIds(TypeId()); }),
            "ir-invalid @main: %2 (@f) | its type is f32[], @f returns f32[2]");
  EXPECT_EQ(refusal([](IRModule& m, Function&) {
              m.function("f").nodes[0].types = m.function("f").nodes[1].types = TypeIds(TypeId());
            }),
            "ir-invalid @main: %2 (@f) | it gives f32[2] to @f, which takes f32[]");
}

TEST(Verify, WantsTheRightNumberOfOperands) {
  std::string message =
      refusal([](IRModule&, Function& f) { std::get<Call>(f.nodes[3].kind).args.count = 1; });
  EXPECT_NE(message.find("@main: %1 (add \"Add_0\")"), std::string::npos) << message;
  EXPECT_NE(message.find("add"), std::string::npos);
}

TEST(Verify, WantsKnownAndCompleteAttributes) {
  std::string message = refusal([](IRModule&, Function& f) {
    std::get<Call>(f.nodes[3].kind).attrs = intern({{"colour", int64_t{1}}});
  });
  EXPECT_NE(message.find("colour"), std::string::npos) << message;
  auto module = parse_module("fn main(%x: f32[2]) { %0 = leaky_relu(%x) return %0 }", all_ops());
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  std::get<Call>(module->function("main").nodes[1].kind).attrs = intern({});
  EXPECT_NE(verify(*module).message().find("are not complete: {alpha="), std::string::npos)
      << verify(*module).to_string();
}

TEST(Verify, WantsNamedParametersInFront) {
  EXPECT_EQ(refusal([](IRModule&, Function& f) { f.nodes[1].kind = Param{"x"}; }),
            "ir-invalid @main: %x (parameter) | two parameters are called \"x\"");
  EXPECT_EQ(refusal([](IRModule&, Function& f) { f.nodes[1].kind = Param{}; }),
            "ir-invalid @main: %\"\" (parameter) | a parameter has no name");
  EXPECT_EQ(refusal([](IRModule&, Function& f) { f.nodes[3].kind = Param{"z"}; }),
            "ir-invalid @main: %1 (parameter \"Add_0\") | a parameter comes after other nodes");
}

TEST(Verify, WantsConstantsOfTheRightSizeInThePool) {
  EXPECT_EQ(refusal([](IRModule& m, Function&) { m.constants.clear(); }),
            "ir-invalid @main: %0 (const) | its bytes are not in the module's pool of constants");
  EXPECT_EQ(refusal([](IRModule&, Function& f) {
              f.nodes[2].types = TypeIds(TensorType{DType::kF32, {3}});
            }),
            "ir-invalid @main: %0 (const) | f32[3] takes 12 bytes, the constant has 8");
  EXPECT_EQ(
      refusal([](IRModule&, Function& f) { std::get<Constant>(f.nodes[2].kind).data = nullptr; }),
      "ir-invalid @main: %0 (const) | a constant has no bytes");
  ContentKey none;
  EXPECT_EQ(refusal([&](IRModule&, Function& f) {
              f.attrs.set("c", ConstantRef{none, TypeId()});
            }),
            cat("ir-invalid @main | attribute c: const<", none, "> is not in the module's pool"));
}

TEST(Verify, WantsOneMeaningPerNamedDim) {
  EXPECT_EQ(refusal([](IRModule&, Function& f) {
              f.nodes[0].types = TypeIds(TensorType{DType::kF32, {Dim::symbol("N")}});
              f.nodes[1].types = TypeIds(TensorType{DType::kF32, {Dim::symbol("N", 0, 4)}});
            }),
            "ir-invalid @main: %y (parameter) | dim N<=4 was N before");
}

TEST(Verify, WantsCalleesWithoutRecursion) {
  EXPECT_EQ(refusal([](IRModule& m, Function&) { m.functions.erase("f"); }),
            "unknown-function  | @main calls @f, which the module does not have");
  EXPECT_EQ(refusal([](IRModule& m, Function&) {
              std::get<Invoke>(m.function("main").nodes[4].kind).function = "main";
            }),
            "recursion  | functions call each other in a circle: @main -> @main");
}

TEST(Verify, WantsOneFunctionPerSymbol) {
  EXPECT_EQ(refusal([](IRModule& m, Function&) {
              m.external_mods.emplace_back().functions.push_back({.symbol = "f"});
            }),
            "ir-invalid  | two functions are called @f");
  EXPECT_EQ(refusal([](IRModule& m, Function&) {
              m.external_mods.emplace_back().functions.push_back({.symbol = "k"});
              m.external_mods[0].functions[0].aliases = {{"f", {}}};
            }),
            "ir-invalid  | two functions are called @f");
}

TEST(Verify, WantsAttributesOfFunctionsOfTheKindThatPassesRead) {
  auto with = [](const char* name, AttrValue value) {
    return refusal([&](IRModule&, Function& f) { f.attrs.set(name, value); });
  };
  EXPECT_EQ(with("compiler", int64_t{3}),
            "ir-invalid @main | attribute compiler: expected string, got integer");
  EXPECT_EQ(with("input_names", Ints{1}),
            "ir-invalid @main | attribute input_names: expected list of strings, got list of "
            "integers");
  EXPECT_EQ(with("opset", std::string("13")),
            "ir-invalid @main | attribute opset: expected integer, got string");
  EXPECT_EQ(with("output_names", Strings{}), "ok") << "the kind of an empty list is unknown";
  EXPECT_EQ(with("made_by", int64_t{3}), "ok") << "this attribute is not read";
}

TEST(Verify, WantsSoundCaptures) {
  EXPECT_EQ(refusal([](IRModule&, Function& f) {
              set_captures(f, {{"w", {{Capture::kNode, 2}}}});
            }),
            "captures @main | captures: n2 does not exist in \"w=n2\"");
}

}  // namespace
}  // namespace byoc
