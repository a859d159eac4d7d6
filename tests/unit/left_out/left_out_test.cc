// SPDX-License-Identifier: Apache-2.0
// byoc compile --no-weights, and what byoc inspect finds about running here.
#include <filesystem>

#include "byoc/runtime/tensor.h"
#include "unit/driver/command.h"
#include "unit/explain/opinion.h"

namespace byoc::test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kDigits = std::string(BYOC_SOURCE_DIR) + "/tests/models/digits";

class LeftOut : public ::testing::Test {
 protected:
  LeftOut() {
    fs::create_directories(byoc_.file("model"));
    fs::copy_file(kDigits + "/model.onnx", byoc_.file("model/net.onnx"));
  }
  /// Compiles the model with these flags to a file beside it.
  std::string compiled(const std::string& name, const std::string& flags,
                       const std::string& sizes = "2") {
    const std::string path = byoc_.file("model/" + name);
    const Ran ran = byoc_("compile " + byoc_.file("model/net.onnx") + " --shape N=" + sizes + " " +
                          flags + " -o " + path);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return path;
  }
  /// Runs the artifact on two images and returns the logits.
  std::vector<float> run(const std::string& path) {
    const Ran ran =
        run_("--quiet " + path + " --input image=f32[2,1,8,8] --output-dir " + byoc_.file("out"));
    EXPECT_EQ(ran.code, 0) << ran.err;
    if (ran.code != 0) return {};
    for (const auto& entry : fs::directory_iterator(byoc_.file("out"))) {
      if (entry.path().extension() != ".npy") continue;
      auto tensor = read_npy(entry.path().string());
      EXPECT_TRUE(tensor.ok()) << tensor.status().to_string();
      const auto* data = reinterpret_cast<const float*>(tensor->data());
      return {data, data + tensor->size_bytes() / sizeof(float)};
    }
    return {};
  }

  Byoc byoc_;
  Byoc run_{std::string(BYOC_BUILD_DIR) + "/bin/byoc-run"};
};

// 6 tensors of the model have 4 KiB or more: 9216 + 9216 + 18432 + 36864 + 36864 bytes.
TEST_F(LeftOut, ConstantsOfTheModelAreNotInTheFile) {
  const std::string flags = "--compiler json -O0 ";
  const auto whole = compiled("whole.byoc", flags),
             small = compiled("small.byoc", flags + "--no-weights");
  EXPECT_LT(fs::file_size(small) + 100'000, fs::file_size(whole));
  EXPECT_EQ(run(small), run(whole));
}

// Weights with a batch normalisation folded into them are none of the model's.
TEST_F(LeftOut, PackedWeightsAreMadeOfTheModels) {
  for (const char* compiler : {"onednn", "llvm"}) {
    const std::string flags = std::string("--compiler ") + compiler + " ";
    const auto whole = compiled("whole.byoc", flags);
    const auto small = compiled("small.byoc", flags + "--no-weights");
    EXPECT_LT(fs::file_size(small) + 30'000, fs::file_size(whole)) << compiler;
    EXPECT_EQ(run(small), run(whole)) << compiler;
  }
}

TEST_F(LeftOut, SeveralSizesShareTheModel) {
  const auto whole = compiled("whole.byoc", "--compiler json -O0", "1,2");
  const auto small = compiled("small.byoc", "--compiler json -O0 --no-weights", "1,2");
  EXPECT_LT(fs::file_size(small) + 100'000, fs::file_size(whole));
  EXPECT_EQ(run(small), run(whole));
}

TEST_F(LeftOut, TheFolderOfTheModelIsGivenByAVariable) {
  const auto small = compiled("small.byoc", "--compiler json -O0 --no-weights");
  const std::vector<float> expected = run(small);
  fs::create_directories(byoc_.file("elsewhere"));
  const std::string moved = byoc_.file("elsewhere/small.byoc");
  fs::rename(small, moved);
  const Ran missing = run_(moved + " --input image=f32[2,1,8,8]");
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.err, HasSubstr("its weights are in net.onnx, a file of the model, which is "
                                     "not there"));
  EXPECT_THAT(missing.err, HasSubstr("set BYOC_WEIGHTS to its folder"));
  ::setenv("BYOC_WEIGHTS", cat("/nowhere:", byoc_.file("model")).c_str(), 1);
  EXPECT_EQ(run(moved), expected);
  ::unsetenv("BYOC_WEIGHTS");
}

TEST_F(LeftOut, AnotherModelIsRefused) {
  const auto small = compiled("small.byoc", "--compiler json -O0 --no-weights");
  std::string bytes = get(byoc_.file("model/net.onnx"));
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  put(byoc_.file("model/net.onnx"), bytes);
  const Ran other = run_(small + " --input image=f32[2,1,8,8]");
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.err,
              HasSubstr("its weights are in net.onnx, and that file has other bytes now"));
}

TEST_F(LeftOut, TheTextHasTheBytesThatAreNotStored) {
  const std::string model = byoc_.file("model/net.onnx"), with = " --shape N=1 --no-weights -o ";
  compiled("small.byoc", "--compiler json -O0");
  const Ran some = byoc_("compile " + model + " --compiler json -O0" + with + byoc_.file("a.byoc"));
  EXPECT_THAT(some.out, HasSubstr("0.11 MiB of weights are in the model's files"));  // 110592 bytes
  const auto tiny = byoc_.file("tiny.onnx");
  ASSERT_EQ(byoc_("opt " + byoc_.write("m.ir", kTwoOps) + " -o " + tiny).code, 0);
  const Ran none = byoc_("compile " + tiny + " --compiler json --no-weights -o " + byoc_.file("b"));
  EXPECT_EQ(none.code, 0) << none.err;
  EXPECT_THAT(none.out, HasSubstr("--no-weights left nothing out"));
}

TEST_F(LeftOut, AModelAsTextIsAUsageError) {
  const Ran ran =
      byoc_("compile " + byoc_.write("m.ir", kTwoOps) + " --no-weights -o " + byoc_.file("m.byoc"));
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--no-weights needs a model in an .onnx file"));
}

/// Compiles two ops by the plugin a, and inspects the result.
class Fitness : public ::testing::Test {
 protected:
  std::string compiled(const std::string& flags = "") {
    const std::string path = byoc_.file("m.byoc");
    const Ran ran = byoc_("compile " + byoc_.write("m.ir", kTwoOps) + plugin_file("a") +
                          " --compiler a " + flags + " -o " + path);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return path;
  }
  Json here(const std::string& arguments) {
    return byoc_.json("inspect " + arguments)["sizes"][0]["here"];
  }
  Byoc byoc_;
};

TEST_F(Fitness, FindsThePlugin) {
  const Json found = here(compiled() + plugin_file("a"));
  EXPECT_TRUE(found["can_run"].get<bool>());
  EXPECT_THAT(found["obstacles"], IsEmpty());
}

TEST_F(Fitness, NamesAPluginThatIsMissing) {
  const std::string path = compiled();
  const Ran ran = byoc_("inspect --here " + path);
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("can run here: no"));
  EXPECT_THAT(ran.out, HasSubstr("module of a: no plugin \"a\" 1.0.0"));
  EXPECT_EQ(byoc_("inspect " + path).code, 0);
  EXPECT_EQ(here(path)["obstacles"][0]["slug"], "missing-plugin");
}

TEST_F(Fitness, NamesTheFallback) {
  const std::string path = compiled("--fallback json");
  const Ran ran = byoc_("inspect --here " + path);
  EXPECT_EQ(ran.code, 0) << ran.out;
  EXPECT_THAT(ran.out, HasSubstr("can run here: yes, by its fallback"));
}

// Opening a file of a plugin leaves the result of its trial in the cache folder.
TEST_F(Fitness, LoadsNoPlugin) {
  const std::string path = compiled();
  const std::string inspect = "inspect " + path + plugin_file("a");
  ::setenv("XDG_CACHE_HOME", byoc_.file("cache").c_str(), 1);
  for (int k = 0; k < 2; ++k) EXPECT_THAT(byoc_(inspect).out, HasSubstr("has not been opened yet"));
  EXPECT_EQ(byoc_("plugins" + plugin_file("a")).code, 0);
  EXPECT_THAT(byoc_(inspect).out, testing::Not(HasSubstr("has not been opened yet")));
  ::unsetenv("XDG_CACHE_HOME");
}

}  // namespace
}  // namespace byoc::test
