// SPDX-License-Identifier: Apache-2.0
// The commands opt, print, partition and explain, which print modules and reports.
#include "command.h"
#include "support/paths.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(OptCommand, RunsPassesInOrder) {
  Byoc byoc;
  std::string model =
      byoc.write("m.ir", "fn main(%x: f32[2]) { %0 = relu(%x)  %1 = tanh(%x)  return %0 }");
  Ran ran = byoc("opt " + model + " --passes eliminate_dead_code");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("relu"));
  EXPECT_THAT(ran.out, Not(HasSubstr("tanh")));
}

TEST(OptCommand, WritesAModuleThatReadsBack) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", kTwoOps);
  Ran ran = byoc("opt " + model + " --passes infer_types -o " + byoc.file("out.ir"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(byoc("print " + byoc.file("out.ir")).out, byoc("print " + model).out);
}

TEST(OptCommand, SetsAttributesOfFunctions) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", kTwoOps);
  EXPECT_THAT(byoc("opt " + model + " --set main.note=hello").out, HasSubstr("note=\"hello\""));
}

TEST(OptCommand, RefusesUnknownPassesFunctionsAndForms) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", kTwoOps);
  Ran pass = byoc("opt " + model + " --passes fold_constant");
  EXPECT_EQ(pass.code, 1);
  EXPECT_THAT(pass.err, HasSubstr("error[unknown-pass]"));
  EXPECT_THAT(pass.err, HasSubstr("fold_constants"));
  Ran function = byoc("opt " + model + " --set mian.a=b");
  EXPECT_EQ(function.code, 1);
  EXPECT_THAT(function.err, HasSubstr("no function \"mian\"; did you mean \"main\"?"));
  EXPECT_EQ(byoc("opt " + model + " --set main").code, 2);
  EXPECT_EQ(byoc("opt").code, 2);
}

TEST(PrintCommand, PrintsTheModuleAndNothingElse) {
  Byoc byoc;
  Ran ran = byoc("print " + byoc.write("m.ir", kTwoOps));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("tanh(%0) loc(\"second\")"));
  EXPECT_EQ(ran.err, "");
}

TEST(PrintCommand, PrintsTheTensorExpressionsOfTheWholeModel) {
  Byoc byoc;
  std::string model = byoc.write("m.ir",
                                 "fn main(%x: f32[2,3]) { %0 = const(0.5) : f32[3,4]  "
                                 "%1 = matmul(%x, %0)  %2 = relu(%1)  return %2 }");
  Ran ran = byoc("print " + model + " --te");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("dag matmul_relu {"));
  EXPECT_THAT(ran.out, HasSubstr("matmul: f32[2, 4]  // matmul, direct"));
  EXPECT_THAT(ran.out, HasSubstr("(x[i0, r0] * const0[r0, i1])"));
  auto json = byoc.json("print " + model + " --te");
  auto dag = json["te"][0];
  EXPECT_EQ(dag["function"], "main");
  EXPECT_EQ(dag["anchor"], 2);
  EXPECT_EQ(dag["inputs"].size(), 2u);
  EXPECT_EQ(dag["stages"][2]["kind"], "reduction");
  EXPECT_EQ(dag["stages"][2]["compute"], "direct");
  EXPECT_EQ(dag["stages"][2]["reduce"][0]["extent"], 3);
  EXPECT_EQ(dag["stages"][3]["op"], "relu");
}

TEST(PrintCommand, PrintsTheTensorExpressionsOfPartitionedFunctions) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", kTwoOps);
  Ran ran = byoc("print " + model + " --after fuse_ops --te --compiler json");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("// function json_main_0"));
  EXPECT_THAT(ran.out, HasSubstr("// tanh, direct"));
}

TEST(PrintCommand, SaysWhyAFunctionHasNoTensorExpression) {
  Byoc byoc;
  std::string model = byoc.write("m.ir",
                                 "fn main(%x: f32[2,N,N]) {\n"
                                 "  %0 = det(%x)\n"
                                 "  return %0\n"
                                 "}");
  Ran ran = byoc("print " + model + " --te");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("error[symbolic-shape]"));
  EXPECT_THAT(ran.err, HasSubstr("function main"));
  EXPECT_EQ(byoc("print " + model + " --te --shape N=2").code, 0);
  model = byoc.write("r.ir", "fn main(%x: f32[N,3]) { %0 = relu(%x)  return %0 }");
  EXPECT_THAT(byoc("print " + model + " --te").out, HasSubstr("relu: f32[N, 3]"));
}

// As byoc compile, without --shape.
TEST(PrintCommand, GivesOpenSizesARangeForCode) {
  Byoc byoc;
  const std::string model =
      byoc.write("r.ir", "fn main(%x: f32[N,3]) { %0 = tanh(%x)  return %0 }");
  const Ran code = byoc("print " + model + " --compiler llvm --llvm");
  EXPECT_EQ(code.code, 0) << code.err;
  EXPECT_THAT(code.out, HasSubstr("define"));
  EXPECT_THAT(code.err, HasSubstr("--shape N=1..65536"));
  const Ran later = byoc("print " + model + " --compiler json --after fuse_ops");
  EXPECT_EQ(later.code, 0) << later.err;
  EXPECT_THAT(later.out, HasSubstr("json_main_0(%i0: f32[1<=N<=65536,3])"));
  EXPECT_THAT(byoc("print " + model).out, HasSubstr("f32[N,3]"));
  const Ran placed = byoc("explain " + model + " --compiler llvm --placement");
  EXPECT_EQ(placed.code, 0) << placed.err;
}

TEST(PrintCommand, RefusesATargetThatNobodyKnows) {
  Byoc byoc;
  Ran ran = byoc("print " + byoc.write("m.ir", kTwoOps) + " --te --target pdp11");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("no target is called \"pdp11\"; known are native, x86-64-v2"));
}

TEST(PrintCommand, BindsSizesOfText) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", "fn main(%x: f32[N,3]) { %0 = relu(%x)  return %0 }");
  EXPECT_THAT(byoc("print " + model + " --shape N=4").out, HasSubstr("%x: f32[4,3]"));
  EXPECT_THAT(byoc("print " + model + " --shape x=5x3").out, HasSubstr("%x: f32[5,3]"));
  Ran ran = byoc("print " + model + " --shape M=4");
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(byoc("print " + model + " --shape N=a").code, 2);
}

TEST(PrintCommand, BindsInputsOfText) {
  Byoc byoc;
  std::string model =
      byoc.write("m.ir", "fn main(%x: f32[2], %y: f32[2]) { %0 = add(%x, %y)  return %0 }");
  EXPECT_THAT(byoc("print " + model + " --bind y=[1,2]").out, Not(HasSubstr("%y:")));
  Ran ran = byoc("print " + model + " --bind yy=[1,2]");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("did you mean \"y\"?"));
}

TEST(PrintCommand, ShowsTheModuleBehindAPass) {
  Byoc byoc;
  std::string model =
      byoc.write("m.ir", "fn main(%x: f32[2]) { %0 = relu(%x)  %1 = tanh(%x)  return %0 }");
  EXPECT_THAT(byoc("print " + model + " --after eliminate_dead_code").out, Not(HasSubstr("tanh")));
  Ran ran = byoc("print " + model + " --after eliminate");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("error[unknown-pass]"));
}

TEST(PrintCommand, RefusesWhatIsNoModel) {
  Byoc byoc;
  EXPECT_THAT(byoc("print " + byoc.write("m.txt", "x")).err,
              HasSubstr("ends in none of .onnx, .ir, .byoc"));
  EXPECT_THAT(byoc("print " + byoc.write("e.onnx", "")).err,
              HasSubstr("error[model-file]: the model file is empty"));
  EXPECT_THAT(byoc("print " + byoc.write("m.ir", "fn main(")).err, HasSubstr("error[ir-syntax]"));
}

TEST(PrintCommand, TakesAFolderWithOneModelInIt) {
  Byoc byoc;
  std::filesystem::create_directory(byoc.file("net"));
  EXPECT_THAT(byoc("print " + byoc.file("net")).err, HasSubstr("holds 0 models, expected one"));
  byoc.write("net/m.ir", kTwoOps);
  EXPECT_EQ(byoc("print " + byoc.file("net")).code, 0);
  byoc.write("net/n.ir", kTwoOps);
  EXPECT_THAT(byoc("print " + byoc.file("net")).err, HasSubstr("holds 2 models, expected one"));
}

TEST(PartitionCommand, CountsOpsByPlugin) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", kTwoOps);
  Json json = byoc.json("partition " + model);
  EXPECT_EQ(json["schema"], "byoc.partition/1");
  size_t ops = 0;
  for (const Json& plugin : json["plugins"]) ops += plugin["ops"].get<size_t>();
  EXPECT_EQ(ops, 2u);
  Ran ran = byoc("partition " + model + " -o " + byoc.file("p.ir"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(byoc("print " + byoc.file("p.ir")).code, 0);
}

// a0(A) -> h -> a2(A), and a1(A) -> a2. Greedy waves take a1 into the first
// group, so it is not in the region of a2.
constexpr const char* kEager = R"(fn main(%x: f32[4], %y: f32[4]) {
  %0 = relu(%x)
  %1 = tanh(%0)
  %2 = relu(%y)
  %3 = add(%1, %2)
  return %3
})";

TEST(PartitionCommand, PrintsRegionsAndBordersBesideThoseOfTheBaseline) {
  Byoc byoc;
  std::string line = "partition " + byoc.write("m.ir", kEager) + " --compiler a,json --plugin " +
                     BYOC_BUILD_DIR +
                     "/tests/support/plugins/libbyoc_a.so --plugin-option a.ops=relu,add";
  Json json = byoc.json(line);
  EXPECT_EQ(json["region_count"], 2);
  EXPECT_EQ(json["border_tensors"], 2);
  EXPECT_EQ(json["border_bytes"], 32);
  EXPECT_EQ(json["input_tensors"], 2);
  EXPECT_EQ(json["output_tensors"], 1);
  EXPECT_EQ(json["baseline"]["region_count"], 3);
  EXPECT_EQ(json["baseline"]["border_tensors"], 3);
  EXPECT_EQ(json["baseline"]["unconnected_region_count"], 2);
  std::string out = byoc(line).out;
  EXPECT_THAT(out, testing::ContainsRegex("this one +2 +2 "));
  EXPECT_THAT(out, testing::ContainsRegex("priority-greedy waves +3 +3 "));
}

// Partitions stored models for lists of plugins that cut each other's regions.
TEST(PartitionCommand, HasNeverMoreRegionsOrBorderTensorsThanTheBaseline) {
  const std::string three = cat(" --compiler a,b,c,json --plugin ", BYOC_BUILD_DIR,
                                "/tests/support/plugins/libbyoc_a.so --plugin ", BYOC_BUILD_DIR,
                                "/tests/support/plugins/libbyoc_b.so --plugin ", BYOC_BUILD_DIR,
                                "/tests/support/plugins/libbyoc_c.so");
  auto tastes = [&](const char* a, const char* b, const char* c) {
    return cat(three, " --plugin-option a.ops=", a, " --plugin-option b.ops=", b,
               " --plugin-option c.ops=", c);
  };
  const std::string plugins[] = {
      " --compiler onednn,json",
      tastes("add,divide,erf,layer_norm,matmul,multiply,reshape,transpose", "none", "none"),
      tastes("conv2d,matmul", "add,softmax,relu", "transpose,multiply,clip"),
      tastes("add,transpose", "matmul,conv2d,concat", "relu,reshape,divide,erf"),
      tastes("layer_norm,matmul,multiply,global_average_pool", "reshape,add,sigmoid", "softmax"),
      tastes("relu,clip", "softmax,matmul,conv2d,add", "layer_norm,transpose,reshape")};
  Byoc byoc;
  int fewer = 0;
  for (const char* model : {"transformer_13", "transformer_17", "fire", "squeeze_excite",
                            "inverted_residual_bn", "resnet_basic_bn", "two_outputs"}) {
    for (const std::string& choice : plugins) {
      std::string line =
          cat("partition ", BYOC_TEST_DATA, "/models/blocks/", model, "/model.onnx", choice);
      Json json = byoc.json(line);
      ASSERT_TRUE(json["ok"]) << line << json;
      EXPECT_LE(json["region_count"], json["baseline"]["region_count"]) << line;
      EXPECT_LE(json["border_tensors"], json["baseline"]["border_tensors"]) << line;
      fewer += json["border_tensors"] < json["baseline"]["border_tensors"];
    }
  }
  EXPECT_GT(fewer, 0) << "all cases have as many border tensors as the baseline";
}

TEST(PartitionCommand, RefusesAnUnknownPlugin) {
  Byoc byoc;
  Ran ran = byoc("partition " + byoc.write("m.ir", kTwoOps) + " --compiler jsno");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("error[unknown-plugin]"));
  EXPECT_THAT(ran.err, HasSubstr("json"));
}

TEST(ExplainCommand, SaysOfEachOpWhoTookIt) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", kTwoOps);
  Json json = byoc.json("explain " + model + " --compiler json");
  ASSERT_EQ(json["ops"].size(), 2u);
  for (const Json& op : json["ops"]) EXPECT_EQ(op["plugin"], "json") << op;
  EXPECT_THAT(byoc("explain " + model + " --compiler json").out, HasSubstr("2 ops"));
  EXPECT_THAT(byoc("explain " + model + " --compiler json --op second").out,
              HasSubstr("tanh \"second\": taken by json"));
  EXPECT_THAT(byoc("explain " + model + " --op secnd").err, HasSubstr("did you mean \"second\"?"));
}

// Returns a model in which relu and tanh alternate. The plugin takes relu only.
std::string relus_and_tanhs(int pairs) {
  std::string text = "fn main(%x: f32[2]) {\n", last = "%x";
  for (int k = 0; k < 2 * pairs; ++k) {
    text += cat("%", k, " = ", k % 2 ? "tanh" : "relu", "(", last, ") loc(\"op ", k, "\")\n");
    last = cat("%", k);
  }
  return text + "return " + last + " }";
}

const std::string kOnlyRelu = cat(" --compiler a,json --plugin ", BYOC_BUILD_DIR,
                                  "/tests/support/plugins/libbyoc_a.so --plugin-option a.ops=relu");

TEST(ExplainCommand, GroupsEqualReasonsWithTheFirstNames) {
  Byoc byoc;
  Ran ran = byoc("explain " + byoc.write("m.ir", relus_and_tanhs(9)) + kOnlyRelu + " --threads 2");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out,
              HasSubstr("18 ops, 36 FLOP, 0.00 MiB weights      target native, 2 threads\n"));
  EXPECT_THAT(ran.out,
              HasSubstr("refused by a, taken by json (9)\n"
                        "  9  tanh  it has no pattern for tanh  \"op 1\", \"op 3\" and 7 more\n"));
  EXPECT_THAT(ran.out, HasSubstr("borders: 17 tensors"));
}

// Every op has its own reason. The report has one row per pair of op and reason.
TEST(ExplainCommand, PrintsABoundedNumberOfLines) {
  Byoc byoc;
  std::string text = "fn main(%x: f32[2,2]) {\n", last = "%x";
  int n = 0;
  for (const char* op :
       {"tanh", "exp",   "log",   "abs",   "sqrt",     "sigmoid", "erf",       "negative", "floor",
        "ceil", "round", "sin",   "cos",   "tan",      "asin",    "acos",      "atan",     "sinh",
        "cosh", "asinh", "acosh", "atanh", "softplus", "sign",    "reciprocal"}) {
    text += cat("%", n, " = ", op, "(", last, ")\n");
    last = cat("%", n++);
  }
  Ran ran = byoc("explain " + byoc.write("m.ir", text + "return " + last + " }") + kOnlyRelu);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("  ... and 5 more reasons; all with --json\n"));
  EXPECT_LE(std::count(ran.out.begin(), ran.out.end(), '\n'), 30);
}

TEST(ExplainCommand, OpSelectsVerdictsInJsonToo) {
  Byoc byoc;
  std::string line = "explain " + byoc.write("m.ir", relus_and_tanhs(3)) + kOnlyRelu;
  Json json = byoc.json(line + " --op 'op 3'");
  ASSERT_EQ(json["ops"].size(), 1u);
  EXPECT_EQ(json["ops"][0]["opinions"][0]["reason"], "it has no pattern for tanh");
  EXPECT_THAT(byoc(line + " --op 'op 3'").out,
              HasSubstr("  a: refused: it has no pattern for tanh\n"));
  EXPECT_EQ(byoc.json(line)["ops"].size(), 6u);
}

// Ops of one location are looked up together. A search per op would take minutes here.
TEST(ExplainCommand, ManyOpsOfOneLocationTakeLinearTime) {
  Byoc byoc;
  std::string text = "fn main(%x: f32[2]) {\n", last = "%x";
  for (int k = 0; k < 20000; ++k) {
    text += cat("%", k, " = ", k % 2 ? "tanh" : "exp", "(", last, ") loc(\"same\")\n");
    last = cat("%", k);
  }
  std::string line = "explain " + byoc.write("m.ir", text + "return " + last + " }") + kOnlyRelu;
  EXPECT_THAT(byoc(line).out, HasSubstr("refused by a, taken by json (20000)"));
  EXPECT_THAT(byoc(line + " --op same").out, HasSubstr("... and 19950 more ops of that name"));
}

TEST(ExplainCommand, SaysTheOpsetOfAnOnnxFile) {
  Byoc byoc;
  std::string model = cat(BYOC_TEST_DATA, "/models/blocks/transformer_17/model.onnx");
  EXPECT_THAT(byoc("explain " + model).out, HasSubstr("model.onnx   opset 17, "));
  EXPECT_EQ(byoc.json("explain " + model)["opset"], 17);
  EXPECT_EQ(byoc.json("explain " + byoc.write("m.ir", kTwoOps))["opset"], Json());
}

TEST(ExplainCommand, NamesOpsThatHaveNoName) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", "fn main(%x: f32[2]) { %0 = relu(%x)  return %0 }");
  EXPECT_EQ(byoc.json("explain " + model)["ops"][0]["name"], "relu_1");
}

}  // namespace
}  // namespace byoc::test
