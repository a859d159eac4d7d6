// SPDX-License-Identifier: Apache-2.0
// The commands dump and replay: a region is written to a folder and run again by the same plugin,
// by another plugin, and after its files were damaged.
#include <cmath>
#include <filesystem>

#include "byoc/runtime/tensor.h"
#include "command.h"
#include "support/faults.h"
#include "support/paths.h"

namespace byoc::test {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::HasSubstr;

std::string plugin(const std::string& id) {
  return " --plugin " + std::string(BYOC_BUILD_DIR) + "/tests/support/plugins/libbyoc_" + id +
         ".so";
}
const std::string kDigits = std::string(BYOC_TEST_DATA) + "/models/digits/model.onnx --shape N=1";

/// A model with a weight that is too large to be inline in graph.json, so it is in a separate file.
constexpr const char* kTanhAdd = R"(fn main(%x: f32[2,3]) {
  %c = const(0.5) : f32[33,2,3]
  %0 = relu(%x) loc("first")
  %1 = tanh(%0) loc("second")
  %2 = add(%1, %c) loc("third")
  return %2
})";

/// Dumps the region of kTanhAdd that plugin a takes, and returns its folder.
std::string dumped(const Byoc& byoc, const std::string& flags = "") {
  std::string folder = byoc.file("r");
  Ran ran = byoc("dump " + byoc.write("m.ir", kTanhAdd) + plugin("a") +
                 " --compiler a --region a_main_0 --input x=f32[2,3]=-1,0,0.5,1,2,3 -o " + folder +
                 flags);
  EXPECT_EQ(ran.code, 0) << ran.err;
  return folder;
}

TEST(DumpCommand, StoresRightOutputs) {
  Byoc byoc;
  std::string folder = dumped(byoc);
  auto outputs = read_npy(folder + "/outputs/0.npy");
  ASSERT_TRUE(outputs.ok()) << outputs.status().to_string();
  EXPECT_EQ(cat(outputs->spec()), "f32[33,2,3]");
  auto* values = reinterpret_cast<const float*>(outputs->data());
  const float x[] = {-1, 0, 0.5, 1, 2, 3};
  for (size_t k = 0; k < 33 * 6; ++k)
    EXPECT_NEAR(values[k], std::tanh(std::max(x[k % 6], 0.0f)) + 0.5, 1e-6);
  auto manifest = parse_json(get(folder + "/manifest.json"));
  ASSERT_TRUE(manifest.ok());
  EXPECT_EQ((*manifest)["plugin"]["id"], "a");
  EXPECT_EQ((*manifest)["reference"], "json");
  EXPECT_EQ((*manifest)["nodes"], Json({"first", "second", "third"}));
  EXPECT_EQ((*manifest)["constants"].size(), 1u);
}

TEST(ReplayCommand, EveryRegionOfDigitsComesBackRight) {
  Byoc byoc;
  for (std::string compilers : {"onednn,json", "json"}) {
    std::string folder = byoc.file("regions_" + compilers.substr(0, 4));
    Json dump = byoc.json("dump " + kDigits + " --compiler " + compilers + " -o " + folder);
    ASSERT_GE(dump["regions"].size(), 1u);
    Json replay = byoc.json("replay " + folder);
    EXPECT_TRUE(replay["passed"].get<bool>()) << replay.dump(2);
    EXPECT_EQ(replay["replays"].size(), dump["regions"].size());
    for (const Json& one : replay["replays"]) {
      EXPECT_TRUE(one["as_stored"].get<bool>());
      EXPECT_GE(one["outputs"].size(), 1u);
    }
    EXPECT_EQ(byoc("replay " + folder + " --compiler json").code, 0);
  }
}

// The second region has its size in an expression alone, from which the number does not follow.
TEST(ReplayCommand, RegionsOfOpenSizesComeBackRight) {
  Byoc byoc;
  const std::string model = byoc.write("open.ir", R"(fn main(%x: f32[2,1<=T<=8,3]) {
  %0 = relu(%x)
  %1 = concat(%0, %0) {axis=1}
  %2 = tanh(%1)
  return %2
})");
  const std::string folder = byoc.file("regions");
  Ran ran = byoc("dump " + model + plugin("a") + " --compiler a,json -o " + folder);
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const fs::directory_entry& region : fs::directory_iterator(folder)) {
    auto manifest = parse_json(get(region.path() / "manifest.json"));
    ASSERT_TRUE(manifest.ok());
    EXPECT_EQ((*manifest)["sizes"], Json({{"T", 8}})) << region.path();
  }
  ran = byoc("replay " + folder + plugin("a"));
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
}

TEST(ReplayCommand, ARegionWithoutInputsHasItsOpenSize) {
  Byoc byoc;
  const std::string model = byoc.write("open.ir", R"(fn main(%x: f32[1<=T<=8]) {
  %0 = relu(%x)
  %1 = iota() {open_shape=["1<=T<=8"], to=f32}
  %2 = negative(%1)
  return %0, %2
})");
  const std::string by = " --compiler sizes,json --plugin " + fault_path("sizes_none"),
                    folder = byoc.file("region");
  Ran ran =
      byoc("dump " + model + by + " --input x=f32[5]=1,2,3,4,5 --region json_main_0 -o " + folder);
  ASSERT_EQ(ran.code, 0) << ran.err;
  ran = byoc("replay " + folder);
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("f32[5]"));
  const std::string bench = "bench " + folder + " --warmup 0 --min-time 0.02 --rounds 2";
  EXPECT_EQ(byoc(bench).code, 0) << byoc(bench).err;
  // Another plugin gets numbers for the sizes of inputs.
  const std::string relu = byoc.file("relu");
  ran = byoc("dump " + model + by + " --input x=f32[5]=1,2,3,4,5 --region sizes_main_0 -o " + relu);
  ASSERT_EQ(ran.code, 0) << ran.err;
  ran = byoc("bench " + relu + plugin("a") + " --compiler a --warmup 0 --min-time 0.02 --rounds 2");
  EXPECT_EQ(ran.code, 0) << ran.err;
}

TEST(ReplayCommand, AnotherPluginIsShownTheOps) {
  Byoc byoc;
  std::string folder = dumped(byoc);
  Json one = byoc.json("replay " + folder + plugin("b") + " --compiler b --plugin-option " +
                       "b.ops=tanh,add")["replays"][0];
  EXPECT_FALSE(one["as_stored"].get<bool>());
  EXPECT_EQ(one["taken_ops"], 2);
  EXPECT_EQ(one["ops"], 3);
  EXPECT_TRUE(one["passed"].get<bool>());
  ASSERT_EQ(one["verdicts"].size(), 1u);
  EXPECT_EQ(one["verdicts"][0]["node"], "first");
  EXPECT_EQ(one["verdicts"][0]["reason"], "it has no pattern for relu");
  Ran ran = byoc("replay " + folder + plugin("b") + " --plugin-option b.ops=conv2d");
  EXPECT_EQ(ran.code, 1) << "expected the plugin of --plugin to run";
  EXPECT_THAT(ran.out, HasSubstr("FAIL b takes none of it"));
  EXPECT_THAT(ran.err, HasSubstr("the region is of a, and --plugin runs it by b; --compiler a "));
}

TEST(ReplayCommand, DoesNotReplaceANamedPluginThatCannotBeUsed) {
  Byoc byoc;
  std::string folder = dumped(byoc), text = byoc.write("text.so", "no library");
  Ran ran = byoc("replay " + folder + plugin("a") + " --plugin " + text);
  EXPECT_EQ(ran.code, 1) << ran.out;
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("error[plugin-refused]: --plugin " + text + " cannot be used: "));
}

TEST(ReplayCommand, FailsWhenThePluginComputesSomethingElse) {
  Byoc byoc;
  std::string line = "replay " + dumped(byoc) + plugin("a");
  EXPECT_EQ(byoc(line).code, 0);
  Ran ran = byoc(line + " --plugin-option a.spoil=tanh");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("judge: 3 yes, 0 others\n"));
  EXPECT_THAT(ran.out, HasSubstr("FAIL \"output0\" f32[33,2,3]: max error 1 "));
  EXPECT_EQ(byoc(line + " --plugin-option a.spoil=tanh --tolerance 1").code, 0);
}

TEST(ReplayCommand, KeepsTheOptionsThatWereUsed) {
  Byoc byoc;
  std::string folder = dumped(byoc, " --plugin-option a.spoil=add");
  EXPECT_EQ(byoc("replay " + folder + plugin("a")).code, 1);
  EXPECT_EQ(byoc("replay " + folder + plugin("a") + " --plugin-option a.spoil=").code, 0);
}

TEST(ReplayCommand, SaysWhatThePluginDoesNotTakeAnyMore) {
  Byoc byoc;
  std::string line = "replay " + dumped(byoc) + plugin("a") + " --plugin-option ";
  Ran ran = byoc(line + "a.refuse=tanh");
  EXPECT_EQ(ran.code, 0) << "the graph is compiled whatever the verdicts are";
  EXPECT_THAT(ran.out, HasSubstr("judge: 2 yes, 1 other\n  no  tanh \"second\": refused by its"));
  ran = byoc(line + "a.decline=tanh");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("FAIL declined in compile: a: declined by its options"));
}

/// Applies `damage` to one file of a dumped folder and runs replay on it.
Ran after(const Byoc& byoc, const std::string& file,
          const std::function<void(const std::string& path)>& damage) {
  fs::remove_all(byoc.file("r"));
  std::string folder = dumped(byoc);
  damage(folder + "/" + file);
  return byoc("replay " + folder + plugin("a"));
}

TEST(ReplayCommand, NamesTheFileThatIsMissingOrCutOff) {
  Byoc byoc;
  for (std::string file :
       {"manifest.json", "graph.json", "inputs/0.npy", "outputs/0.npy", "constants/0.npy"}) {
    Ran ran = after(byoc, file, [](const std::string& path) { fs::remove(path); });
    EXPECT_EQ(ran.code, 1) << file;
    EXPECT_THAT(ran.err, HasSubstr(file));
    for (size_t part : {0, 1, 2}) {
      ran = after(byoc, file, [&](const std::string& path) {
        fs::resize_file(path, fs::file_size(path) * part / 3);
      });
      EXPECT_EQ(ran.code, 1) << file;
      EXPECT_THAT(ran.err, HasSubstr(file));
      EXPECT_THAT(ran.err, AnyOf(HasSubstr("error[replay-folder]"), HasSubstr("error[npy]"),
                                 HasSubstr("error[bad-graph]")));
    }
  }
}

Ran with_manifest(const Byoc& byoc, const std::string& from, const std::string& to) {
  return after(byoc, "manifest.json", [&](const std::string& path) {
    std::string text = get(path);
    size_t at = text.find(from);
    ASSERT_NE(at, text.npos) << from << " in " << text;
    put(path, text.replace(at, from.size(), to));
  });
}

TEST(ReplayCommand, ChecksTheManifestAgainstTheFiles) {
  Byoc byoc;
  EXPECT_THAT(with_manifest(byoc, "folder/1", "folder/2").err,
              HasSubstr("its schema is \"byoc.replay-folder/2\", this byoc reads"));
  EXPECT_THAT(with_manifest(byoc, "inputs/0.npy", "../../x.npy").err,
              HasSubstr("\"../../x.npy\" is no file of this folder"));
  EXPECT_THAT(with_manifest(byoc, "\"f32[2,3]\"", "\"f32[3,2]\"").err,
              HasSubstr("it holds f32[2,3], the manifest has f32[3,2]"));
  EXPECT_THAT(with_manifest(byoc, "\"symbol\": \"a_main_0\"", "\"symbol\": \"other\"").err,
              HasSubstr("it is a graph of \"a_main_0\", not of \"other\""));
  EXPECT_THAT(with_manifest(byoc, "\"threads\": 1", "\"threads\": -1").err,
              HasSubstr("\"threads\" is not a number"));
  EXPECT_THAT(with_manifest(byoc, "\"outputs\"", "\"results\"").err,
              HasSubstr("\"outputs\" is missing"));
}

TEST(ReplayCommand, SeesThatAConstantWasChanged) {
  Byoc byoc;
  Ran ran = after(byoc, "constants/0.npy", [](const std::string& path) {
    std::string bytes = get(path);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    put(path, bytes);
  });
  EXPECT_THAT(ran.err, HasSubstr("the graph has"));
  EXPECT_THAT(ran.err, HasSubstr("constants/0.npy"));
}

/// Two constants of equal size and different values, which plugins distinguish by their index.
constexpr const char* kTwoConstants = R"(fn main(%x: f32[2,3]) {
  %c = const(0.5) : f32[33,2,3]
  %d = const(2.5) : f32[33,2,3]
  %0 = add(%x, %c) loc("first")
  %1 = multiply(%0, %d) loc("second")
  return %1
})";

TEST(ReplayCommand, RefusesConstantsInAnotherOrderThanTheGraphs) {
  Byoc byoc;
  std::string folder = byoc.file("r");
  Ran ran = byoc("dump " + byoc.write("m.ir", kTwoConstants) + plugin("a") +
                 " --compiler a --region a_main_0 -o " + folder);
  ASSERT_EQ(ran.code, 0) << ran.err;
  Json manifest = *parse_json(get(folder + "/manifest.json"));
  ASSERT_EQ(manifest["constants"].size(), 2u);
  std::swap(manifest["constants"][0], manifest["constants"][1]);
  put(folder + "/manifest.json", manifest.dump());
  ran = byoc("replay " + folder + plugin("a"));
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("error[replay-folder]: constant 0 is f32[33,2,3] of key "));
}

TEST(ReplayCommand, RefusesAConstantOfAnotherTypeThanTheGraphs) {
  Byoc byoc;
  std::string folder = dumped(byoc), file = folder + "/constants/0.npy";
  auto stored = read_npy(file), flat = Tensor::make({DType::kF32, {198}});
  ASSERT_TRUE(stored.ok() && flat.ok());
  std::memcpy(flat->data(), stored->data(), stored->size_bytes());
  ASSERT_TRUE(write_npy(flat->view(), DType::kF32, file).ok());
  Json manifest = *parse_json(get(folder + "/manifest.json"));
  manifest["constants"][0]["type"] = "f32[198]";
  put(folder + "/manifest.json", manifest.dump());
  EXPECT_THAT(byoc("replay " + folder + plugin("a")).err,
              HasSubstr("error[replay-folder]: constant 0 is f32[33,2,3] of key "));
}

TEST(ReplayCommand, SaysThatAFolderIsNone) {
  Byoc byoc;
  EXPECT_THAT(byoc("replay " + byoc.file("nothing")).err,
              HasSubstr("error[replay-folder]: no folder"));
  fs::create_directory(byoc.file("empty"));
  EXPECT_THAT(byoc("replay " + byoc.file("empty")).err, HasSubstr("has no manifest.json"));
}

TEST(DumpCommand, LeavesOtherFoldersAlone) {
  Byoc byoc;
  fs::create_directory(byoc.file("mine"));
  put(byoc.file("mine/file"), "precious");
  Ran ran = byoc("dump " + byoc.write("m.ir", kTwoOps) + " --region 0 -o " + byoc.file("mine"));
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("error[replay-exists]"));
  EXPECT_EQ(get(byoc.file("mine/file")), "precious");
  EXPECT_THAT(byoc("dump " + byoc.file("m.ir") + " --region x_0 -o " + byoc.file("new")).err,
              HasSubstr("error[unknown-region]"));
  EXPECT_EQ(byoc("dump " + byoc.file("m.ir")).code, 2) << "dump without -o";
}

TEST(DumpCommand, RefusesARegionThatReadsWhatNoRegionComputes) {
  Byoc byoc;
  const std::string a = plugin("a") + " --plugin-option a.refuse=add", half = byoc.file("half.ir");
  Ran ran =
      byoc("opt " + byoc.write("m.ir", kTanhAdd) + a + " -o " + half +
           " --passes annotate_target=a,merge_compiler_regions,partition_graph,run_codegen=a");
  ASSERT_EQ(ran.code, 0) << ran.err;
  ran = byoc("dump " + half + a + " --compiler json -o " + byoc.file("d"));
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("error[region-operand]"));
}

TEST(VerifyCommand, WritesTheSmallestWrongPieceForReplay) {
  Byoc byoc;
  std::string folder = byoc.file("the author's piece"),
              quoted = byoc.file("the author'\\''s piece");
  quoted = "'" + quoted + "'";
  Ran ran = byoc("verify " + byoc.write("m.ir", kTanhAdd) + plugin("a") +
                 " --compiler a --plugin-option a.spoil=tanh -o " + quoted);
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("wrote " + folder + "/   replay: byoc replay " + quoted +
                                 plugin("a") + "\n"));
  std::string graph = get(folder + "/graph.json");
  EXPECT_THAT(graph, HasSubstr("\"tanh\""));
  EXPECT_EQ(graph.find("\"relu\""), graph.npos) << "expected the correct ops to be left out";
  EXPECT_EQ(byoc("replay " + quoted + plugin("a")).code, 1) << "expected the same failure";
  EXPECT_EQ(byoc("replay " + quoted + plugin("a") + " --plugin-option a.spoil=").code, 0);
  EXPECT_EQ(byoc("replay " + quoted + " --compiler json").code, 0);
}

}  // namespace
}  // namespace byoc::test
