// SPDX-License-Identifier: Apache-2.0
#include "unit/simplify/modules.h"

namespace byoc {
namespace {

constexpr std::string_view kBatch =
    "fn main(%x: f32[N<=8,3], %y: f32[N<=8,M]) { %0 = relu(%x)  return %0, %y }";

std::string error_of(std::string_view text, const GivenShapes& shapes) {
  Status status = bind_shapes(module_of(text), shapes, {}).status();
  return cat(status.slug(), ": ", status.message());
}

TEST(BindShapes, BindsANameInEveryFunction) {
  expect_equal(after("fn main(%x: f32[N,3]) { %0 = @f(%x)  return %0 }\n"
                     "fn f(%x: f32[N,3]) { %0 = relu(%x)  return %0 }\n"
                     "fn unreached(%x: f32[N]) { return %x }",
                     "bind_shapes=N=4"),
               "fn main(%x: f32[4,3]) { %0 = @f(%x)  return %0 }\n"
               "fn f(%x: f32[4,3]) { %0 = relu(%x)  return %0 }\n"
               "fn unreached(%x: f32[4]) { return %x }");
}

TEST(BindShapes, LeavesOtherNamesAlone) {
  expect_equal(after(kBatch, "bind_shapes=N=2"),
               "fn main(%x: f32[2,3], %y: f32[2,M]) { %0 = relu(%x)  return %0, %y }");
}

TEST(BindShapes, TakesAWholeInputByItsUsersName) {
  expect_equal(after("fn main(%x: f32[N,C]) {input_names=[\"pixel values\"]} { return %x }",
                     "bind_shapes=pixel values=1x3"),
               "fn main(%x: f32[1,3]) {input_names=[\"pixel values\"]} { return %x }");
}

TEST(BindShapes, TakesOneNumberForANameThatIsInputAndSize) {
  expect_equal(after("fn main(%N: f32[N,3]) { return %N }", "bind_shapes=N=2"),
               "fn main(%N: f32[2,3]) { return %N }");
}

TEST(BindShapes, CopiesAFunctionCalledWithSeveralShapes) {
  // The two calls of h have equal symbolic sizes before the pass, and different numbers after it.
  IRModule module = module_of(
      "fn main(%a: f32[N], %b: f32[M]) { %0 = @f(%a)  %1 = @g(%b)  return %0, %1 }\n"
      "fn f(%x: f32[N]) { %0 = @h(%x)  return %0 }\n"
      "fn g(%x: f32[M]) { %0 = @h_m(%x)  return %0 }\n"
      "fn h(%x: f32[N]) {compiler=\"p\"} { %0 = relu(%x)  return %0 }\n"
      "fn h_m(%x: f32[M]) { %0 = exp(%x)  return %0 }");
  std::get<Invoke>(module.function("g").nodes[1].kind).function = "h";
  auto bound = bind_shapes(module, {{"N", {2}}, {"M", {3}}}, {});
  expect_equal(bound,
               "fn main(%a: f32[2], %b: f32[3]) { %0 = @f(%a)  %1 = @g(%b)  return %0, %1 }\n"
               "fn f(%x: f32[2]) { %0 = @h(%x)  return %0 }\n"
               "fn g(%x: f32[3]) { %0 = @h_1(%x)  return %0 }\n"
               "fn h(%x: f32[2]) {compiler=\"p\"} { %0 = relu(%x)  return %0 }\n"
               "fn h_1(%x: f32[3]) {compiler=\"p\"} { %0 = relu(%x)  return %0 }\n"
               "fn h_m(%x: f32[3]) { %0 = exp(%x)  return %0 }");
}

TEST(BindShapes, MapsTheTypesOfExterns) {
  expect_equal(
      after("fn main(%x: f32[N]) { %0 = call_dps_packed(@host, %x) : f32[N,2]  return %0 }",
            "bind_shapes=N=4"),
      "fn main(%x: f32[4]) { %0 = call_dps_packed(@host, %x) : f32[4,2]  return %0 }");
}

TEST(BindShapes, RefusesAnUnknownName) {
  Status status = bind_shapes(module_of(kBatch), {{"n", {1}}}, {}).status();
  EXPECT_EQ(status.message(), "the model has no input or named size \"n\"; did you mean \"x\"?");
  EXPECT_EQ(status.help(), "the model has: x, y, M, N");
}

TEST(BindShapes, RefusesANumberOutsideTheBounds) {
  EXPECT_EQ(error_of(kBatch, {{"N", {9}}}), "shape-bounds: \"N\" cannot be 9: the model has N<=8");
  EXPECT_EQ(error_of(kBatch, {{"N", {-1}}}), "shape-bounds: \"N\" cannot be -1");
}

TEST(BindShapes, RefusesNumbersThatContradict) {
  EXPECT_EQ(error_of(kBatch, {{"x", {2, 3}}, {"y", {4, 5}}}),
            "shape-conflict: \"N\" cannot be both 2 and 4");
  EXPECT_EQ(error_of(kBatch, {{"x", {2, 4}}}),
            "input-shape: \"x\" is f32[N<=8,3] and cannot be 2x4");
  EXPECT_EQ(error_of(kBatch, {{"x", {2}}}), "input-shape: \"x\" is f32[N<=8,3] and cannot be 2");
  EXPECT_EQ(error_of(kBatch, {{"N", {2, 3}}}),
            "input-shape: \"N\" is a named size and cannot be 2x3");
}

TEST(BindShapes, SaysWhichOpTheNumbersDoNotFit) {
  Status status =
      bind_shapes(module_of("fn main(%x: f32[N]) { %0 = @f(%x)  return %0 }\n"
                            "fn f(%x: f32[N]) { %0 = relu(%x) loc(\"Relu_0\")  return %0 }"),
                  {{"N", {int64_t{1} << 61}}}, {})
          .status();
  EXPECT_THAT(status.message(), ::testing::HasSubstr("does not fit in 63 bits"));
  EXPECT_EQ(status.where(), "@f: %0 (relu \"Relu_0\"): relu");
}

TEST(BindShapes, RefusesACallThatDoesNotFit) {
  IRModule module =
      module_of("fn main(%x: f32[N]) { %0 = @f(%x)  return %0 } fn f(%x: f32[N]) { return %x }");
  module.function("f").nodes[0].types = TypeId(TensorType{DType::kI64, {Dim(1)}});
  Status status = bind_shapes(module, {{"N", {1}}}, {}).status();
  EXPECT_EQ(status.message(), "the arguments do not fit @f");
  EXPECT_EQ(status.slug(), "signature-mismatch");
}

std::string shape(std::string_view text) {
  auto parsed = parse_shape(text);
  if (!parsed.ok()) return parsed.status().message();
  std::string out = parsed->first;
  for (const GivenSize& extent : parsed->second) out += cat(" ", extent);
  return out;
}

TEST(BindShapes, KeepsANameWithinARange) {
  expect_equal(
      after("fn main(%x: f32[N<=64,3]) { %0 = relu(%x)  return %0 }", "bind_shapes=N=2..8"),
      "fn main(%x: f32[2<=N<=8,3]) { %0 = relu(%x)  return %0 }");
  EXPECT_EQ(error_of(kBatch, {{"N", {GivenSize(1, 9)}}}).substr(0, 12), "shape-bounds");
}

// The attribute has the sizes, and becomes numbers with them.
TEST(BindShapes, BindsSizesInAttributes) {
  const char* open =
      "fn main(%x: f32[N,M,4]) { %0 = reshape(%x) {open_shape=[\"(M*N : M, N)\",\"4\"]}  return %0 "
      "}";
  expect_equal(after(open, "bind_shapes=N=2+M=3"),
               "fn main(%x: f32[2,3,4]) { %0 = reshape(%x) {shape=[6,4]}  return %0 }");
  expect_equal(after(open, "bind_shapes=N=2"),
               "fn main(%x: f32[2,M,4]) { %0 = reshape(%x) "
               "{open_shape=[\"(2*M : M)\",\"4\"]}  return %0 }");
}

TEST(ParseShape, ReadsNamesAndExtents) {
  EXPECT_EQ(shape("N=1"), "N 1");
  EXPECT_EQ(shape("x=1x3x224x224"), "x 1 3 224 224");
  EXPECT_EQ(shape("a=b=2"), "a=b 2");
  EXPECT_EQ(shape("x="), "x");
}

TEST(ParseShape, RefusesWhatIsNoShape) {
  EXPECT_EQ(shape("N"), "\"N\" is not of the form NAME=1x3x224x224");
  EXPECT_EQ(shape("=1"), "\"=1\" is not of the form NAME=1x3x224x224");
  EXPECT_EQ(shape("N=1xx2"), "\"\" in \"N=1xx2\" is not a size");
  EXPECT_EQ(shape("N=-1"), "\"-1\" in \"N=-1\" is not a size");
}

TEST(ParseShape, SaysHowAShapeIsWritten) {
  auto help = [](std::string_view text) { return parse_shape(text).status().help(); };
  const std::string form =
      "sizes are whole numbers, or ranges such as 1..64, with x between them: ";
  EXPECT_EQ(help("image=1,1,8,8"), form + "image=1x1x8x8");
  EXPECT_EQ(help("N=a"), form + "N=1x3x224x224");
  EXPECT_EQ(help("N=1xx2"), form + "N=1x3x224x224");
}

}  // namespace
}  // namespace byoc
