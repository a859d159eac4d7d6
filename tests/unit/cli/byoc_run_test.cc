// SPDX-License-Identifier: Apache-2.0
// The command `byoc-run` as a child process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "byoc/base/json.h"
#include "byoc/runtime/tensor.h"
#include "support/busy_neighbours.h"
#include "support/faults.h"
#include "support/temp_folder.h"
#include "unit/runtime/executables.h"

namespace byoc {
namespace {

namespace fs = std::filesystem;
using test::get;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// A folder that contains the command, one plugin and an artifact, and nothing else.
class ByocRun : public ::testing::Test {
 protected:
  ByocRun() {
    ::unsetenv("BYOC_PLUGIN_PATH");
    fs::copy_file(BYOC_RUN, folder_.file("byoc-run"));
    fs::copy_file(test::fault_path("faulty_none"), folder_.file("libbyoc_faulty.so"));
    EXPECT_TRUE(save_artifact(test::two_relus(), folder_.file("m.byoc")).ok());
  }

  /// Runs the command in the folder, stores its output, and returns the exit code.
  int run(const std::string& arguments) {
    std::string line = cat("cd ", folder_.path(), " && ./byoc-run ", arguments, " >",
                           scratch_.file("out"), " 2>", scratch_.file("err"));
    int status = std::system(line.c_str());
    out_ = get(scratch_.file("out"));
    err_ = get(scratch_.file("err"));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  test::TempFolder folder_, scratch_;
  std::string out_, err_;
};

TEST_F(ByocRun, RunsWithNothingElseInTheFolder) {
  ASSERT_EQ(run("m.byoc --input x=-5,0,1,2 --output-dir out"), 0) << err_;
  auto y = read_npy(folder_.file("out/y.npy"));
  ASSERT_TRUE(y.ok()) << y.status().to_string();
  const auto* data = reinterpret_cast<const float*>(y->data());
  EXPECT_THAT(std::vector<float>(data, data + 4), ElementsAre(20, 20, 21, 22));
  EXPECT_THAT(get(folder_.file("out/outputs.json")), HasSubstr("\"file\": \"y.npy\""));
}

TEST_F(ByocRun, TakesOptionsForPlugins) {
  EXPECT_EQ(run("m.byoc --plugin-option faulty"), 2);
  EXPECT_THAT(err_, HasSubstr("--plugin-option expects PLUGIN.NAME=VALUE, not \"faulty\""));
  EXPECT_EQ(run("m.byoc --plugin-option other.verbose=1"), 1);
  EXPECT_THAT(err_, HasSubstr("plugin-option")) << "no plugin of that id";
  EXPECT_EQ(run("--help"), 0);
  EXPECT_THAT(out_, HasSubstr("--plugin-option ID.NAME=VALUE"));
}

TEST_F(ByocRun, SaysWhereInputsCameFromAndWhatCameOut) {
  ASSERT_EQ(run("m.byoc"), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("input x f32[4]: random, seed 0"));
  EXPECT_THAT(out_, HasSubstr("y       f32[4]"));
  ASSERT_EQ(run("m.byoc --profile --input zeros"), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("faulty_main_1         faulty"));
  EXPECT_THAT(out_, HasSubstr("Relu_1"));
}

// Each of the two kernels reports the spans "load", a reorder of 10 ns, and "store", of 20 ns.
TEST_F(ByocRun, ProfileTellsWhatHappenedInsideOfKernels) {
  ASSERT_EQ(run("m.byoc --profile"), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("inside the kernels: 4 primitives, 2 of them reorders (33.3 % of"));
  EXPECT_THAT(out_, HasSubstr("reorder a loop"));
  EXPECT_LT(out_.find("store"), out_.find("load")) << "expected the slowest first: " << out_;
  ASSERT_EQ(run("m.byoc"), 0) << err_;
  EXPECT_THAT(out_, Not(HasSubstr("inside the kernels")));
}

TEST_F(ByocRun, ProfileHasEverySpanAsJson) {
  ASSERT_EQ(run("m.byoc --json --profile"), 0) << err_;
  Json spans = (*parse_json(out_))["spans"];
  ASSERT_EQ(spans.size(), 4u);
  EXPECT_EQ(spans[0]["name"], "load");
  EXPECT_EQ(spans[0]["step"], 0);
  EXPECT_EQ(spans[0]["node"], 0);
  EXPECT_EQ(spans[0]["is_reorder"], true);
  EXPECT_EQ(spans[0]["median_ns"], 10.0);
  EXPECT_EQ(spans[0]["details"]["src"], "abcd");
  EXPECT_EQ(spans[3]["step"], 1);
  EXPECT_EQ(spans[3]["node"], nullptr);
}

TEST_F(ByocRun, TraceHasStepsAndWhatHappenedInsideThem) {
  ASSERT_EQ(run("m.byoc --trace t.json"), 0) << err_;
  auto trace = parse_json(get(folder_.file("t.json")));
  ASSERT_TRUE(trace.ok()) << trace.status().to_string();
  std::vector<std::string> names;
  double step_begin = 0;
  for (const Json& event : (*trace)["traceEvents"]) {
    if (event["ph"] != "X") continue;
    names.push_back(event["name"]);
    if (event["cat"] == "step") step_begin = event["ts"];
    EXPECT_GE(event["dur"], 0.0);
  }
  EXPECT_THAT(names,
              ElementsAre("faulty_main_0", "faulty_main_1", "load", "store", "load", "store"));
  EXPECT_GT(step_begin, 0.0) << "expected the second step to begin after the first";
  EXPECT_EQ(run("m.byoc --trace none/t.json"), 1);
  EXPECT_THAT(err_, HasSubstr("none/t.json"));
}

TEST_F(ByocRun, WithJsonStdoutIsOneValue) {
  ASSERT_EQ(run("m.byoc --json --input x=zeros --profile"), 0) << err_;
  auto json = parse_json(out_);
  ASSERT_TRUE(json.ok()) << out_;
  EXPECT_EQ((*json)["schema"], "byoc.run/1");
  EXPECT_EQ((*json)["ok"], true);
  EXPECT_EQ((*json)["outputs"][0]["max"], 20.0);
  EXPECT_EQ((*json)["profile"].size(), 2u);
  EXPECT_EQ((*json)["memory"]["arena_bytes"], 64u);
  EXPECT_EQ((*json)["memory"]["workspace_bytes"], 128u);  // the maximum of the two steps
  EXPECT_EQ((*json)["memory"]["constant_bytes"], 4u);     // kept by both kernels
  EXPECT_GT((*json)["memory"]["anonymous_bytes"], 0u);
  ASSERT_EQ(run("none.byoc --json"), 1);
  json = parse_json(out_);
  ASSERT_TRUE(json.ok()) << out_;
  EXPECT_EQ((*json)["ok"], false);
  EXPECT_EQ((*json)["error"]["slug"], "file");
}

TEST_F(ByocRun, APluginThatIsGoneIsAnErrorThatNamesIt) {
  fs::rename(folder_.file("libbyoc_faulty.so"), scratch_.file("p.so"));
  EXPECT_EQ(run("m.byoc"), 1);
  EXPECT_THAT(err_, HasSubstr("error[missing-plugin]: no plugin \"faulty\" 1.0.0, which runs "
                              "faulty_main_0, faulty_main_1"));
  EXPECT_EQ(run("m.byoc --plugin " + scratch_.file("p.so")), 0) << err_;
}

// Opening the plugin "example" ends the process.
TEST_F(ByocRun, APluginThatTheArtifactDoesNotNameIsNotOpened) {
  fs::copy_file(test::fault_path("unruly_crashes"), folder_.file("libbyoc_example.so"));
  EXPECT_EQ(run("m.byoc"), 0) << err_;
  EXPECT_EQ(err_, "");
  EXPECT_EQ(run("m.byoc --plugin libbyoc_example.so"), 0) << err_;
  EXPECT_THAT(err_, HasSubstr("warning: --plugin libbyoc_example.so is not used: the model was "
                              "compiled without this plugin\n"));
  Executable executable = test::two_relus();
  executable.modules[0].plugin = "example";
  ASSERT_TRUE(save_artifact(executable, folder_.file("m.byoc")).ok());
  EXPECT_NE(run("m.byoc"), 0) << "the plugin was not opened, so the test has no effect: " << out_;
}

TEST_F(ByocRun, AModelThatIsNotCompiledIsAnErrorWithTheCommandThatCompilesIt) {
  for (std::string model : {"some/net.onnx", "net.ir"}) {
    EXPECT_EQ(run(model), 1);
    EXPECT_THAT(err_, HasSubstr("error[not-compiled]: " + model + " is not compiled"));
    EXPECT_THAT(err_, HasSubstr("help: byoc compile " + model + " -o net.byoc\n"));
  }
}

TEST_F(ByocRun, ANamedPluginThatCannotBeUsedIsAnError) {
  test::put(folder_.file("text.so"), "no library");
  EXPECT_EQ(run("m.byoc --plugin ./text.so"), 1) << out_;
  EXPECT_THAT(err_, HasSubstr("error[plugin-refused]: --plugin ./text.so cannot be used: "));
  EXPECT_EQ(run("m.byoc --plugin gone.so"), 1) << out_;
  EXPECT_THAT(err_, HasSubstr("--plugin gone.so cannot be used: cannot be read: No such file"));
}

TEST_F(ByocRun, FailuresExitWith1AndWrongUseWith2) {
  EXPECT_EQ(run("m.byoc --input y=zeros"), 1);
  EXPECT_THAT(err_, HasSubstr("error[unknown-input]: no input \"y\""));
  EXPECT_EQ(run("m.byoc --input x=f32[5]"), 1);
  EXPECT_THAT(err_, HasSubstr("error[input-shape]: \"x\" is f32[5], the model expects f32[4]"));
  EXPECT_EQ(run(""), 2);
  EXPECT_EQ(run("m.byoc --no-nativ"), 2);
  EXPECT_THAT(err_, HasSubstr("did you mean \"--no-native\"?"));
  test::put(folder_.file("bad.byoc"), get(folder_.file("m.byoc")).substr(0, 100));
  EXPECT_EQ(run("bad.byoc"), 1);
  EXPECT_THAT(err_, HasSubstr("error[artifact-corrupt]"));
  EXPECT_EQ(run("--help"), 0);
  EXPECT_THAT(out_, HasSubstr("examples:\n  byoc-run model.byoc"));
}

TEST_F(ByocRun, IsLinkedToNeitherCompilerNorImporter) {
  ASSERT_EQ(std::system(cat("ldd ", folder_.file("byoc-run"), " >", scratch_.file("out")).c_str()),
            0);
  std::string libraries = get(scratch_.file("out"));
  EXPECT_THAT(libraries, HasSubstr("libgomp"));
  for (const char* name : {"LLVM", "onnx", "protobuf", "dnnl", "byoc_"})
    EXPECT_THAT(libraries, Not(HasSubstr(name)));
}

// libgomp prints what it has read. Threads that spin beside busy processes made a run of ResNet-50
// by onednn on two threads 33 times as long.
TEST_F(ByocRun, ThreadsSleepWhileTheyWaitBesideBusyProcesses) {
  test::BusyNeighbours neighbours;
  ::setenv("OMP_DISPLAY_ENV", "verbose", 1);
  EXPECT_EQ(run("--version"), 0);
  EXPECT_THAT(err_, Not(HasSubstr("GOMP_SPINCOUNT = '0'"))) << "there is one thread";
  EXPECT_EQ(run("--version --threads 2"), 0);
  EXPECT_THAT(err_, HasSubstr("GOMP_SPINCOUNT = '0'"));
  ::setenv("GOMP_SPINCOUNT", "1234", 1);
  EXPECT_EQ(run("--version --threads 2"), 0);
  EXPECT_THAT(err_, HasSubstr("GOMP_SPINCOUNT = '1234'")) << "the user's choice is lost";
  ::unsetenv("GOMP_SPINCOUNT");
  ::unsetenv("OMP_DISPLAY_ENV");
}

}  // namespace
}  // namespace byoc
