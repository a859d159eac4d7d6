// SPDX-License-Identifier: Apache-2.0
// The commands compile, run, verify and test-onnx, which compute with models.
#include <onnx/onnx_pb.h>
#include <sys/stat.h>

#include "byoc/text/text.h"
#include "command.h"
#include "core/import/onnx/file/tensor_file.h"
#include "core/tools/verify/reduce_region.h"
#include "support/busy_neighbours.h"
#include "support/faults.h"
#include "support/paths.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A plugin that computes with the reference kernels. Options select the ops that it takes.
const std::string kPluginA =
    std::string(" --plugin ") + BYOC_BUILD_DIR + "/tests/support/plugins/libbyoc_a.so";

TEST(RunCommand, ComputesWhatTheModelSays) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", "fn main(%x: f32[3]) { %0 = relu(%x)  return %0 }");
  std::string out = byoc.file("out");
  Ran ran = byoc("run " + model + " --input x=f32[3]=-1,2,-3 --output-dir " + out);
  EXPECT_EQ(ran.code, 0) << ran.err;
  auto listed = parse_json(get(out + "/outputs.json"));
  ASSERT_TRUE(listed.ok());
  Json outputs = listed->is_array() ? *listed : (*listed)["outputs"];
  ASSERT_EQ(outputs.size(), 1u);
  auto tensor = read_npy(out + "/" + outputs[0]["file"].get<std::string>());
  ASSERT_TRUE(tensor.ok()) << tensor.status().to_string();
  auto* values = reinterpret_cast<const float*>(tensor->data());
  EXPECT_THAT(std::vector<float>(values, values + 3), testing::ElementsAre(0, 2, 0));
}

// As byoc-run does: libgomp prints what it has read.
TEST(RunCommand, ThreadsOfOpenMpSleepWhileTheyWaitBesideBusyProcesses) {
  BusyNeighbours neighbours;
  Byoc byoc;
  std::string model = byoc.write("m.ir", "fn main(%x: f32[3]) { %0 = relu(%x)  return %0 }");
  ::setenv("OMP_DISPLAY_ENV", "verbose", 1);
  EXPECT_THAT(byoc("run " + model).err, Not(HasSubstr("GOMP_SPINCOUNT = '0'")));
  Ran ran = byoc("run " + model + " --threads 2");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("GOMP_SPINCOUNT = '0'"));
  ::setenv("OMP_WAIT_POLICY", "passive", 1);
  ran = byoc("run " + model + " --threads=2");
  EXPECT_THAT(ran.err, HasSubstr("OMP_WAIT_POLICY = 'PASSIVE'")) << "the user's choice is lost";
  ::unsetenv("OMP_WAIT_POLICY");
  ::unsetenv("OMP_DISPLAY_ENV");
}

TEST(RunCommand, WritesProtobufTensors) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", "fn main(%x: f32[3]) { %0 = relu(%x)  return %0 }");
  Ran ran = byoc("run " + model + " --input x=f32[3]=1,2,3 --output-format pb --output-dir " +
                 byoc.file("out"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  size_t found = 0;
  for (const auto& entry : std::filesystem::directory_iterator(byoc.file("out"))) {
    if (entry.path().extension() != ".pb") continue;
    auto read = read_pb(entry.path().string());
    ASSERT_TRUE(read.ok()) << read.status().to_string();
    EXPECT_EQ(cat(read->tensor.spec()), "f32[3]");
    ++found;
  }
  EXPECT_EQ(found, 1u);
}

TEST(RunCommand, SaysThatInputsAreRandom) {
  Byoc byoc;
  Ran ran = byoc("run " + byoc.write("m.ir", kTwoOps));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("random, seed"));
}

TEST(RunCommand, RefusesWrongInputs) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", kTwoOps);
  EXPECT_THAT(byoc("run " + model + " --input y=zeros").err, HasSubstr("error[unknown-input]"));
  EXPECT_THAT(byoc("run " + model + " --input x=f32[2,4]").err, HasSubstr("error[input-shape]"));
  EXPECT_THAT(byoc("run " + model + " --input x=i64[2,3]").err, HasSubstr("error[input-dtype]"));
  EXPECT_EQ(byoc("run " + model + " --output-format png").code, 2);
}

TEST(CompileCommand, MakesOneProgramForSizesThatNoFlagGives) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", "fn main(%x: f32[N]) { %0 = relu(%x)  return %0 }");
  std::string compile = "compile " + model + " -o " + byoc.file("m.byoc");
  Ran ran = byoc(compile);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("one program for all sizes, as with --shape N=1..65536; numbers, "
                                 "as in --shape N=1, may be faster"));
  for (const char* size : {"1", "5", "65536"}) {
    ran = byoc(cat("run ", byoc.file("m.byoc"), " --shape N=", size));
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr(cat("f32[", size, "]")));
  }
  EXPECT_EQ(byoc("run " + byoc.file("m.byoc") + " --shape N=65537").code, 1);
  ran = byoc(compile + " --shape N=2");
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.err, "");
}

TEST(CompileCommand, WritesAnArtifactThatRuns) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", kTwoOps);
  Ran ran = byoc("compile " + model + " -o " + byoc.file("m.byoc"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(byoc("run " + byoc.file("m.byoc") + " --output-dir " + byoc.file("a")).code, 0);
  EXPECT_EQ(byoc("run " + model + " --output-dir " + byoc.file("b")).code, 0);
  EXPECT_EQ(get(byoc.file("a/outputs.json")), get(byoc.file("b/outputs.json")));
  EXPECT_EQ(byoc("run " + byoc.file("m.byoc") + " --compiler json").code, 2);
  EXPECT_THAT(byoc("print " + byoc.file("m.byoc")).err, HasSubstr("is compiled already"));
}

TEST(CompileCommand, CompilesTwiceToTheSameBytes) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", kTwoOps);
  EXPECT_EQ(byoc("compile " + model + " -o " + byoc.file("a.byoc")).code, 0);
  EXPECT_EQ(byoc("compile " + model + " -o " + byoc.file("b.byoc")).code, 0);
  EXPECT_EQ(get(byoc.file("a.byoc")), get(byoc.file("b.byoc")));
}

TEST(CompileCommand, WantsAPlaceForTheArtifact) {
  Byoc byoc;
  Ran ran = byoc("compile " + byoc.write("m.ir", kTwoOps));
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("the option --output is needed"));
  EXPECT_THAT(ran.err, HasSubstr("help: byoc compile " + byoc.file("m.ir") + " -o m.byoc\n"));
}

constexpr const char* kFiveOps = R"(fn main(%x: f32[8]) {
  %0 = relu(%x) loc("a")
  %1 = exp(%0) loc("b")
  %2 = tanh(%1) loc("c")
  %3 = add(%2, %0) loc("d")
  %4 = sigmoid(%3) loc("e")
  return %4
})";

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

TEST(VerifyCommand, ReducesAMismatchToTheOpThatIsWrong) {
  Byoc byoc;
  Ran ran = byoc("verify " + byoc.write("m.ir", kFiveOps) + kPluginA +
                 " --compiler a --plugin-option a.spoil=tanh -o " + byoc.file("piece"));
  EXPECT_EQ(ran.code, 1) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("FAIL \"output0\" f32[8]: max error"));
  EXPECT_THAT(ran.out,
              HasSubstr("FAIL region 1 of 1, a_main_0 (a), is the first that differs from json"));
  EXPECT_THAT(ran.out, HasSubstr("smallest piece that is wrong by itself (5 -> 1 nodes"));
  EXPECT_THAT(ran.out, HasSubstr("runs, wrong in a new process too):"));
  EXPECT_THAT(ran.out, HasSubstr("\n  tanh \"c\"\nwrote " + byoc.file("piece") + "/ "));
}

/// The wrong region has its open size in an expression only, from which the number does not follow.
TEST(VerifyCommand, ReducesARegionWithoutAnInputOfItsSize) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", R"(fn main(%x: f32[2,1<=T<=8,3]) {
  %0 = concat(%x, %x) {axis=1}
  %1 = negative(%0) loc("wrong")
  return %1
})");
  const Json json = byoc.json("verify " + model + " --compiler sizes,json --plugin " +
                              fault_path("sizes_least") + " -o " + byoc.file("piece"));
  EXPECT_EQ(json["passed"], false);
  ASSERT_TRUE(json["bad_region"].is_object()) << json.dump();
  EXPECT_EQ(json["bad_region"]["smallest"][0]["name"], "wrong");
  EXPECT_EQ(json["bad_region"]["confirmed"], true);
}

/// tanh alone is wrong in the process that has run the whole region, and right in any other.
TEST(VerifyCommand, WritesAPieceThatIsWrongInANewProcess) {
  Byoc byoc;
  const std::string options =
      kPluginA + " --plugin-option a.poison=exp,tanh --plugin-option a.poisoned=tanh ";
  Json json = byoc.json("verify " + byoc.write("m.ir", kFiveOps) + options + "--compiler a -o " +
                        byoc.file("piece"));
  EXPECT_EQ(json["bad_region"]["confirmed"], true);
  std::vector<std::string> ops;
  for (const Json& op : json["bad_region"]["smallest"]) ops.push_back(op["op"]);
  EXPECT_THAT(ops, testing::Contains("exp"));
  EXPECT_EQ(ops.back(), "tanh");
  Json replay = byoc.json("replay " + byoc.file("piece") + kPluginA);
  EXPECT_EQ(replay["passed"], false);
}

/// The region with add is wrong only in a process that has run the region with exp before.
TEST(VerifyCommand, SaysWhenARegionIsRightInANewProcess) {
  Byoc byoc;
  Ran ran = byoc("verify " + byoc.write("m.ir", kFiveOps) + kPluginA +
                 " --compiler a --plugin-option a.ops=exp,add,sigmoid,tanh --plugin-option "
                 "a.refuse=tanh --plugin-option a.poison=exp --plugin-option a.poisoned=add -o " +
                 byoc.file("piece"));
  EXPECT_EQ(ran.code, 1) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("wrong after the other functions of the model, right in a process "
                                 "that runs nothing else: a keeps something between functions"));
}

TEST(VerifyCommand, FindsAWrongValueBesideAMask) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", R"(fn main(%x: f32[8]) {
  %m = const([-3.4028235e38, -3.4028235e38]) : f32[2]
  %0 = tanh(%x)
  %1 = concat(%0, %m) {axis=0}
  return %1
})");
  Json json = byoc.json("verify " + model + kPluginA +
                        " --compiler a --plugin-option a.spoil=tanh -o " + byoc.file("piece"));
  EXPECT_EQ(json["outputs"][0]["equal"], false);
  EXPECT_EQ(json["passed"], false);
}

TEST(VerifyCommand, FindsWhatTheOutputsHide) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", R"(fn main(%x: f32[8]) {
  %0 = exp(%x) loc("wrong")
  %1 = tanh(%0) loc("right")
  %2 = clip(%1) {min=2.0, max=3.0} loc("hides")
  return %2
})");
  Json json = byoc.json("verify " + model + kPluginA +
                        " --compiler a --plugin-option a.ops=exp --plugin-option a.spoil=exp -o " +
                        byoc.file("piece"));
  EXPECT_EQ(json["outputs"][0]["equal"], true);
  EXPECT_EQ(json["passed"], false);
  EXPECT_EQ(json["bad_region"]["smallest"][0]["name"], "wrong");
}

TEST(VerifyCommand, CountsTheValuesBetweenRegions) {
  Byoc byoc;
  Ran ran = byoc("verify " + byoc.write("m.ir", kFiveOps) + kPluginA +
                 " --compiler a --plugin-option a.ops=exp,sigmoid");
  EXPECT_EQ(ran.code, 0) << ran.err;
  // The values are those of relu, exp, add and sigmoid. tanh and add are one region of json.
  EXPECT_THAT(ran.out, HasSubstr("ok   all 4 regions agree with json, 4 values compared\n"));
}

TEST(VerifyCommand, AgreesWithTheReference) {
  Byoc byoc;
  Json json = byoc.json("verify " + byoc.write("m.ir", kTwoOps) + " --against json");
  EXPECT_EQ(json["passed"], true);
  EXPECT_EQ(json["outputs"].size(), 1u);
}

TEST(ExplainCommand, ShowsWhatWasDeclinedWhereItEnded) {
  Byoc byoc;
  Json json = byoc.json("explain " + byoc.write("m.ir", kFiveOps) + kPluginA +
                        " --compiler a --default json --plugin-option a.decline=tanh");
  for (const Json& op : json["ops"]) {
    EXPECT_EQ(op["plugin"], "json") << op;
    EXPECT_EQ(op["opinions"][0]["verdict"], "declined in compile") << op;
    EXPECT_EQ(op["opinions"][0]["reason"], "declined by its options") << op;
  }
}

TEST(ExplainCommand, GroupsEqualRefusals) {
  Byoc byoc;
  Ran ran = byoc("explain " + byoc.write("m.ir", kFiveOps) + kPluginA +
                 " --compiler a --default json --plugin-option a.refuse=tanh,exp");
  EXPECT_THAT(ran.out, HasSubstr("refused by a, taken by json (2)\n"));
  EXPECT_THAT(ran.out, HasSubstr("1  exp   refused by its options  \"b\"\n"));
}

/// Writes an ONNX test case of one op on x, with a data set whose output is `stored`.
std::string write_case(const Byoc& byoc, const std::string& name, const std::string& op,
                       const std::vector<float>& x, const std::vector<float>& stored,
                       int opset = 13) {
  onnx::ModelProto model;
  model.set_ir_version(7);
  model.add_opset_import()->set_version(opset);
  auto& graph = *model.mutable_graph();
  auto* node = graph.add_node();
  node->set_op_type(op);
  node->add_input("x");
  node->add_output("y");
  for (auto* info : {graph.add_input(), graph.add_output()}) {
    auto* type = info->mutable_type()->mutable_tensor_type();
    type->set_elem_type(onnx::TensorProto::FLOAT);
    type->mutable_shape()->add_dim()->set_dim_value(static_cast<int64_t>(x.size()));
  }
  graph.mutable_input(0)->set_name("x");
  graph.mutable_output(0)->set_name("y");
  std::string folder = byoc.file(name), data = folder + "/test_data_set_0";
  std::filesystem::create_directories(data);
  put(folder + "/model.onnx", model.SerializeAsString());
  for (auto [file, tensor_name, values] :
       {std::tuple("input_0.pb", "x", x), {"output_0.pb", "y", stored}}) {
    auto tensor = Tensor::make({DType::kF32, {static_cast<int64_t>(values.size())}});
    std::memcpy(tensor->data(), values.data(), values.size() * sizeof(float));
    EXPECT_TRUE(write_pb(*tensor, tensor_name, data + "/" + file).ok());
  }
  return folder;
}

TEST(TestOnnxCommand, TellsPassedFailedAndUnsupportedApart) {
  Byoc byoc;
  write_case(byoc, "cases/right", "Transpose", {1}, {1});
  write_case(byoc, "cases/wrong", "Transpose", {1}, {0.5F});
  write_case(byoc, "cases/unknown", "NoSuchOp", {1}, {1});
  Ran ran = byoc("test-onnx " + byoc.file("cases") + " -v");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, testing::EndsWith("1 passed, 1 failed, 1 unsupported\n"));
  EXPECT_THAT(ran.out, HasSubstr("error[mismatch]: output \"y\" f32[1]: max error 0.5 (1 of max), "
                                 "worst [0] 1 instead of 0.5"));
  EXPECT_THAT(ran.out, HasSubstr("(NoSuchOp, domain ai.onnx, opset 13)"));
  EXPECT_EQ(byoc("test-onnx " + byoc.file("cases/right")).code, 0);
}

TEST(CompileCommand, WarnsOfAnOpsetThatIsNewerThanAllKnown) {
  Byoc byoc;
  std::string model = write_case(byoc, "later", "Relu", {1}, {1}, 99) + "/model.onnx";
  const char* warning =
      "warning: the model is of opset 99, its operators are taken as those of 28, the newest one";
  EXPECT_THAT(byoc("compile " + model + " -o " + byoc.file("m.byoc")).err, HasSubstr(warning));
  EXPECT_THAT(byoc("run " + model).err, HasSubstr(warning));
  model = write_case(byoc, "newest", "Relu", {1}, {1}, 28) + "/model.onnx";
  EXPECT_EQ(byoc("run " + model).err.find("opset"), std::string::npos);
}

// One output is its input, so no plugin is called for it. --strict does not count it
// as run by the plugin.
TEST(TestOnnxCommand, CountsAsFoldedUnderStrictWhatNoPluginRan) {
  Byoc byoc;
  write_case(byoc, "cases/computed", "Relu", {1}, {1});
  write_case(byoc, "cases/folded", "Dropout", {1}, {1});
  write_case(byoc, "cases/wrong", "Dropout", {1}, {0.5F});
  std::string command = "test-onnx " + byoc.file("cases") + " --compiler json";
  EXPECT_THAT(byoc(command).out, testing::EndsWith("2 passed, 1 failed, 0 unsupported\n"));
  EXPECT_THAT(byoc(command + " --strict").out,
              testing::EndsWith("1 passed, 1 folded, 1 failed, 0 unsupported\n"));
  std::string right = " " + byoc.file("cases/folded") + " --compiler json --strict";
  EXPECT_EQ(byoc("test-onnx" + right).code, 0);
  Json report = byoc.json("test-onnx" + right);
  EXPECT_EQ(report["folded"], 1);
  EXPECT_EQ(report["passed"], 0);
  EXPECT_EQ(report["cases"][0]["verdict"], "folded");
}

// Writes a test case that waits: its input is a pipe, which is refused once it has a writer.
std::string write_waiting_case(const Byoc& byoc, const std::string& name) {
  std::string folder = write_case(byoc, name, "Transpose", {1}, {1});
  std::string input = folder + "/test_data_set_0/input_0.pb";
  std::filesystem::rename(input, folder + "/input");
  EXPECT_EQ(mkfifo(input.c_str(), 0600), 0);
  return folder;
}

TEST(TestOnnxCommand, EndsACaseThatTakesTooLong) {
  Byoc byoc;
  Ran ran = byoc("test-onnx " + write_waiting_case(byoc, "waits") + " --timeout 1 -v");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("timed out after 1 s"));
}

TEST(TestOnnxCommand, DoesNotCountTheTimeInWhichItWasStopped) {
  Byoc byoc("setsid " BYOC_BUILD_DIR "/bin/byoc");  // a separate process group
  std::string folder = write_waiting_case(byoc, "waits");
  byoc("test-onnx " + folder + " --timeout 2 >" + byoc.file("out") +
       " & pid=$!; sleep 0.4; kill -STOP -$pid; sleep 3; kill -CONT -$pid; timeout 5 sh -c 'cat " +
       folder + "/input >" + folder + "/test_data_set_0/input_0.pb'; wait $pid");
  EXPECT_THAT(get(byoc.file("out")), HasSubstr("is not a regular file"));  // not "timed out"
}

TEST(TestOnnxCommand, RefusesAFolderWithoutCases) {
  Byoc byoc;
  std::filesystem::create_directory(byoc.file("none"));
  Ran ran = byoc("test-onnx " + byoc.file("none"));
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("error[no-cases]: no model.onnx in "));
}

TEST(VerifyCommand, ComparesWithStoredOutputs) {
  Byoc byoc;
  std::string right = write_case(byoc, "right", "Transpose", {1}, {1});
  std::string wrong = write_case(byoc, "wrong", "Transpose", {1}, {0.5F});
  EXPECT_EQ(byoc("verify " + right + "/model.onnx --against " + right + "/test_data_set_0").code,
            0);
  Ran ran = byoc("verify " + wrong + "/model.onnx --against " + wrong + "/test_data_set_0");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out,
              HasSubstr("FAIL \"y\" f32[1]: max error 0.5 (1 of max), worst [0] 1 instead of 0.5"));
  EXPECT_THAT(ran.out, HasSubstr("FAIL the outputs differ, and no region does: json, which "
                                 "computes the same regions, is as far from " +
                                 wrong + "/test_data_set_0\n"));
}

TEST(VerifyCommand, SaysThatAShapeContradictsTheStoredInputs) {
  Byoc byoc;
  std::string folder = write_case(byoc, "case", "Transpose", {1}, {1});
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(get(folder + "/model.onnx")));
  for (auto* info :
       {model.mutable_graph()->mutable_input(0), model.mutable_graph()->mutable_output(0)})
    info->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param(
        "N");
  put(folder + "/model.onnx", model.SerializeAsString());
  std::string line = "verify " + folder + "/model.onnx --against " + folder + "/test_data_set_0";
  EXPECT_EQ(byoc(line).code, 0);
  Ran ran = byoc(line + " --shape N=8");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("help: leave out --shape: open sizes follow the data set\n"));
}

}  // namespace
}  // namespace byoc::test
