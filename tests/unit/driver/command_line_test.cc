// SPDX-License-Identifier: Apache-2.0
// The behaviour that all commands share: usage, help, streams, exit codes.
#include "command.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(CommandLine, WantsACommand) {
  Ran ran = Byoc()("");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("no command given"));
}

TEST(CommandLine, SuggestsTheCommandThatWasMeant) {
  Ran ran = Byoc()("explian x.onnx");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("no command \"explian\"; did you mean \"explain\"?"));
}

TEST(CommandLine, SuggestsTheOptionThatWasMeant) {
  Ran ran = Byoc()("print x.onnx --shap N=1");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("no option --shap; did you mean \"--shape\"?"));
}

TEST(CommandLine, RefusesOptimisationLevelsThatDoNotExist) {
  for (const char* level : {"-O 3", "-O -1"}) {
    Ran ran = Byoc()(std::string("print x.onnx ") + level);
    EXPECT_EQ(ran.code, 2) << level;
    EXPECT_THAT(ran.err, HasSubstr("-O is 0 to 2, not ")) << level;
  }
  EXPECT_THAT(Byoc()("print --help").out, testing::Not(HasSubstr("3 faster numerics")));
}

TEST(CommandLine, NamesTheCureForARangeAndANumberOfOneSize) {
  const Byoc byoc;
  const std::string model =
      byoc.write("m.ir", "fn main(%x: f32[T,4]) { %0 = relu(%x)  return %0 }");
  const std::string both = " " + model + " --shape T=1..8 --shape T=1";
  for (const std::string command :
       {"opt", "print", "partition", "explain", "run", "bench", "verify", "dump -o regions",
        "place", "report -o page.html", "tune --log tuning.jsonl"}) {
    const Ran ran = byoc(command + both);
    EXPECT_EQ(ran.code, 2) << command;
    EXPECT_THAT(ran.err, HasSubstr("--shape names \"T\" twice")) << command;
    EXPECT_THAT(ran.err, HasSubstr("help: only byoc compile takes both, for one program of each; "
                                   "here give one of them: --shape T=1..8 or --shape T=1\n"))
        << command;
  }
  const Json compiled = byoc.json("compile" + both + " --compiler json -o " + byoc.file("m.byoc"));
  EXPECT_EQ(compiled["sizes"].size(), 2u);
  EXPECT_THAT(byoc("print " + model + " --shape T=1 --shape T=2").err,
              Not(HasSubstr("only byoc compile")));
}

TEST(CommandLine, TakesOptionsBeforeAndAfterTheCommand) {
  Byoc byoc;
  EXPECT_EQ(byoc("--json ops relu").out, byoc("ops relu --json").out);
}

TEST(CommandLine, EveryCommandHasHelpWithAnExample) {
  Byoc byoc;
  for (const char* command : {"plugins", "ops", "opt", "print", "partition", "explain", "compile",
                              "run", "verify", "test-onnx"}) {
    Ran ran = byoc(std::string(command) + " --help");
    EXPECT_EQ(ran.code, 0) << command;
    EXPECT_THAT(ran.out, HasSubstr(std::string("byoc ") + command)) << command;
    EXPECT_EQ(ran.err, "") << command;
    Ran brief = byoc(std::string(command) + " -h");
    EXPECT_EQ(brief.code, 0) << command;
    EXPECT_LT(brief.out.size(), ran.out.size()) << command;
  }
}

TEST(CommandLine, FailsWithOneJsonValueWhenAskedForJson) {
  Byoc byoc;
  Ran ran = byoc("print none.onnx --json");
  EXPECT_EQ(ran.code, 1);
  auto json = parse_json(ran.out);
  ASSERT_TRUE(json.ok()) << ran.out;
  EXPECT_EQ((*json)["ok"], false);
  EXPECT_EQ((*json)["error"]["slug"], "model-file");
  EXPECT_EQ((*json)["schema"], "byoc.print/1");
}

TEST(CommandLine, PrintsNoColourIntoFiles) {
  EXPECT_THAT(Byoc()("print none.onnx").err, StartsWith("error[model-file]: "));
}

// Another plugin would do the work, and the user would take the result for that of the named one.
TEST(NamedPlugins, ThatCannotBeUsedAreAnErrorOfEveryCommand) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", kTwoOps), text = byoc.write("text.so", "no library");
  const std::string compile = "compile -o " + byoc.file("m.byoc") + " ";
  for (const std::string& command :
       std::vector<std::string>{"run ", compile, "verify ", "explain ", "partition "}) {
    Ran ran = byoc(command + model + " --plugin " + text);
    EXPECT_EQ(ran.code, 1) << command << ran.out;
    EXPECT_THAT(ran.err, HasSubstr("error[plugin-refused]: --plugin " + text + " cannot be used: "))
        << command;
    EXPECT_THAT(ran.err, HasSubstr("\n  help: ")) << command;
  }
  // A path that is not the canonical one.
  std::filesystem::create_directory(byoc.file("d"));
  Ran ran = byoc("run " + model + " --plugin " + byoc.file("d/../text.so"));
  EXPECT_THAT(ran.err, HasSubstr("error[plugin-refused]: --plugin " + byoc.file("d/../text.so")));
}

TEST(NamedPlugins, ThatRunNothingAreNamedInAWarning) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", kTwoOps), artifact = byoc.file("m.byoc");
  const std::string a = cat(BYOC_BUILD_DIR, "/tests/support/plugins/libbyoc_a.so");
  const std::string warning = cat("warning: --plugin ", a, ": a runs nothing of the model; ");
  const std::string takes_nothing = cat(" --plugin ", a, " --plugin-option a.ops=none");
  ASSERT_EQ(byoc("compile " + model + " -o " + artifact).code, 0);
  for (std::string command :
       {"run " + model, "verify " + model, "compile " + model + " -o " + byoc.file("other.byoc")}) {
    Ran ran = byoc(command + takes_nothing);
    EXPECT_EQ(ran.code, 0) << command << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(warning + "byoc explain has the reasons")) << command;
  }
  Ran ran = byoc("run " + artifact + takes_nothing);
  EXPECT_THAT(ran.err, HasSubstr(warning + "it was compiled without this plugin"));
  EXPECT_EQ(byoc("run " + model + cat(" --plugin ", a, " --compiler a,json")).err, "");
}

// A misspelt plugin would run in the process of the command.
TEST(NamedPlugins, OfIsolationMustBeThere) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", kTwoOps), artifact = byoc.file("m.byoc");
  const std::string compile = "compile " + model + " --compiler json -o " + artifact;
  for (const std::string& command : {compile, "run " + model, std::string("plugins")}) {
    Ran ran = byoc(command + " --isolate-plugin jsno");
    EXPECT_EQ(ran.code, 1) << command << ran.out;
    EXPECT_THAT(ran.err, HasSubstr("no plugin \"jsno\"; did you mean \"json\"?")) << command;
    EXPECT_THAT(ran.err, testing::ContainsRegex("--isolate-plugin jsno.*found: .*onednn"))
        << command;
  }
  EXPECT_EQ(byoc(compile + " --isolate-plugin json").code, 0);
  const Byoc byoc_run(cat(BYOC_BUILD_DIR, "/bin/byoc-run"));
  EXPECT_EQ(byoc_run(artifact + " --isolate-plugin json").code, 0);
  EXPECT_EQ(byoc_run(artifact + " --isolate-plugin onednn").code, 0) << "it is there, unused";
  Ran ran = byoc_run(artifact + " --isolate-plugin jsno");
  EXPECT_EQ(ran.code, 1) << ran.out;
  EXPECT_THAT(ran.err, HasSubstr("no plugin \"jsno\"; did you mean \"json\"?"));
}

TEST(NamedPlugins, OfAListAreAllNamed) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", kTwoOps);
  for (const char* list : {"onednn,,json", ",json", "json,"}) {
    Ran ran = byoc("run " + model + " --compiler " + list);
    EXPECT_EQ(ran.code, 2) << list;
    EXPECT_THAT(ran.err, HasSubstr(cat("--compiler ", list, ": an id is missing beside a comma")));
  }
}

TEST(NamedPlugins, OfAFallbackMustBeOthers) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", kTwoOps);
  const std::string a = cat(" --plugin ", BYOC_BUILD_DIR, "/tests/support/plugins/libbyoc_a.so");
  const std::string compile = "compile " + model + a + " -o " + byoc.file("m.byoc");
  EXPECT_THAT(byoc(compile + " --compiler json --fallback json").err,
              HasSubstr("warning: the fallback is of no use: when json is gone"));
  EXPECT_EQ(byoc(compile + " --compiler a --fallback json").err, "");
}

TEST(Models, ThatAreEmptyAreCalledSo) {
  Byoc byoc;
  EXPECT_THAT(byoc("print " + byoc.write("e.ir", "")).err,
              HasSubstr("error[no-entry]: the module is empty: it has no function"));
}

TEST(Outputs, InAFolderThatIsMissingHaveACure) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", kTwoOps), folder = byoc.file("none");
  Ran ran = byoc("compile " + model + " --compiler json -o " + folder + "/m.byoc");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err,
              HasSubstr("\n  help: there is no folder " + folder + ": mkdir -p " + folder));
}

TEST(Models, ThatAreMissingAreReportedWithTheNearestName) {
  Byoc byoc;
  byoc.write("net.onnx", "");
  EXPECT_THAT(byoc("print " + byoc.file("nett.onnx")).err,
              HasSubstr("no file " + byoc.file("nett.onnx") + "; did you mean \"net.onnx\"?"));
  EXPECT_THAT(byoc("print " + byoc.file("other.onnx")).err,
              testing::ContainsRegex("help: models in .*: net.onnx\n"));
  EXPECT_THAT(byoc("print " + byoc.file("none/net.onnx")).err, HasSubstr("there is no folder "));
  Ran ran = byoc("compile " + byoc.file("missing.onnx"));
  EXPECT_EQ(ran.code, 1) << "the file is missing, and --output as well";
  EXPECT_THAT(ran.err, HasSubstr("error[model-file]: no file " + byoc.file("missing.onnx")));
}

TEST(Shapes, MayBeAListAndAreExplained) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", "fn main(%x: f32[N,M]) { %0 = relu(%x)  return %0 }");
  EXPECT_THAT(byoc("print " + model + " --shape N=4,M=5").out, HasSubstr("%x: f32[4,5]"));
  Ran ran = byoc("print " + model + " --shape x=4,5");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("help: sizes are whole numbers, or ranges such as 1..64, with x "
                                 "between them: x=4x5\n"));
  EXPECT_THAT(byoc("print " + model + " --bind x=1").err, HasSubstr("help: give a file: x=a.npy"));
}

TEST(Shapes, ThatAreOpenAreNamedWhereTheyMatter) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", "fn main(%x: f32[N,3]) { %0 = relu(%x)  return %0 }");
  Ran printed = byoc("print --asm " + model);
  EXPECT_EQ(printed.code, 0) << "code of all sizes, as compile makes it";
  EXPECT_EQ(printed.err,
            "warning: one program for all sizes, as with --shape N=1..65536; numbers, as in "
            "--shape N=1, may be faster\n");
  Ran ran = byoc("partition " + model);
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.err,
            "warning: inputs have open sizes: x f32[N,3]; give them with --shape N=1, or as ranges "
            "for one program of all sizes, as in --shape N=1..64\n");
  EXPECT_EQ(byoc("partition " + model + " --shape N=1").err, "");
}

TEST(Models, OfOtherProgramsAreAnErrorThatHasTheWayToOnnx) {
  Byoc byoc;
  const std::pair<const char*, const char*> files[] = {
      {"net.pt", "a file of PyTorch: in Python, torch.onnx.export("},
      {"net.PTH", "torch.onnx.export("},
      {"net.safetensors", "weights without a graph: "},
      {"net.pb", "python -m tf2onnx.convert --graphdef"},
      {"net.tflite", "python -m tf2onnx.convert --tflite"},
      {"net.h5", "a model of Keras: "},
      {"net.keras", "a model of Keras: "},
      {"net.xml", "OpenVINO's IR"},
      {"net.ort", "use the .onnx file"},
      {"net.ONNX", "name it with small letters: mv "},
      {"net.dat", "models are ONNX files"},
      {"net", "models are ONNX files"}};
  for (const auto& [name, help] : files) {
    const std::string path = byoc.write(name, "bytes");
    for (const char* command : {"print ", "explain ", "run ", "bench ", "verify "}) {
      Ran ran = byoc(command + path);
      EXPECT_EQ(ran.code, 1) << command << name;
      EXPECT_THAT(ran.err, HasSubstr("error[model-file]: \"" + path + "\" ends in none of .onnx"))
          << command;
      EXPECT_THAT(ran.err, HasSubstr(help)) << command;
    }
  }
  std::filesystem::create_directory(byoc.file("saved"));
  byoc.write("saved/saved_model.pb", "bytes");
  Ran ran = byoc("print " + byoc.file("saved"));
  EXPECT_THAT(ran.err, HasSubstr("python -m tf2onnx.convert --saved-model"));
}

TEST(Outputs, NamedAsAnotherFormAreRefused) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", kTwoOps);
  Ran ran = byoc("partition " + model + " --svg " + byoc.file("net.pdf"));
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--svg writes a picture as SVG, and "));
  EXPECT_THAT(ran.err, HasSubstr("help: name it with .svg"));
  EXPECT_EQ(byoc("report --no-run " + model + " -o " + byoc.file("net.pdf")).code, 2);
  ran = byoc("compile " + model + " -o " + model);
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("is named as a model"));
  EXPECT_EQ(get(model), kTwoOps) << "the model was overwritten";
}

TEST(GlobalSymbol, OfTheUserNamesTheStep) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", R"(fn main(%x: f32[2]) {
  %0 = @conv_relu(%x)
  return %0
}
fn conv_relu(%x: f32[2]) {compiler="json", global_symbol="conv_relu_lib"} {
  %0 = relu(%x)
  return %0
})");
  Ran ran = byoc("run " + model + " --profile");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr(" conv_relu_lib "));
}

TEST(GlobalSymbol, ThatIsNotUsedIsAWarning) {
  Byoc byoc;
  const std::string a = cat(BYOC_BUILD_DIR, "/tests/support/plugins/libbyoc_a.so");
  const std::string model = byoc.write("m.ir", R"(fn main(%x: f32[2]) {
  %0 = @both(%x)
  return %0
}
fn both(%x: f32[2]) {compiler="a", global_symbol="both_lib"} {
  %0 = relu(%x)
  %1 = tanh(%0)
  return %1
})");
  Ran ran = byoc("run " + model + " --plugin " + a + " --plugin-option a.ops=relu");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("warning: global_symbol=\"both_lib\" is not used: a does not "
                                 "take the function whole"));
}

}  // namespace
}  // namespace byoc::test
